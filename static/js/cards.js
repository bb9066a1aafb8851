// Cards that are answered one after the other: citations to label, ratings to verify. The next ones are in the page
// already ([data-cards-ahead]), so that one shows at the key while answers are on their way through the outbox. What
// the server says brings cards that the page has not; after an undo or a refusal it brings the card that it was about.
import { outbox } from "./outbox.js";
import { text } from "./texts.js";

const part = (name, page = document) => page.querySelector(`[data-cards-${name}]`);
const current = () => part("shown")?.firstElementChild; // none where a list shows instead
const ahead = () => [...part("ahead").children];
const placeOf = (card) => card?.dataset.cell ?? "";
const isSent = (place) => outbox.mine.some((entry) => entry.place === place);
const address = () => document.querySelector("[data-cards]")?.dataset.cards ?? "";

function show(card, news) {
  part("shown").replaceChildren(card);
  htmx.process(card);
  card.focus();
  if (news) document.getElementById("announced").textContent = news;
}

// To the next card in the page; without one, to the words that it waits.
function advance(news) {
  const next = ahead().find((card) => !isSent(placeOf(card)));
  next?.remove();
  show(next?.content?.firstElementChild ?? part("waiting").content.firstElementChild.cloneNode(true), news);
}

// In a template, so that its ids are those of the card that shows.
function held(card) {
  if (card.content) return card;
  const template = document.createElement("template");
  template.dataset.cell = placeOf(card);
  template.content.append(card);
  return template;
}

function take(html, isBack) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const [first, ...others] = [...part("shown", page).children, ...part("ahead", page).children];
  const outdated = document.querySelectorAll(
    outbox.unsent.length ? "[data-cards-head]" : "[data-cards-head], [data-cards-beside]",
  );
  for (const old of outdated) {
    const now = page.getElementById(old.id);
    if (!now) continue;
    old.replaceWith(now);
    htmx.process(now);
  }
  if (isBack && placeOf(first)) {
    if (placeOf(current())) part("ahead").prepend(held(current()));
    ahead().filter((card) => placeOf(card) === placeOf(first)).forEach((card) => card.remove());
    return show(first, text("taken back"));
  }
  const present = [current(), ...ahead()].map(placeOf);
  for (const card of [first, ...others]) {
    const place = placeOf(card);
    if (place && !present.includes(place) && !isSent(place)) part("ahead").append(held(card));
  }
  if (placeOf(current())) return;
  if (ahead().length) advance(text("next card"));
  else if (!placeOf(first) && !outbox.unsent.length) show(first, first.textContent.trim());
}

async function settle({ kind }, answer) {
  if (!current()) return;
  if (answer?.status === 200) return take(answer.html, kind === "undo");
  if ([409, 422].includes(answer?.status)) return take(answer.html, true);
  if (answer !== null && placeOf(current())) return;
  const anew = await outbox.ask(address());
  if (anew?.status === 200) take(anew.html);
}

outbox.screen = {
  get page() {
    return address();
  },
  settles: [200, 409, 422],
  fill: (entry, form) => void (entry.place = placeOf(form.closest("[data-cell]"))),
  added: ({ place }, form, submitter) => {
    if (!place) return;
    part("head").querySelector("[data-of-last]")?.remove();
    advance(submitter?.dataset.said);
  },
  settle,
};

// Of a page, or of cards that a filter or an undo brought, before the server knows of what waits.
function skipSent() {
  if (current() && isSent(placeOf(current()))) advance(text("kept"));
}
document.addEventListener("htmx:load", ({ target }) => target.id === "check" && skipSent());
skipSent();
