// Checking a grader: the page holds the next cells, so that one shows at the key while verdicts are on their way.
// A verdict's form waits in #check-sent until it is answered; verdicts are sent one after the other. The answer to
// the last one brings the cells after that; where it has another one to show than the one that is shown, as after
// a refusal, all of it is swapped.
import { text } from "./texts.js";
const byId = (id) => document.getElementById(id);
const PARTS = ["check-saving", "check-queue", "check-held"];
const given = new Set(); // cells with a verdict, which an answer to an earlier one still lists

function nextCard() {
  for (const template of [...byId("check-held").children]) {
    template.remove();
    if (!given.has(template.dataset.cell)) return template.content.firstElementChild;
  }
}

// At the key, before the request has its turn; the form is asked once more when it has. A card that waits for the
// next one takes no second verdict.
document.addEventListener("htmx:confirm", ({ target: form, detail }) => {
  if (!form.matches("#check-cell form.verdict:has(button)")) return;
  const card = byId("check-cell");
  given.add(card.dataset.cell);
  const { name, value } = detail.triggeringEvent.submitter;
  form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  form.querySelectorAll("button, details").forEach((each) => each.remove());
  byId("check-saving").textContent = text("saving");
  const next = nextCard();
  if (!next) return card.focus();
  byId("check-sent").append(form);
  card.replaceWith(next);
  htmx.process(next);
  next.focus();
});

function isTheLast(form) {
  if (form.parentElement?.id === "check-sent") form.remove();
  return !byId("check-sent").children.length;
}

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const shown = byId("check-cell");
  if (detail.target.id !== "check" || !shown) return;
  const form = detail.requestConfig.elt;
  if (form.matches(".accept") || !form.closest("#check, #check-sent")) return; // the same cell with another key
  const answer = new DOMParser().parseFromString(detail.serverResponse, "text/html");
  const words = answer.getElementById("check-words");
  if (words) byId("check-said").textContent = words.content.textContent.trim();
  const isLast = isTheLast(form);
  if (detail.xhr.status !== 200) return;
  const isShown = answer.getElementById("check-cell")?.dataset.cell === shown.dataset.cell;
  if (isLast && !isShown) return;
  detail.shouldSwap = false;
  for (const id of isLast ? PARTS : []) {
    const now = answer.getElementById(id);
    if (!now) continue;
    byId(id).replaceWith(now);
    htmx.process(now);
  }
});
