// The assessor's queue: ratings leave through the outbox while the next card is shown at once.
// form[data-outbox]: "advance" shows the next card at once, "reveal" and "undo" show what the server answers.
import { add, ask, drop, flush, hasConnection, leave, show, start, unsent } from "./outbox.js";

const byId = (id) => document.getElementById(id);
const card = () => byId("queue-card").firstElementChild;
const say = (words) => (byId("queue-said").textContent = words);

function put(next, before = "") {
  byId("queue-card").replaceChildren(next);
  htmx.process(next);
  next.focus();
  scrollTo({ top: 0 });
  say(before + next.dataset.said);
}

function advance(before) {
  put(byId("queue-ahead").content.firstElementChild ?? byId("queue-waiting").content.firstElementChild.cloneNode(true), before);
}

// Of an answer: its head, and those cards that are neither shown nor on their way; `isWhole` shows its card anyway.
function take(html, isWhole) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const [first, second] = [page.getElementById("queue-card"), page.getElementById("queue-ahead").content];
  byId("queue-head").replaceWith(page.getElementById("queue-head"));
  htmx.process(byId("queue-head"));
  if (isWhole) put(first.firstElementChild);
  const known = [card().dataset.cell, ...unsent().map((entry) => entry.cell)].filter(Boolean);
  const fresh = [first, second].map((place) => place.firstElementChild).filter((one) => one && !known.includes(one.dataset.cell));
  if (!card().dataset.cell && fresh.length && !isWhole) put(fresh.shift());
  byId("queue-ahead").content.replaceChildren(...fresh.filter((one) => one.dataset.cell).slice(0, 1));
}

async function answered({ uid, kind, cell, url, body }, response) {
  if (response.status === 409) { // rated in another window: the cell's page shows both
    drop(uid);
    leave(`${url}?mine=${new URLSearchParams(body).get("rating")}`);
  }
  if (response.ok) take(await response.text(), kind === "undo" || (kind === "reveal" && card().dataset.cell === cell));
}

function lost(response) {
  if (!response) return say(`No connection. ${unsent().length} unsent, kept on this device.`);
  if (response.headers.has("HX-Redirect")) leave(response.headers.get("HX-Redirect")); // signed out
}

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-outbox]");
  if (!form) return;
  event.preventDefault();
  const body = new FormData(form, event.submitter);
  const [uid, kind, cell] = [body.get("uid"), form.dataset.outbox, form.dataset.cell ?? ""];
  if (cell && !body.has("rating") && !body.has("reason")) return say("Choose a rating from 0 to 5.");
  if (unsent().some((entry) => entry.uid === uid)) return;
  add({ uid, kind, cell, url: form.action, body: `${new URLSearchParams(body)}` });
  if (kind === "advance") advance(body.has("rating") ? `Rated ${body.get("rating")}. ` : "Skipped. ");
  await flush();
  if (kind === "reveal" && !hasConnection() && card().dataset.cell === cell) advance("Kept on this device. ");
});

document.addEventListener("click", async (event) => {
  if (!event.target.closest("a[data-advances]") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  advance("Kept. ");
  await flush();
  const response = await ask(byId("queue").dataset.address);
  if (response?.ok) take(await response.text());
  show();
});

start({ answered, lost });
