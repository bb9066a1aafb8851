// How it stands with what a person rated, in #outbox: "Offline, 2 unsent", "Saved 14:02:07".
import { text } from "./texts.js";

export class SavingState {
  #isCutOff = false;

  // Returns what is to be announced.
  show({ waiting, unsent: { length: n }, isSending, savedAt }) {
    const chip = document.getElementById("outbox");
    const isHeld = waiting || (n > 0 && !isSending);
    const why = waiting && text(waiting === "offline" ? "offline" : "waiting", { why: waiting });
    const words = [why, isHeld && n && text("unsent", { n })].filter(Boolean).join(", ");
    chip.textContent = words || (n ? text("saving") : savedAt && text("saved", { time: savedAt }));
    [chip.dataset.tone, chip.hidden] = [isHeld ? "warn" : "good", !chip.textContent];
    const wasCutOff = this.#isCutOff;
    this.#isCutOff = n > 0 && (wasCutOff || Boolean(waiting));
    if (waiting && n) return text("cut off", { n });
    return wasCutOff && !n ? text("all saved") : "";
  }
}
