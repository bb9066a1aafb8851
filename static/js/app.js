// What every page needs: a live stream that rests in hidden tabs, keys, focus after swaps, toasts, dialogs, copying.
import "./keys.js";
import "./live.js";

for (const tab of document.querySelectorAll("nav [aria-current=page]")) tab.scrollIntoView({ block: "nearest", inline: "center" }); // narrow screens
// Focus never gets lost: after a swap it returns to the same id, or to what the swap brought, or to the closest
// thing around it that is still there. Noted before the request too, because a button that is disabled loses it.
let trail = []; // ids of the focused element and of what is around it
const isLost = () => !document.activeElement || document.activeElement === document.body;
function note() {
  if (isLost()) return;
  trail = [];
  for (let node = document.activeElement; node; node = node.parentElement) trail.push(node.id);
}
document.addEventListener("htmx:beforeRequest", note);
document.addEventListener("htmx:beforeSwap", note);
document.addEventListener("pointerdown", () => (trail = []));
document.addEventListener("htmx:afterSettle", (event) => {
  const [same, ...around] = trail.map((id) => id && document.getElementById(id));
  trail = [];
  for (const target of [same, event.detail.elt?.querySelector?.("[autofocus]"), ...around]) {
    if (!target || !isLost()) continue;
    if (target.tabIndex < 0) target.tabIndex = -1;
    target.focus({ preventScroll: true });
  }
});

// What is typed into a field with data-draft is kept, whatever happens to the field, until it was saved.
const kept = (field) => `draft-${field.dataset.draft}`;
const fill = (field) => (field.value ||= sessionStorage.getItem(kept(field)) ?? "");
const restore = () => document.querySelectorAll("[data-draft]").forEach(fill);
document.addEventListener("input", ({ target }) => {
  if (target.dataset.draft) sessionStorage.setItem(kept(target), target.value);
});
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.requestConfig.verb === "get" || detail.xhr.status >= 400) return;
  for (const field of detail.requestConfig.elt.querySelectorAll("[data-draft]")) sessionStorage.removeItem(kept(field));
});
document.addEventListener("htmx:afterSwap", restore);
restore();
document.addEventListener("htmx:sendError", ({ detail }) => {
  const toast = document.getElementById("not-sent").content.cloneNode(true);
  if (detail.requestConfig.verb !== "get") document.getElementById("toasts").append(toast);
});

document.addEventListener("click", (event) => {
  const dismiss = event.target.closest("[data-dismiss]");
  if (dismiss) dismiss.closest(".toast")?.remove();

  const opener = event.target.closest("[data-opens]");
  const opened = opener && document.getElementById(opener.dataset.opens);
  if (opened) event.preventDefault(); // without JavaScript it may be a link
  opened?.showModal();

  const closer = event.target.closest("[data-closes]");
  if (closer) closer.closest("dialog")?.close();

  const copier = event.target.closest("[data-copies]");
  if (copier) {
    navigator.clipboard.writeText(document.getElementById(copier.dataset.copies).textContent.trim());
    copier.textContent = "Copied";
  }
});

// A select or number that means "show me this": submit its form at once. Without JavaScript there is a button.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form?.requestSubmit();
});

// An answer for a part that was replaced meanwhile goes to what took its place. Events on the old part reach nobody but
// itself, and htmx would lose the rows that the answer means to preserve.
function forward({ target, detail }) {
  if (target.isConnected) return;
  detail.target = document.getElementById(target.id) ?? document.body;
  Object.assign(detail, { isLate: true, shouldSwap: detail.shouldSwap && detail.target !== document.body });
  detail.target.dispatchEvent(new CustomEvent("htmx:beforeSwap", { bubbles: true, detail }));
}
document.addEventListener("htmx:beforeRequest", ({ detail }) => detail.target.addEventListener("htmx:beforeSwap", forward));

// A live part is not swapped while something is being sent from within it, or the answer would find no place; nor when
// it was replaced since it asked, or what it said of open forms is out of date: what is typed into one would be gone;
// nor between the press and the release of a click, which would be lost.
let isPressed = false;
for (const name of ["pointerdown", "pointerup", "pointercancel"]) {
  document.addEventListener(name, () => (isPressed = name === "pointerdown"), true);
}
const isOutOfDate = ({ elt, formData }) =>
  String(new URLSearchParams(formData)) !== String(new URLSearchParams(htmx.values(elt, "get")));
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { requestConfig: asked, target, isLate } = detail;
  const isLive = asked.elt.matches("[data-live]");
  const isPast = isLive && (isLate || isOutOfDate(asked));
  const isHeld = isLive && isPressed;
  const isSending = asked.verb === "get" && target.querySelector("form[hx-post].htmx-request");
  if (isPast || isHeld || isSending) detail.shouldSwap = false;
  if (isPast || isHeld) setTimeout(() => htmx.trigger(asked.elt, "again"), isHeld ? 200 : 0);
});
