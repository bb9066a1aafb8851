// Ratings leave through an outbox: kept in localStorage until the server has them, sent in turn, and sent again
// after a lost connection or a reload. Each has a uid, so that what is sent twice is saved once.
// form[data-outbox]: "advance" shows the next card at once, "reveal" and "undo" show what the server answers.
const KEY = "rubricweb-outbox";
const chip = document.getElementById("outbox");
const { person } = chip.dataset;
const byId = (id) => document.getElementById(id);
const read = () => JSON.parse(localStorage.getItem(KEY) ?? "[]");
const unsent = () => read().filter((entry) => entry.person === person);
const card = () => byId("queue-card").firstElementChild;
let sending = null;
let isOffline = false;
let isLeaving = false;
let savedAt = "";

function write(entries) {
  localStorage.setItem(KEY, JSON.stringify(entries));
  show();
}

function show() {
  const count = unsent().length;
  const waits = count && (isOffline || !sending);
  chip.textContent = waits ? `${isOffline ? "Offline, " : ""}${count} unsent` : isOffline ? "Offline" : savedAt && `Saved ${savedAt}`;
  chip.dataset.tone = waits || isOffline ? "warn" : "good";
  chip.hidden = !chip.textContent;
}

const say = (words) => (byId("queue-said").textContent = words);

function put(next, before = "") {
  byId("queue-card").replaceChildren(next);
  htmx.process(next);
  next.focus();
  scrollTo({ top: 0 });
  say(`${before}${next.dataset.said}`);
}

function advance(before) {
  put(byId("queue-ahead").content.firstElementChild ?? byId("queue-waiting").content.firstElementChild.cloneNode(true), before);
}

// Take from an answer what the page lacks: the head, and cards that are neither shown nor on their way.
function merge(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const cards = [page.getElementById("queue-card"), page.getElementById("queue-ahead").content];
  const known = [card().dataset.cell, ...unsent().map((entry) => entry.cell)];
  const fresh = cards.map((place) => place.firstElementChild).filter((found) => found && (!found.dataset.cell || !known.includes(found.dataset.cell)));
  byId("queue-head").replaceWith(page.getElementById("queue-head"));
  htmx.process(byId("queue-head"));
  if (!card().dataset.cell && fresh.length) put(fresh.shift());
  byId("queue-ahead").content.replaceChildren(...fresh.filter((found) => found.dataset.cell).slice(0, 1));
}

function replace(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  byId("queue-ahead").content.replaceChildren();
  const shown = page.getElementById("queue-card").firstElementChild;
  put(shown);
  merge(html);
}

async function ask(url, options = {}) {
  const response = await fetch(url, { ...options, headers: { "HX-Request": "true" }, signal: AbortSignal.timeout(15_000) });
  isOffline = false;
  return response;
}

function leave(url) {
  isLeaving = true;
  location.assign(url);
}

// One at a time, oldest first. What the server refuses stays until the page is loaded again.
async function drain() {
  for (let entry; (entry = unsent().find((one) => !one.isRefused)); ) {
    const body = new URLSearchParams(entry.body);
    body.set("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
    let response;
    try {
      response = await ask(entry.url, { method: "POST", body });
    } catch {
      isOffline = true;
      return say(`No connection. ${unsent().length} unsent, kept on this device.`);
    }
    if (response.headers.has("HX-Redirect")) return leave(response.headers.get("HX-Redirect")); // signed out
    if (response.status >= 500) return;
    const others = read().filter((one) => one.uid !== entry.uid);
    if (response.status === 409) {
      write(others);
      return leave(`${entry.url}?mine=${body.get("rating")}`); // rated in another window: the page shows both
    }
    if (!response.ok) write([...others, { ...entry, isRefused: true }]);
    else {
      savedAt = new Date().toLocaleTimeString("en-GB");
      write(others);
      const isShown = entry.kind === "undo" || (entry.kind === "reveal" && card().dataset.cell === entry.cell);
      (isShown ? replace : merge)(await response.text());
    }
  }
}

const flush = () => (sending ??= drain().finally(() => ((sending = null), show())));

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-outbox]");
  if (!form) return;
  const body = new FormData(form, event.submitter);
  const [uid, kind] = [body.get("uid"), form.dataset.outbox];
  event.preventDefault();
  if (unsent().some((entry) => entry.uid === uid)) return;
  const cell = form.dataset.cell ?? "";
  write([...read(), { uid, kind, cell, person, url: form.action, body: new URLSearchParams(body).toString() }]);
  if (kind === "advance") advance(body.has("rating") ? `Rated ${body.get("rating")}. ` : "Skipped. ");
  await flush();
  if (kind === "reveal" && isOffline && card().dataset.cell === cell) advance();
});

document.addEventListener("click", async (event) => {
  if (!event.target.closest("a[data-advances]") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  advance("Kept. ");
  await flush();
  ask(byId("queue").dataset.address).then(async (response) => merge(await response.text()), () => (isOffline = true)).finally(show);
});

addEventListener("beforeunload", (event) => unsent().length && !isLeaving && event.preventDefault());
addEventListener("online", flush);
addEventListener("offline", () => ((isOffline = true), show()));
setInterval(() => unsent().length && flush(), 5_000);
write(read().map((entry) => ({ ...entry, isRefused: false })));
if (unsent().length) flush();
