// Driving by keys and by buttons: what is held down becomes one input.
import { byTab, el, setText } from "./page.js";

const KEYS = {
  ArrowUp: "up", KeyW: "up", ArrowDown: "down", KeyS: "down",
  ArrowLeft: "left", KeyA: "left", ArrowRight: "right", KeyD: "right", Space: "fire",
};
const REPEAT_MS = 400; // while something is held: the program forgets hands that say nothing

/** Is this key for the control that has the focus? Letters drive except where one types; arrows and space are for a control
 * that was reached by Tab, and for a list to choose from. A slider that was dragged does not keep them. */
function takesKey(target, code) {
  if (target.closest("input[type=text], textarea") !== null) {
    return true;
  }
  if (code.startsWith("Key")) {
    return false;
  }
  return target.closest("select") !== null || (byTab() && target.closest("input, button, a") !== null);
}

/** Calls back with { drive, turn, fire } on every change, and again while something is held. */
export class Driver {
  constructor(onchange) {
    this.held = new Set();
    this.onchange = onchange;
    this.enabled = false;
    addEventListener("keydown", (event) => this.key(event, true));
    addEventListener("keyup", (event) => this.key(event, false));
    addEventListener("blur", () => this.release());
    setInterval(() => this.held.size > 0 && this.tell(), REPEAT_MS);
  }

  key(event, down) {
    const what = KEYS[event.code];
    if (!what || !this.enabled || event.ctrlKey || event.metaKey || event.altKey || (down && takesKey(event.target, event.code))) {
      return;
    }
    event.preventDefault();
    this.hold(what, down);
  }

  hold(what, down) {
    if (!this.enabled || this.held.has(what) === down) {
      return;
    }
    if (down) {
      this.held.add(what);
    } else {
      this.held.delete(what);
    }
    this.tell();
  }

  release() {
    if (this.held.size > 0) {
      this.held.clear();
      this.tell();
    }
  }

  tell() {
    const one = (what) => (this.held.has(what) ? 1 : 0);
    this.onchange({ drive: one("up") - one("down"), turn: one("left") - one("right"), fire: one("fire") === 1 });
  }
}

/** Buttons for fingers; `names` says what each holds down: { left: "◀", … }. */
function makePad(driver, names) {
  return el("div", { class: "pad", role: "group", "aria-label": "Drive" }, ...Object.entries(names).map(([what, sign]) => {
    const button = el("button", { type: "button", "aria-label": what }, sign);
    const hold = (down) => (event) => {
      event.preventDefault();
      driver.hold(what, down);
    };
    button.addEventListener("pointerdown", hold(true));
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) {
      button.addEventListener(end, hold(false));
    }
    return button;
  }));
}

/** Everything about driving: keys, a pad, who is at the wheel, and what else can be asked for. */
export class Wheel {
  constructor(send, { label, signs, again }) {
    this.driver = new Driver((input) => send({ drive: input }));
    this.pad = makePad(this.driver, signs);
    this.hands = el("div", { class: "hint" });
    this.root = el("div", { class: "control" }, el("div", { class: "label" }, label),
      el("div", { class: "row" },
        el("button", { type: "button", onclick: () => send({ drive: null }) }, "Let the bot drive"),
        el("button", { type: "button", onclick: () => send({ restart: true }) }, again)),
      this.hands);
  }

  enable(allowed) {
    this.driver.enabled = allowed;
    this.pad.querySelectorAll("button").forEach((button) => { button.disabled = !allowed; });
  }

  frame(frame) {
    setText(this.hands, frame.driven ? "You drive." : "The bot drives; press a key to take the wheel.");
  }
}
