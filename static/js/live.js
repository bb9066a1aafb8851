// Browsers allow six connections to a server over HTTP/1.1, and each open page holds one for live events.
// So a page that nobody looks at lets go of its stream, and one that is left does so at once: browsers keep it, with
// its timers stopped, in case the reader goes back. The first stream of a page says since when it wants events;
// one that is opened later does not, so that the server begins with "missed" and every live part fetches itself.
import { refresh } from "./session.js";
const RESTS_AFTER_MS = 15_000;

class RestingSource {
  static #isFirst = true;
  #url;
  #listeners = [];
  #timer = 0;
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

  #open() {
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

  #rest = () => {
    clearTimeout(this.#timer);
    this.source?.close();
    this.source = null;
  };

  #onVisibility = () => {
    clearTimeout(this.#timer);
    if (document.hidden) this.#timer = setTimeout(this.#rest, RESTS_AFTER_MS);
    else if (!this.source) this.#open();
  };
}

htmx.createEventSource = (url) => new RestingSource(url);
