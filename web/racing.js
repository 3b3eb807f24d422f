// The racing demo: two players' screens, who leads on each, and how often they disagree.
import { Chart, Marks } from "./charts.js";
import { choice, line, slider } from "./controls.js";
import { Wheel } from "./drive.js";
import { LINES, el, makeScreen, setText, swatch, theme } from "./page.js";
import { Picture } from "./picture.js";

const NEAR = 22; // m from edge to edge
const CARS = [
  { name: "A", colour: "first", line: LINES[0] },
  { name: "B", colour: "second", line: LINES[1] },
];

function carOf(list, i) {
  return { x: list[4 * i] / 100, y: list[4 * i + 1] / 100, yaw: list[4 * i + 2] / 1000, there: list[4 * i + 3] > 0 };
}

/** The course and cars on it. */
export class Course extends Picture {
  constructor(canvas, course) {
    super(canvas);
    this.course = course;
  }

  begin() {
    const { line: points, half_width: half } = this.course;
    const c = this.context;
    this.fill(theme.wall);
    const way = this.path(points, half);
    c.lineJoin = "bevel";
    c.strokeStyle = theme.edge;
    c.lineWidth = (2 * half + 1) * this.scale;
    c.stroke(way);
    c.strokeStyle = theme.field;
    c.lineWidth = 2 * half * this.scale;
    c.stroke(way);
    c.strokeStyle = theme.grid;
    c.lineWidth = Math.max(this.pixel, 0.15 * this.scale);
    c.setLineDash([2 * this.scale, 2 * this.scale]); // 2 m: they say how fast one goes
    c.stroke(way);
    c.setLineDash([]);
    this.finish(points, half);
  }

  /** The part of the course that can be seen, and a little more. */
  path(points, half) {
    const way = new Path2D();
    const count = points.length / 2;
    let drawn = false;
    for (let i = 0; i <= count; i++) {
      const [x, y] = [points[2 * (i % count)] / 100, points[2 * (i % count) + 1] / 100];
      const near = this.sees(x, y, 2 * half + 8);
      if (near && drawn) {
        way.lineTo(this.px(x), this.py(y));
      } else if (near) {
        way.moveTo(this.px(x), this.py(y));
      }
      drawn = near;
    }
    return way;
  }

  finish(points, half) {
    const angle = Math.atan2(points[3] - points[1], points[2] - points[0]);
    const c = this.context;
    c.save();
    c.translate(this.px(points[0] / 100), this.py(points[1] / 100));
    c.rotate(-angle);
    c.fillStyle = theme.soft;
    c.fillRect(-0.3 * this.scale, -half * this.scale, 0.6 * this.scale, 2 * half * this.scale);
    c.restore();
  }

  car(car, colour, name, filled) {
    if (!car.there) {
      return;
    }
    const c = this.context;
    const long = Math.max((this.course.car / 2) * this.scale, 9 * this.pixel); // small ones stay visible
    const wide = long * 0.58;
    c.save();
    c.translate(this.px(car.x), this.py(car.y));
    c.rotate(-car.yaw);
    c.beginPath();
    c.moveTo(long, -wide * 0.45);
    c.lineTo(long, wide * 0.45);
    c.lineTo(-long, wide);
    c.lineTo(-long, -wide);
    c.closePath();
    if (filled) {
      c.fillStyle = colour;
      c.fill();
    } else {
      c.strokeStyle = colour;
      c.lineWidth = 1.5 * this.pixel;
      c.stroke();
    }
    c.restore();
    if (filled) {
      c.fillStyle = theme.card;
      c.font = `700 ${Math.round(long * 0.95)}px system-ui, sans-serif`;
      c.textAlign = "center";
      c.textBaseline = "middle";
      c.fillText(name, this.px(car.x), this.py(car.y) + this.pixel);
    }
  }
}

/** While the screens are not compared. */
const PHASES = {
  waiting: "Waiting for both players.",
  grid: "The race is about to start.",
  race: "The race has begun; the screens are compared after its first second.",
  over: "The race is over; the next one follows.",
};

export class RacingView {
  constructor(root, hello, send) {
    this.hello = hello;
    this.send = send;
    this.subject = "Racing: two players, each with a car, and a network between them. Who leads, and on whose screen?";
    this.marks = new Marks();
    this.told = [[], []];
    this.wheel = new Wheel(send, { label: "Drive car A: arrows or W A S D", again: "New race",
      signs: { left: "◀", up: "▲", down: "▼", right: "▶" } });
    root.append(this.makeScreens(), this.makeLegend(), this.wheel.pad, this.makeControls(), this.makeCharts());
  }

  // ---------------------------------------------------------------- making

  makeScreens() {
    this.screens = CARS.map(({ name, line: style }) => {
      const screen = makeScreen(`Player ${name}'s screen`, `The race as player ${name} sees it`,
        swatch(style.colour, style.dash, 4));
      return { ...screen, course: new Course(screen.canvas, this.hello.course) };
    });
    this.screens[0].canvas.tabIndex = 0;
    return el("div", { class: "screens two" }, ...this.screens.map((screen) => screen.figure));
  }

  makeLegend() {
    this.verdict = el("b", { class: "verdict" });
    return el("div", { class: "legend" }, this.verdict,
      el("span", {}, "filled: a car as the screen shows it"),
      el("span", {}, "outline: where its own player has it at the same moment"));
  }

  makeControls() {
    const set = (key) => (value) => this.send({ set: { [key]: value } });
    this.scheme = choice({ label: "Scheme: what is shown when", options: this.hello.schemes, onchange: set("scheme") });
    this.other = line({ label: "… or any other", placeholder: "reckoned/snap/steps", onchange: set("scheme"), what: "scheme",
      known: this.hello.schemes.map((s) => s.name), hint: "HOLD/PLACEMENT/CONVERGENCE; Enter sets it" });
    this.delay = slider({ label: "Delay, each way", unit: "ms", max: this.hello.delay_max_ms, step: 5,
      onchange: set("delay_ms") });
    this.jitter = slider({ label: "Jitter", unit: "ms", max: this.hello.jitter_max_ms, step: 1, onchange: set("jitter_ms") });
    this.loss = slider({ label: "Loss", unit: "%", max: this.hello.loss_max_percent, step: 1,
      onchange: set("loss_percent") });
    this.fields = el("fieldset", { class: "controls card" }, this.scheme.root, this.other.root,
      el("div", { class: "group" }, this.delay.root), el("div", { class: "group" }, this.jitter.root, this.loss.root),
      this.wheel.root);
    return this.fields;
  }

  makeCharts() {
    const { marks } = this;
    const lines = CARS.map((car) => ({ ...car.line, label: `on ${car.name}'s screen` }));
    this.gap = new Chart({ title: "Who leads", unit: "A ahead, m", series: lines, marks, signed: true, digits: 2,
      about: "By how much car A is ahead, on each screen. Where one line is above 0 and the other below, both think they lead." });
    this.rate = new Chart({ title: "Inconsistency rate", unit: "percent", marks, digits: 2,
      about: "How often the two screens disagree who leads: in the last 10 s, and since something was changed.",
      series: [{ label: "last 10 s", colour: "accent", dash: [] }, { label: "in all", colour: "text", dash: [6, 4] }] });
    this.off = new Chart({ title: "Cars apart", unit: "car lengths", marks, signed: true, digits: 2,
      about: "How much further each car is on its own player's screen than on the other's.",
      series: CARS.map((car) => ({ ...car.line, label: `car ${car.name}` })) });
    return el("div", { class: "charts" }, this.gap.root, this.rate.root, this.off.root);
  }

  // ---------------------------------------------------------------- news

  control(allowed) {
    this.fields.disabled = !allowed;
    this.wheel.enable(allowed);
  }

  settings(news) {
    this.scheme.set(news.scheme);
    this.other.set(news.scheme, news.refused);
    this.delay.set(news.delay_ms);
    this.jitter.set(news.jitter_ms);
    this.loss.set(news.loss_percent);
    this.marks.change(`${news.scheme}, ${news.delay_ms}` + (news.jitter_ms > 0 ? `±${news.jitter_ms} ms` : " ms")
      + (news.loss_percent > 0 ? `, ${news.loss_percent} %` : ""));
  }

  frame(frame) {
    this.screens.forEach((screen, p) => this.drawScreen(frame, screen, p));
    this.tellVerdict(frame);
    this.wheel.frame(frame);
    const time = frame.t / 1000;
    this.marks.frame(time);
    this.gap.add(time, frame.screens.map((screen) => (frame.compared ? screen.gap : null)));
    this.rate.add(time, [frame.recent, frame.rate]);
    this.off.add(time, frame.off);
  }

  drawScreen(frame, screen, p) {
    const { course } = screen;
    const cars = CARS.map((_, c) => carOf(frame.screens[p].cars, c));
    const truth = CARS.map((_, c) => carOf(frame.truth, c));
    const [a, b] = cars;
    const apart = Math.hypot(a.x - b.x, a.y - b.y);
    const middle = apart < 40 ? { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 } : cars[p];
    this.zoom = (this.zoom ?? NEAR) + (Math.min(90, Math.max(NEAR, apart * 1.7)) - (this.zoom ?? NEAR)) * 0.02;
    course.look(middle.x, middle.y, this.zoom);
    course.begin();
    CARS.forEach((car, c) => course.car(truth[c], theme[car.colour], car.name, false));
    CARS.forEach((car, c) => course.car(cars[c], theme[car.colour], car.name, true));
    screen.wait.hidden = frame.screens[p].in && a.there;
    setText(screen.wait, "joining …");
    this.tellScreen(frame, screen, p);
  }

  tellScreen(frame, screen, p) {
    if (frame.t - (screen.said ?? -1000) < 200) {
      return;
    }
    screen.said = frame.t;
    const news = frame.screens[p];
    const told = this.told[p];
    told.push([frame.t, news.told]);
    while (told.length > 15) {
      told.shift();
    }
    const span = (told[told.length - 1][0] - told[0][0]) / 1000;
    const rate = span > 0 ? (news.told - told[0][1]) / span : 0;
    const bold = (text) => el("b", {}, text);
    const leader = CARS[news.gap > 0 ? 0 : 1].name;
    screen.figures.replaceChildren("leads: ", bold(leader), " by ", bold(Math.abs(news.gap).toFixed(2)), " m", el("br"),
      "own actions show after ", bold(Math.round(news.behind_ms).toString()), " ms, tells ", bold(rate.toFixed(1)),
      " updates a second");
  }

  tellVerdict(frame) {
    setText(this.verdict, !frame.compared ? PHASES[frame.phase] : frame.agree ? "✓ Both screens agree who leads."
      : "✗ The screens disagree: each player sees another car in front.");
    this.verdict.classList.toggle("bad", frame.compared && !frame.agree);
  }
}
