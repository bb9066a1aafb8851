// What was announced last is not announced again.
document.addEventListener("htmx:oobBeforeSwap", ({ target, detail }) => {
  const isSame = target.textContent === detail.fragment.textContent;
  if (target.matches(".visually-hidden[role=status]")) detail.shouldSwap = !isSame;
});
