// Plots: one stop of the Tab key each, arrows move between marks; a PNG is made from the plot's own SVG file.
function linksOf(plot) {
  return [...plot.querySelectorAll("a")];
}

function oneStop() {
  for (const plot of document.querySelectorAll("svg[data-plot]")) {
    for (const [place, link] of linksOf(plot).entries()) link.tabIndex = place ? -1 : 0;
  }
}

document.addEventListener("pressed", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.detail.key];
  const plot = step && event.target.closest("svg[data-plot]");
  const links = plot ? linksOf(plot) : [];
  const next = links[links.indexOf(event.target.closest("a")) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
});

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-png]");
  if (!link) return;
  event.preventDefault();
  const image = new Image();
  image.src = link.href;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [3 * image.width, 3 * image.height];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const saved = document.createElement("a");
  [saved.href, saved.download] = [canvas.toDataURL("image/png"), link.dataset.png];
  saved.click();
});

oneStop();
document.addEventListener("htmx:afterSettle", oneStop);
