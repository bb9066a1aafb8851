// From a passage to a field: what is marked becomes a line of the field, by a button or by Enter in the passage.
function quote(passage) {
  const field = document.getElementById(passage.dataset.quotesTo);
  const words = passage.value.slice(passage.selectionStart, passage.selectionEnd).trim().split(/\s+/).join(
    " ",
  );
  const lines = field.value.split("\n").filter((line) => line.trim());
  if (!words || lines.includes(words)) return;
  field.value = [...lines, words].join("\n");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// Keys move no caret in a field that is read-only, so it refuses what is typed instead.
for (const passage of document.querySelectorAll("[data-quotes-to]")) {
  Object.assign(passage, { readOnly: false, ariaReadOnly: "true", inputMode: "none" });
  passage.addEventListener("beforeinput", (event) => event.preventDefault());
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-quotes]");
  if (button) quote(document.getElementById(button.dataset.quotes));
});

document.addEventListener("pressed", ({ target, detail }) => {
  if (detail.key === "Enter" && target.matches("[data-quotes-to]")) quote(target);
});
