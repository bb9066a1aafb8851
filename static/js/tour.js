// The tour of the demo: offered on the collection's first page, then on each page that it leads to, above what a step
// describes, so that it covers nothing. Where one is in it, or that one has ended it, the browser remembers.
const KEY = "rubricweb-tour";
const ENDED = "ended";
const GOES_ON = "rubricweb-tour-goes-on"; // with the page that loads next
const tour = document.getElementById("tour");
const steps = [...tour.querySelectorAll("li")];

function show(number) {
  steps.forEach((step, place) => step.hidden = place !== number);
  tour.querySelector("[data-number]").textContent = number + 1;
  document.querySelector(steps[number].dataset.beside)?.before(tour);
  tour.hidden = false;
  if (!sessionStorage.getItem(GOES_ON)) return;
  sessionStorage.removeItem(GOES_ON);
  const focus = () => steps[number].querySelector("h2").focus({ preventScroll: true });
  if (document.readyState === "complete") focus(); // one has just pressed Next
  else addEventListener("load", focus, { once: true }); // until the styles are there, nothing takes the focus
}

function end() {
  localStorage.setItem(KEY, ENDED);
  if (tour.contains(document.activeElement)) document.getElementById("main").focus({ preventScroll: true });
  tour.hidden = true;
}

tour.addEventListener("click", ({ target }) => {
  if (target.closest("[data-ends]")) end();
  else if (target.closest("[data-step]")) {
    localStorage.setItem(KEY, steps.indexOf(target.closest("li")) + 1);
    sessionStorage.setItem(GOES_ON, "1");
  }
});
tour.addEventListener("pressed", ({ detail }) => {
  if (detail.key === "Escape") end();
});

show(Math.min(Number(localStorage.getItem(KEY)) || 0, steps.length - 1));
