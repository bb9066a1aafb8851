// The texts of scripts come with the page (rubricweb/core/script_texts.py). `{n}` stands for a value.
const texts = JSON.parse(document.getElementById("texts").textContent);
export const text = (name, values = {}) => texts[name].replace(/\{(\w+)\}/g, (_, value) => values[value]);
