// The states of components that need a pointer or a key, side by side: each rule for `:hover`, `:focus-visible` or
// `:active` holds also for what says `data-state="hover"`, "focus" or "active".
const STATES = { hover: ":hover", focus: ":focus-visible", active: ":active" };

function extend(rules) {
  for (const rule of rules) {
    if (rule.selectorText) {
      let selector = rule.selectorText;
      for (const [state, pseudo] of Object.entries(STATES)) {
        selector = selector.replaceAll(pseudo, `:is(${pseudo}, [data-state="${state}"])`);
      }
      if (selector !== rule.selectorText) rule.selectorText = selector;
    }
    if (rule.cssRules) extend(rule.cssRules);
  }
}

for (const sheet of document.styleSheets) extend(sheet.cssRules);
