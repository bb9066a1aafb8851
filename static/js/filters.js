// A field with data-submits means "show me this". It takes effect when it was chosen with the pointer, on
// Enter, or when the focus leaves it, but not while somebody goes through its choices with keys (WCAG 3.2.2).
// The page that comes then has the focus where it was, or where it went. Without JavaScript there is a
// button.
const KEY = "focus-after-filter";
const byKeys = new WeakSet(); // fields that were last changed with keys
const changed = new WeakSet(); // and have not taken effect yet

function apply(field, focused) {
  changed.delete(field);
  if (!field.form?.matches("[hx-get]")) {
    sessionStorage.setItem(KEY, JSON.stringify([location.pathname, focused?.id ?? ""]));
  }
  field.form?.requestSubmit();
}

const isFilter = (node) => node.matches?.("[data-submits]");
document.addEventListener("pointerdown", ({ target }) => byKeys.delete(target.closest?.("[data-submits]")));
document.addEventListener("pressed", (event) => {
  const { key } = event.detail;
  if (!isFilter(event.target) || /Tab$/.test(key)) return;
  if (key !== "Enter") return byKeys.add(event.target);
  if (!changed.has(event.target)) return; // a number that is typed is sent by its form
  event.preventDefault();
  apply(event.target, event.target);
});
document.addEventListener("change", ({ target }) => {
  if (!isFilter(target)) return;
  if (byKeys.has(target)) changed.add(target);
  else apply(target, target);
});
document.addEventListener("focusout", ({ target, relatedTarget }) => {
  if (changed.has(target) && document.hasFocus()) apply(target, relatedTarget);
});

addEventListener("load", () => {
  const [page, id] = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
  sessionStorage.removeItem(KEY);
  if (page === location.pathname && id && document.activeElement === document.body) {
    document.getElementById(id)?.focus();
  }
});
