// What every page needs: a live stream that rests in hidden tabs, keys, focus after swaps, toasts, dialogs, copying.
import "./announced.js";
import "./drafts.js";
import "./filters.js";
import "./focus.js";
import "./keys.js";
import "./live.js";
import "./refresh.js";
import { fail, person } from "./session.js";
import { text } from "./texts.js";
import "./toasts.js";

for (const tab of document.querySelectorAll("nav:not(.help-contents) [aria-current]")) {
  tab.scrollIntoView({ block: "nearest", inline: "center" }); // narrow screens
}

// A request of somebody's that failed is told: in the first sentence of the answer, if the server gave one.
function tell({ detail: { xhr, requestConfig: { verb, triggeringEvent } } }) {
  const answer = new DOMParser().parseFromString(xhr.responseText, "text/html");
  const why = answer.querySelector("main .empty p");
  if (why ? !triggeringEvent?.isTrusted : xhr.status || verb === "get") return;
  fail(why?.textContent);
}
// What waits in the outbox is sent by pages that have one; others lead there.
function leadToOutbox() {
  const [entry, ...others] = JSON.parse(localStorage.getItem("rubricweb-outbox") ?? "[]")
    .filter((one) => one.person === person);
  if (!entry || document.getElementById("outbox")) return;
  const link = document.createElement("a");
  Object.assign(link, { href: entry.page, textContent: text("send them") });
  fail(text("waits", { n: others.length + 1 })).append(" ", link);
}
setTimeout(leadToOutbox); // what is broken there breaks nothing here

for (const name of ["sendError", "responseError"]) document.addEventListener(`htmx:${name}`, tell);

// A form that htmx does not send asks with data-confirm. A second click would hide the answer to the first.
document.addEventListener("submit", (event) => {
  const { confirm: words, sent = 0 } = event.target.dataset;
  if (Date.now() - sent < 2_000 || (words && !confirm(words))) event.preventDefault();
  else if (event.target.elements.once) event.target.dataset.sent = Date.now();
});

// A part with data-script, and data-styles if it has its own, is fetched when it is first wanted.
const loaded = new Map();
const styled = (href) =>
  new Promise((onload) => {
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload }));
  });
async function load({ id, dataset: { script, styles } }) {
  if (!loaded.has(id)) loaded.set(id, Promise.all([import(script), styles && styled(styles)]));
  return (await loaded.get(id))[0];
}
const tour = document.getElementById("tour");
const begun = tour && localStorage.getItem("rubricweb-tour");
if (tour && (begun ? begun !== "ended" : location.pathname === tour.dataset.begins)) load(tour);
document.addEventListener("pressed", (event) => {
  if (event.detail.key !== "Mod+KeyK") return;
  event.preventDefault();
  document.querySelector('[data-opens="palette"]')?.click();
});
document.addEventListener("click", (event) => {
  const opened = document.getElementById(event.target.closest("[data-opens]")?.dataset.opens);
  if (opened) event.preventDefault(); // without JavaScript it may be a link
  if (!opened?.dataset.styles) opened?.showModal?.(); // what has styles waits for them
  if (opened?.dataset.script) load(opened).then(({ begin }) => begin());

  event.target.closest("[data-closes]")?.closest("dialog")?.close();

  const copier = event.target.closest("[data-copies]");
  if (copier) copy(copier, document.getElementById(copier.dataset.copies));
});

// Where there is no clipboard, as without HTTPS, the text is selected, so that a person can copy it.
async function copy(copier, copied) {
  const writes = navigator.clipboard?.writeText(copied.textContent.trim()) ?? Promise.reject();
  const done = await writes.then(() => text("copied"), () => getSelection().selectAllChildren(copied));
  document.getElementById("announced").textContent = copier.textContent = done ?? text("not copied");
}

// A menu closes on Escape, and when the pointer or the focus goes elsewhere; arrows go through what it offers.
for (const kind of ["click", "focusin"]) {
  document.addEventListener(kind, ({ target }) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = menu.contains(target);
  });
}
document.addEventListener("pressed", (event) => {
  const { key } = event.detail;
  const menu = event.target.closest?.("details.menu[open]");
  if (!menu) return;
  if (key === "Escape") return (menu.open = false), menu.querySelector("summary").focus();
  const step = { ArrowDown: 1, ArrowUp: -1 }[key];
  if (!step || !event.target.matches("summary, a, button")) return;
  event.preventDefault();
  const offered = [...menu.querySelectorAll("summary, a[href], button")];
  offered[offered.indexOf(event.target) + step]?.focus();
});
