// The sheet of keys: those actions that the page has.
export function begin() {
  for (const row of document.querySelectorAll("#keys [data-key-row]")) {
    const name = row.dataset.keyRow;
    row.hidden = !document.querySelector(`[data-key-action~="${name}"], [data-key-handles~="${name}"]`);
  }
}
