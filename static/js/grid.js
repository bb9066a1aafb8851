// The grid by keyboard: one stop for Tab, arrows inside, Enter opens the panel, Escape comes back to the cell.
const gridOf = (node) => node?.closest?.("#grid");
const cellsOf = (row) => [...row.cells].map((cell) => cell.querySelector("a:not(.flag-mark)") ?? cell);
let place = [1, 1]; // row and column of the one cell in the tab order; row 0 holds the heads
let chosen = ""; // id of the cell whose panel is open
let grades = new Map(); // what the cells said before a live swap

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
  await htmx.ajax("GET", address, { target: "#panel", swap: "innerHTML" });
  document.getElementById("panel").scrollTop = 0;
}

async function open(link) {
  await show(link, link.href);
  document.getElementById("cell-title")?.focus({ preventScroll: matchMedia("(min-width: 1100px)").matches });
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
  if (event.key in moves) {
    event.preventDefault();
    go(...moves[event.key]);
  }
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("#grid td a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open(link);
});

// A flag or a comment: on the cell, or on the item or passage whose head has the focus; uncovered is the passage.
document.addEventListener("key-action", async (event) => {
  const [focused, action] = [event.target, event.detail];
  const cell = focused.closest("td, th");
  const head = action === "uncovered" ? cell.parentElement.cells[0] : cell;
  const ofHead = `${gridOf(cell).dataset.flagsAt}?panel=1&${head.id[0] === "i" ? "item" : "passage"}=${head.id.slice(1)}`;
  const address = head.id ? ofHead : focused.href;
  if (!address) return; // the corner
  await show(focused, address);
  const form = document.querySelector("#panel .new-flag");
  form?.querySelector(`[value="${action}"]`)?.click();
  form?.elements.text.focus();
});

document.addEventListener("focusin", (event) => {
  if (gridOf(event.target) && event.target.closest("td, th")) stop(event.target);
});
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target?.id !== "grid") return;
  grades = new Map([...event.detail.target.querySelectorAll("td a")].map((link) => [link.id, link.textContent]));
});
document.addEventListener("htmx:afterSwap", enhance);
enhance();
