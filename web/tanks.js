// The tanks demo: the owner's screen, three receivers' screens, what their errors add up to.
import { buttons, choice, line, slider } from "./controls.js";
import { Chart, Marks } from "./charts.js";
import { Wheel } from "./drive.js";
import { LINES, el, makeScreen, setText, swatch, theme } from "./page.js";
import { Trail } from "./picture.js";
import { Scene } from "./scene.js";

const TRAIL_POINTS = 200;
const NEAR = 110;

const CLOCKS = {
  global: { label: "global", help: "placed at its stamp: clocks agree" },
  local: { label: "local", help: "placed on arrival: no clocks needed, wrong by speed times delay" },
  "one-way": { label: "one-way", help: "placed the mean delay before arrival: wrong by speed times jitter" },
};

function tankOf(list, i) {
  return { x: list[4 * i] / 100, y: list[4 * i + 1] / 100, yaw: list[4 * i + 2] / 1000, state: list[4 * i + 3] };
}

function seconds(frame) {
  return frame.t / 1000;
}

export class TanksView {
  constructor(root, hello, send) {
    this.hello = hello;
    this.send = send;
    this.subject = `Tanks: one owner tells three receivers, ${hello.receivers.map((r) => r.delay_ms).join(", ")} ms away, `
      + "where its tank is. How wrong do they see it, and how unequally?";
    this.marks = new Marks();
    this.real = new Trail(TRAIL_POINTS);
    this.exported = new Trail(TRAIL_POINTS);
    this.placed = hello.receivers.map(() => new Trail(TRAIL_POINTS));
    this.sent = hello.receivers.map(() => []);
    this.whole = false;
    this.wheel = new Wheel(send, { label: "Drive: arrows or W A S D, space fires", again: "Count again",
      signs: { left: "◀", up: "▲", down: "▼", right: "▶", fire: "●" } });
    root.append(this.makeScreens(), this.makeLegend(), this.wheel.pad, this.makeControls(), this.makeCharts());
  }

  // ---------------------------------------------------------------- making

  makeScreen(name, about, mark) {
    const screen = makeScreen(name, about, mark);
    return { ...screen, scene: new Scene(screen.canvas, this.hello.world) };
  }

  makeScreens() {
    this.owner = this.makeScreen("The owner", "The arena as the owner sees it", swatch("real", [], 3));
    this.owner.canvas.tabIndex = 0;
    this.screens = this.hello.receivers.map((receiver, i) => this.makeScreen(
      `${receiver.delay_ms} ms away`, `The arena as the receiver ${receiver.delay_ms} milliseconds away sees it`,
      swatch(LINES[i].colour, LINES[i].dash, 4)));
    return el("div", { class: "screens" }, this.owner.figure, ...this.screens.map((s) => s.figure));
  }

  makeLegend() {
    const zoom = buttons({ label: "View", onchange: (name) => { this.whole = name === "whole"; },
      options: [{ name: "near", label: "tank", help: "close up" }, { name: "whole", label: "arena", help: "all of it" }] });
    zoom.set("near");
    return el("div", { class: "legend screens-legend" },
      el("span", {}, swatch("real", [], 1.5), "real: where the tank is (outline on the receivers' screens)"),
      el("span", {}, swatch("exported", [5, 3], 2), "exported: what the owner would have others believe"),
      el("span", {}, swatch("first", LINES[0].dash, 4), swatch("second", LINES[1].dash, 4),
        swatch("third", LINES[2].dash, 4), "placed: where each receiver sees it"), zoom.root);
  }

  makeControls() {
    const set = (key) => (value) => this.send({ set: { [key]: value } });
    this.policy = choice({ label: "Policy: who gets which update when", options: this.hello.policies,
      onchange: set("policy") });
    this.other = line({ label: "… or any other", placeholder: "equal/2-75", onchange: set("policy"), what: "policy",
      known: this.hello.policies.map((p) => p.name), hint: "Enter sets it; see docs/guide/send.md" });
    this.jitter = slider({ label: "Jitter", unit: "ms", max: this.hello.jitter_max_ms, step: 10,
      onchange: set("jitter_ms") });
    this.loss = slider({ label: "Loss", unit: "%", max: this.hello.loss_max_percent, step: 1,
      onchange: set("loss_percent") });
    this.clock = buttons({ label: "Updates are placed by clock", onchange: set("clock"),
      options: this.hello.clocks.map((name) => ({ name, ...CLOCKS[name] })) });
    const network = el("div", { class: "group" }, this.jitter.root, this.loss.root);
    const clock = el("div", { class: "group" }, this.clock.root, this.clockHint = el("div", { class: "hint" }));
    this.fields = el("fieldset", { class: "controls card" }, this.policy.root, this.other.root, network, clock,
      this.wheel.root);
    return this.fields;
  }

  makeCharts() {
    const lines = this.hello.receivers.map((receiver, i) => ({ label: `${receiver.delay_ms} ms`, ...LINES[i] }));
    const marks = this.marks;
    this.aee = new Chart({ title: "Accumulated error", unit: "units × seconds", series: lines, marks,
      about: "What each receiver has suffered so far. Equal slopes are fair, flat ones accurate." });
    this.spread = new Chart({ title: "Mean and spread", unit: "units × seconds", marks,
      about: "Of the three: how wrong on average, and how unequally (standard deviation).",
      series: [{ label: "mean", colour: "text", width: 2.5, dash: [] },
        { label: "spread", colour: "accent", dash: [6, 4] }] });
    this.now = new Chart({ title: "Error now", unit: "units", series: lines, marks, digits: 2,
      about: "Distance between exported and placed, over the last half second." });
    return el("div", { class: "charts" }, this.aee.root, this.spread.root, this.now.root);
  }

  // ---------------------------------------------------------------- news

  control(allowed) {
    this.fields.disabled = !allowed;
    this.wheel.enable(allowed);
  }

  settings(news) {
    this.policy.set(news.policy);
    this.other.set(news.policy, news.refused);
    this.jitter.set(news.jitter_ms);
    this.loss.set(news.loss_percent);
    this.clock.set(news.clock);
    setText(this.clockHint, CLOCKS[news.clock].help);
    const text = news.policy + (news.jitter_ms > 0 ? `, jitter ${news.jitter_ms} ms` : "")
      + (news.loss_percent > 0 ? `, loss ${news.loss_percent} %` : "") + (news.clock !== "global" ? `, ${news.clock}` : "");
    this.marks.change(text);
  }

  frame(frame) {
    this.note(frame);
    this.drawOwner(frame);
    this.screens.forEach((screen, i) => this.drawReceiver(frame, screen, i));
    this.chart(frame);
    this.wheel.frame(frame);
  }

  /** Adds to the paths. */
  note(frame) {
    const real = tankOf(frame.screens[0].tanks, 0);
    if (frame.count !== this.count || frame.t < this.last) {
      [this.aee, this.spread, this.now].forEach((chart) => chart.clear());
      this.marks.clear();
      this.count = frame.count;
    }
    this.last = frame.t;
    this.real.add(real.x, real.y, frame.life);
    this.exported.add(frame.exported[0] / 100, frame.exported[1] / 100, frame.life);
    this.placed.forEach((trail, i) => {
      const seen = tankOf(frame.screens[i + 1].tanks, 0);
      const previous = trail.points[trail.points.length - 1];
      if (seen.state > 0) {
        const far = previous && Math.hypot(previous.x - seen.x, previous.y - seen.y) > 60;
        trail.add(seen.x, seen.y, (previous?.life ?? 0) + (far ? 1 : 0));
      }
    });
    this.centre = real;
  }

  open(screen) {
    const { scene } = screen;
    scene.look(this.centre.x, this.centre.y, this.whole ? 2 * this.hello.world.half + 8 : NEAR);
    scene.begin();
    return scene;
  }

  drawOwner(frame) {
    const scene = this.open(this.owner);
    const { tanks, shots } = frame.screens[0];
    scene.trail(this.exported, theme.exported, 2, [5, 3]);
    scene.trail(this.real, theme.real, 1.5, []);
    for (let i = this.hello.players - 1; i > 0; i--) {
      scene.tank(tankOf(tanks, i), { fill: theme.other });
    }
    scene.tank(tankOf(tanks, 0), { fill: theme.real });
    scene.shots(shots);
    setText(this.owner.figures, "sees its tank as it is, and draws what it has told");
  }

  drawReceiver(frame, screen, i) {
    const scene = this.open(screen);
    const { tanks, shots } = frame.screens[i + 1];
    const truth = frame.screens[0].tanks;
    const colour = theme[LINES[i].colour];
    const placed = tankOf(tanks, 0);
    scene.trail(this.exported, theme.exported, 1.5, [5, 3]);
    scene.trail(this.real, theme.real, 1, []);
    scene.trail(this.placed[i], colour, 3, LINES[i].dash);
    for (let k = this.hello.players - 1; k > 0; k--) {
      scene.tank(tankOf(truth, k), { stroke: theme.other, width: 1 });
      scene.tank(tankOf(tanks, k), { fill: theme.other });
    }
    if (placed.state > 0) {
      scene.line(this.centre, placed, theme.real);
    }
    scene.tank(placed, { fill: colour });
    scene.tank(tankOf(truth, 0), { stroke: theme.real });
    scene.shots(shots);
    this.tellReceiver(frame, screen, i);
  }

  tellReceiver(frame, screen, i) {
    const receiver = frame.receivers[i];
    screen.wait.hidden = receiver.in && receiver.sees;
    setText(screen.wait, receiver.in ? "waiting for the first update …" : "joining from far away …");
    if (frame.t - (screen.told ?? -1000) < 250) {
      return;
    }
    screen.told = frame.t;
    const sent = this.sent[i];
    sent.push([frame.t, receiver.sent]);
    while (sent.length > 20) {
      sent.shift();
    }
    const span = (sent[sent.length - 1][0] - sent[0][0]) / 1000;
    const rate = span > 0 ? Math.max(0, receiver.sent - sent[0][1]) / span : 0;
    const bold = (text) => el("b", {}, text);
    screen.figures.replaceChildren("off by ", bold(receiver.now.toFixed(2)), " units, in all ", bold(receiver.aee.toFixed(0)),
      ` (ledger: ${receiver.ledger.toFixed(0)})`, el("br"), bold(rate.toFixed(1)), " updates a second");
  }

  chart(frame) {
    const time = seconds(frame);
    this.marks.frame(time);
    this.aee.add(time, frame.receivers.map((r) => r.aee));
    this.spread.add(time, [frame.mean, frame.sd]);
    this.now.add(time, frame.receivers.map((r) => (r.sees ? r.now : null)));
  }
}
