// Controls with labels. Each knows how to show what is set without sending it back.
import { byTab, el, setText } from "./page.js";

let next = 0;

function id() {
  next += 1;
  return "control" + next;
}

/** Chosen by a pointer: arrows are for driving again. Who came by Tab stays. */
function letGo(node) {
  if (!byTab()) {
    node.blur();
  }
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
    letGo(select);
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

/** A line to type a name into; Enter sends it. `what` it names, and which are `known`, for who mistypes. */
export function line({ label, placeholder, hint, what, known, onchange }) {
  const key = id();
  const note = el("div", { class: "hint", id: key + "note", role: "status" }, hint);
  let asked;
  const say = (text, bad) => {
    setText(note, text);
    note.classList.toggle("bad", bad);
    input.setAttribute("aria-invalid", bad);
  };
  const input = el("input", { id: key, type: "text", placeholder, maxlength: 40, autocomplete: "off",
    autocapitalize: "off", spellcheck: "false", "aria-describedby": key + "note", oninput: () => say(hint, false),
    onchange: () => {
      asked = input.value.trim();
      if (asked !== "") {
        onchange(asked);
      }
    } });
  return {
    root: el("div", { class: "control" }, el("label", { for: key }, label), input, note),
    /** What is set now, and the name that the program does not know, if there was one. */
    set(now, refused) {
      if (asked !== undefined && asked === refused) {
        say(`There is no ${what} “${refused}”; it stays ${now}. Known: ${known.join(", ")}.`, true);
      } else if (asked !== undefined && input.value.trim() === asked) {
        say(hint, false);
        input.blur(); // taken: keys drive again
        asked = undefined;
      }
    },
  };
}
