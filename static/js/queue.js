// The assessor's queue: form[data-outbox] leaves through the outbox. "advance" shows the next card at once,
// "reveal" and "undo" show what the server answers.
import { leave as leaveField } from "./keys.js";
import { newUid, Outbox } from "./outbox.js";

const byId = (id) => document.getElementById(id);
const card = () => byId("queue-card").firstElementChild;
const say = (words) => (byId("queue-said").textContent = words);
const { address, next: nextCells } = byId("queue").dataset;
const isStart = () => card().matches("[data-starts]");

function put(next, before = "") {
  byId("queue-card").replaceChildren(next);
  htmx.process(next);
  next.focus();
  scrollTo({ top: 0 });
  say(before + next.dataset.said);
}

function advance(before) {
  history.replaceState(null, "", address); // it may have been that of one cell, which is behind now
  put(
    byId("queue-ahead").content.firstElementChild ??
      byId("queue-waiting").content.firstElementChild.cloneNode(true),
    before,
  );
}

// Of an answer: its head, and those cards that are neither shown nor on their way; `isWhole` shows its card anyway.
function take(html, isWhole) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const [first, second] = [page.getElementById("queue-card"), page.getElementById("queue-ahead").content];
  byId("queue-head").replaceWith(page.getElementById("queue-head"));
  htmx.process(byId("queue-head"));
  if (isWhole) put(first.firstElementChild);
  const known = [card().dataset.cell, ...outbox.mine.map((entry) => entry.place)].filter(Boolean);
  const fresh = [first, second].map((from) => from.firstElementChild).filter((one) =>
    one && !known.includes(one.dataset.cell)
  );
  if (!card().dataset.cell && fresh.length && !isWhole) put(fresh.shift());
  byId("queue-ahead").content.replaceChildren(...fresh.filter((one) => one.dataset.cell).slice(0, 1));
}

function goTo(url) {
  outbox.isLeaving = true;
  location.assign(url);
}

async function settle(entry, answer) {
  if (entry.kind === "comment") return;
  if (answer?.status === 409) {
    return goTo(`${entry.url}?mine=${new URLSearchParams(entry.body).get("rating")}`); // it shows both
  }
  const isWhole = entry.kind === "undo" || (entry.kind === "reveal" && card().dataset.cell === entry.place);
  if (answer?.status === 200) return take(answer.html, isWhole);
  if (!card().dataset.cell) await refill();
}

async function refill() {
  const answer = await outbox.ask(nextCells, { method: "POST" });
  if (answer?.redirect) return goTo(answer.redirect);
  if (answer?.status === 200) take(answer.html);
}

function changed(found) {
  const [chip, count] = [byId("outbox"), found.unsent.length];
  const isWaiting = found.waiting || (count > 0 && !found.isSending);
  const why = found.waiting === "offline" ? "Offline" : found.waiting && `Waiting (${found.waiting})`;
  const words = [why, isWaiting && count && `${count} unsent`].filter(Boolean).join(", ");
  chip.textContent = words || (count ? "Saving…" : found.savedAt && `Saved ${found.savedAt}`);
  chip.dataset.tone = isWaiting ? "warn" : "good";
  chip.hidden = !chip.textContent;
  if (found.waiting && count) say(`No connection. ${count} unsent, kept on this device.`);
}

const outbox = new Outbox({
  person: byId("outbox").dataset.person,
  page: address,
  settles: [200, 409],
  settle,
  changed,
  signedOut: goTo,
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.matches("[data-starts]")) return event.preventDefault(), refill();
  if (form.matches("[data-stops]") && typedComment()) return event.preventDefault(), stop(form);
  if (!form.matches("[data-outbox]")) return;
  event.preventDefault();
  if (event.submitter?.value === "comment") return keepComment(form);
  const body = new FormData(form, event.submitter);
  const [uid, kind, place] = [body.get("uid"), form.dataset.outbox, form.dataset.cell ?? ""];
  if (place && !body.has("rating") && !body.has("reason")) return say("Choose a rating from 0 to 5.");
  if (outbox.mine.some((entry) => entry.uid === uid)) return;
  if (body.has("reason") && typedComment()) keepComment(typedComment());
  const what = body.has("rating") ? `${body.get("rating")} for ${form.dataset.what}` : form.dataset.what;
  const sent = outbox.add({
    uid,
    kind,
    place,
    stack: "",
    what,
    url: form.action,
    body: String(new URLSearchParams(body)),
  });
  if (kind === "advance") advance(body.has("rating") ? `Rated ${body.get("rating")}. ` : "Skipped. ");
  await sent;
  if (kind === "reveal" && outbox.waiting && card().dataset.cell === place) advance("Kept on this device. ");
});

// The form of the card, where its comment is not saved yet.
function typedComment() {
  const field = card().querySelector("textarea[name=comment]");
  return field && field.value !== field.defaultValue ? field.form : null;
}

async function keepComment(form) {
  const [field, said] = [form.elements.comment, form.querySelector("[data-comment-said]")];
  const { cell, what } = form.dataset;
  const url = form.querySelector("button[value=comment]").formAction;
  leaveField(field);
  said.textContent = "Saving the comment…";
  field.defaultValue = field.value;
  const body = String(new URLSearchParams({ comment: field.value }));
  const sent = {
    uid: newUid(),
    kind: "comment",
    place: "",
    stack: cell,
    what: `comment on ${what}`,
    url,
    body,
  };
  await outbox.add(sent);
  const isSaved = outbox.mine.every(({ uid }) => uid !== sent.uid);
  said.textContent = isSaved ? "Comment saved." : "The comment is kept on this device.";
  return isSaved;
}

async function stop(form) {
  if (await keepComment(typedComment())) form.submit();
}

document.addEventListener("click", async (event) => {
  if (!event.target.closest("a[data-advances]") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  advance("Kept. ");
  await outbox.flush();
  if (isStart()) refill();
  await refill();
});

const isRated = () =>
  outbox.unsent.some((entry) => entry.kind === "advance" && entry.place === card().dataset.cell);
while (isRated()) advance("Kept on this device. "); // the server does not know of it yet
outbox.flush();
if (isStart()) refill();
