// What is typed into a field with data-draft is kept in this tab, whatever happens to the field, until it was saved.
const fill = (field) => (field.value = draftOf(field.dataset.draft) ?? field.value);
export const draftOf = (draft) => sessionStorage.getItem(`draft-${draft}`);
export const dropDraft = (draft) => sessionStorage.removeItem(`draft-${draft}`);
export const restoreDrafts = () => document.querySelectorAll("[data-draft]").forEach(fill);

document.addEventListener("input", ({ target }) => {
  if (target.dataset.draft) sessionStorage.setItem(`draft-${target.dataset.draft}`, target.value);
});
document.addEventListener("htmx:beforeSwap", ({ detail: { requestConfig, xhr } }) => {
  if (requestConfig.verb === "get" || xhr.status >= 400) return;
  requestConfig.elt.querySelectorAll("[data-draft]").forEach(({ dataset }) => dropDraft(dataset.draft));
});
document.addEventListener("htmx:afterSwap", restoreDrafts);
restoreDrafts();
