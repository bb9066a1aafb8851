// The list of problems: its row follows the opened one, and words that are marked in a passage go into the form.
const current = () => document.getElementById("problem")?.dataset.keyOf;

document.addEventListener("htmx:afterSwap", () => {
  for (const row of document.querySelectorAll("#problem-list [aria-current]")) {
    row.removeAttribute("aria-current");
  }
  const link = document.querySelector(`#row-${CSS.escape(current() ?? "")} > a`);
  link?.setAttribute("aria-current", "true");
  link?.scrollIntoView({ block: "nearest" });
});

// A span replaces the one before it; with Ctrl or Cmd it is added. The text follows as long as nobody changed it.
document.addEventListener("pointerup", (event) => {
  const passage = document.querySelector("[data-quotes-to]");
  const marked = document.getSelection();
  if (!passage || marked.isCollapsed || !passage.contains(marked.anchorNode)) return;
  const spans = document.getElementById(passage.dataset.quotesTo);
  const [words, text] = [marked.toString().trim().split(/\s+/).join(" "), spans?.form.elements.text];
  if (!text || !passage.contains(marked.focusNode) || !words) return;
  const isOurs = text.value === "" || text.value === spans.value.replaceAll("\n", " ");
  const isMore = (event.ctrlKey || event.metaKey) && spans.value;
  spans.value = isMore ? `${spans.value}\n${words}` : words;
  const isNew = !spans.form.elements.item.value;
  if (isOurs && isNew) text.value = spans.value.replaceAll("\n", " ");
  CSS.highlights?.set("marked", new Highlight(marked.getRangeAt(0).cloneRange()));
  for (const field of [spans, text]) field.dispatchEvent(new Event("input", { bubbles: true }));
});
