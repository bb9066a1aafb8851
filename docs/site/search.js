// Parts of pages that have every word, those with most words in their heading first, as /help/search/ of a server does.
const MOST = 20;
const root = document.querySelector("main").dataset.root;
const box = document.querySelector("#search");
const hits = document.querySelector("#hits");
let parts;

function found(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  return parts
    .map((part) => ({ ...part, above: `${part.page} ${part.heading}`.toLowerCase() }))
    .filter(({ above, text }) => words.every((word) => above.includes(word) || text.toLowerCase().includes(word)))
    .map((part) => ({ ...part, rank: words.filter((word) => part.above.includes(word)).length }))
    .sort((one, other) => other.rank - one.rank);
}

function line({ page, heading, address }) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = root + address;
  link.textContent = heading === page ? heading : `${heading} (${page})`;
  item.append(link);
  return item;
}

async function search() {
  parts ??= await (await fetch(`${root}search.json`)).json();
  const list = document.createElement("ul");
  const matches = found(box.value);
  list.append(...matches.slice(0, MOST).map(line));
  hits.replaceChildren(box.value.trim() ? `${matches.length} places` : "", list);
}

box.addEventListener("input", search);
box.form.addEventListener("submit", (event) => {
  event.preventDefault();
  hits.querySelector("a")?.click();
});
