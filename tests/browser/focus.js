// What is wrong with the focus on this page: its order, whether it can be seen, whether something hides it.
() => {
  const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";
  const name = (element) => element.outerHTML.replace(/\s+/g, " ").slice(0, 120);
  const isShown = (element) => element.dataset.state !== "focus"; // on the pattern page, at rest
  const isReached = (element) =>
    element.tabIndex >= 0 && !element.disabled && element.checkVisibility({ visibilityProperty: true }) &&
    !element.closest("[inert], [hidden]");
  const look = (element) => {
    const style = getComputedStyle(element);
    return [style.outlineStyle, style.outlineWidth, style.boxShadow, style.borderColor, style.backgroundColor].join();
  };
  const parts = (element) => [element, element.parentElement, element.closest("label, li, tr, th, td, .chip")];
  const problems = [];
  const modal = document.querySelector("dialog:modal");
  const reached = [...(modal ?? document).querySelectorAll(CONTROLS)].filter(isReached).filter(isShown);
  for (const element of reached) {
    if (element.tabIndex > 0) problems.push(`positive tabindex: ${name(element)}`);
  }
  const begun = document.activeElement;
  const [left, top] = [scrollX, scrollY];
  for (const element of reached) {
    begun.blur();
    const before = parts(element).map((part) => part && look(part)).join("|");
    element.focus({ focusVisible: true });
    if (document.activeElement !== element) continue;
    const after = parts(element).map((part) => part && look(part)).join("|");
    if (before === after) problems.push(`focus is not seen: ${name(element)}`);
    const { left, top, width, bottom } = element.getBoundingClientRect();
    const y = (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2;
    const seen = document.elementFromPoint(left + Math.min(width / 2, 40), y);
    const isUncovered = seen && (element.contains(seen) || seen.contains(element) || element.labels?.[0]?.contains(seen));
    if (!isUncovered && width > 1) {
      problems.push(`focus is hidden: ${name(element)} by ${seen ? name(seen) : "the edge of the window"}`);
    }
  }
  begun.focus();
  scrollTo(left, top);
  return problems;
}
