// What is typed into a form[data-draft] is kept in this tab under that name, whatever becomes of the page, until it was
// saved. With the text goes what has data-kept: the version that it was typed on, or what others saved since were
// undone.
import { person } from "./session.js";
const SENT = "draft-sent"; // of a form that left with its page
const KEPT = "textarea, input:is(:not([type]), [type=text], [type=url], [data-kept])";
const keyOf = (draft) => `draft-of-${draft}`;
const fieldsOf = (form) => [...form.elements].filter((field) => field.name && field.matches(KEPT));

export const typed = (form) => JSON.stringify(fieldsOf(form).map(({ name, value }) => [name, value]));
export const draftOf = (draft) => sessionStorage.getItem(keyOf(draft));
export const dropDraft = (draft) => sessionStorage.removeItem(keyOf(draft));

export function restoreDrafts() {
  for (const form of document.querySelectorAll("form[data-draft]")) {
    const kept = new Map(JSON.parse(draftOf(form.dataset.draft) ?? "[]"));
    const changed = fieldsOf(form).filter(({ name, value }) => kept.has(name) && kept.get(name) !== value);
    for (const field of changed) {
      field.dataset.saved ??= field.value;
      field.value = kept.get(field.name);
    }
    const replaced = changed.find((field) => field.type !== "hidden" && field.dataset.saved.trim());
    if (replaced && !form.querySelector("[data-draft-note], [data-comment-said]")) noteBeside(replaced);
  }
}

// Where the field has a text that is saved, people must see that another one stands there.
function noteBeside(field) {
  const note = document.getElementById("draft-note").content.firstElementChild.cloneNode(true);
  note.querySelector("button").onclick = () => {
    dropDraft(field.form.dataset.draft);
    for (const one of fieldsOf(field.form)) one.value = one.dataset.saved ?? one.value;
    note.remove();
  };
  field.after(note);
}

document.addEventListener("input", ({ target: { form } }) => {
  if (!form?.dataset.draft) return;
  try {
    sessionStorage.setItem(keyOf(form.dataset.draft), typed(form));
  } catch {
    dropDraft(form.dataset.draft); // more than a browser keeps, and what it kept before is not what stands there
  }
});
document.addEventListener("htmx:beforeOnLoad", ({ defaultPrevented, detail: { requestConfig, xhr } }) => {
  const { dataset } = requestConfig.elt;
  if (requestConfig.verb !== "get" && xhr.status < 400 && !defaultPrevented && dataset.draft) {
    dropDraft(dataset.draft);
  }
});
document.addEventListener("submit", ({ target: form, defaultPrevented }) => {
  if (form.dataset.draft && !defaultPrevented && !form.matches("[data-outbox]")) {
    sessionStorage.setItem(SENT, form.dataset.draft);
  }
});

// The page that comes after a form was taken is fetched anew; one that refuses it is its answer, or says so in a toast.
const sent = sessionStorage.getItem(SENT);
const isRefused = document.body.matches("[data-answers-form]") ||
  document.querySelector("#toasts [data-level=error]");
sessionStorage.removeItem(SENT);
if (sent && person && !isRefused) dropDraft(sent);
document.addEventListener("htmx:afterSwap", restoreDrafts);
restoreDrafts();
