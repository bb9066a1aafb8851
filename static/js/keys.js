// One scheme of keys for all review screens. The contract:
// - an element with data-key-action="rate-3" is what the key of that action presses: a link or button is clicked,
//   a form is sent, a field gets the focus; a radio button is chosen, and the text of its form gets the focus. Several
//   actions have spaces between; their names: accounts/keys.py. The first visible element counts, one in the closest
//   [data-key-scope] around the focus before others.
// - inside data-key-handles="spurious comment" the focused element gets the event `key-action`; its detail: the action.
// - a key is named by what it gives, a Latin letter, a digit or a sign, so that it is the one that its button shows;
//   by its place only where it gives none of these, as on a Cyrillic keyboard: "KeyS", "Digit3", "Shift+Slash",
//   "Mod+Enter" with Ctrl or Cmd, "Alt+ArrowUp". The row of digits is one on a French keyboard, too.
// - no other script listens to keys: the event `pressed` goes before, with detail { key, isTyping }, to whatever has
//   the focus; a script that takes the key cancels it. While an input method composes, there is none.
// - data-key="KeyJ" inside data-own-keys gives an element a key of its own, which goes before those of the map.
// - #key-bindings has the person's map of keys to actions. They rest while somebody types, while a dialog is open, and
//   with Ctrl, Meta or Alt: only Ctrl/Cmd+Enter sends the form that somebody types in, by the button that
//   data-saved-by names if any, and completes where nobody types.
// - Escape leaves the field that somebody types in: to the closest [data-key-scope], or where the page takes the
//   cancelable event `leave-field`. A summary with an action opens, and hands on to its choice with data-first.
// - <dialog id="keys"> lists the actions that the page has; an input with data-captures-key takes a key as value.
const keys = document.getElementById("key-bindings")?.dataset.keys;
const { bindings, signs } = keys ? JSON.parse(keys) : { bindings: {}, signs: {} };
const TYPING =
  "input:not([type=radio], [type=checkbox], [type=submit], [type=range]), textarea, select, [contenteditable]";

function nameOf(event) {
  const { key, code, shiftKey } = event;
  const isComposing = event.isComposing || event.keyCode === 229;
  if (!key || isComposing || ["Dead", "Process", "Unidentified"].includes(key)) return "";
  const held = (event.ctrlKey || event.metaKey ? "Mod+" : "") + (event.altKey ? "Alt+" : "");
  if (/^\d$/.test(key)) return `${held}Digit${key}`; // on the numeric pad too, and where digits need Shift
  if (/^Digit/.test(code) && !shiftKey) return held + code;
  // A sign counts wherever the layout has it; in a letter's place, as on a Hebrew keyboard, if it has an action.
  if (signs[key] && (!/^Key/.test(code) || bindings[signs[key]])) return held + signs[key];
  const place = /^[a-z]$/i.test(key) ? `Key${key.toUpperCase()}` : key.length > 1 ? key : code;
  return held + (shiftKey ? "Shift+" : "") + place;
}

const able = (selector) =>
  [...document.querySelectorAll(selector)].filter((node) => node.checkVisibility() && !node.disabled);
function elementOf(action) {
  const named = able(`[data-key-action~="${action}"]`);
  const scope = document.activeElement?.closest("[data-key-scope]");
  const latest = action === "undo" && named.find((element) => element.closest(".toast"));
  return latest || (named.find((element) => scope?.contains(element)) ?? named[0]);
}

export function leave(field) {
  const isTaken = !field.dispatchEvent(new CustomEvent("leave-field", { bubbles: true, cancelable: true }));
  if (isTaken) return;
  field.blur();
  field.closest("[data-key-scope][tabindex]")?.focus();
}

function press(element) {
  const first = element.matches("summary") && element.parentElement.querySelector("[data-first]");
  if (first) return (element.parentElement.open = true), first.focus();
  if (element.matches("form")) return element.requestSubmit();
  if (element.matches("input, textarea, select")) element.focus();
  if (!element.matches(TYPING)) element.click();
  if (element.matches("[type=radio]")) element.form.querySelector("textarea")?.focus();
}

function capture(event, input, key) {
  if (/Tab|Escape|Enter|Alt|Mod|Lock|Shift$/.test(key)) return;
  event.preventDefault();
  input.value = /^(Backspace|Delete)$/.test(key) ? "" : key.replace(/Key|Digit/, "");
}

window.addEventListener("keydown", (event) => {
  const [target, key] = [event.target, nameOf(event)];
  if (event.defaultPrevented || !key || !target.closest) return;
  if (target.matches("[data-captures-key]")) return capture(event, target, key);
  const isTyping = target.closest(TYPING) !== null;
  const pressed = new CustomEvent("pressed", { bubbles: true, cancelable: true, detail: { key, isTyping } });
  if (!target.dispatchEvent(pressed)) return event.preventDefault();
  if (key === "Escape" && isTyping && !target.matches("select") && !document.querySelector("dialog[open]")) {
    return leave(target);
  }
  if (key === "Mod+Enter" && isTyping) {
    return target.form?.requestSubmit(document.getElementById(target.dataset.savedBy));
  }
  if (isTyping || document.querySelector("dialog[open]")) return;
  const [own] = able(`[data-own-keys] [data-key="${key}"]`);
  const action = bindings[key];
  if (!own && !action) return;
  if (key === "Enter" && target.closest("a, button, summary, input")) return; // it has its own Enter
  if (/Arrow/.test(key) ? target.matches("input") : event.repeat) return;
  const isHandled = !own && target.closest(`[data-key-handles~="${action}"]`);
  const element = own ?? (isHandled ? target : elementOf(action));
  if (element) event.preventDefault();
  if (isHandled) target.dispatchEvent(new CustomEvent("key-action", { bubbles: true, detail: action }));
  else if (element) press(element);
});
