// Any session: what is there as one node sees it, who is there, and how well they see.
import { Chart, Marks } from "./charts.js";
import { choice, line } from "./controls.js";
import { LINES, el, makeScreen, setText, theme } from "./page.js";
import { Picture } from "./picture.js";
import { Course } from "./racing.js";
import { Scene } from "./scene.js";

const NUMBERS = 6; // of each thing
const LABELS_MAX = 40;
const ASK_MS = 1000; // over which rates are taken

/** A world of which nothing is known but the things in it: squares, and a frame that grows with them. */
class Ground extends Picture {
  begin() {
    const c = this.context;
    const step = 10 ** Math.floor(Math.log10(this.span / 4));
    this.fill(theme.field);
    c.strokeStyle = theme.grid;
    c.lineWidth = this.pixel;
    c.beginPath();
    for (let i = -this.span / step; i <= this.span / step; i++) {
      const x = this.px(Math.round(this.centre.x / step + i) * step);
      const y = this.py(Math.round(this.centre.y / step + i) * step);
      c.moveTo(x, 0);
      c.lineTo(x, this.canvas.height);
      c.moveTo(0, y);
      c.lineTo(this.canvas.width, y);
    }
    c.stroke();
  }
}

function boundsOf(points) {
  const box = { lowX: Infinity, lowY: Infinity, highX: -Infinity, highY: -Infinity };
  for (const { x, y } of points) {
    box.lowX = Math.min(box.lowX, x);
    box.lowY = Math.min(box.lowY, y);
    box.highX = Math.max(box.highX, x);
    box.highY = Math.max(box.highY, y);
  }
  return box;
}

/** What the map covers; without a map nothing is known before there are things. */
function mapBounds(map) {
  if (map?.half !== undefined) {
    return { lowX: -map.half, lowY: -map.half, highX: map.half, highY: map.half };
  }
  if (map?.line !== undefined) {
    const points = [];
    for (let i = 0; i + 1 < map.line.length; i += 2) {
      points.push({ x: map.line[i] / 100, y: map.line[i + 1] / 100 });
    }
    const { lowX, lowY, highX, highY } = boundsOf(points);
    const edge = 2 * map.half_width;
    return { lowX: lowX - edge, lowY: lowY - edge, highX: highX + edge, highY: highY + edge };
  }
  return null;
}

function pictureOf(canvas, map) {
  if (map?.boxes !== undefined) {
    return new Scene(canvas, map);
  }
  return map?.line !== undefined ? new Course(canvas, map) : new Ground(canvas);
}

function thingsOf(list) {
  const things = [];
  for (let i = 0; i + NUMBERS <= list.length; i += NUMBERS) {
    things.push({ number: list[i], owner: list[i + 1], x: list[i + 2] / 100, y: list[i + 3] / 100, yaw: list[i + 4] / 1000,
      alive: list[i + 5] === 2 });
  }
  return things;
}

const text = (value, digits, unit = "") => (value === null || value === undefined || !Number.isFinite(value) ? "–"
  : value.toFixed(digits) + unit);

export class SessionView {
  constructor(root, hello, send) {
    this.hello = { game: "a game", thing: "thing", ...hello };
    this.send = send;
    this.subject = `A session of ${this.hello.game}, as the program that serves this page sees it. Who is there, what they are told, `
      + "and how wrong they see it.";
    this.marks = new Marks();
    this.before = new Map(); // a peer's counts of a while ago
    this.rates = new Map();
    this.bounds = mapBounds(hello.map);
    const side = el("div", { class: "side" }, this.makeLegend(), this.makeControls(), this.makePeers());
    root.append(el("div", { class: "session" }, this.makeScreen(), side), this.makeCharts());
  }

  // ---------------------------------------------------------------- making

  makeScreen() {
    this.screen = makeScreen("As seen here", `The ${this.hello.game} session as this program sees it`, "");
    this.screen.canvas.tabIndex = 0;
    this.picture = pictureOf(this.screen.canvas, this.hello.map);
    return el("div", { class: "screens one" }, this.screen.figure);
  }

  makeLegend() {
    const sign = (name) => el("i", { class: `sign ${name}` });
    return el("div", { class: "legend" }, el("span", {}, sign("own"), `own ${this.hello.thing}s, as others are told`),
      el("span", {}, sign("others"), "others', as they are shown here"));
  }

  makeControls() {
    const set = (value) => this.send({ set: { policy: value } });
    this.policy = choice({ label: "Policy: who gets which update of our own things when", options: this.hello.policies,
      onchange: set });
    this.other = line({ label: "… or any other", placeholder: "equal/2-75", onchange: set, what: "policy",
      known: this.hello.policies.map((p) => p.name), hint: "Enter sets it; see docs/guide/send.md" });
    this.fields = el("fieldset", { class: "controls card" }, this.policy.root, this.other.root);
    this.fields.hidden = this.hello.policies.length === 0;
    return this.fields;
  }

  makePeers() {
    const head = ["peer", "round trip, ms", "loss, %", "out, kbit/s", "in, kbit/s", "things", "updates /s", "accumulated error"];
    this.rows = el("tbody", {});
    return el("div", { class: "card peers", tabindex: 0, role: "region", "aria-label": "Peers" }, el("table", {},
      el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))), this.rows));
  }

  makeCharts() {
    const { marks } = this;
    const three = (...labels) => labels.map((label, i) => ({ label, ...LINES[i] }));
    this.aee = new Chart({ title: "Accumulated error", unit: "distance × seconds", marks,
      series: three("least", "mean", "worst"), digits: 2,
      about: "Of everything that is told from here, over the peers. Equal slopes are fair, flat ones accurate." });
    this.rtt = new Chart({ title: "Round trip", unit: "ms", marks, series: three("least", "mean", "worst"),
      about: "Over the peers that are reached directly." });
    this.traffic = new Chart({ title: "Traffic", unit: "kbit/s", marks, series: three("out", "in"),
      about: "All links together, everything below counted." });
    return el("div", { class: "charts" }, this.aee.root, this.rtt.root, this.traffic.root);
  }

  // ---------------------------------------------------------------- news

  control(allowed) {
    this.fields.disabled = !allowed;
  }

  settings(news) {
    this.policy.set(news.policy);
    this.other.set(news.policy, news.refused);
    this.marks.change(news.policy);
  }

  frame(frame) {
    const things = thingsOf(frame.things);
    this.draw(frame, things);
    if (frame.t - (this.told ?? -ASK_MS) < 250 && frame.t >= (this.told ?? 0)) {
      return;
    }
    this.told = frame.t;
    this.measure(frame);
    this.tell(frame, things);
    this.chart(frame);
  }

  draw(frame, things) {
    if (this.hello.map === undefined && things.length > 0) { // grows, and never shrinks
      this.bounds = boundsOf([...things, ...(this.bounds === null ? []
        : [{ x: this.bounds.lowX, y: this.bounds.lowY }, { x: this.bounds.highX, y: this.bounds.highY }])]);
    }
    const { picture } = this;
    const { lowX, lowY, highX, highY } = this.bounds ?? { lowX: -1, lowY: -1, highX: 1, highY: 1 };
    const shape = picture.canvas.width / picture.canvas.height;
    const [wide, high] = [1.06 * (highX - lowX) || 1, 1.06 * (highY - lowY) || 1];
    const span = shape > 1 ? Math.max(high, wide / shape) : Math.max(wide, high * shape);
    picture.look((lowX + highX) / 2, (lowY + highY) / 2, span);
    picture.begin();
    for (const thing of things) {
      this.drawThing(thing, thing.owner === frame.self, things.length <= LABELS_MAX);
    }
    this.drawDots(frame.dots ?? []);
    this.screen.wait.hidden = things.length > 0;
    setText(this.screen.wait, `no ${this.hello.thing}s yet`);
  }

  drawThing(thing, own, named) {
    const { picture } = this;
    const c = picture.context;
    const size = 7 * picture.pixel;
    c.save();
    c.translate(picture.px(thing.x), picture.py(thing.y));
    c.globalAlpha = thing.alive ? 1 : 0.3;
    c.save();
    c.rotate(-thing.yaw);
    c.beginPath();
    c.moveTo(1.4 * size, 0);
    c.lineTo(-size, 0.8 * size);
    c.lineTo(-0.5 * size, 0);
    c.lineTo(-size, -0.8 * size);
    c.closePath();
    c.fillStyle = own ? theme.accent : theme.real;
    c.fill();
    c.restore();
    if (own) { // told apart by more than colour
      c.beginPath();
      c.arc(0, 0, 1.9 * size, 0, 7);
      c.strokeStyle = theme.accent;
      c.lineWidth = picture.pixel;
      c.stroke();
    }
    if (named) {
      c.fillStyle = theme.soft;
      c.font = `${11 * picture.pixel}px system-ui, sans-serif`;
      c.textAlign = "center";
      c.textBaseline = "alphabetic";
      c.fillText(thing.number, 0, -2.2 * size);
    }
    c.restore();
  }

  drawDots(dots) {
    const { picture } = this;
    const c = picture.context;
    c.fillStyle = theme.shot;
    for (let i = 0; i + 1 < dots.length; i += 2) {
      c.beginPath();
      c.arc(picture.px(dots[i] / 100), picture.py(dots[i + 1] / 100), 2 * picture.pixel, 0, 7);
      c.fill();
    }
  }

  /** Counts become rates. */
  measure(frame) {
    const known = new Set(frame.peers.map((peer) => peer.number));
    for (const peer of frame.peers) {
      const before = this.before.get(peer.number);
      const span = before === undefined ? -1 : frame.t - before.t;
      if (span < 0 || peer.sent < before.sent || peer.bytes_out < before.bytes_out) {
        this.before.set(peer.number, { t: frame.t, ...peer });
        this.rates.delete(peer.number);
      } else if (span >= ASK_MS) {
        const rate = (key, scale) => (scale * (peer[key] - before[key])) / span;
        this.rates.set(peer.number, { sent: rate("sent", 1000), out: rate("bytes_out", 8), in: rate("bytes_in", 8) });
        this.before.set(peer.number, { t: frame.t, ...peer });
      }
    }
    for (const number of this.before.keys()) {
      if (!known.has(number)) { // it left; its number may be somebody else's later
        this.before.delete(number);
        this.rates.delete(number);
      }
    }
  }

  tell(frame, things) {
    const bold = (value) => el("b", {}, value);
    this.screen.figures.replaceChildren(bold(String(things.length)), ` ${this.hello.thing}s, `,
      bold(String(frame.peers.length + (frame.peers.length === 32 ? "+" : ""))), " peers; session time known to ",
      bold(text(frame.clock_ms, 1, " ms")), el("br"), "at this page: ", bold(text(frame.viewers, 0)), " looking on, ",
      bold(text(frame.refused, 0)), " requests refused");
    this.rows.replaceChildren(...frame.peers.map((peer) => {
      const rate = this.rates.get(peer.number);
      const cells = [text(peer.rtt_ms, 1), text(100 * (peer.loss ?? NaN), 1), text(rate?.out, 1), text(rate?.in, 1),
        text(peer.pairs, 0), text(rate?.sent, 1), peer.pairs > 0 ? text(peer.aee, 2) : "–"];
      return el("tr", {}, el("th", { scope: "row" }, peer.number + (peer.direct === false ? ", through the host" : "")),
        ...cells.map((cell) => el("td", {}, cell)));
    }));
  }

  chart(frame) {
    const time = frame.t / 1000;
    this.marks.frame(time);
    const three = (values) => (values.length === 0 ? [null, null, null]
      : [Math.min(...values), values.reduce((a, b) => a + b) / values.length, Math.max(...values)]);
    const sum = (key) => [...this.rates.values()].reduce((all, rate) => all + rate[key], 0);
    this.aee.add(time, three(frame.peers.filter((peer) => peer.pairs > 0).map((peer) => peer.aee)));
    this.rtt.add(time, three(frame.peers.filter((peer) => Number.isFinite(peer.rtt_ms)).map((peer) => peer.rtt_ms)));
    this.traffic.add(time, this.rates.size > 0 ? [sum("out"), sum("in")] : [null, null]);
  }
}
