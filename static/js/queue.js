// The assessor's queue: form[data-outbox] leaves through the outbox, and the next item has the focus at once; after
// the last item of a passage comes the next passage, which is in the page already. What the server answers about the
// item comes into its line. A li[data-cell] is an item; with [data-rated] it is done, [aria-current] is the keys'.
import { restoreDrafts, typed } from "./drafts.js";
import { leave as leaveField } from "./keys.js";
import { newUid, outbox } from "./outbox.js";
import { text } from "./texts.js";

const byId = (id) => document.getElementById(id);
const card = () => byId("queue-card").firstElementChild;
const ahead = () => byId("queue-ahead").children;
const itemsOf = (from) => [...from.querySelectorAll("li[data-cell]")];
const current = () => card().querySelector("li[aria-current]");
const isWaiting = (item) => !("rated" in item.dataset);
const itemOf = (cell) => byId("queue").querySelector(`li[data-cell="${CSS.escape(cell)}"]`);
const say = (words) => (byId("queue-said").textContent = words);
const joined = (...sentences) => sentences.filter(Boolean).join(" ");
const { address, next: nextCells } = byId("queue").dataset;
const flagged = new Set(byId("own-flags").dataset.flagged.split(" "));
const isStart = () => card().matches("[data-starts]");

function count() {
  const all = itemsOf(card());
  const rated = all.filter((item) => !isWaiting(item)).length;
  if (!all.length) return;
  card().querySelector("[data-count]").textContent = text("rated of", { rated, n: all.length });
}

// The answer that the grader found for an item, in the text of the passage: "12-40 52-80".
function mark(item) {
  const passage = card().querySelector("[data-text]");
  const whole = passage.textContent;
  const spans = (item.dataset.marks ?? "").split(" ").filter(Boolean).map((span) =>
    span.split("-").map(Number)
  );
  const parts = [];
  let at = 0;
  for (const [start, end] of spans) {
    const found = document.createElement("mark");
    found.textContent = whole.slice(start, end);
    parts.push(whole.slice(at, start), found);
    at = end;
  }
  passage.replaceChildren(...parts, whole.slice(at));
}

function choose(item) {
  if (item === current()) return;
  current()?.removeAttribute("aria-current");
  item.setAttribute("aria-current", "true");
  mark(item);
}

function goTo(item, before = "") {
  choose(item);
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
  const [place, n] = [itemsOf(card()).indexOf(item) + 1, itemsOf(card()).length];
  say(joined(before, item.dataset.said, text("item", { place, n })));
}

function put(next, before = "") {
  for (const form of typedComments(card())) keepComment(form);
  byId("queue-card").replaceChildren(next);
  scrollTo({ top: 0 });
  if (!next.dataset.passage) return next.focus(), say(joined(before, next.dataset.said));
  count();
  goTo(itemsOf(next).find(isWaiting) ?? current(), before);
}

// To the next item that waits: after this one, before it, or of the next passage.
function advance(before, from = current()) {
  if (location.pathname !== address) history.replaceState(null, "", address); // it was that of a cell, now behind
  const items = itemsOf(card());
  const at = items.indexOf(from);
  const next = [...items.slice(at + 1), ...items.slice(0, at + 1)].find(isWaiting);
  if (next) return count(), goTo(next, before);
  const passage = [...ahead()].find((one) => itemsOf(one).some(isWaiting));
  put(passage ?? byId("queue-waiting").content.firstElementChild.cloneNode(true), before);
}

function finish(item, words) {
  item.dataset.rated = "";
  item.querySelector("[data-own]").textContent = words;
}

// What is on its way is done, also on a page that was loaded anew.
function finishUnsent() {
  for (const { kind, place } of outbox.unsent) {
    const item = place && itemOf(place);
    if (item && kind !== "comment") finish(item, "kept");
  }
}

// Of an answer: its head, the item that was rated, and the passages and items that the page has not; `isWhole` shows
// it as it is.
function take(html, isWhole) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const shown = page.getElementById("queue-card").firstElementChild;
  const rated = page.getElementById("queue-answered");
  byId("queue-head").replaceWith(page.getElementById("queue-head"));
  htmx.process(byId("queue-head"));
  if (rated) update(rated.firstElementChild);
  if (isWhole) {
    byId("queue-ahead").replaceChildren();
    show(shown);
  } else if (shown?.dataset.passage) add(shown);
  [...page.getElementById("queue-ahead").children].forEach(add);
  restoreDrafts();
  showFlagged();
  if (!card().dataset.passage) goOn(shown);
  count();
}

// From a page without a passage to one, or to what the server says of the end.
function goOn(shown) {
  if ([...ahead()].some((one) => itemsOf(one).some(isWaiting))) advance("");
  else if (shown && !shown.dataset.passage && !outbox.unsent.some(({ place }) => place)) put(shown);
}

function show(whole) {
  const asked = whole.querySelector("li[aria-current]");
  htmx.process(whole);
  put(whole, text("taken back"));
  finishUnsent();
  if (asked && asked !== current()) goTo(asked, text("taken back"));
}

function add(passage) {
  const known = outbox.mine.map(({ place }) => place);
  const fresh = itemsOf(passage).filter((item) =>
    isWaiting(item) && !itemOf(item.dataset.cell) && !known.includes(item.dataset.cell)
  );
  if (!fresh.length) return;
  const there = [card(), ...ahead()].find((one) => one.dataset.passage === passage.dataset.passage);
  const list = (there ?? passage).querySelector("ol");
  const has = (kind) => there?.querySelector(`[data-kind="${kind}"]`);
  const isNew = (line) => line.dataset.kind ? !has(line.dataset.kind) : fresh.includes(line);
  const lines = [...passage.querySelector("ol").children].filter(isNew);
  if (there) fresh.forEach((item) => item.removeAttribute("aria-current")), list.append(...lines);
  else list.replaceChildren(...lines), byId("queue-ahead").append(passage);
  htmx.process(there ? list : passage);
}

// The line of an item as the server has it: with the grader's rating, which was hidden before. Where it is not on the
// screen any more, it stands above the passage.
function update(answered) {
  const item = itemOf(answered.dataset.cell);
  const isNewest = !outbox.unsent.some(({ place }) => place === answered.dataset.cell);
  if (item && isNewest) {
    const focused = item.contains(document.activeElement) && document.activeElement;
    if (item.hasAttribute("aria-current")) answered.setAttribute("aria-current", "true");
    item.replaceWith(answered);
    htmx.process(answered);
    if (answered === current()) mark(answered);
    restoreDrafts();
    if (focused) giveFocus(answered, focused);
  }
  const line = answered.querySelector(".queue-line").cloneNode(true);
  line.querySelector("a").removeAttribute("id");
  byId("queue-last").replaceChildren(...line.childNodes);
  byId("queue-last").toggleAttribute("data-needed", !itemOf(answered.dataset.cell)?.checkVisibility());
}

// To the field that somebody types in, where they type, or to the item.
function giveFocus(item, { id, selectionStart, selectionEnd }) {
  const same = byId(id) ?? item;
  same.focus({ preventScroll: true });
  same.setSelectionRange?.(selectionStart, selectionEnd);
}

// Of an item or a passage that this person has flagged, wherever it stands.
function showFlagged() {
  for (const mark of document.querySelectorAll("[data-flag]")) mark.hidden = !flagged.has(mark.dataset.flag);
}

document.addEventListener("htmx:afterSettle", ({ detail: { elt } }) => {
  if (elt.id !== "own-flags") return; // a flag was undone
  flagged.clear();
  for (const flag of elt.dataset.flagged.split(" ")) flagged.add(flag);
  showFlagged();
});

async function settle(entry, answer) {
  if (entry.kind === "flag" && answer?.status === 200) flagged.add(entry.flags), showFlagged();
  if (["comment", "flag"].includes(entry.kind)) return;
  if (answer?.status === 409) {
    return outbox.leaveFor(`${entry.url}?mine=${new URLSearchParams(entry.body).get("rating")}`); // it shows both
  }
  if (answer?.status === 200) return take(answer.html, entry.kind === "undo");
  if (answer === null) itemOf(entry.place)?.remove(); // discarded: it comes anew
  if (answer === null || !card().dataset.passage) await refill();
}

async function refill() {
  const answer = await outbox.ask(nextCells, {
    method: "POST",
    body: new URLSearchParams({ known: cells() }),
  });
  if (answer?.status === 200) take(answer.html);
}

const cells = () => itemsOf(byId("queue")).map((item) => item.dataset.cell).join(",");

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-starts]")) event.preventDefault(), refill();
  if (form.matches("[data-stops]") && typedComments(card()).length) event.preventDefault(), stop(form);
});

function fill(entry, form, submitter) {
  const { body, kind } = entry;
  if (submitter?.value === "comment") return keepComment(form), false;
  [entry.place, entry.rating, entry.flags] = [
    form.dataset.cell ?? "",
    body.get("rating")?.replace("-5", "−1"),
    form.dataset.flags,
  ];
  if (entry.place && !entry.rating && !body.has("reason")) return say(text("choose")), false;
  if (kind === "skip") typedComments(form.closest("li[data-cell]")).forEach(keepComment);
  if (kind === "flag") entry.stack = kind; // no undo is about it
  if (entry.place) body.set("known", cells());
  if (entry.rating) entry.what = text("a rating of", { rating: entry.rating, item: form.dataset.what });
}

function added({ kind, rating }, form) {
  const item = form.closest("li[data-cell]");
  if (!item || kind === "flag") return;
  for (const form of document.querySelectorAll(".toast form")) form.closest(".toast").remove(); // z undoes this now
  finish(item, text(rating ? "you" : "skip", { rating }));
  if (rating) rateAnew(form);
  advance(text(rating ? "rated" : "skipped", { rating }), item);
}

// Another rating of the item before the answer to this one came counts this one.
function rateAnew(form) {
  form.elements.uid.value = newUid();
  form.elements.seen.value = Number(form.elements.seen.value) + 1;
  form.elements.comment.defaultValue = form.elements.comment.value;
}

// The forms whose comment is not saved yet.
function typedComments(from) {
  const fields = [...from.querySelectorAll("textarea[name=comment]")];
  return fields.filter((field) => field.value !== field.defaultValue).map((field) => field.form);
}

async function keepComment(form) {
  const [field, said] = [form.elements.comment, form.querySelector("[data-comment-said]")];
  const { cell, what } = form.dataset;
  const url = form.querySelector("button[value=comment]").formAction;
  leaveField(field);
  said.textContent = text("saving comment");
  field.defaultValue = field.value;
  const body = String(new URLSearchParams({ comment: field.value }));
  const uid = newUid();
  await outbox.add({
    uid,
    kind: "comment",
    place: "",
    stack: cell,
    what: text("a comment on", { item: what }),
    url,
    draft: form.dataset.draft,
    typed: typed(form),
    body,
  });
  const isSaved = outbox.mine.every((entry) => entry.uid !== uid);
  said.textContent = text(isSaved ? "comment saved" : "comment kept");
  return isSaved;
}

async function stop(form) {
  const saved = await Promise.all(typedComments(card()).map(keepComment));
  if (saved.every(Boolean)) form.requestSubmit();
}

document.addEventListener("click", async (event) => {
  if (event.ctrlKey || event.metaKey) return;
  const shows = event.target.closest("a[data-shows]")?.closest("li[data-cell]");
  if (shows) return event.preventDefault(), goTo(shows);
  if (!event.target.closest("a[data-advances]")) return;
  event.preventDefault();
  advance(text("left as it is"));
  if (card().dataset.passage) return;
  await outbox.flush();
  await refill();
});

document.addEventListener("key-action", (event) => {
  const items = itemsOf(card());
  const to = items[items.indexOf(current()) + (event.detail === "down" ? 1 : -1)];
  if (to) goTo(to);
});

byId("queue-card").addEventListener("focusin", (event) => {
  const item = event.target.matches(":focus-visible") && event.target.closest("li[data-cell]");
  if (item) choose(item); // not on a press of the pointer: what it is about to click would move away
});

// Keys are the current item's wherever else the focus is.
document.addEventListener("pressed", ({ target, detail: { key, isTyping } }) => {
  if (isTyping || !/^(Key|Digit|Shift)/.test(key) || target.closest("[data-key-scope], dialog")) return;
  current()?.focus({ preventScroll: true });
});

// An element takes the focus only once the styles are there.
addEventListener("load", () => {
  if (document.activeElement === document.body) current()?.focus({ preventScroll: true });
});

outbox.screen = { page: address, settles: [200, 409], fill, added, settle };
finishUnsent();
showFlagged();
for (const form of typedComments(byId("queue"))) {
  form.querySelector("[data-comment-said]").textContent = text("comment not saved");
}
if (card().dataset.passage) {
  count();
  const isSent = outbox.unsent.every(({ place }) => place !== current().dataset.cell);
  if (!isWaiting(current()) && !isSent) advance(text("kept"));
}
if (isStart()) refill();
