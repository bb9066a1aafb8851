// What is typed into a form[data-draft] is kept in this tab under that name, whatever becomes of the page, until it was
// saved. With the text goes the version that it was typed on (`seen`), or what others saved since would be undone.
import { person } from "./session.js";
const LEFT = "draft-sent"; // of a form that left with its page
const TEXT = "textarea, input:is(:not([type]), [type=text], [type=url])";
const SHOWN_AGAIN = [409, 422]; // by answers that have the form, with what was typed
const keyOf = (draft) => `draft-of-${draft}`;
const isKept = (field) => field.matches(TEXT) || (field.name === "seen" && !field.form.dataset.outbox);
const fieldsOf = (form) => [...form.elements].filter((field) => field.name && isKept(field));
const formOf = (draft) => document.querySelector(`form[data-draft="${CSS.escape(draft)}"]`);

export const typed = (form) => JSON.stringify(fieldsOf(form).map(({ name, value }) => [name, value]));
export const draftOf = (draft) => sessionStorage.getItem(keyOf(draft));
export const dropDraft = (draft) => sessionStorage.removeItem(keyOf(draft));

function keep(form) {
  try {
    sessionStorage.setItem(keyOf(form.dataset.draft), typed(form));
  } catch {
    dropDraft(form.dataset.draft); // more than a browser keeps, and what it kept before is not what stands there
  }
}

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
    for (const each of fieldsOf(field.form)) each.value = each.dataset.saved ?? each.value;
    note.remove();
  };
  field.after(note);
}

// Cancel, and Keep theirs, are links of the form, or name its draft.
document.addEventListener("click", ({ target }) => {
  const link = target.closest("a")?.closest("[data-cancels]");
  if (link) dropDraft(link.dataset.cancels || link.closest("form")?.dataset.draft);
});
document.addEventListener("input", ({ target: { form } }) => form?.dataset.draft && keep(form));
document.addEventListener(
  "htmx:beforeOnLoad",
  ({ defaultPrevented, detail: { requestConfig, xhr, etc } }) => {
    const { draft } = requestConfig.elt.dataset;
    if (requestConfig.verb === "get" || defaultPrevented || !draft) return;
    etc.shownAgain = SHOWN_AGAIN.includes(xhr.status) && draft;
    if (xhr.status < 400 || etc.shownAgain) dropDraft(draft);
  },
);
document.addEventListener("htmx:afterSwap", ({ detail: { etc } }) => {
  const form = etc?.shownAgain && formOf(etc.shownAgain);
  if (form) keep(form);
  restoreDrafts();
});
document.addEventListener("submit", ({ target: form, defaultPrevented }) => {
  if (form.dataset.draft && !defaultPrevented && !form.matches("[data-outbox]")) {
    sessionStorage.setItem(LEFT, form.dataset.draft);
  }
});

// The page that comes after a form was taken is fetched anew; one that refuses it is its answer, or says so in a toast.
const left = sessionStorage.getItem(LEFT);
sessionStorage.removeItem(LEFT);
if (left && person && document.body.matches("[data-answers-form]")) {
  if (formOf(left)) keep(formOf(left));
} else if (left && person && !document.querySelector("#toasts [data-level=error]")) dropDraft(left);
restoreDrafts();
