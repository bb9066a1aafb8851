// Toasts leave after a few seconds, but not while somebody points at them or has the focus there. They stand
// in a corner where they cover nothing that can be pressed.
const STAYS_MS = { error: 15_000, warning: 10_000 };
const USUALLY_MS = 6_000;
const UNDO_MS = 12_000;
const CORNERS = ["bottom-right", "bottom-left", "top-right", "top-left", "bottom", "top"];
const PRESSED = "a, button, input, select, textarea, summary, label";
const toasts = document.getElementById("toasts");

function leave(toast) {
  if (toast.matches(":hover, :focus-within")) return setTimeout(leave, 1_000, toast);
  toast.remove();
}

function covered() {
  const { left, top, width, height } = toasts.getBoundingClientRect();
  let count = 0;
  for (let x = left; x <= left + width; x += 20) {
    for (let y = top; y <= top + height; y += 12) {
      count += document.elementsFromPoint(x, y).some((node) =>
        !toasts.contains(node) && node.closest(PRESSED)
      );
    }
  }
  return count;
}

function place() {
  if (!toasts.children.length) return;
  const counts = CORNERS.map((corner) => {
    toasts.dataset.corner = corner;
    return covered();
  });
  toasts.dataset.corner = CORNERS[counts.indexOf(Math.min(...counts))];
}

new MutationObserver((changes) => {
  const added = changes.flatMap(({ addedNodes }) => [...addedNodes]);
  added.filter((node) => node.matches?.(".toast")).forEach(begin);
  place();
}).observe(toasts, { childList: true });

function begin(toast) {
  if (toast.matches("[data-stays]")) return;
  const stays = toast.querySelector("form") ? UNDO_MS : STAYS_MS[toast.dataset.level] ?? USUALLY_MS;
  setTimeout(leave, stays, toast);
}

toasts.onclick = ({ target }) => target.closest("[data-dismiss]")?.closest(".toast").remove();
toasts.addEventListener(
  "htmx:afterRequest",
  ({ target, detail }) => detail.successful && target.closest(".toast")?.remove(),
);
for (const toast of toasts.querySelectorAll(".toast")) begin(toast);
place();
