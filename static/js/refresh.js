// A live answer is thrown away and asked for again when it is out of date: when its part was replaced, changed by the
// answer to what a person did, or has other open forms by now, whose text would be gone. It waits while something is
// being sent from within its part, whose answer would find no place, and until a click or what is dragged is let go.
class LiveAnswers {
  #isPressed = false;
  #isDragging = false; // from where on there are no events of the pointer, but for the one that cancels the press

  constructor() {
    for (const name of ["pointerdown", "pointerup", "pointercancel", "pointermove"]) {
      document.addEventListener(name, (event) => (this.#isPressed = event.buttons > 0), true);
    }
    document.addEventListener("dragstart", () => (this.#isDragging = true), true);
    for (const name of ["dragend", "pointerdown", "pointermove"]) {
      document.addEventListener(name, () => (this.#isDragging = false), true);
    }
    document.addEventListener("changed", ({ target }) => outdate(target));
    document.addEventListener("htmx:beforeRequest", ({ detail }) => {
      detail.elt.isOutOfDate = false;
      detail.target.addEventListener("htmx:beforeSwap", forward);
    });
    document.addEventListener("htmx:beforeSwap", ({ detail }) => this.#decide(detail));
  }

  #decide(detail) {
    const { requestConfig: asked, target, isLate } = detail;
    if (!asked.elt.matches("[data-live]")) return outdate(target);
    if (!this.#isBusy(target) && !isLate && !asked.elt.isOutOfDate && !hasOtherForms(asked)) return;
    detail.shouldSwap = false;
    setTimeout(() => this.#askAgain(asked.elt));
  }

  #askAgain(live) {
    if (this.#isBusy(partOf(live))) setTimeout(() => this.#askAgain(live), 200);
    else htmx.trigger(live, "again");
  }

  #isBusy(part) {
    return this.#isPressed || this.#isDragging || part?.querySelector("form[hx-post].htmx-request");
  }
}

const partOf = (live) => document.querySelector(live.getAttribute("hx-target"));
const hasOtherForms = ({ elt, formData }) =>
  String(new URLSearchParams(formData)) !== String(new URLSearchParams(htmx.values(elt, "get")));

function outdate(changed) {
  for (const live of document.querySelectorAll("[data-live]")) {
    live.isOutOfDate ||= partOf(live)?.contains(changed);
  }
}

// An answer for a part that was replaced meanwhile goes to what took its place. Events on the old part reach nobody but
// itself, and htmx would lose the rows that the answer means to preserve.
function forward({ target, detail }) {
  if (target.isConnected) return;
  detail.target = document.getElementById(target.id) ?? document.body;
  Object.assign(detail, { isLate: true, shouldSwap: detail.shouldSwap && detail.target !== document.body });
  detail.target.dispatchEvent(new CustomEvent("htmx:beforeSwap", { bubbles: true, detail }));
}

// The same for what was clicked: whether its answer was refused, or its sign-in has ended, is heard at the document.
const HEARD = ["htmx:beforeOnLoad", "htmx:responseError", "htmx:sendError"];
function passOn(event) {
  if (event.target !== event.currentTarget || event.target.isConnected) return;
  const { type, detail } = event;
  if (!document.dispatchEvent(new CustomEvent(type, { cancelable: true, detail }))) event.preventDefault();
}
document.addEventListener("htmx:beforeRequest", ({ detail: { elt } }) => {
  for (const name of HEARD) elt.addEventListener(name, passOn);
});

new LiveAnswers();
