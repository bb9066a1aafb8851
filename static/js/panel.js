// The panel beside the grid shows the cell or the item that has the focus, so that what is read is what is rated.
// Where its text is not there yet, it names the cell at once and shows no other one meanwhile.
import { ask } from "./session.js";
import { text } from "./texts.js";
const PAUSE_MS = 80; // nobody reads the cells that a held arrow key runs over
const FRESH_MS = 60_000;
const KEPT = 24; // cells fetched ahead

export class Panel {
  #element = document.getElementById("panel");
  shown = this.#element.dataset.shown ?? ""; // id of the cell or head whose panel this is
  #aside = this.#element.closest("aside");
  #address = "";
  #ahead = new Map(); // by the id of a cell: its HTML, and until when it may be shown
  #timer = 0;

  // Once it is open it follows the focus.
  get isOpen() {
    return this.shown !== "";
  }

  close() {
    clearTimeout(this.#timer);
    [this.shown, this.#address] = ["", ""];
    this.#element.replaceChildren();
    delete this.#aside.parentElement.dataset.panel;
    this.mark();
  }

  hasLoaded(link, address = link.href) {
    return this.shown === link.id && this.#address === address && this.#element.ariaBusy !== "true";
  }

  // `next`: cells where the focus is likely to go.
  follow(link, next) {
    const isShown = link.id === this.shown &&
      (link.href === this.#address || this.#element.ariaBusy === "true");
    if (!this.isOpen || isShown) return;
    this.#name(link, link.href);
    const kept = this.#ahead.get(link.id);
    if (kept && kept.until > Date.now()) {
      this.#put(kept.html);
      this.#fetchAhead(next);
    } else {
      this.#timer = setTimeout(() => this.show(link).then(() => this.#fetchAhead(next)), PAUSE_MS);
    }
  }

  // The same cell again, if it is still the one that is shown.
  async show(link, address = link.href) {
    this.#name(link, address);
    const html = await fetched(address);
    if (this.shown === link.id && this.#address === address) this.#put(html);
  }

  // What was fetched ahead of these cells is out of date.
  forget(ids) {
    for (const id of ids) this.#ahead.delete(id);
  }

  mark() {
    for (const marked of document.querySelectorAll("#grid [aria-current]")) {
      marked.removeAttribute("aria-current");
    }
    const link = document.getElementById(this.shown);
    link?.setAttribute("aria-current", "true");
    const column = link?.closest("th")?.cellIndex;
    for (const cell of document.querySelectorAll("#grid :is(td, thead th)")) {
      cell.toggleAttribute("data-here", cell.cellIndex === column);
    }
  }

  #name(link, address) {
    clearTimeout(this.#timer);
    if (this.shown === link.id && this.#address === address) return;
    [this.shown, this.#address] = [link.id, address];
    this.#aside.parentElement.dataset.panel = "open";
    this.mark();
    const name = document.createElement("p");
    name.textContent = `${link.ariaLabel || link.title || text("loading")}…`;
    this.#element.replaceChildren(name);
    this.#element.scrollTop = 0;
    this.#element.ariaBusy = "true";
  }

  #put(html) {
    const focused = this.#element.contains(document.activeElement) ? document.activeElement.id : "";
    htmx.swap(this.#element, html ?? NOT_LOADED, { swapStyle: "innerHTML", swapDelay: 0, settleDelay: 0 });
    this.#element.ariaBusy = "false";
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  async #fetchAhead(links) {
    for (const { id, href } of links.filter((link) => link.href && !this.#ahead.has(link.id))) {
      const html = await fetched(href);
      if (html) this.#ahead.set(id, { html, until: Date.now() + FRESH_MS });
      if (this.#ahead.size > KEPT) this.#ahead.delete(this.#ahead.keys().next().value);
    }
  }
}

const NOT_LOADED = "<p>This pair could not be loaded. Go to another one and come back to try again.</p>";

// null where there is no answer, or the person is not signed in.
async function fetched(address) {
  const answer = await ask(address, { headers: { "HX-Target": "panel" } }).catch(() => null);
  return answer?.ok ? answer.text() : null;
}
