// Focus never gets lost: after a swap or a refusal it returns to the same id, or to what the swap brought, or to the
// closest thing around it that is still there. Noted before the request too, because a button that is disabled loses
// it. A form with errors has it in the first wrong field.
class FocusTrail {
  #ids = []; // of the focused element and of what is around it

  constructor() {
    for (const event of ["htmx:beforeRequest", "htmx:beforeSwap", "changed"]) {
      document.addEventListener(event, () => this.#note());
    }
    document.addEventListener("pointerdown", () => (this.#ids = []));
    // One moment later, when htmx has enabled again the button that sent the request.
    for (const event of ["htmx:afterSettle", "htmx:responseError", "htmx:sendError"]) {
      document.addEventListener(event, async ({ detail }) => this.#restore(await detail));
    }
  }

  #note() {
    if (isLost()) return;
    this.#ids = [];
    for (let node = document.activeElement; node; node = node.parentElement) this.#ids.push(node.id);
  }

  #restore({ elt: swapped, xhr: answer }) {
    const [same, ...around] = this.#ids.map((id) => id && document.getElementById(id));
    this.#ids = [];
    const wrong = swapped?.querySelector?.('[aria-invalid="true"]');
    for (const target of [wrong, same, swapped?.querySelector?.("[autofocus]"), ...around]) {
      // Where an answer refuses what was sent, the focus may have stayed in a field that is right.
      if (!target || (!isLost() && !(target === wrong && answer?.status === 422))) continue;
      if (target.tabIndex < 0) target.tabIndex = -1;
      target.focus({ preventScroll: true });
    }
  }
}

const isLost = () => !document.activeElement || document.activeElement === document.body;

new FocusTrail();
if (isLost() || document.activeElement.autofocus) {
  document.querySelector('main [aria-invalid="true"]')?.focus();
}
// Browsers give up on autofocus where the styles come late.
addEventListener("load", () => {
  if (isLost()) document.querySelector("main [autofocus]")?.focus({ preventScroll: true });
});
