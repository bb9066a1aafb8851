// What people rate leaves through one outbox, in the grid and in the queue: kept in localStorage until the
// server has taken it, sent in turn, and sent again after a lost connection or a reload. Each entry has a
// uid, so that what is sent twice is saved once. What the server refuses is shown in #refused with what to
// do; what was rated after it still goes.
//
// An entry: { uid, person, page, place, stack, kind, what, url, body }, and `refusal` once it was refused.
// `page` is the address of the screen that made it, `place` its cell there, `what` names it for people. One
// of the kind "undo" is about the last one before it with the same `stack`.
import { text } from "./texts.js";
const KEY = "rubricweb-outbox";
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 8_000;
const ANSWER_WITHIN_MS = 15_000;
const BUSY = [429, 502, 503, 504]; // a proxy, or a server that starts again: the same as no connection
const EXPLAINED = [400, 403, 404, 409];

const read = () => JSON.parse(localStorage.getItem(KEY) ?? "[]");

export const newUid = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export class Outbox {
  savedAt = "";
  waiting = ""; // why nothing can be sent now
  isLeaving = false;
  #sending = null;
  #failures = 0;
  #timer = 0;

  // `screen` has person, page, `settles` (statuses whose answers it shows itself), settle(entry, answer),
  // signedOut(address) and changed().
  constructor(screen) {
    this.screen = screen;
    addEventListener("online", () => this.flush());
    addEventListener("offline", () => this.#wait("offline"));
    addEventListener(
      "beforeunload",
      (event) => this.unsent.length && !this.isLeaving && event.preventDefault(),
    );
    document.getElementById("refused").addEventListener("click", (event) => this.#decide(event.target));
    this.#write(read().map(({ refusal, ...entry }) => entry)); // a page that is loaded anew tries again
  }

  get mine() {
    return read().filter((entry) => entry.person === this.screen.person);
  }

  get unsent() {
    return this.mine.filter((entry) => !entry.refusal);
  }

  get refused() {
    return this.mine.filter((entry) => entry.refusal);
  }

  get isSending() {
    return this.#sending !== null;
  }

  // What is rated anew takes the place of what was refused.
  add(entry) {
    const { person, page } = this.screen;
    const isReplaced = (one) =>
      one.refusal && one.person === person && one.page === page && one.place === entry.place;
    this.#write([...read().filter((one) => !isReplaced(one)), { ...entry, person, page }]);
    return this.flush();
  }

  flush() {
    clearTimeout(this.#timer);
    return (this.#sending ??= this.#drain().finally(() => ((this.#sending = null), this.#show())));
  }

  // Also for what only reads: null where there is no connection.
  async ask(url, options = {}) {
    const headers = { ...JSON.parse(document.body.getAttribute("hx-headers")), "HX-Request": "true" };
    try {
      const response = await fetch(url, {
        ...options,
        headers,
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      if (BUSY.includes(response.status)) return this.#wait(`status ${response.status}`);
      const answer = {
        status: response.status,
        redirect: response.headers.get("HX-Redirect"),
        html: await response.text(),
      };
      [this.waiting, this.#failures] = ["", 0];
      return answer;
    } catch {
      return this.#wait("offline");
    }
  }

  // One at a time, oldest first.
  async #drain() {
    for (let entry; (entry = this.unsent[0]);) {
      const answer = await this.ask(entry.url, { method: "POST", body: new URLSearchParams(entry.body) });
      if (!answer) return;
      if (answer.redirect) {
        this.#wait("signed out");
        return this.screen.signedOut?.(answer.redirect);
      }
      const isOurs = entry.page === this.screen.page;
      const isSaved = [200, 204].includes(answer.status);
      if (isSaved) this.savedAt = new Date().toLocaleTimeString("en-GB");
      if (!isSaved && !(isOurs && this.screen.settles.includes(answer.status))) {
        this.#refuse(entry, answer.status);
      } else this.#drop(entry.uid);
      if (isOurs) await this.screen.settle(entry, answer);
    }
  }

  // An undo of what was refused has nothing to undo; and what was rated after it in the same cell holds instead.
  #refuse(refused, status) {
    const later = this.unsent.slice(1).filter((one) => one.page === refused.page);
    const undo = refused.kind === "undo" ? undefined : undoOf(refused, later);
    const again = later.filter((one) => one.place && one.place === refused.place && one !== undo);
    const dropped = [undo?.uid, again.length || undo ? refused.uid : ""];
    const refusal = text(EXPLAINED.includes(status) ? `refused ${status}` : "refused");
    this.#write(
      read()
        .filter((one) => !dropped.includes(one.uid))
        .map((one) => (again.some(({ uid }) => uid === one.uid) ? seenLess(one, undo ? 2 : 1) : one))
        .map((one) => (one.uid === refused.uid ? { ...one, refusal: `${refusal} (${status})` } : one)),
    );
  }

  #decide(button) {
    const uid = button.closest("[data-uid]")?.dataset.uid;
    const entry = this.refused.find((one) => one.uid === uid);
    if (!entry || !button.matches("button")) return;
    if (button.matches("[data-discard]")) {
      this.#drop(uid);
      return this.screen.settle(entry, null);
    }
    const { refusal, ...again } = entry;
    this.#write([...read().filter((one) => one.uid !== uid), again]);
    this.flush();
  }

  #wait(why) {
    this.waiting = why;
    clearTimeout(this.#timer);
    const pause = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures++);
    if (this.unsent.length) this.#timer = setTimeout(() => this.flush(), pause);
    this.#show();
    return null;
  }

  #drop(uid) {
    this.#write(read().filter((one) => one.uid !== uid));
  }

  #write(entries) {
    localStorage.setItem(KEY, JSON.stringify(entries));
    this.#show();
  }

  #show() {
    const [list, refused] = [document.getElementById("refused"), this.refused];
    for (const shown of [...list.children]) {
      if (!refused.some(({ uid }) => uid === shown.dataset.uid)) shown.remove();
    }
    for (const entry of refused) {
      if (list.querySelector(`[data-uid="${entry.uid}"]`)) continue;
      const shown = document.getElementById("refused-entry").content.firstElementChild.cloneNode(true);
      shown.dataset.uid = entry.uid;
      shown.querySelector("[data-what]").textContent = entry.what;
      shown.querySelector("[data-why]").textContent = entry.refusal;
      list.append(shown);
    }
    this.screen.changed(this);
  }
}

// The undo among these later entries that is about `entry`: each undoes the last rating before it.
function undoOf(entry, later) {
  let between = 0;
  for (const one of later.filter(({ stack }) => stack === entry.stack)) {
    if (one.kind !== "undo") between += 1;
    else if (between-- === 0) return one;
  }
}

// What is sent of a cell counts what was said of it before: less, when that was refused.
function seenLess(entry, count) {
  const body = new URLSearchParams(entry.body);
  body.set("seen", Math.max(0, body.get("seen") - count));
  return { ...entry, seen: Number(body.get("seen")), body: String(body) };
}
