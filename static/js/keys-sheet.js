// The sheet of keys: those actions that the page has, with the letters of this keyboard where the browser tells them.
const sheet = document.getElementById("keys");

export async function begin() {
  for (const row of sheet.querySelectorAll("[data-key-row]")) {
    const name = row.dataset.keyRow;
    row.hidden = !document.querySelector(`[data-key-action~="${name}"], [data-key-handles~="${name}"]`);
  }
  const layout = await navigator.keyboard?.getLayoutMap?.();
  for (const kbd of document.querySelectorAll("kbd[data-key]")) {
    kbd.textContent = layout?.get(kbd.dataset.key)?.toUpperCase() ?? kbd.textContent;
  }
}
