// Browsers allow six connections to a server over HTTP/1.1, and each open page holds one for live events: the seventh
// page would not even load. So all pages together hold a few streams, and a page without one looks now and then. A page
// that nobody looks at lets go of its stream, and one that is left does so at once: browsers keep it, with its timers
// stopped, in case the reader goes back. The first stream of a page says since when it wants events; one that is opened
// later does not, so that the server begins with "missed" and every live part fetches itself.
import { refresh } from "./session.js";
const RESTS_AFTER_MS = 15_000;
const STREAMS = 4;
const LOOKS_EVERY_MS = 20_000;

// What gives a stream back, or null where all are taken. Browsers count only where they trust the connection.
async function takeStream() {
  if (!navigator.locks) return () => {};
  for (let number = 0; number < STREAMS; number++) {
    const give = await new Promise((resolve) =>
      navigator.locks.request(
        `rubricweb-stream-${number}`,
        { ifAvailable: true },
        (lock) => lock ? new Promise((give) => resolve(give)) : resolve(null),
      )
    );
    if (give) return give;
  }
  return null;
}

class RestingSource {
  static #isFirst = true;
  #url;
  #listeners = [];
  #resting = 0; // timers
  #looking = 0;
  #turn = null; // of opening, until it rests
  #give = null;
  #closing = new AbortController();

  constructor(url) {
    this.#url = url;
    this.#open();
    const { signal } = this.#closing;
    document.addEventListener("visibilitychange", this.#onVisibility, { signal });
    addEventListener("pageshow", this.#onVisibility, { signal });
    addEventListener("pagehide", this.#rest, { signal });
  }

  get readyState() {
    const open = this.source?.readyState ?? EventSource.CONNECTING;
    return this.#closing.signal.aborted ? EventSource.CLOSED : open;
  }

  addEventListener(name, listener) {
    this.#listeners.push([name, listener]);
    this.source?.addEventListener(name, listener);
  }

  removeEventListener(name, listener) {
    this.#listeners = this.#listeners.filter(([n, l]) => n !== name || l !== listener);
    this.source?.removeEventListener(name, listener);
  }

  close() {
    this.#closing.abort();
    this.#rest();
  }

  async #open() {
    const turn = (this.#turn = {});
    const give = await takeStream();
    if (this.#turn !== turn) return give?.();
    this.#give = give;
    if (!give) return (this.#looking = setTimeout(() => this.#look(), LOOKS_EVERY_MS));
    this.source = new EventSource(RestingSource.#isFirst ? this.#url : this.#url.replace(/\?.*/, ""));
    RestingSource.#isFirst = false;
    for (const [name, listener] of this.#listeners) this.source.addEventListener(name, listener);
    this.source.onopen = (event) => this.onopen?.(event);
    this.source.onerror = (event) => {
      this.close(); // htmx opens a new one after a pause
      refresh(); // it may have been refused
      this.onerror?.(event);
    };
  }

  #look() {
    for (const [name, listener] of this.#listeners) if (name === "missed") listener(new MessageEvent(name));
    this.#open();
  }

  #rest = () => {
    clearTimeout(this.#resting);
    clearTimeout(this.#looking);
    this.source?.close();
    this.#give?.();
    this.source = this.#give = this.#turn = null;
  };

  #onVisibility = () => {
    clearTimeout(this.#resting);
    if (document.hidden) this.#resting = setTimeout(this.#rest, RESTS_AFTER_MS);
    else if (!this.#turn) this.#open();
  };
}

htmx.createEventSource = (url) => new RestingSource(url);
