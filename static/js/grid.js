// The grid by keyboard: one stop for Tab, arrows inside; the panel beside it shows the cell that has the
// focus, or the item of its column. Enter goes into the panel, Escape comes back, digits rate. A rating shows at once
// and leaves through the outbox.
import { newUid, outbox } from "./outbox.js";
import { Panel } from "./panel.js";
import { text } from "./texts.js";

const byId = (id) => document.getElementById(id);
const gridOf = (node) => node?.closest?.("#grid");
const cellOf = (node) => (gridOf(node) ? node.closest("td, th") : null);
const cellsOf = (row) => [...row.cells].map((cell) => cell.querySelector("a:not(.flag-mark)") ?? cell);
const stateOf = ({ textContent: t, dataset: d }) => JSON.stringify([t, d.grade, d.marks, d.seen, d.flags]);
const panel = new Panel();
const isCard = () => panel.shown[0] === "h"; // of an item
const state = {
  place: [1, 1], // row and column of the one cell in the tab order; row 0 holds the heads
  step: [1, 0], // how the focus moved last
  rated: [], // ids of the cells rated here, for undo
  isOpening: false, // a form of the panel, for words
  before: null, // of the grid that is about to be replaced, see `remember`
};

function stop(target) {
  for (const other of gridOf(target).querySelectorAll('tr [tabindex="0"]')) other.tabIndex = -1;
  target.tabIndex = 0;
  const cell = target.closest("td, th");
  state.place = [cell.parentElement.rowIndex, cell.cellIndex];
}

// On a telephone the heads are a strip that scrolls, which keys have to reach.
const phone = matchMedia("(width <= 40em)");
phone.onchange = () => (byId("grid").tHead.tabIndex = phone.matches ? 0 : -1);

function enhance() {
  const [grid, before] = [byId("grid"), state.before];
  if (!grid || grid.dataset.ready) return;
  [state.before, grid.dataset.ready] = [null, ""];
  for (const link of grid.querySelectorAll("a")) link.tabIndex = -1;
  stop(at(...state.place));
  panel.mark();
  phone.onchange();
  for (const box of grid.querySelectorAll(".tick input")) {
    [box.tabIndex, box.checked] = [-1, box.checked || before?.ticked.has(box.name + box.value)];
  }
  outbox.mine.forEach(paint);
  if (!before) return;
  const known = [...grid.querySelectorAll("td a")].filter(({ id }) => before.cells.has(id));
  const changed = known.filter((link) => before.cells.get(link.id) !== stateOf(link));
  for (const link of changed) {
    if (JSON.parse(before.cells.get(link.id))[0] !== link.textContent) link.dataset.isNew = "";
  }
  panel.forget(changed.map(({ id }) => id));
  if (before.held === null) return;
  const held = byId(before.held) ?? grid.querySelector('tr [tabindex="0"]');
  held.focus({ preventScroll: true }); // at once, or the next key is lost
}

function remember(grid) {
  const links = [...grid.querySelectorAll("td a")];
  return {
    held: gridOf(document.activeElement) ? document.activeElement.id : null, // "" for a cell without an id
    ticked: new Set([...grid.querySelectorAll(".tick input:checked")].map((box) => box.name + box.value)),
    cells: new Map(links.map((link) => [link.id, stateOf(link)])),
  };
}

function at(row, column) {
  const { rows } = byId("grid");
  const cells = cellsOf(rows[Math.max(0, Math.min(row, rows.length - 1))]);
  return cells[Math.max(0, Math.min(column, cells.length - 1))];
}

function go(row, column) {
  state.step = [Math.sign(row - state.place[0]), Math.sign(column - state.place[1])];
  at(row, column).focus();
}

// The panel may lag behind by the time that a cell takes to load, but never shows another cell than the focused one.
function focused(target) {
  stop(target);
  const [row, column] = state.place;
  const head = at(0, column);
  if (isCard()) return head.matches(".head") && panel.follow(head, []);
  const next = [at(row + state.step[0], column + state.step[1]), at(row + 1, column)];
  if (target.matches("td a:not(.flag-mark)")) panel.follow(target, next);
}

async function enter(link) {
  if (!panel.hasLoaded(link)) await panel.show(link);
  if (!isCard()) byId("cell-title")?.focus({ preventScroll: matchMedia("(width > 40em)").matches });
}

function paint({ place, rating }) {
  const link = place && byId(place);
  if (!gridOf(link)) return;
  link.querySelector("b")?.remove();
  link.insertAdjacentHTML("beforeend", `<b>${rating.replace("-5", "−1") || "…"}</b>`);
  link.setAttribute("data-unsent", "");
}

function rate(link, rating) {
  const { revision } = byId("grid").rows[0].cells[link.closest("td").cellIndex].dataset;
  const before = outbox.unsent.findLast((entry) => entry.place === link.id);
  const seen = before ? before.seen + 1 : Number(link.dataset.seen ?? 0);
  const [uid, place, kind] = [newUid(), link.id, rating ? "rate" : "undo"];
  const url = `${new URL(link.href).pathname}${kind}/${location.search}`;
  const what = text(rating ? "a rating" : "an undo", { rating, cell: link.getAttribute("aria-label") });
  const body = String(new URLSearchParams({ part: "cell", rating, revision, uid, seen }));
  paint({ place, rating });
  outbox.add({ uid, place, stack: place, kind, what, rating, seen, url, body });
}

// The cell and the line above the grid as the server has them now; without an answer, of what is not to be
// sent any more.
function settle({ place, target }, answer) {
  if (target) return; // of the panel
  if (!answer) return htmx.trigger("#grid-live [data-live]", "again");
  const made = document.createElement("template");
  made.innerHTML = answer.html;
  const saving = made.content.querySelector("[data-saving]");
  if (!saving) return; // refused
  byId("grid").dispatchEvent(new CustomEvent("changed", { bubbles: true }));
  panel.forget([place]);
  const [before, now] = [byId(place), made.content.querySelector("a")];
  if (before && now) {
    const hadFocus = before === document.activeElement;
    now.tabIndex = before.tabIndex;
    before.replaceWith(now);
    if (hadFocus) now.focus({ preventScroll: true });
    outbox.unsent.filter((entry) => entry.place === place).forEach(paint);
  }
  for (const time of saving.querySelectorAll("time:empty")) {
    time.textContent = new Date().toTimeString().slice(0, 8);
  }
  byId("saved").replaceChildren(...saving.childNodes);
  if (panel.shown !== place || !now) return;
  panel.mark();
  panel.show(now);
}

function say(link, action) {
  if (!byId("outbox")) return; // who may not rate
  if (action !== "undo" && link) {
    state.rated.push(link.id);
    if (!panel.isOpen) panel.show(link); // what is rated is read
    return rate(link, action.slice("rate-".length));
  }
  const undone = action === "undo" && (byId(state.rated.pop()) ?? (link?.dataset.seen && link));
  if (!undone) return;
  undone.focus();
  rate(undone, "");
}

Object.assign(outbox.screen, { settles: [200, 409, 422], settle });

document.addEventListener("pressed", (event) => {
  const { key } = event.detail;
  const cell = cellOf(event.target);
  if (key === "Escape" && event.target.closest("#panel") && panel.shown) at(...state.place).focus();
  else if (key === "Escape" && cell) panel.close();
  if (!cell) return;
  const [row, column] = [cell.parentElement.rowIndex, cell.cellIndex];
  const moves = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    PageUp: [Math.max(1, row - 10), column],
    PageDown: [row + 10, column],
    Home: [row, 0],
    End: [row, Infinity],
    "Mod+Home": [0, 0],
    "Mod+End": [Infinity, Infinity],
  };
  if (key === "Space") cell.querySelector(".tick input")?.click();
  if (key in moves || key === "Space") event.preventDefault();
  if (key in moves) go(...moves[key]);
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-closes-panel]")) {
    panel.close();
    return at(...state.place).focus();
  }
  if (event.target.closest(".skip-link")) {
    event.preventDefault();
    return at(...state.place).focus();
  }
  const again = event.target.closest("[data-rates]");
  if (again) rate(byId(again.dataset.cell), again.dataset.rates);
  // The next view begins with the cell, or its item, that has the focus here.
  const [view, { id }, head] = [event.target.closest(".switch a"), at(...state.place), at(0, state.place[1])];
  if (view && id[0] === "c") view.href += `&at=${id.slice(1)}#item-${head.id.slice(1)}`;
  const goesTo = event.target.closest("[data-opens-item], [data-goes-to]")?.dataset;
  const link = goesTo
    ? byId(goesTo.opensItem ?? goesTo.goesTo)
    : event.target.closest("#grid :is(td a, .head)");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (goesTo?.goesTo) link.focus();
  enter(link);
});
// The card again, once its item was changed from it.
document.addEventListener("items-changed", () => isCard() && panel.show(byId(panel.shown)));

// A rating, or a flag or comment: on the cell, or on the item or passage whose head has the focus; uncovered
// is the passage.
document.addEventListener("key-action", async (event) => {
  const [target, action] = [event.target, event.detail];
  if (state.isOpening) return; // words that were typed before their field was there
  if (/^(rate|undo)/.test(action)) return say(target.closest("td a"), action);
  const cell = target.closest("td, th");
  if (action === "item") return at(0, cell.cellIndex).matches(".head") && enter(at(0, cell.cellIndex));
  const head = action === "uncovered" ? cell.parentElement.cells[0] : cell;
  const kind = head.id[0] === "i" ? "item" : "passage";
  const ofHead = `${gridOf(cell).dataset.flagsAt}?panel=1&${kind}=${head.id.slice(1)}`;
  const address = head.id ? ofHead : target.href;
  if (!address) return; // the corner
  if (!panel.hasLoaded(target, address)) {
    state.isOpening = true;
    await panel.show(target, address).finally(() => (state.isOpening = false));
  }
  const form = document.querySelector("#panel .new-flag");
  form?.querySelector(`[value="${action}"]`)?.click();
  form?.elements.text.focus();
  form?.scrollIntoView({ block: "nearest" });
});

document.addEventListener("focusin", ({ target }) => cellOf(target) && focused(target));
// From a dialog the focus goes back by itself, but not to a cell that was replaced: then nothing visible has it.
addEventListener("close", () => document.activeElement.offsetParent ?? at(...state.place).focus(), true);
document.addEventListener("leave-field", (event) => {
  if (!event.target.closest("#panel") || !panel.shown) return;
  event.preventDefault();
  at(...state.place).focus();
});
document.addEventListener("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
  if (target?.id !== "grid" || !shouldSwap) return;
  state.before = remember(target);
});
document.addEventListener("htmx:afterSwap", enhance);
enhance();
// On arrival the focus is on the work: what the address names, else the first cell. Nothing takes it before the styles
// are there.
const last = `c${new URLSearchParams(location.search).get("at")}`;
const named = [panel.shown, location.hash.slice(1), last].map(byId).find(gridOf);
addEventListener("load", () => {
  if (document.activeElement !== document.body) return;
  const place = named?.closest("td, th");
  at(place?.parentElement.rowIndex || 1, place?.cellIndex ?? 1).focus({ preventScroll: !place });
});
if (location.hash.startsWith("#c") && named) enter(named);
