// The grid by keyboard: one stop for Tab, arrows inside, Enter opens the panel, Escape comes back to the cell,
// digits rate. A rating shows at once and leaves through the outbox; what is refused waits until the person decides.
import { add, drop, flush, start, unsent } from "./outbox.js";

const byId = (id) => document.getElementById(id);
const gridOf = (node) => node?.closest?.("#grid");
const cellsOf = (row) => [...row.cells].map((cell) => cell.querySelector("a:not(.flag-mark)") ?? cell);
let place = [1, 1]; // row and column of the one cell in the tab order; row 0 holds the heads
let chosen = ""; // id of the cell whose panel is open
let grades = new Map(); // what the cells said before a live swap
let ticked = new Set(); // which heads were selected before it
let held = ""; // id of the cell that had the focus before it
const rated = []; // ids of the cells rated here, for undo

function stop(target) {
  gridOf(target).querySelectorAll('[tabindex="0"]').forEach((other) => (other.tabIndex = -1));
  target.tabIndex = 0;
  const cell = target.closest("td, th");
  place = [cell.parentElement.rowIndex, cell.cellIndex];
}

// Or the nearest, at the edges.
function cellAt(row, column) {
  const { rows } = byId("grid");
  const cells = cellsOf(rows[Math.max(0, Math.min(row, rows.length - 1))]);
  return cells[Math.max(0, Math.min(column, cells.length - 1))];
}

function enhance() {
  const grid = byId("grid");
  if (!grid || grid.dataset.ready) return;
  grid.dataset.ready = "";
  grid.querySelectorAll("a").forEach((link) => (link.tabIndex = -1));
  stop(cellAt(...place));
  for (const box of grid.querySelectorAll(".tick input")) [box.tabIndex, box.checked] = [-1, box.checked || ticked.has(box.name + box.value)];
  unsent().forEach(paint);
  mark(grid);
  byId(held)?.focus({ preventScroll: true }); // at once, or the next key is lost
}

// After a live swap: show which cell is open, and which grades are new.
function mark(grid) {
  if (chosen) byId(chosen)?.setAttribute("aria-current", "true");
  const isNew = ({ id, textContent }) => (grades.get(id) ?? textContent) !== textContent;
  for (const link of grid.querySelectorAll("td a")) if (isNew(link)) link.dataset.isNew = "";
}

async function show(focused, address) {
  byId(chosen)?.removeAttribute("aria-current");
  chosen = focused.id;
  focused.setAttribute("aria-current", "true");
  stop(focused);
  await htmx.ajax("GET", address, { target: "#panel", swap: "innerHTML settle:0ms" });
  byId("panel").scrollTop = 0;
}

async function open(link) {
  await show(link, link.href);
  byId("cell-title")?.focus({ preventScroll: matchMedia("(min-width: 1100px)").matches });
}

function paint({ cell, isRefused, body: { rating } }) {
  const link = !isRefused && byId(cell);
  if (!link) return;
  (link.querySelector("b") ?? link.appendChild(document.createElement("b"))).textContent = rating || "…";
  link.ariaLabel = `${link.ariaLabel.replace(/, unsent: .*/, "")}, unsent: ${rating ? `you say ${rating}` : "undo"}`;
  link.dataset.unsent = "";
}

const isSame = (one, other) => one.cell === other.cell && one.body.revision === other.body.revision;

function put({ cell, url, body }, seen) {
  const uid = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const before = unsent().filter((one) => isSame(one, { cell, body }));
  before.filter((one) => one.isRefused).forEach((one) => forget(one.uid));
  const last = before.findLast((one) => !one.isRefused);
  add({ uid, cell, url, body: { ...body, uid, seen: last ? last.body.seen + 1 : Number(seen ?? 0) } });
  if (body.rating) rated.push(cell);
  paint(unsent().at(-1));
  flush();
}

function rate(link, rating) {
  const { revision } = byId("grid").rows[0].cells[link.closest("td").cellIndex].dataset;
  const url = `${new URL(link.href).pathname}${rating ? "rate" : "undo"}/${location.search}`;
  put({ cell: link.id, url, body: { part: "cell", rating, revision } }, link.dataset.seen);
}

function forget(uid) {
  drop(uid);
  document.querySelector(`#refused [data-uid="${uid}"]`)?.remove();
}

// It waits for the person's decision; but what they said later of the same cell takes its place, as if it came first.
function refuse(entry, words) {
  const later = unsent().filter((one) => isSame(one, entry) && one.uid !== entry.uid);
  if (later.length) [entry, ...later].forEach(({ uid }) => drop(uid));
  for (const one of later) add({ ...one, body: { ...one.body, seen: entry.body.seen } });
  words.dataset.uid = entry.uid;
  if (!later.length) byId("refused").append(words);
}

function lost(response) {
  const why = response?.headers.has("HX-Redirect") ? "you are signed out: sign in, then load this page again" : response?.status;
  byId("unsaved").hidden = false;
  byId("why").textContent = why ?? "no connection";
}

// The cell as the server has it now.
async function answered(entry, response) {
  const made = byId("not-taken").cloneNode(true);
  if ([200, 409, 422].includes(response.status)) made.innerHTML = await response.text();
  made.content.querySelector("[data-why]")?.append(response.status);
  byId("unsaved").hidden = true;
  const [before, now] = [byId(entry.cell), made.content.querySelector("a[data-grade]")];
  if (before && now) {
    const hadFocus = before === document.activeElement;
    now.tabIndex = before.tabIndex;
    before.replaceWith(now);
    if (hadFocus) now.focus({ preventScroll: true });
  }
  if (response.ok) byId("saved").textContent = `Saved${now ? `: ${now.ariaLabel}` : "."}`;
  else refuse(entry, made.content.querySelector("[data-refused]"));
  unsent().filter((one) => one.cell === entry.cell).forEach(paint);
  if (chosen !== entry.cell || !now) return;
  now.setAttribute("aria-current", "true");
  htmx.ajax("GET", now.href, { target: "#panel", swap: "innerHTML settle:0ms" });
}

function say(link, action) {
  if (action !== "undo" && link) return rate(link, action.slice(-1));
  const undone = action === "undo" && (byId(rated.pop()) ?? (link?.matches("[data-seen], [data-unsent]") && link));
  if (!undone) return;
  undone.focus();
  rate(undone, "");
}

// What was refused: say it nonetheless, now that the person has seen what stands, or let it go.
function decide({ uid }, { decides, seen }) {
  const entry = unsent().find((one) => one.uid === uid);
  forget(uid);
  if (entry && decides === "nonetheless") put(entry, seen);
  (byId(entry?.cell) ?? byId("grid").querySelector('[tabindex="0"]')).focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.closest("#panel") && chosen) byId(chosen)?.focus();
  const cell = gridOf(event.target) && event.target.closest("td, th");
  if (!cell || event.altKey || event.metaKey) return;
  const [row, column] = [cell.parentElement.rowIndex, cell.cellIndex];
  const moves = {
    ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
    PageUp: [Math.max(1, row - 10), column], PageDown: [row + 10, column],
    Home: event.ctrlKey ? [0, 0] : [row, 0], End: event.ctrlKey ? [Infinity, Infinity] : [row, Infinity],
  };
  if (event.key === " ") cell.querySelector(".tick input")?.click();
  if (event.key in moves || event.key === " ") event.preventDefault();
  if (event.key in moves) cellAt(...moves[event.key]).focus();
});

document.addEventListener("click", (event) => {
  const decision = event.target.closest("[data-decides]");
  if (decision) decide(decision.closest("[data-uid]").dataset, decision.dataset);
  const link = event.target.closest("#grid td a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open(link);
});

// Ratings given in the panel leave like those given in the grid, with the wording that the panel shows.
document.addEventListener("click", (event) => {
  const said = event.target.closest("#panel .ratings button");
  if (!said) return;
  event.stopPropagation();
  event.preventDefault();
  const body = { part: "cell", rating: said.value, revision: said.form.elements.revision.value };
  put({ cell: chosen, url: said.getAttribute("formaction") ?? said.form.action, body }, said.form.elements.seen.value);
}, true);

// A rating, or a flag or comment: on the cell, or on the item or passage whose head has the focus; uncovered is the passage.
document.addEventListener("key-action", async (event) => {
  const [focused, action] = [event.target, event.detail];
  if (/^(rate|undo)/.test(action)) return say(focused.closest("td a"), action);
  const cell = focused.closest("td, th");
  const head = action === "uncovered" ? cell.parentElement.cells[0] : cell;
  const ofHead = `${gridOf(cell).dataset.flagsAt}?panel=1&${head.id[0] === "i" ? "item" : "passage"}=${head.id.slice(1)}`;
  const address = head.id ? ofHead : focused.href;
  if (!address) return; // the corner
  await show(focused, address);
  const form = document.querySelector("#panel .new-flag");
  form?.querySelector(`[value="${action}"]`)?.click();
  form?.elements.text.focus();
  form?.scrollIntoView({ block: "nearest" });
});

document.addEventListener("focusin", (event) => {
  if (gridOf(event.target) && event.target.closest("td, th")) stop(event.target);
});
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target?.id !== "grid") return;
  held = gridOf(document.activeElement) ? document.activeElement.id : "";
  ticked = new Set([...event.detail.target.querySelectorAll(".tick input:checked")].map((box) => box.name + box.value));
  grades = new Map([...event.detail.target.querySelectorAll("td a")].map((link) => [link.id, link.textContent]));
});
document.addEventListener("htmx:afterSwap", enhance);
enhance();
if (byId("outbox")) start({ answered, lost, changed: () => unsent().forEach(paint) });
const linked = gridOf(byId(location.hash.slice(1)));
if (linked) open(byId(location.hash.slice(1)));
