// The tour of the demo: offered on the collection's first page, then on each page that it leads to, above what a step
// describes, so that it covers nothing. Where one is in it, or that one has ended it, the browser remembers.
const KEY = "rubricweb-tour";
const ENDED = "ended";
const tour = document.getElementById("tour");
const steps = [...tour.querySelectorAll("li")];

function show(number) {
  steps.forEach((step, place) => step.hidden = place !== number);
  tour.querySelector("[data-number]").textContent = number + 1;
  document.querySelector(steps[number].dataset.beside)?.before(tour);
  tour.hidden = false;
}

function end() {
  localStorage.setItem(KEY, ENDED);
  tour.hidden = true;
}

tour.addEventListener("click", ({ target }) => {
  if (target.closest("[data-ends]")) end();
  else if (target.closest("[data-step]")) {
    localStorage.setItem(KEY, steps.indexOf(target.closest("li")) + 1);
  }
});
tour.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") end();
});

show(Math.min(Number(localStorage.getItem(KEY)) || 0, steps.length - 1));
