// The topics beside a screen of one topic: a column that stays, as a cookie remembers, or on narrow windows a drawer.
const rail = document.getElementById("rail");
const opener = document.querySelector('a[data-opens="rail"]');
const wide = matchMedia("(width >= 62.5em)");

export function begin() {
  const isOn = rail.toggleAttribute(wide.matches ? "data-open" : "data-drawer");
  if (wide.matches) {
    document.cookie = `rail=${isOn ? "open" : "closed"}; path=/; max-age=31536000; samesite=lax`;
  }
  if (isOn) rail.querySelector("[hx-get]").dispatchEvent(new CustomEvent("opened"));
  opener.ariaExpanded = String(isOn);
  (isOn ? rail.querySelector("button") : opener).focus();
}

rail.addEventListener("pressed", ({ detail }) => detail.key === "Escape" && begin());
rail.addEventListener("htmx:afterSwap", () => {
  rail.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
});
opener.ariaExpanded = String(rail.checkVisibility());
