// The list of a bank's items and the panel beside it: arrow keys, the order by Alt and arrows or by dragging, finding.
import { text } from "./texts.js";
const PAUSE_MS = 600; // a row that is moved by keys is stored once it rests, what is found told once typing does
const visible = (row) => row.checkVisibility();
const rows = (list = document.getElementById("items")) => [...list?.querySelectorAll(".item-row") ?? []];
const linkOf = (row) => row?.querySelector(".item-open");
const panel = () => document.getElementById("item-panel") ?? document.createElement("aside");

class Order {
  #moved = null; // { row, seen }: what is not stored yet
  #timer = 0;

  // One visible row up (-1) or down (1).
  step(row, by) {
    const fellows = rows(row.parentElement).filter(visible);
    const other = fellows[fellows.indexOf(row) + by];
    if (!other) return this.#announce(row);
    this.put(row, by < 0 ? other : other.nextElementSibling);
    linkOf(row).focus();
    row.scrollIntoView({ block: "nearest" });
    this.#announce(row);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.store(), PAUSE_MS);
  }

  // Before `next`, or at the end of the list.
  put(row, next) {
    if (this.#moved?.row !== row) {
      this.store();
      this.#moved = { row, seen: rows(row.parentElement).map(({ id }) => id.slice("item-".length)) };
    }
    row.parentElement.insertBefore(row, next);
    row.dispatchEvent(new Event("changed", { bubbles: true })); // a list that is being fetched is out of date
  }

  takeBack() {
    const { row, seen } = this.#moved ?? {};
    this.#moved = null;
    for (const pk of seen ?? []) row.parentElement.append(document.getElementById(`item-${pk}`));
  }

  store() {
    clearTimeout(this.#timer);
    if (!this.#moved) return;
    const { row, seen } = this.#moved;
    this.#moved = null;
    const place = rows(row.parentElement).indexOf(row);
    if (seen.indexOf(row.id.slice("item-".length)) === place) return;
    htmx.ajax("POST", row.dataset.move, {
      target: row,
      swap: "outerHTML",
      values: { place, seen: seen.join() },
    });
  }

  #announce(row) {
    const fellows = rows(row.parentElement);
    const [place, item] = [fellows.indexOf(row) + 1, linkOf(row).textContent.trim()];
    document.getElementById("moved").textContent = text("place", { place, n: fellows.length, item });
  }
}

const order = new Order();
addEventListener("pagehide", () => order.store());

// The row that had the focus last; where it has left the list, the one that took its place. The focus goes there when
// what has it goes away: a row, a panel, the bar of what is selected, an Undo.
const FOCUSED = "#items, #item-panel, #chosen, .toast";

class Place {
  #id = "";
  #at = 0;
  #isHere = false; // the focus

  constructor() {
    document.addEventListener("focusin", ({ target }) => this.#note(target));
    document.addEventListener(
      "pointerdown",
      ({ target }) => (this.#isHere &&= target.closest(FOCUSED) !== null),
    );
    for (const event of ["htmx:afterRequest", "htmx:afterSwap", "htmx:afterSettle"]) {
      document.addEventListener(event, () => this.#find());
    }
  }

  #note(target) {
    this.#isHere = target.closest(FOCUSED) !== null;
    const row = target.closest(".item-row");
    if (row) [this.#id, this.#at] = [row.id, rows().filter(visible).indexOf(row)];
  }

  #find() {
    const { activeElement } = document;
    const isLost = activeElement === document.body || activeElement.id === "items";
    if (this.#isHere && isLost) this.goBack();
  }

  get id() {
    return this.#id;
  }

  goBack() {
    const [last, shown] = [document.getElementById(this.#id), rows().filter(visible)];
    linkOf(last?.checkVisibility() ? last : shown[this.#at] ?? shown.at(-1))?.focus();
  }
}

const place = new Place();

class Finder {
  #field = document.querySelector("[data-finds]");
  #shown = "";
  #timer = 0;

  constructor() {
    this.#field?.addEventListener("input", () => this.#find());
    document.addEventListener("leave-field", (event) => this.#leave(event));
    this.#field?.addEventListener(
      "pressed",
      (event) => event.detail.key === "ArrowDown" && this.#enterList(event),
    );
    document.addEventListener("click", ({ target }) => {
      const chip = target.closest("[data-shows]");
      if (!chip) return;
      this.#shown = chip.dataset.shows;
      this.#find();
    });
  }

  #find() {
    this.apply();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const count = this.#active().filter(({ hidden }) => !hidden).length;
      document.getElementById("moved").textContent = text(count === 1 ? "one shown" : "shown", { n: count });
    }, PAUSE_MS);
  }

  // By Escape: what finds is empty then, a new item keeps its text.
  #leave(event) {
    if (!event.target.closest(".item-finder, #new-item")) return;
    if (event.target === this.#field) this.#field.value = "";
    this.#find();
    this.#enterList(event);
  }

  #enterList(event) {
    event.preventDefault();
    place.goBack();
  }

  apply() {
    const words = (this.#field?.value ?? "").toLowerCase().split(/\s+/);
    for (const row of rows()) {
      const wording = row.querySelector(".item-words").textContent.toLowerCase();
      row.hidden = !this.#has(row, this.#shown) || !words.every((word) => wording.includes(word));
    }
    for (const section of document.querySelectorAll("#items > section")) {
      section.hidden = rows(section).length > 0 && rows(section).every(({ hidden }) => hidden);
    }
    const none = document.getElementById("none-found");
    if (none) none.hidden = rows().some(({ hidden }) => !hidden);
    for (const chip of document.querySelectorAll("[data-shows]")) {
      chip.ariaPressed = String(chip.dataset.shows === this.#shown);
      const count = this.#active().filter((row) => this.#has(row, chip.dataset.shows)).length;
      chip.querySelector("strong").textContent = count;
      chip.hidden = !count && chip.dataset.shows && chip.dataset.shows !== this.#shown;
    }
  }

  #active() {
    return rows().filter((row) => row.dataset.flag !== "retired");
  }

  #has(row, tag) {
    return !tag || row.dataset.tags.split(" ").includes(tag);
  }
}

htmx.config.refreshOnHistoryMiss = true; // Back from an item's address is the page without it

// The grid begins with the item that had the focus here.
document.addEventListener("click", ({ target }) => {
  const view = target.closest(".switch a");
  if (view && place.id) view.hash = `i${place.id.slice("item-".length)}`;
});

const finder = new Finder();
finder.apply();

// What is ticked stays so when the list is fetched again, unless the item was changed meanwhile.
class Choice {
  #values = new Set();

  constructor() {
    document.addEventListener("change", ({ target }) => target.matches(".item-tick") && this.#read());
    document.addEventListener("reset", () => setTimeout(() => this.#read()));
    document.addEventListener("click", ({ target }) => {
      if (!target.closest("[data-chooses-shown]")) return;
      for (const row of rows().filter(visible)) this.#tick(row, true);
      this.#read();
    });
  }

  toggle(row) {
    row.querySelector(".item-tick")?.click();
  }

  restore() {
    for (const row of rows()) this.#tick(row, this.#values.has(row.querySelector(".item-tick")?.value));
    this.#read();
  }

  #tick(row, isChosen) {
    const tick = row.querySelector(".item-tick");
    if (tick) tick.checked = isChosen;
  }

  #read() {
    const had = this.#values.size;
    this.#values = new Set([...document.querySelectorAll(".item-tick:checked")].map(({ value }) => value));
    const count = document.getElementById("n-chosen");
    const words = text("chosen", { n: this.#values.size });
    if (count && count.textContent !== words) count.textContent = words; // what is set again is announced again
    const isBarLeft = had && !this.#values.size &&
      document.getElementById("chosen")?.contains(document.activeElement);
    if (isBarLeft) place.goBack();
  }
}

const choice = new Choice();

// The menu of an item stays open when the list is fetched again. What is open is read when the list is about to go: a
// "toggle" comes later than the click, and not at all for a menu that has left the page.
class Menu {
  #id = ""; // of the open one's summary

  constructor() {
    document.addEventListener("htmx:beforeSwap", () => {
      this.#id = document.querySelector(".item-menu[open] > summary")?.id ?? "";
    });
  }

  restore() {
    const summary = document.getElementById(this.#id);
    if (summary) summary.parentElement.open = true;
  }
}

const menu = new Menu();

// The answer to a link of a panel that has given way to another one is for a row, and htmx would look for that row
// beside the link. The row is fetched with the list.
function forgo(event) {
  const { elt, xhr } = event.detail;
  if (!elt.isConnected && xhr.getResponseHeader("HX-Retarget")) event.preventDefault();
}

document.addEventListener(
  "htmx:beforeRequest",
  ({ detail }) => detail.elt.addEventListener("htmx:beforeOnLoad", forgo),
);

const isWritten = () =>
  [...panel().querySelectorAll("textarea, input:not([type=hidden])")].some(({ value, defaultValue }) =>
    value !== defaultValue
  );
const mayLeave = () => !isWritten() || confirm(text("leave"));

function markCurrent() {
  for (const row of rows()) {
    if (row.id === `item-${panel().dataset.item}`) row.ariaCurrent = "true";
    else row.removeAttribute("aria-current");
  }
}

document.addEventListener("htmx:afterSettle", () => {
  finder.apply();
  choice.restore();
  menu.restore();
  markCurrent();
});
document.addEventListener("htmx:confirm", (event) => {
  const { verb, elt, target } = event.detail;
  if (verb !== "get" || target !== panel() || elt.matches("[data-closes-panel]")) return;
  if (!mayLeave()) event.preventDefault();
});

// A panel of several items has no row to go back to.
document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-closes-panel]:not([hx-get])")) return;
  event.preventDefault();
  panel().replaceChildren();
  Object.assign(panel(), { className: "", hidden: true });
  linkOf(rows().find(visible))?.focus();
});

document.addEventListener("key-action", ({ detail }) => {
  if (detail === "selected") document.querySelector("#chosen button").focus();
});

document.addEventListener("pressed", (event) => {
  const { target, detail: { key, isTyping } } = event;
  const row = target.closest?.(".item-row");
  if (key === "Escape" && (row || panel().contains(target)) && !target.closest("details.menu[open]")) {
    const closer = panel().querySelector("[data-closes-panel]");
    if (closer) event.preventDefault();
    if (closer && mayLeave()) closer.click();
  } else if (key === "Escape" && target.closest("#chosen")) {
    place.goBack();
  } else if (row && key === "KeyX" && !isTyping) {
    choice.toggle(row);
  } else if (row && /^(Alt\+)?Arrow(Up|Down)$/.test(key) && !target.closest(".menu-body")) {
    event.preventDefault();
    const by = /Up$/.test(key) ? -1 : 1;
    const shown = rows().filter(visible);
    if (!/^Alt/.test(key)) linkOf(shown[shown.indexOf(row) + by])?.focus();
    else if (row.dataset.move) order.step(row, by);
  }
});

class Drag {
  #row = null;

  constructor() {
    document.addEventListener("dragstart", (event) => this.#start(event));
    // A row that has just moved below the pointer is told of by dragenter alone, when the mouse lets go at once.
    document.addEventListener("dragenter", (event) => this.#accepts(event));
    document.addEventListener("dragover", (event) => this.#over(event));
    document.addEventListener("dragend", ({ dataTransfer }) => this.#end(dataTransfer.dropEffect));
  }

  #start({ target, dataTransfer }) {
    this.#row = target.matches?.(".item-grip") ? target.closest(".item-row") : null;
    if (!this.#row) return;
    dataTransfer.effectAllowed = "move";
    dataTransfer.setDragImage(this.#row, 8, 8);
  }

  #accepts(event) {
    const other = event.target.closest?.(".item-row");
    if (!this.#row || other?.parentElement !== this.#row.parentElement) return null;
    event.preventDefault();
    return other;
  }

  #over(event) {
    const other = this.#accepts(event);
    if (!other || other === this.#row) return;
    const { top, height } = other.getBoundingClientRect();
    order.put(this.#row, event.clientY < top + height / 2 ? other : other.nextElementSibling);
  }

  #end(effect) {
    if (!this.#row) return;
    this.#row = null;
    if (effect === "none") order.takeBack();
    else order.store();
  }
}

new Drag();
