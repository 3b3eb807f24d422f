// Controls with labels. Each knows how to show what is set without sending it back.
import { el, setText } from "./page.js";

let next = 0;

function id() {
  next += 1;
  return "control" + next;
}

/** A list to choose from, and what the choice means. */
export function choice({ label, options, onchange }) {
  const key = id();
  const select = el("select", { id: key }, ...options.map((o) => el("option", { value: o.name }, o.name)));
  const hint = el("div", { class: "hint" });
  const explain = () => setText(hint, options.find((o) => o.name === select.value)?.help ?? "as typed");
  select.addEventListener("change", () => {
    explain();
    onchange(select.value);
  });
  explain();
  return {
    root: el("div", { class: "control" }, el("label", { for: key }, label), select, hint),
    set(value) {
      if (![...select.options].some((o) => o.value === value)) {
        select.append(el("option", { value }, value));
      }
      select.value = value;
      explain();
    },
  };
}

/** A number on a slider. */
export function slider({ label, unit, max, step, onchange }) {
  const key = id();
  const input = el("input", { id: key, type: "range", min: 0, max, step, value: 0 });
  const output = el("output", { for: key });
  const show = () => setText(output, `${input.value} ${unit}`);
  input.addEventListener("input", () => {
    show();
    onchange(Number(input.value));
  });
  show();
  return {
    root: el("div", { class: "control" }, el("label", { for: key }, label + ": ", output), input),
    set(value) {
      if (document.activeElement !== input || Number(input.value) !== value) {
        input.value = value;
      }
      show();
    },
  };
}

/** A few words side by side, one of them chosen. */
export function buttons({ label, options, onchange }) {
  const key = id();
  const inputs = options.map((o) => el("input", { type: "radio", name: key, value: o.name,
    onchange: () => onchange(o.name) }));
  const labels = options.map((o, i) => el("label", { title: o.help }, inputs[i], el("span", {}, o.label ?? o.name)));
  return {
    root: el("fieldset", { class: "control" }, el("legend", {}, label), el("div", { class: "choices" }, ...labels)),
    set(value) {
      inputs.forEach((input) => { input.checked = input.value === value; });
    },
  };
}

/** A line to type into; Enter sends it. */
export function line({ label, placeholder, hint, onchange }) {
  const key = id();
  const input = el("input", { id: key, type: "text", placeholder, maxlength: 40, autocomplete: "off",
    autocapitalize: "off", spellcheck: "false", onchange: () => input.value && onchange(input.value.trim()) });
  return { root: el("div", { class: "control" }, el("label", { for: key }, label), input,
    el("div", { class: "hint" }, hint)) };
}
