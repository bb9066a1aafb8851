// One scheme of keys for all review screens. The contract:
// - an element with data-key-action="rate-3" is what the key of that action presses: a link or button is clicked,
//   a form is sent, a field gets the focus; a radio button is chosen, and the text of its form gets the focus. Several
//   actions have spaces between; their names: accounts/keys.py. The first visible element counts, one in the closest
//   [data-key-scope] around the focus before others.
// - inside data-key-handles="spurious comment" the focused element gets the event `key-action`; its detail: the action.
// - keys are event.code ("KeyS", "Shift+Slash"); #key-bindings has the person's map of them to actions. They rest
//   while somebody types, while a dialog is open, and with Ctrl, Meta or Alt: only Ctrl/Cmd+Enter sends the form
//   that somebody types in, by the button that data-saved-by names if any, and completes where nobody types.
// - Escape leaves the field that somebody types in: to the closest [data-key-scope], or where the page takes the
//   cancelable event `leave-field`. A summary with an action opens, and hands on to its choice with data-first.
// - <dialog id="keys"> lists the actions that the page has; an input with data-captures-key takes a key as value.
const bindings = JSON.parse(document.getElementById("key-bindings")?.dataset.bindings ?? "{}");
const TYPING =
  "input:not([type=radio], [type=checkbox], [type=submit], [type=range]), textarea, select, [contenteditable]";

function chord(event) {
  if (event.altKey || event.isComposing) return "";
  if (event.ctrlKey || event.metaKey) return /Enter$/.test(event.code) ? "Mod+Enter" : "";
  if (/^\d$/.test(event.key)) return `Digit${event.key}`; // on the numeric pad too, and where digits need Shift
  if (/^[?/]$/.test(event.key)) return event.key === "?" ? "Shift+Slash" : "Slash"; // wherever the layout has it
  return (event.shiftKey ? "Shift+" : "") + event.code.replace("NumpadEnter", "Enter");
}

function elementOf(action) {
  const named = [...document.querySelectorAll(`[data-key-action~="${action}"]`)];
  const able = named.filter((element) => element.checkVisibility() && !element.disabled);
  const scope = document.activeElement?.closest("[data-key-scope]");
  return able.find((element) => scope?.contains(element)) ?? able[0];
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

function capture(event, input) {
  const key = chord(event);
  if (!key || /Tab|Escape|Shift|Enter/.test(event.code)) return;
  event.preventDefault();
  input.value = /^(Backspace|Delete)$/.test(event.code) ? "" : key.replace(/Key|Digit/, "");
}

// On the window, so that a page's own keys, such as a grid's arrows, come first.
window.addEventListener("keydown", (event) => {
  const target = event.target;
  if (event.defaultPrevented || !target.closest) return;
  if (target.matches("[data-captures-key]")) return capture(event, target);
  const key = chord(event);
  const isTyping = target.closest(TYPING);
  if (key === "Escape" && isTyping && !target.matches("select") && !document.querySelector("dialog[open]")) {
    return leave(target);
  }
  if (key === "Mod+Enter" && isTyping) {
    return target.form?.requestSubmit(document.getElementById(target.dataset.savedBy));
  }
  const action = bindings[key];
  if (!action || isTyping || document.querySelector("dialog[open]")) return;
  if (key === "Enter" && target.closest("a, button, summary, input")) return; // it has its own Enter
  if (/Arrow/.test(key) ? target.matches("input") : event.repeat) return;
  const isHandled = target.closest(`[data-key-handles~="${action}"]`);
  const element = isHandled ? target : elementOf(action);
  if (element) event.preventDefault();
  if (isHandled) target.dispatchEvent(new CustomEvent("key-action", { bubbles: true, detail: action }));
  else if (element) press(element);
});
