// The grid by keyboard: one stop for Tab, arrows inside, Enter opens the panel, Escape comes back to the cell,
// digits rate. A rating shows at once and is saved in the background, one after another, until it is saved, also after a
// reload: this tab keeps it. Each has a uid, so that what is sent twice is saved once.
const gridOf = (node) => node?.closest?.("#grid");
const cellsOf = (row) => [...row.cells].map((cell) => cell.querySelector("a:not(.flag-mark)") ?? cell);
let place = [1, 1]; // row and column of the one cell in the tab order; row 0 holds the heads
let chosen = ""; // id of the cell whose panel is open
let grades = new Map(); // what the cells said before a live swap
let ticked = new Set(); // which heads were selected before it
let held = null; // id of the cell that had the focus before it, "" for one without
const warning = document.getElementById("unsaved"); // not there for those who may not rate
const KEPT = `unsent-${warning?.dataset.person}`;
const unsent = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]"); // ratings that the server has not taken yet
const rated = []; // ids of the cells rated here, for undo
let sending = null; // while they are on their way

function stop(target) {
  const grid = gridOf(target);
  grid.querySelectorAll('[tabindex="0"]').forEach((other) => (other.tabIndex = -1));
  target.tabIndex = 0;
  const cell = target.closest("td, th");
  place = [cell.parentElement.rowIndex, cell.cellIndex];
}

function enhance() {
  const grid = document.getElementById("grid");
  if (!grid || grid.dataset.ready) return;
  grid.dataset.ready = "";
  grid.querySelectorAll("a").forEach((link) => (link.tabIndex = -1));
  const row = grid.rows[Math.min(place[0], grid.rows.length - 1)];
  stop(cellsOf(row)[Math.min(place[1], row.cells.length - 1)]);
  mark(grid);
  for (const box of grid.querySelectorAll(".tick input")) [box.tabIndex, box.checked] = [-1, box.checked || ticked.has(box.name + box.value)];
  unsent.forEach(paint);
  const focused = document.getElementById(held) ?? grid.querySelector('[tabindex="0"]');
  if (held !== null) focused.focus({ preventScroll: true }); // at once, or the next key is lost
  held = null;
}

// After a live swap: show which cell is open, and which grades are new.
function mark(grid) {
  if (chosen) document.getElementById(chosen)?.setAttribute("aria-current", "true");
  for (const link of grid.querySelectorAll("td a")) {
    const before = grades.get(link.id);
    if (before !== undefined && before !== link.textContent) link.dataset.isNew = "";
  }
}

function go(row, column) {
  const grid = document.getElementById("grid");
  const cells = cellsOf(grid.rows[Math.max(0, Math.min(row, grid.rows.length - 1))]);
  const target = cells[Math.max(0, Math.min(column, cells.length - 1))];
  stop(target);
  target.focus();
}

async function show(focused, address) {
  document.getElementById(chosen)?.removeAttribute("aria-current");
  chosen = focused.id;
  focused.setAttribute("aria-current", "true");
  stop(focused);
  await htmx.ajax("GET", address, { target: "#panel", swap: "innerHTML settle:0ms" });
  document.getElementById("panel").scrollTop = 0;
}

async function open(link) {
  await show(link, link.href);
  document.getElementById("cell-title")?.focus({ preventScroll: matchMedia("(min-width: 1100px)").matches });
}

function paint({ id, rating }) {
  const link = document.getElementById(id);
  link?.querySelector("b")?.remove();
  link?.insertAdjacentHTML("beforeend", `<b>${rating || "…"}</b>`);
  link?.setAttribute("data-unsent", "");
}

function rate(link, rating) {
  const { revision } = document.getElementById("grid").rows[0].cells[link.closest("td").cellIndex].dataset;
  const before = unsent.findLast((entry) => entry.id === link.id);
  const seen = before ? before.seen + 1 : Number(link.dataset.seen ?? 0);
  const uid = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const body = new URLSearchParams({ part: "cell", rating, revision, uid, seen });
  unsent.push({ id: link.id, rating, seen, body: String(body), path: `${new URL(link.href).pathname}${rating ? "rate" : "undo"}/${location.search}` });
  keep();
  paint(unsent.at(-1));
  flush();
}

const keep = () => sessionStorage.setItem(KEPT, JSON.stringify(unsent));
const flush = () => (sending ??= send().finally(() => (sending = null)));

async function send() {
  const headers = { ...JSON.parse(document.body.getAttribute("hx-headers")), "HX-Request": "true" };
  while (unsent.length) {
    const { path, body } = unsent[0];
    const answer = await fetch(path, { method: "POST", headers, body: new URLSearchParams(body) })
      .then(async (found) => ({ status: found.status, isLost: found.headers.has("HX-Redirect"), html: await found.text() }))
      .catch((error) => ({ status: error.message }));
    const isAnswered = [200, 404, 409, 422].includes(answer.status) && !answer.isLost;
    if (isAnswered) settle(unsent.shift().id, answer.status === 404 ? GONE : answer.html);
    keep();
    warning.hidden = isAnswered;
    if (isAnswered) continue;
    warning.querySelector("[data-why]").textContent = answer.isLost ? "you are signed out: sign in in another window" : answer.status;
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

const GONE = "<p data-saving>Not saved: this cell is there no more.</p>";

// The cell and the line above the grid as the server has them now.
function settle(id, html) {
  const made = document.createElement("template");
  made.innerHTML = html;
  document.getElementById("grid").dispatchEvent(new CustomEvent("changed", { bubbles: true }));
  const [before, now] = [document.getElementById(id), made.content.querySelector("a")];
  if (before && now) {
    const hadFocus = before === document.activeElement;
    now.tabIndex = before.tabIndex;
    before.replaceWith(now);
    if (hadFocus) now.focus({ preventScroll: true });
    unsent.filter((entry) => entry.id === id).forEach(paint);
  }
  made.content.querySelectorAll("time:empty").forEach((time) => (time.textContent = new Date().toTimeString().slice(0, 8)));
  document.getElementById("saved").replaceChildren(...made.content.querySelector("[data-saving]").childNodes);
  if (chosen !== id || !now) return;
  now.setAttribute("aria-current", "true");
  htmx.ajax("GET", now.href, { target: "#panel", swap: "innerHTML settle:0ms" });
}

function say(link, action) {
  if (action !== "undo" && link) {
    rated.push(link.id);
    return rate(link, action.slice(-1));
  }
  const undone = action === "undo" && (document.getElementById(rated.pop()) ?? (link?.dataset.seen && link));
  if (!undone) return;
  undone.focus();
  rate(undone, "");
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.closest("#panel") && chosen) document.getElementById(chosen)?.focus();
  const cell = gridOf(event.target) && event.target.closest("td, th");
  if (!cell || event.altKey || event.metaKey) return;
  const [row, column] = [cell.parentElement.rowIndex, cell.cellIndex];
  const page = 10;
  const moves = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    PageUp: [Math.max(1, row - page), column],
    PageDown: [row + page, column],
    Home: event.ctrlKey ? [0, 0] : [row, 0],
    End: event.ctrlKey ? [Infinity, Infinity] : [row, Infinity],
  };
  if (event.key === " ") cell.querySelector(".tick input")?.click();
  if (event.key in moves || event.key === " ") event.preventDefault();
  if (event.key in moves) go(...moves[event.key]);
});

document.addEventListener("click", (event) => {
  const again = event.target.closest("[data-rates]");
  if (again) rate(document.getElementById(again.dataset.cell), again.dataset.rates);
  const link = event.target.closest("#grid td a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open(link);
});

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
document.addEventListener("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
  if (target?.id !== "grid" || !shouldSwap) return;
  held = gridOf(document.activeElement) ? document.activeElement.id : null;
  ticked = new Set([...target.querySelectorAll(".tick input:checked")].map((box) => box.name + box.value));
  grades = new Map([...target.querySelectorAll("td a")].map((link) => [link.id, link.textContent]));
});
document.addEventListener("htmx:afterSwap", enhance);
window.addEventListener("beforeunload", (event) => unsent.length && event.preventDefault());
enhance();
if (warning) flush();
const linked = gridOf(document.getElementById(location.hash.slice(1)));
if (linked) open(document.getElementById(location.hash.slice(1)));
