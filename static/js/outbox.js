// What people rate leaves through an outbox: kept in localStorage until the server has it, sent in turn, and sent again
// after a lost connection or a reload. Each entry has a uid, so that what is sent twice is saved once.
// #outbox says in words what is unsent; its data-person and data-place (none: the queues) say whose entries a page sends.
// A page calls `start` with what it does when one was answered, when none can be sent, and when others changed the outbox.
const KEY = "rubricweb-outbox";
const chip = document.getElementById("outbox");
const read = () => JSON.parse(localStorage.getItem(KEY) ?? "[]");
const { person, place } = chip?.dataset ?? {};
const isOurs = (entry) => entry.person === person && entry.place === place;
export const unsent = () => read().filter(isOurs);
export const add = (entry) => write([...unsent(), { ...entry, person, place }]);
export const drop = (uid) => write(unsent().filter((entry) => entry.uid !== uid));
export const hasConnection = () => !isOffline;
let [sending, isOffline, isLeaving, savedAt, page] = [null, false, false, "", null];

function write(entries) {
  localStorage.setItem(KEY, JSON.stringify([...read().filter((entry) => !isOurs(entry)), ...entries]));
  show();
}

export function show() {
  const count = unsent().length;
  const isWaiting = isOffline || (count > 0 && !sending);
  const words = [isOffline && "Offline", isWaiting && count && `${count} unsent`].filter(Boolean).join(", ");
  chip.textContent = words || (count ? "Saving…" : savedAt && `Saved ${savedAt}`);
  chip.dataset.tone = isWaiting ? "warn" : "good";
  chip.hidden = !chip.textContent;
}

export async function ask(url, options) {
  const headers = { ...JSON.parse(document.body.getAttribute("hx-headers")), "HX-Request": "true" };
  const response = await fetch(url, { ...options, headers, signal: AbortSignal.timeout(15_000) }).catch(() => null);
  isOffline = !response;
  if (isOffline) page.lost();
  return response;
}

export const leave = (url) => ((isLeaving = true), location.assign(url));

// One at a time, oldest first. What the server refuses is kept, and tried again when the page is loaded again.
async function drain() {
  for (let entry; !isLeaving && (entry = unsent().find((one) => !one.isRefused)); ) {
    const body = new URLSearchParams(entry.body);
    body.delete("csrfmiddlewaretoken"); // of the day when it was rated: the header has today's
    const response = await ask(entry.url, { method: "POST", body });
    if (!response) return;
    if (response.status >= 500 || response.headers.has("HX-Redirect")) return page.lost(response); // or signed out
    if (response.ok) savedAt = new Date().toLocaleTimeString("en-GB");
    drop(entry.uid);
    if (!response.ok) add({ ...entry, isRefused: true });
    await page.answered(entry, response);
  }
}

export const flush = () => ((sending ??= drain().finally(() => ((sending = null), show()))), show(), sending);

export function start(handlers) {
  page = handlers;
  addEventListener("beforeunload", (event) => !isLeaving && unsent().some((one) => !one.isRefused) && event.preventDefault());
  addEventListener("online", flush);
  addEventListener("offline", () => ((isOffline = true), show()));
  addEventListener("storage", ({ key }) => key === KEY && (show(), page.changed?.())); // another window rates
  setInterval(() => unsent().length && flush(), 5_000);
  write(unsent().map((entry) => ({ ...entry, isRefused: false })));
  return flush();
}
