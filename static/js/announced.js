// What an answer says of its state is announced from a region that stays, since one that comes with it may not be
// heard: the first data-announced around or in what was swapped. What was announced last is not announced again.
const region = document.getElementById("announced");
document.addEventListener("htmx:afterSwap", ({ target }) => {
  const state = target.closest("[data-announced]") ?? target.querySelector("[data-announced]");
  const words = state && (state.dataset.announced || state.innerText.trim());
  if (words && words !== region.textContent) region.textContent = words;
});

// What was done before this page came is said by its toasts, which are not heard because they came with it.
const done = document.querySelector("#toasts .toast p")?.textContent;
setTimeout(() => (region.textContent ||= done ?? ""), 300);
