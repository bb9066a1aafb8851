// A battle: the passage of the citation that is pointed at, focused or stepped to stands beside its claim; a verdict
// hands the focus on to the next question, and the last one votes. Without this script the passages are a list, and
// citations lead there.
import "./outbox.js";
import { text } from "./texts.js";
class Evidence {
  #pane = document.getElementById("evidence");
  #citations = [...document.querySelectorAll("a.cite")];
  #opened = new Set();
  #current = -1;

  constructor() {
    if (!this.#citations.length) return;
    this.#pane.classList.add("shows-one");
    this.#pane.querySelector(".citation-steps").hidden = false;
    this.#count();
    this.#citations.forEach((citation, number) => this.#follow(citation, number));
    this.#pane.addEventListener("click", ({ target }) => {
      const by = Number(target.closest("[data-step]")?.dataset.step ?? 0);
      if (by) this.#step(by);
      if (target.closest("[data-closes-evidence]")) this.#show(-1);
    });
    addEventListener("pressed", ({ detail: { key } }) => {
      const isHere = this.#pane.isConnected && !document.querySelector("dialog[open]");
      if (key === "Escape" && isHere) this.#show(-1);
    });
  }

  #follow(citation, number) {
    citation.addEventListener("pointerenter", () => this.#show(number));
    citation.addEventListener("focus", () => this.#show(number));
    citation.addEventListener("click", (event) => {
      event.preventDefault();
      this.#show(number);
      if (event.detail === 0) passageOf(citation).focus(); // by Enter: for those who read by screen reader
    });
  }

  #step(by) {
    const all = this.#citations.length;
    this.#show(this.#current < 0 ? (by > 0 ? 0 : all - 1) : (this.#current + by + all) % all);
    this.#citations[this.#current].scrollIntoView({ block: "nearest" });
  }

  #show(number) {
    for (const old of document.querySelectorAll(".claim.is-cited, .cite.is-open, .cited.is-open")) {
      old.classList.remove("is-cited", "is-open");
    }
    this.#current = number;
    this.#pane.classList.toggle("is-open", number >= 0);
    document.getElementById("evidence-hint").hidden = number >= 0;
    if (number < 0) return;
    const citation = this.#citations[number];
    const [passage, claim] = [passageOf(citation), document.getElementById(citation.dataset.claim)];
    const said = passage.querySelector(".claim-said");
    said.textContent = claim.textContent.trim();
    said.hidden = false;
    claim.classList.add("is-cited");
    citation.classList.add("is-open", "is-seen");
    passage.classList.add("is-open");
    this.#opened.add(passage.id);
    this.#count();
  }

  #count() {
    const all = new Set(this.#citations.map((citation) => citation.hash)).size;
    document.getElementById("opened").textContent = text("opened", { n: this.#opened.size, all });
  }
}

// A digit or a click answers a question and goes on, after the last one to the button; arrows only move among the
// choices. None votes at once: a vote shows the names, which no undo hides again.
class Ballot {
  #form;
  #key = "";

  constructor(form) {
    this.#form = form;
    addEventListener("pressed", ({ detail }) => (this.#key = detail.key));
    addEventListener("pointerdown", () => (this.#key = ""), true);
    form.addEventListener("change", () => this.#goOn());
    form.addEventListener("reset", () => form.querySelector("fieldset").focus());
  }

  #goOn() {
    if (/^Arrow/.test(this.#key)) return;
    const open = [...this.#form.querySelectorAll("fieldset")].find((one) => !one.querySelector(":checked"));
    (open ?? this.#form.querySelector("button")).focus();
  }
}

const passageOf = (citation) => document.getElementById(citation.hash.slice(1));

function begin() {
  if (document.getElementById("evidence")) new Evidence();
  if (document.getElementById("ballot")) new Ballot(document.getElementById("ballot"));
}

begin();
// The vote, the next pair, or answers that were made while this page waited have come into it.
addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.elt.id !== "battle") return;
  begin();
  document.querySelector("#ballot fieldset, .next-pair button")?.focus();
});
