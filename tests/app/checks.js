// Put into a page under test: what is wrong with it for those who do not see it well.
"use strict";

// Controls without a name that a screen reader could say.
globalThis.unnamed = () => {
  const controls = "input:not([type=hidden]), select, textarea, button, a";
  return [...document.querySelectorAll(controls)]
    .filter((at) => at.checkVisibility())
    .filter((at) => !(at.ariaLabel || at.textContent.trim() || at.labels?.[0]?.textContent.trim()))
    .map((at) => at.outerHTML.slice(0, 120));
};

const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
const light = (colour) => {
  const [red, green, blue] = colour.map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const ground = (at) => {
  for (; at; at = at.parentElement) {
    const colour = parts(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] > 0.9) return colour;
  }
  return [255, 255, 255];
};

// Text with less contrast to its ground than WCAG AA asks for.
globalThis.faint = () => {
  const says = (at) => [...at.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  return [...document.querySelectorAll("body *")]
    .filter((at) => at.checkVisibility() && !at.closest("svg") && says(at))
    .map((at) => {
      const style = getComputedStyle(at);
      const [one, other] = [light(parts(style.color)), light(ground(at))];
      const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.6 && style.fontWeight >= 600);
      return [contrast, large ? 3 : 4.5, at.outerHTML.slice(0, 90)];
    })
    .filter(([contrast, needed]) => contrast < needed);
};
