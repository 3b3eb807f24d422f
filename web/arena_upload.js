// What a player sends to whom: one bar for each receiver, one for all against the budget.
import { el, setText, theme } from "./page.js";
import { Picture } from "./picture.js";

const EVERY_MS = 200;
const SAMPLES = 10;

export class Uploads {
  constructor(hello) {
    this.hello = hello;
    this.rows = [];
    this.kbps = { all: 0, focus: 0, rest: 0, to: [] };
    this.canvas = el("canvas", { role: "img", "aria-label": "Upload of player 0 by receiver" });
    this.words = el("p", {});
    this.root = el("section", { class: "card uploads" }, el("h2", {}, "Bandwidth"), this.words,
      el("div", { class: "bars" }, this.canvas));
    this.picture = new Picture(this.canvas);
  }

  frame(frame, settings) {
    const last = this.rows[this.rows.length - 1];
    const { to, all, serves } = frame.upload;
    if (last && (frame.game !== last.game || frame.t < last.t || all[0] < last.all[0])) {
      this.rows.length = 0;
    } else if (last && frame.t - last.t < EVERY_MS) {
      return;
    }
    this.rows.push({ t: frame.t, game: frame.game, to, all });
    if (this.rows.length > SAMPLES) {
      this.rows.shift();
    }
    this.measure(serves);
    this.draw(serves, settings);
  }

  /** Of the last two seconds. Budgets may count more than was sent (as long as published): shares are of that. */
  measure(serves) {
    const [first, last] = [this.rows[0], this.rows[this.rows.length - 1]];
    const span = last.t - first.t;
    const rate = (key, i) => (span > 0 ? (8 * (last[key][i] - first[key][i])) / span : 0);
    const to = last.to.map((_, i) => rate("to", i));
    const sum = to.reduce((a, b) => a + b, 0);
    const all = rate("all", 0);
    const scale = sum > 0 ? all / sum : 0;
    const of = (kind) => to.reduce((total, value, i) => total + (serves[i] === kind ? value * scale : 0), 0);
    this.everybody = last.all.map((_, i) => rate("all", i));
    this.kbps = { all, focus: of(1), rest: Math.max(0, all - of(1)), to: to.map((value) => value * scale) };
  }

  draw(serves, settings) {
    const { picture, canvas } = this;
    const c = picture.context;
    const { pixel } = picture;
    const count = this.hello.players - 1;
    const budget = settings && settings.mode !== "hibw" ? settings.kbps : null;
    const { all, focus, rest } = this.kbps;
    const crowd = settings?.topology === "crowd"; // updates go on from hand to hand: not by receiver
    const to = crowd ? this.everybody : this.kbps.to;
    const share = crowd ? "its own updates, and others' that it passes on"
      : `${focus.toFixed(0)} for its focus set, ${rest.toFixed(0)} for the others`;
    const mean = this.everybody.reduce((a, b) => a + b, 0) / this.everybody.length;
    setText(this.words, `Player 0 sends ${all.toFixed(0)} kbit/s${budget === null ? ", without a limit" : ` of ${budget}`}: `
      + `${share}. On average everybody sends ${mean.toFixed(0)}.`);
    picture.fill(theme.card);
    const wide = canvas.width;
    const high = canvas.height;
    const top = 26 * pixel; // of what is below the bar for all
    const head = top + 16 * pixel; // and of the bars there
    const most = Math.max(budget ?? 0, all, 1) * 1.04;
    this.bar(c, 0, 0, (wide * focus) / most, top - 8 * pixel, 1, pixel);
    this.bar(c, (wide * focus) / most, 0, (wide * rest) / most, top - 8 * pixel, 2, pixel);
    if (budget !== null) {
      c.fillStyle = theme.shot;
      c.fillRect((wide * budget) / most - 2 * pixel, 0, 3 * pixel, top - 4 * pixel);
    }
    const step = wide / count;
    const tall = Math.max(...to, 1);
    const foot = high - 16 * pixel;
    c.font = `${10.5 * pixel}px system-ui, sans-serif`;
    c.textAlign = "center";
    c.textBaseline = "alphabetic";
    for (let i = 1; i <= count; i++) {
      const height = ((foot - head) * to[i]) / tall;
      this.bar(c, (i - 1) * step + step * 0.12, foot - height, step * 0.76, height, serves[i], pixel);
      c.fillStyle = theme.soft;
      if (step > 16 * pixel || i % 4 === 1) {
        c.fillText(String(i), (i - 0.5) * step, high - 3 * pixel);
      }
    }
    c.textAlign = "left";
    c.fillText(`${crowd ? "what each sends" : "by receiver"}, up to ${tall.toFixed(tall < 10 ? 1 : 0)} kbit/s`, 0, top + 10 * pixel);
  }

  /** In focus: full. Else: hatched. */
  bar(c, x, y, width, height, serves, pixel) {
    if (width <= 0 || height <= 0) {
      return;
    }
    c.save();
    c.beginPath();
    c.rect(x, y, width, height);
    c.fillStyle = serves === 1 ? theme.first : theme.card;
    c.fill();
    if (serves !== 1) {
      c.clip();
      c.strokeStyle = theme.second;
      c.lineWidth = 1.6 * pixel;
      c.beginPath();
      for (let at = x - height; at < x + width; at += 5 * pixel) {
        c.moveTo(at, y + height);
        c.lineTo(at + height, y);
      }
      c.stroke();
      c.strokeRect(x, y, width, height);
    }
    c.restore();
  }
}
