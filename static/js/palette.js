// The search that Ctrl+K opens: a combobox whose focus stays in the field. The arrows choose a result, Enter opens it.
const palette = document.getElementById("palette");
const field = document.getElementById("palette-words");
const options = () => [...palette.querySelectorAll("[role=option]")];
const chosen = () => options().findIndex((option) => option.ariaSelected === "true");

function choose(index) {
  const all = options();
  all.forEach((option, at) => (option.ariaSelected = String(at === index)));
  field.ariaExpanded = String(all.length > 0);
  field.setAttribute("aria-controls", all.length ? "palette-list" : "palette-results");
  field.setAttribute("aria-activedescendant", all[index]?.id ?? "");
  all[index]?.scrollIntoView({ block: "nearest" });
}

const MOVES = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at - 1 + count) % count,
  PageDown: (at, count) => Math.min(at + 8, count - 1),
  PageUp: (at) => Math.max(at - 8, 0),
};

field.addEventListener("pressed", (event) => {
  const [all, { key }] = [options(), event.detail];
  if (!all.length) return;
  if (MOVES[key]) choose(MOVES[key](chosen(), all.length));
  else if (key === "Enter") all[chosen()]?.click();
  else return;
  event.preventDefault();
});
palette.addEventListener("htmx:afterSwap", () => choose(0));
palette.addEventListener("click", ({ target }) => target === palette && palette.close());

export function begin() {
  palette.showModal();
  field.select();
  field.dispatchEvent(new CustomEvent("opened"));
}
