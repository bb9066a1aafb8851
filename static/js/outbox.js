// What people rate, decide, vote, flag and comment leaves through one outbox: form[data-outbox] is kept in localStorage
// until the server has taken it, sent in turn, and sent again after a lost connection, a reload or a new sign-in. Each
// entry has a uid, so that what is sent twice is saved once, and a person, since nobody else may send it. It has no
// token: that is the page's, when it is sent. What the server refuses is shown in #refused with what to do; what was
// done after it still goes. #outbox says how it stands: "Offline, 2 unsent", "Saved 14:02:07".
//
// An entry: { uid, person, page, place, stack, kind, what, url, body, target, draft, typed }, and `refusal` once it was
// refused. `page` is the address of the screen that made it, `place` its cell there, `what` names it for people,
// `target` is what the answer replaces, `draft` the form's data-draft and `typed` its text then. One of the kind "undo"
// is about the last one before it with the same `stack`.
import { draftOf, dropDraft, typed } from "./drafts.js";
import { ask, person } from "./session.js";
import { text } from "./texts.js";
const KEY = "rubricweb-outbox";
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 8_000;
const BUSY = [429, 502, 503, 504]; // a proxy, or a server that starts again: the same as no connection
const EXPLAINED = [400, 403, 404, 409, 413];
const PLACED = [200, 204, 409, 422]; // answers that have a place on the page, if they have a target
const byId = (id) => document.getElementById(id);

const read = () => JSON.parse(localStorage.getItem(KEY) ?? "[]");

export const newUid = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

class Outbox {
  // What a screen does its own way. `settles`: statuses whose answers it shows itself; fill(entry, form, submitter)
  // completes an entry whose body is still FormData, false for none; added(entry, form, submitter); settle(entry,
  // answer), whose answer is null for what was discarded.
  screen = { page: location.pathname, settles: [], fill() {}, added() {}, settle() {} };
  #savedAt = "";
  #waiting = ""; // why nothing can be sent now
  #isCutOff = false;
  #isLeaving = false;
  #sending = null;
  #inFlight = null; // uid of what is on its way
  #failures = 0;
  #timer = 0;

  constructor() {
    // A page that is loaded anew tries again what was refused. What an earlier version kept has tokens.
    this.#write(read().map(({ refusal, ...entry }) => ({ ...entry, body: withoutToken(entry.body) })));
    for (const name of ["online", "signed-in"]) {
      addEventListener(name, () => ((this.#waiting = ""), this.flush()));
    }
    addEventListener("offline", () => this.#wait("offline"));
    addEventListener("beforeunload", (event) => {
      if (this.unsent.length && !this.#isLeaving) event.preventDefault();
    });
    byId("refused")?.addEventListener("click", ({ target }) => this.#decide(target));
    document.addEventListener("submit", (event) => this.#submit(event));
    document.addEventListener("DOMContentLoaded", () => this.flush());
  }

  get mine() {
    return read().filter((entry) => entry.person === person);
  }

  get unsent() {
    return this.mine.filter((entry) => !entry.refusal);
  }

  get #refused() {
    return this.mine.filter((entry) => entry.refusal);
  }

  #submit(event) {
    const { target: form, submitter } = event;
    if (!form.matches("[data-outbox]") || event.defaultPrevented) return;
    event.preventDefault();
    const body = new FormData(form, submitter);
    body.delete("csrfmiddlewaretoken");
    const entry = {
      uid: body.get("uid") || newUid(),
      kind: form.dataset.outbox,
      place: "",
      stack: "",
      what: submitter?.dataset.what ?? form.dataset.what ??
        (submitter?.ariaLabel || submitter?.innerText || ""),
      url: submitter?.hasAttribute("formaction") ? submitter.formAction : form.action,
      target: form.dataset.target,
      draft: form.dataset.draft,
      typed: typed(form),
      body,
    };
    if (entry.uid === this.#inFlight) return; // a second click
    body.set("uid", entry.uid);
    if (this.screen.fill(entry, form, submitter) === false) return;
    this.add({ ...entry, body: String(new URLSearchParams(body)) });
    this.screen.added(entry, form, submitter);
  }

  // What is done anew takes the place of what was refused, and what is typed on of what still waits.
  add(entry) {
    const { page } = this.screen;
    const isSame = (other) => other.page === page && other.place === entry.place && entry.place;
    const isReplaced = (other) =>
      other.person === person && (other.uid === entry.uid || (other.refusal && isSame(other)));
    this.#write([...read().filter((other) => !isReplaced(other)), { ...entry, person, page }]);
    return this.flush();
  }

  flush() {
    clearTimeout(this.#timer);
    return (this.#sending ??= this.#drain());
  }

  // Also for what only reads: null where there is no connection, or the person is not signed in.
  async ask(url, options) {
    try {
      const response = await ask(url, options);
      if (!response) return this.#wait("signed out");
      if (BUSY.includes(response.status)) return this.#wait(`status ${response.status}`);
      const answer = {
        status: response.status,
        redirect: response.headers.get("HX-Redirect"),
        address: response.headers.get("HX-Push-Url"),
        html: await response.text(),
      };
      [this.#waiting, this.#failures] = ["", 0];
      return answer;
    } catch {
      return this.#wait("offline");
    }
  }

  leaveFor(url) {
    this.#isLeaving = true;
    location.assign(url);
  }

  // One at a time, oldest first. Between the last look at what waits and the end nothing can be added unseen.
  async #drain() {
    await null;
    try {
      for (let entry; (entry = this.unsent[0]);) {
        const body = new URLSearchParams(entry.body);
        this.#inFlight = entry.uid;
        const answer = await this.ask(entry.url, { method: "POST", headers: { "X-Outbox": "true" }, body });
        if (!answer) return;
        await this.#settle(entry, answer);
      }
    } finally {
      this.#sending = this.#inFlight = null;
      this.#show();
    }
  }

  async #settle(entry, answer) {
    const isOurs = entry.page === this.screen.page;
    const isSaved = [200, 204].includes(answer.status);
    const isPlaced = isOurs && (entry.target ? PLACED : this.screen.settles).includes(answer.status);
    if (isSaved) this.#savedAt = new Date().toLocaleTimeString("en-GB");
    if (isSaved || isPlaced) this.#drop(entry, isSaved);
    else this.#refuse(entry, answer.status);
    if (isOurs && answer.redirect) return this.leaveFor(answer.redirect);
    if (isPlaced && entry.target) swap(entry.target, answer);
    else if (answer.html.includes("hx-swap-oob")) {
      htmx.swap(document.body, answer.html, { swapStyle: "none" });
    }
    if (isOurs) await this.screen.settle(entry, answer);
  }

  // An undo of what was refused has nothing to undo; and what was rated after it in the same cell holds instead.
  #refuse(refused, status) {
    const later = this.unsent.slice(1).filter((other) => other.page === refused.page);
    const undo = refused.kind === "undo" ? undefined : undoOf(refused, later);
    const again = later.filter((other) => other.place && other.place === refused.place && other !== undo);
    const dropped = [undo?.uid, again.length || undo ? refused.uid : ""];
    const refusal = text(EXPLAINED.includes(status) ? `refused ${status}` : "refused");
    this.#write(
      read()
        .filter((other) => !dropped.includes(other.uid))
        .map((other) => (again.some(({ uid }) => uid === other.uid) ? seenLess(other, undo ? 2 : 1) : other))
        .map((
          other,
        ) => (other.uid === refused.uid ? { ...other, refusal: `${refusal} (${status})` } : other)),
    );
  }

  #decide(button) {
    const uid = button.closest("[data-uid]")?.dataset.uid;
    const entry = this.#refused.find((other) => other.uid === uid);
    if (!entry || !button.matches("button")) return;
    if (button.matches("[data-discard]")) {
      this.#drop(entry, true);
      return this.screen.settle(entry, null);
    }
    const { refusal, ...again } = entry;
    this.#write([...read().filter((other) => other.uid !== uid), again]);
    this.flush();
  }

  #wait(why) {
    this.#waiting = why;
    clearTimeout(this.#timer);
    const pause = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures++);
    if (this.unsent.length && why !== "signed out") this.#timer = setTimeout(() => this.flush(), pause);
    this.#show();
    return null;
  }

  // With its draft, unless that was typed on.
  #drop({ uid, draft, typed }, withDraft) {
    this.#write(read().filter((other) => other.uid !== uid));
    if (withDraft && draft && draftOf(draft) === typed) dropDraft(draft);
  }

  #write(entries) {
    localStorage.setItem(KEY, JSON.stringify(entries));
    this.#show();
  }

  #show() {
    const [list, refused] = [byId("refused"), this.#refused];
    for (const row of [...(list?.children ?? [])]) {
      if (!refused.some(({ uid }) => uid === row.dataset.uid)) row.remove();
    }
    for (const entry of list ? refused : []) {
      if (list.querySelector(`[data-uid="${entry.uid}"]`)) continue;
      const row = byId("refused-entry").content.firstElementChild.cloneNode(true);
      row.dataset.uid = entry.uid;
      row.querySelector("[data-what]").textContent = entry.what;
      row.querySelector("[data-why]").textContent = entry.refusal;
      list.append(row);
    }
    this.#showChip(this.unsent.length);
  }

  #showChip(n) {
    const [chip, waiting] = [byId("outbox"), this.#waiting];
    if (!chip) return; // who may only look
    const isHeld = waiting || (n > 0 && !this.#sending);
    const isSilent = waiting === "signed out"; // the notice speaks
    const why = waiting &&
      text(waiting === "offline" ? "offline" : isSilent ? "signed out" : "waiting", { why: waiting });
    const state = [why, isHeld && n && text("unsent", { n })].filter(Boolean).join(", ");
    chip.textContent = state ||
      (n ? text("saving") : this.#savedAt && text("saved", { time: this.#savedAt }));
    [chip.dataset.tone, chip.hidden] = [isHeld ? "warn" : "good", !chip.textContent];
    const wasCutOff = this.#isCutOff;
    this.#isCutOff = n > 0 && (wasCutOff || Boolean(waiting));
    const news = waiting && n ? !isSilent && text("cut off", { n }) : wasCutOff && !n && text("all saved");
    if (news) byId("announced").textContent = news;
  }
}

const withoutToken = (body) => {
  const fields = new URLSearchParams(body);
  fields.delete("csrfmiddlewaretoken");
  return String(fields);
};

// The undo among these later entries that is about `entry`: each undoes the last rating before it.
function undoOf(entry, later) {
  let between = 0;
  for (const other of later.filter(({ stack }) => stack === entry.stack)) {
    if (other.kind !== "undo") between += 1;
    else if (between-- === 0) return other;
  }
}

// What is sent of a cell counts what was said of it before: less, when that was refused.
function seenLess(entry, count) {
  const body = new URLSearchParams(entry.body);
  body.set("seen", Math.max(0, body.get("seen") - count));
  return { ...entry, seen: Number(body.get("seen")), body: String(body) };
}

function swap(target, { status, html, address }) {
  const element = document.querySelector(target);
  if (!element) return;
  element.dispatchEvent(new CustomEvent("changed", { bubbles: true })); // what is being fetched of it is out of date
  htmx.swap(element, html, { swapStyle: "outerHTML" }, { eventInfo: { xhr: { status } } });
  if (!address) return;
  history.replaceState({ htmx: true }, ""); // so that htmx fetches the page to which somebody goes back
  history.pushState({ htmx: true }, "", address);
}

export const outbox = new Outbox();
