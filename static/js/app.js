// What every page needs: a live stream that rests in hidden tabs, keys, focus after swaps, toasts, dialogs, copying.
import "./filters.js";
import "./keys.js";
import "./live.js";
import "./toasts.js";

for (const tab of document.querySelectorAll("nav [aria-current=page]")) {
  tab.scrollIntoView({ block: "nearest", inline: "center" }); // narrow screens
}
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
  for (const field of detail.requestConfig.elt.querySelectorAll("[data-draft]")) {
    sessionStorage.removeItem(kept(field));
  }
});
document.addEventListener("htmx:afterSwap", restore);
restore();
document.addEventListener("htmx:sendError", ({ detail }) => {
  const toast = document.getElementById("not-sent").content.cloneNode(true);
  if (detail.requestConfig.verb !== "get") document.getElementById("toasts").append(toast);
});

document.addEventListener("click", (event) => {
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

// An answer for a part that was replaced meanwhile goes to what took its place. Events on the old part reach nobody but
// itself, and htmx would lose the rows that the answer means to preserve.
function forward({ target, detail }) {
  if (target.isConnected) return;
  detail.target = document.getElementById(target.id) ?? document.body;
  Object.assign(detail, { isLate: true, shouldSwap: detail.shouldSwap && detail.target !== document.body });
  detail.target.dispatchEvent(new CustomEvent("htmx:beforeSwap", { bubbles: true, detail }));
}
document.addEventListener(
  "htmx:beforeRequest",
  ({ detail }) => detail.target.addEventListener("htmx:beforeSwap", forward),
);

// A live answer is thrown away and asked for again when it is out of date: when its part was replaced, changed by the
// answer to what a person did, or has other open forms by now, whose text would be gone. It waits while something is
// being sent from within its part, whose answer would find no place, and between the press and the release of a click.
let isPressed = false;
for (const name of ["pointerdown", "pointerup", "pointercancel", "pointermove"]) {
  document.addEventListener(name, (event) => (isPressed = event.buttons > 0), true);
}
function outdate(changed) {
  for (const live of document.querySelectorAll("[data-live]")) {
    live.isOutOfDate ||= document.querySelector(live.getAttribute("hx-target"))?.contains(changed);
  }
}
document.addEventListener("changed", ({ target }) => outdate(target));
document.addEventListener("htmx:beforeRequest", ({ detail }) => (detail.elt.isOutOfDate = false));
const hasOtherForms = ({ elt, formData }) =>
  String(new URLSearchParams(formData)) !== String(new URLSearchParams(htmx.values(elt, "get")));
const isBusy = (part) => isPressed || part?.querySelector("form[hx-post].htmx-request");
function askAgain(live) {
  if (isBusy(document.querySelector(live.getAttribute("hx-target")))) setTimeout(askAgain, 200, live);
  else htmx.trigger(live, "again");
}
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { requestConfig: asked, target, isLate } = detail;
  if (!asked.elt.matches("[data-live]")) return outdate(target);
  if (!isBusy(target) && !isLate && !asked.elt.isOutOfDate && !hasOtherForms(asked)) return;
  detail.shouldSwap = false;
  setTimeout(askAgain, 0, asked.elt);
});
