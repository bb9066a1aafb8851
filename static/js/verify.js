// Checking a grader: the next cell is in the page and shows at the key, while the verdict is on its way. What is
// pressed meanwhile is sent in turn. The answer brings the cell after that; where it has another one to show than
// the one that is shown, as after a refusal, all of it is swapped.
const byId = (id) => document.getElementById(id);
const PARTS = ["check-saving", "check-queue", "check-next"];

document.addEventListener("htmx:beforeRequest", ({ target }) => {
  const next = byId("check-next");
  if (!target.matches("form.verdict") || !next) return;
  byId("check-saving").textContent = "Saving…";
  byId("check-cell").replaceWith(next.content.firstElementChild);
  next.remove();
  htmx.process(byId("check-cell"));
  byId("check-cell").focus();
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const shown = byId("check-cell");
  if (detail.target.id !== "check" || !shown) return;
  const answer = new DOMParser().parseFromString(detail.serverResponse, "text/html");
  const words = answer.getElementById("check-words");
  if (words) byId("check-said").textContent = words.content.textContent.trim();
  if (detail.xhr.status !== 200 || answer.getElementById("check-cell")?.dataset.cell !== shown.dataset.cell) {
    return;
  }
  detail.shouldSwap = false;
  for (const id of PARTS) {
    const [before, now] = [byId(id), answer.getElementById(id)];
    if (!now) before?.remove();
    else if (before) before.replaceWith(now);
    else byId("check").append(now);
    if (now) htmx.process(now);
  }
});
