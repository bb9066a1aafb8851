// Citations labelled one after the other: form[data-outbox] leaves through the outbox, and the next citation, which is
// in the page already, shows at the key. What the server answers brings citations that the page has not; after an undo
// the citation that it was about.
import { newUid, Outbox } from "./outbox.js";
import { SavingState } from "./saving.js";
import { text } from "./texts.js";

const byId = (id) => document.getElementById(id);
const shown = () => byId("support-card").firstElementChild;
const ahead = () => [...byId("support-ahead").children];
const placeOf = (card) => card?.dataset.citation ?? "";
const { address } = byId("support").dataset;

function show(card, words) {
  htmx.process(card);
  byId("support-card").replaceChildren(card);
  card.focus();
  byId("support-said").textContent = words;
}

// To the next citation in the page; without one, to the words that it waits.
function advance(words) {
  const next = ahead().find((card) => !isSent(placeOf(card)));
  show(next ?? byId("support-waiting").content.firstElementChild.cloneNode(true), words);
}

const isSent = (place) => outbox.mine.some((entry) => entry.place === place);

function take(html, isUndo) {
  const page = new DOMParser().parseFromString(html, "text/html");
  byId("support-head").replaceWith(page.getElementById("support-head"));
  htmx.process(byId("support-head"));
  const [first] = page.getElementById("support-card").children;
  if (isUndo && placeOf(first) && placeOf(first) !== placeOf(shown())) {
    if (placeOf(shown())) byId("support-ahead").prepend(shown());
    ahead().filter((card) => placeOf(card) === placeOf(first)).forEach((card) => card.remove());
    return show(first, text("taken back"));
  }
  const known = [shown(), ...ahead()].map(placeOf);
  for (const card of [first, ...page.getElementById("support-ahead").children]) {
    const place = placeOf(card);
    if (place && !known.includes(place) && !isSent(place)) byId("support-ahead").append(card);
  }
  if (placeOf(shown())) return;
  if (ahead().length) advance(text("next citation"));
  else if (!placeOf(first) && !outbox.unsent.length) show(first, first.textContent.trim());
}

async function settle(entry, answer) {
  if (answer?.status === 200) return take(answer.html, entry.kind === "undo");
  if (answer === null || !placeOf(shown())) await refill();
}

async function refill() {
  const answer = await outbox.ask(address);
  if (answer?.redirect) return leaveFor(answer.redirect);
  if (answer?.status === 200) take(answer.html);
}

function leaveFor(url) {
  outbox.isLeaving = true;
  location.assign(url);
}

function changed(found) {
  const news = saving.show(found);
  if (news) byId("support-said").textContent = news;
}

const saving = new SavingState();
const outbox = new Outbox({
  person: byId("outbox").dataset.person,
  page: address,
  settles: [200],
  settle,
  changed,
  signedOut: leaveFor,
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-outbox]")) return;
  event.preventDefault();
  const body = new FormData(form, event.submitter);
  const [uid, place, label] = [
    newUid(),
    placeOf(form.closest("[data-citation]")),
    event.submitter?.dataset.label,
  ];
  body.set("uid", uid);
  outbox.add({
    uid,
    kind: form.dataset.outbox,
    place,
    stack: "",
    what: text(label ? "a label" : "taking back", { label }),
    url: form.action,
    body: String(new URLSearchParams(body)),
  });
  if (place) advance(text("labelled", { label }));
});

addEventListener("load", () => {
  if (document.activeElement === document.body) shown().focus({ preventScroll: true });
});

if (isSent(placeOf(shown()))) advance(text("kept"));
outbox.flush();
