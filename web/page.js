// What all demos' pages share: making elements, colours of the theme, lines that differ by more than colour.

/** An element: el("p", { class: "x", onclick: f }, "text", child). */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) {
      node.addEventListener(key.slice(2), value);
    } else if (typeof value === "boolean") {
      node.toggleAttribute(key, value);
    } else {
      node.setAttribute(key, value);
    }
  }
  node.append(...children);
  return node;
}

/** Did the focus come to where it is by Tab, rather than by a pointer? */
let tabbed = false;
export const byTab = () => tabbed;
addEventListener("keydown", (event) => { tabbed ||= event.key === "Tab"; }, true);
addEventListener("pointerdown", () => { tabbed = false; }, true);

/** Sets a text only where it changed: layout is not for free. */
export function setText(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

/** Receivers' lines, nearest first: a colour, a dash pattern in CSS pixels. */
export const LINES = [
  { colour: "first", dash: [] },
  { colour: "second", dash: [7, 4] },
  { colour: "third", dash: [2, 3] },
];

const NAMES = ["ground", "card", "field", "grid", "wall", "text", "soft", "edge", "accent", "real", "exported", "other",
  "shot", "first", "second", "third"];

/** The theme's colours by name, kept up to date. */
export const theme = {};
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const watchers = [];

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of NAMES) {
    theme[name] = style.getPropertyValue("--" + name).trim();
  }
}

readTheme();
dark.addEventListener("change", () => {
  readTheme();
  watchers.forEach((watcher) => watcher());
});

/** Calls back whenever light turns to dark or back. */
export function onTheme(watcher) {
  watchers.push(watcher);
}

/** A short line as it is drawn in pictures and charts, for legends. */
export function swatch(colour, dash, width = 3) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const line = document.createElementNS(space, "line");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("viewBox", "0 0 30 10");
  svg.setAttribute("aria-hidden", "true");
  for (const [key, value] of Object.entries({ x1: 1, x2: 29, y1: 5, y2: 5, "stroke-width": width,
    stroke: `var(--${colour})`, "stroke-dasharray": dash.join(" ") })) {
    line.setAttribute(key, value);
  }
  svg.append(line);
  return svg;
}

/** One screen: a canvas, its caption, and a place for what is being waited for. */
export function makeScreen(name, about, mark) {
  const canvas = el("canvas", { role: "img", "aria-label": about });
  const figures = el("div", { class: "figures" });
  const wait = el("div", { class: "wait", hidden: true });
  const figure = el("figure", { class: "screen card" }, canvas, wait,
    el("figcaption", {}, el("div", { class: "name" }, mark, name), figures));
  return { figure, canvas, figures, wait };
}
