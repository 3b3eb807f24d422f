// The arena demo: one player's screen, whom it looks at, and what it costs to tell everybody of it.
import { buttons, slider } from "./controls.js";
import { Chart, Marks } from "./charts.js";
import { ArenaScene, drawKind } from "./arena_scene.js";
import { Uploads } from "./arena_upload.js";
import { Wheel } from "./drive.js";
import { el, makeScreen, onTheme, setText, swatch } from "./page.js";

const NEAR = 1100;
const WINDOW_MS = 15000; // of what is counted rather than measured
const EVERY_MS = 250;

/** Running sums of the last seconds; another game begins them anew. */
class Sums {
  constructor() {
    this.rows = [];
    this.game = 0;
  }

  add(frame) {
    const last = this.rows[this.rows.length - 1];
    if (frame.game !== this.game || (last && frame.t < last.t) || (last && frame.sums.replica_ticks < last.replica_ticks)) {
      this.rows.length = 0;
      this.game = frame.game;
    } else if (last && frame.t - last.t < EVERY_MS) {
      return;
    }
    this.rows.push({ t: frame.t, ...frame.sums });
    while (this.rows[0].t < frame.t - WINDOW_MS) {
      this.rows.shift();
    }
  }

  grown(key) {
    return this.rows.length > 1 ? this.rows[this.rows.length - 1][key] - this.rows[0][key] : 0;
  }

  /** `of` for each `per`; null while there is nothing to divide by. */
  rate(of, per) {
    const by = this.grown(per);
    return by > 0 ? this.grown(of) / by : null;
  }
}

/** A small drawing of a mark for the legend, by the scene's own pen. */
function mark(kind) {
  const canvas = el("canvas", { class: "mark", width: 52, height: 36, "aria-hidden": "true" });
  const draw = () => {
    const c = canvas.getContext("2d");
    c.clearRect(0, 0, 52, 36);
    drawKind(c, { x: 24, y: 18, yaw: 0, size: 9, pixel: 2, kind });
  };
  canvas.draw = draw;
  draw();
  return canvas;
}

export class ArenaView {
  constructor(root, hello, send) {
    this.hello = hello;
    this.send = send;
    this.subject = `Arena: one of ${hello.players} players. Its upload is small: whom does it tell where it is, and what does it `
      + "see of those who tell it little?";
    this.marks = new Marks();
    this.sums = new Sums();
    this.whole = true;
    this.wheel = new Wheel(send, { label: "Play: arrows or W A S D, space fires", again: "New match",
      signs: { left: "◀", up: "▲", down: "▼", right: "▶", fire: "●" } });
    root.append(el("div", { class: "arena" }, this.makeScreen(), this.makeSide()), this.wheel.pad, this.makeControls(),
      this.makeCharts());
    onTheme(() => this.legend.forEach((drawing) => drawing.draw()));
  }

  // ---------------------------------------------------------------- making

  makeScreen() {
    this.screen = makeScreen(`The screen of player 0, ${this.hello.names[0]}`, "The arena as player 0 sees it",
      swatch("accent", [], 4));
    this.screen.canvas.tabIndex = 0;
    this.scene = new ArenaScene(this.screen.canvas, this.hello.world);
    const kinds = [["own", "player 0"], ["focus", "in its focus: told at once (ring)"],
      ["told", "told when there is room"], ["guided", "guided: a bot walks the replica (square)"],
      ["truth", "where a player truly is"]];
    this.legend = kinds.map(([kind]) => mark(kind));
    const zoom = buttons({ label: "View", onchange: (name) => { this.whole = name === "whole"; },
      options: [{ name: "whole", label: "arena", help: "all of it" }, { name: "near", label: "player", help: "close up" }] });
    zoom.set("whole");
    this.screen.figure.querySelector("figcaption").append(el("div", { class: "legend screens-legend" },
      ...kinds.map(([, text], i) => el("span", {}, this.legend[i], text)), zoom.root));
    return this.screen.figure;
  }

  makeSide() {
    const number = (label) => {
      const value = el("b", {}, "–");
      return { root: el("div", { class: "number" }, value, el("span", {}, label)), value };
    };
    this.numbers = {
      focus: number("players who look at it: its focus set"),
      effort: number("times a second the others are told"),
      warps: number("warps a minute: jumps that no player can make"),
      error: number("units off: those it looks at most"),
    };
    this.uploads = new Uploads(this.hello);
    return el("div", { class: "side" },
      el("section", { class: "card numbers", "aria-label": "Numbers" }, ...Object.values(this.numbers).map((n) => n.root)),
      this.uploads.root);
  }

  makeControls() {
    const set = (key) => (value) => this.send({ set: { [key]: value } });
    this.mode = buttons({ label: "Mode: who is told what", options: this.hello.modes, onchange: set("mode") });
    this.topology = buttons({ label: "Who talks to whom", options: this.hello.topologies, onchange: set("topology") });
    this.modeHint = el("div", { class: "hint" });
    this.kbps = slider({ label: "Upload of each player", unit: "kbit/s", max: this.hello.kbps_max, step: 4, onchange: () => {} });
    const input = this.kbps.root.querySelector("input"); // another one is a new match: not while it is being chosen
    input.min = this.hello.kbps_min;
    input.addEventListener("change", () => set("kbps")(Number(input.value)));
    this.rtt = slider({ label: "Round trip between any two", unit: "ms", max: this.hello.rtt_max_ms, step: 10,
      onchange: set("rtt_ms") });
    this.loss = slider({ label: "Loss", unit: "%", max: this.hello.loss_max_percent, step: 1, onchange: set("loss_percent") });
    this.fields = el("fieldset", { class: "controls card arena-controls" },
      el("div", { class: "group" }, this.mode.root, this.modeHint), this.topology.root, this.kbps.root,
      el("div", { class: "group" }, this.rtt.root, this.loss.root), this.wheel.root);
    return this.fields;
  }

  makeCharts() {
    const { marks } = this;
    this.upload = new Chart({ title: "Upload of player 0", unit: "kbit/s", marks, digits: 0,
      about: "What it sends, by whom it is for, against what it may.",
      series: [{ label: "all", colour: "text", dash: [], width: 2.5 }, { label: "for its focus set", colour: "first", dash: [7, 4] },
        { label: "for the others", colour: "second", dash: [2, 3] }, { label: "budget", colour: "shot", dash: [12, 4], width: 1.5 }] });
    this.error = new Chart({ title: "How wrong its screen is", unit: "units", marks,
      about: "Distance between shown and true place, over the last second; a player is 30 units wide.",
      series: [{ label: "the four it looks at most", colour: "first", dash: [7, 4] },
        { label: "the others", colour: "second", dash: [2, 3] }] });
    this.warps = new Chart({ title: "Warps, and how often others are told", unit: "a minute; a second", marks,
      about: "Jumps a minute of each replica shown; times a second that receivers out of focus are told.",
      series: [{ label: "warps", colour: "shot", dash: [], width: 2.5 }, { label: "told, Hz", colour: "second", dash: [2, 3] }] });
    return el("div", { class: "charts" }, this.upload.root, this.error.root, this.warps.root);
  }

  // ---------------------------------------------------------------- news

  control(allowed) {
    this.fields.disabled = !allowed;
    this.wheel.enable(allowed);
  }

  settings(news) {
    this.now = news;
    this.mode.set(news.mode);
    this.topology.set(news.topology);
    this.kbps.set(news.kbps);
    this.rtt.set(news.rtt_ms);
    this.loss.set(news.loss_percent);
    setText(this.modeHint, this.hello.modes.find((m) => m.name === news.mode).help
      + ". Another mode or upload is a new match: everybody meets again.");
    const text = `${news.topology === "crowd" ? "crowd, " : ""}${news.mode}${news.mode === "hibw" ? "" : `, ${news.kbps} kbit/s`}, ${news.rtt_ms} ms`
      + (news.loss_percent > 0 ? `, loss ${news.loss_percent} %` : "");
    this.marks.change(text);
  }

  frame(frame) {
    const own = this.scene.playerOf(frame, 0);
    if (own.state > 0) {
      this.centre = own;
    }
    this.draw(frame);
    this.sums.add(frame);
    this.uploads.frame(frame, this.now);
    this.tell(frame);
    this.chart(frame);
    this.wheel.frame(frame);
  }

  draw(frame) {
    const { scene, hello } = this;
    const at = this.centre ?? { x: 0, y: 0 };
    scene.look(at.x, at.y, this.whole ? 2 * hello.world.half + 40 : NEAR);
    scene.begin(frame.items);
    for (let i = hello.players - 1; i > 0; i--) {
      scene.truth(frame, i);
    }
    for (let i = hello.players - 1; i >= 0; i--) {
      scene.player(frame, i);
    }
    scene.shots(frame.shots);
    const { how } = frame.players;
    const shown = how.filter((h) => h > 0).length;
    this.screen.wait.hidden = shown === hello.players;
    setText(this.screen.wait, `everybody meets: ${frame.peers + 1} of ${hello.players} are here, ${shown} are seen`);
  }

  tell(frame) {
    if (frame.t - (this.told ?? -1000) < EVERY_MS && frame.t >= this.told) {
      return;
    }
    this.told = frame.t;
    const { own, players } = frame;
    const count = (test) => players.how.filter((h, i) => i > 0 && h > 0 && test(h, i)).length;
    const focus = count((h, i) => players.serves[i] === 1 && h === 1);
    const guided = count((h) => h === 3);
    const nearing = count((h) => h === 2);
    const bold = (text) => el("b", {}, String(text));
    this.screen.figures.replaceChildren("health ", bold(own.health), ", armour ", bold(own.armour), `, ${own.weapon}; score `,
      bold(own.score), ", died ", bold(own.deaths), el("br"), "it sees ", bold(focus), " in focus, ", bold(guided), " guided, ",
      bold(nearing), " on the way to their true place, ", bold(players.how.length - 1 - focus - guided - nearing), " otherwise");
    const show = (key, value, digits) => setText(this.numbers[key].value, value === null ? "–" : value.toFixed(digits));
    this.effortHz = this.effort();
    this.warpRate = this.warpsAMinute();
    show("focus", this.sums.rate("focus", "frames"), 1);
    show("effort", this.effortHz, 1);
    show("warps", this.warpRate, 1);
    show("error", frame.error[0], 1);
  }

  effort() {
    const pairs = this.sums.grown("pairs") - this.sums.grown("focus");
    return pairs > 0 ? (this.hello.tick_hz * this.sums.grown("effort")) / pairs : null;
  }

  warpsAMinute() {
    const rate = this.sums.rate("jumps", "replica_ticks");
    return rate === null ? null : rate * this.hello.tick_hz * 60;
  }

  chart(frame) {
    const time = frame.t / 1000;
    this.marks.frame(time);
    const { all, focus, rest } = this.uploads.kbps;
    const budget = this.now && this.now.mode !== "hibw" ? this.now.kbps : null;
    this.upload.add(time, [all, focus, rest, budget]);
    this.error.add(time, frame.error);
    this.warps.add(time, [this.warpRate ?? null, this.effortHz ?? null]);
  }
}
