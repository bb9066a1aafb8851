// What every page needs: a live stream that rests in hidden tabs, focus after swaps, toasts, dialogs, copying.
import "./live.js";

// Focus never gets lost: after a swap it returns to the same id, or to what the swap brought.
let focusedId = "";
document.addEventListener("htmx:beforeSwap", () => {
  focusedId = document.activeElement?.id ?? "";
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (document.activeElement && document.activeElement !== document.body) return;
  const wanted = focusedId && document.getElementById(focusedId);
  const target = wanted || event.detail.elt?.querySelector?.("[autofocus]");
  target?.focus({ preventScroll: true });
});

document.addEventListener("click", (event) => {
  const dismiss = event.target.closest("[data-dismiss]");
  if (dismiss) dismiss.closest(".toast")?.remove();

  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();

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
