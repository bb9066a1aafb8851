// A reminder of a break, after 45 minutes of ratings without a pause of 5: a quiet line that blocks nothing.
const PAUSE_MS = 5 * 60_000;
const LONG_MS = 45 * 60_000;
const KEY = "rubricweb-sitting"; // of this tab: when it began, and the latest rating

const line = document.getElementById("queue-break");

document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-outbox]")) return;
  const [now, kept] = [Date.now(), JSON.parse(sessionStorage.getItem(KEY) ?? "null")];
  const began = kept && now - kept.latest < PAUSE_MS ? kept.began : now;
  sessionStorage.setItem(KEY, JSON.stringify({ began, latest: now }));
  if (now - began < LONG_MS) return;
  line.querySelector("[data-minutes]").textContent = Math.round((now - began) / 60_000);
  line.hidden = false;
});

line.querySelector("[data-dismisses]").addEventListener("click", () => {
  sessionStorage.removeItem(KEY);
  line.hidden = true;
  document.querySelector("#queue-card [aria-current]")?.focus();
});
