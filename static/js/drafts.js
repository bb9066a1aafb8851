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
  // Only a form has elements: what else asks the server, as the queue's beat does, sends no draft.
  for (const { dataset } of requestConfig.elt.elements ?? []) if (dataset.draft) dropDraft(dataset.draft);
});
document.addEventListener("htmx:afterSwap", restoreDrafts);
restoreDrafts();
