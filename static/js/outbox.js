// Ratings leave through an outbox: kept in localStorage until the server has them, sent in turn, and sent again
// after a lost connection or a reload. Each has a uid, so that what is sent twice is saved once.
// form[data-outbox]: "advance" shows the next card at once, "reveal" and "undo" show what the server answers.
const KEY = "rubricweb-outbox";
const byId = (id) => document.getElementById(id);
const chip = byId("outbox");
const read = () => JSON.parse(localStorage.getItem(KEY) ?? "[]");
const unsent = () => read().filter((entry) => entry.person === chip.dataset.person);
const card = () => byId("queue-card").firstElementChild;
const say = (words) => (byId("queue-said").textContent = words);
let [sending, isOffline, isLeaving, savedAt] = [null, false, false, ""];

function write(entries) {
  localStorage.setItem(KEY, JSON.stringify(entries));
  show();
}

function show() {
  const count = unsent().length;
  const isWaiting = isOffline || (count > 0 && !sending);
  const words = [isOffline && "Offline", isWaiting && count && `${count} unsent`].filter(Boolean).join(", ");
  chip.textContent = words || (count ? "Saving…" : savedAt && `Saved ${savedAt}`);
  chip.dataset.tone = isWaiting ? "warn" : "good";
  chip.hidden = !chip.textContent;
}

function put(next, before = "") {
  byId("queue-card").replaceChildren(next);
  htmx.process(next);
  next.focus();
  scrollTo({ top: 0 });
  say(before + next.dataset.said);
}

function advance(before) {
  history.replaceState(null, "", byId("queue").dataset.address); // it may have been that of one cell, which is behind now
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

async function ask(url, options) {
  try {
    const response = await fetch(url, { ...options, headers: { "HX-Request": "true" }, signal: AbortSignal.timeout(15_000) });
    isOffline = false;
    return response;
  } catch {
    isOffline = true;
    say(`No connection. ${unsent().length} unsent, kept on this device.`);
  }
}

function leave(url) {
  isLeaving = true;
  location.assign(url);
}

// One at a time, oldest first. What the server refuses is kept, and tried again when the page is loaded again.
async function drain() {
  for (let entry; (entry = unsent().find((one) => !one.isRefused)); ) {
    const body = new URLSearchParams(entry.body);
    body.set("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
    const response = await ask(entry.url, { method: "POST", body });
    if (!response || response.status >= 500) return;
    if (response.headers.has("HX-Redirect")) return leave(response.headers.get("HX-Redirect")); // signed out
    const isConflict = response.status === 409; // rated in another window: the cell's page shows both
    const others = read().filter((one) => one.uid !== entry.uid);
    if (response.ok) savedAt = new Date().toLocaleTimeString("en-GB");
    write(response.ok || isConflict ? others : [...others, { ...entry, isRefused: true }]);
    if (isConflict) return leave(`${entry.url}?mine=${body.get("rating")}`);
    const isWhole = entry.kind === "undo" || (entry.kind === "reveal" && card().dataset.cell === entry.cell);
    if (response.ok) take(await response.text(), isWhole);
  }
}

const flush = () => (sending ??= drain().finally(() => ((sending = null), show())));

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-outbox]");
  if (!form) return;
  event.preventDefault();
  const body = new FormData(form, event.submitter);
  const [uid, kind, cell] = [body.get("uid"), form.dataset.outbox, form.dataset.cell ?? ""];
  if (cell && !body.has("rating") && !body.has("reason")) return say("Choose a rating from 0 to 5.");
  if (unsent().some((entry) => entry.uid === uid)) return;
  const entry = { uid, kind, cell, person: chip.dataset.person, url: form.action, body: `${new URLSearchParams(body)}` };
  write([...read(), entry]);
  if (kind === "advance") advance(body.has("rating") ? `Rated ${body.get("rating")}. ` : "Skipped. ");
  await flush();
  if (kind === "reveal" && isOffline && card().dataset.cell === cell) advance("Kept on this device. ");
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

addEventListener("beforeunload", (event) => unsent().length && !isLeaving && event.preventDefault());
addEventListener("online", flush);
addEventListener("offline", () => ((isOffline = true), show()));
setInterval(() => unsent().length && flush(), 5_000);
write(read().map((entry) => ({ ...entry, isRefused: false })));
const isRated = () => unsent().some((entry) => entry.kind === "advance" && entry.cell === card().dataset.cell);
while (isRated()) advance("Kept on this device. "); // the server does not know of it yet
flush();
