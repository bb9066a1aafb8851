// Figures: Plotly draws what json_script holds, in the colours of the page, and a click on a point opens its page.
const drawn = new WeakMap();

function colours(node) {
  const style = getComputedStyle(node);
  return {
    text: style.color,
    grid: style.borderTopColor,
    mark: style.caretColor,
    paper: style.backgroundColor,
    font: style.fontFamily,
  };
}

function dressed(figure, node) {
  const { text, grid, mark, paper, font } = colours(node);
  for (const trace of figure.data) {
    trace.marker = { color: mark, ...trace.marker };
    if (trace.error_x) trace.error_x = { ...trace.error_x, color: mark };
  }
  const { layout } = figure;
  layout.font = { ...layout.font, color: text, family: font, size: 13 };
  layout.hoverlabel = { bgcolor: paper, bordercolor: mark, font: { color: text, family: font } };
  for (const axis of [layout.xaxis, layout.yaxis]) {
    axis.gridcolor = grid;
    axis.fixedrange = true;
    if (axis.title) axis.title.font = { size: 13 };
  }
  layout.dragmode = false;
  return figure;
}

async function draw(node) {
  const text = document.getElementById(node.dataset.figure)?.textContent;
  if (!text) return;
  const figure = dressed(JSON.parse(text), node);
  if (!drawn.has(node)) node.replaceChildren(); // what kept the figure's height free
  await Plotly.react(node, figure.data, figure.layout, { ...figure.config, displayModeBar: false });
  if (!drawn.has(node)) {
    node.on("plotly_click", ({ points: [point] }) => {
      if (point.customdata) location.assign(point.customdata);
    });
    node.on("plotly_hover", () => node.classList.add("has-point"));
    node.on("plotly_unhover", () => node.classList.remove("has-point"));
  }
  drawn.set(node, text);
}

function drawChanged() {
  for (const node of document.querySelectorAll("[data-figure]")) {
    if (drawn.get(node) !== document.getElementById(node.dataset.figure)?.textContent) draw(node);
  }
}

function drawAll() {
  for (const node of document.querySelectorAll("[data-figure]")) draw(node);
}

// SVG and PNG as Plotly exports them; the name of the file stands on the button.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-draws]");
  const node = button && document.getElementById(button.dataset.draws);
  if (!node) return;
  const { offsetWidth: width, offsetHeight: height } = node;
  Plotly.downloadImage(node, {
    format: button.dataset.format,
    filename: button.dataset.name,
    width,
    height,
    scale: 2,
  });
});

drawChanged();
document.addEventListener("htmx:afterSettle", drawChanged);
for (const medium of ["(prefers-color-scheme: dark)", "print"]) {
  matchMedia(medium).addEventListener("change", drawAll);
}
