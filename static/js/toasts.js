// One toast at a time, in one place: the next takes its place. It leaves after a few seconds, but not while
// somebody points at it or has the focus there.
const STAYS_MS = { error: 15_000, warning: 10_000 };
const USUALLY_MS = 6_000;
const UNDO_MS = 12_000;
const toasts = document.getElementById("toasts");

function leave(toast) {
  if (toast.matches(":hover, :focus-within")) return setTimeout(leave, 1_000, toast);
  toast.remove();
}

function begin(toast) {
  if (toast.matches("[data-stays]")) return;
  const stays = toast.querySelector("form") ? UNDO_MS : STAYS_MS[toast.dataset.level] ?? USUALLY_MS;
  setTimeout(leave, stays, toast);
}

function showLatest(added) {
  const latest = added.at(-1);
  if (!latest) return;
  for (const toast of toasts.querySelectorAll(".toast:not([data-stays])")) {
    if (toast !== latest) toast.remove();
  }
  begin(latest);
}

new MutationObserver((changes) => {
  const added = changes.flatMap(({ addedNodes }) => [...addedNodes]);
  showLatest(added.filter((node) => node.matches?.(".toast") && node.isConnected));
}).observe(toasts, { childList: true });

toasts.onclick = ({ target }) => target.closest("[data-dismiss]")?.closest(".toast").remove();
toasts.addEventListener(
  "htmx:afterRequest",
  ({ target, detail }) => detail.successful && target.closest(".toast")?.remove(),
);
showLatest([...toasts.querySelectorAll(".toast")]);
