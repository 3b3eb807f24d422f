// Live charts: the last minute and a half of some numbers, with marks where something was changed.
import { el, onTheme, setText, swatch, theme } from "./page.js";

const SECONDS = 90;
const EVERY_MS = 200;
const HEIGHT = 176;
const SETTLED_S = 0.7; // a slider on its way changes more often than that
const TEXT_PIXELS = 13;

/** Where something was changed: one mark for each change that lasts, not one for each notch on the way. */
export class Marks {
  constructor() {
    this.list = [];
    this.now = undefined; // what the newest mark says
    this.next = undefined; // { text, time }: changed, and not settled yet
  }

  /** What is set from here on. */
  change(text) {
    this.next = { text };
  }

  frame(time) {
    const { next } = this;
    if (next !== undefined) {
      next.time = Math.min(next.time ?? time, time);
      if (next.text === this.now) {
        this.next = undefined;
      } else if (this.now === undefined || time - next.time >= SETTLED_S) {
        this.list.push(next);
        this.now = next.text;
        this.next = undefined;
      }
    }
    while (this.list.length > 0 && (this.list[0].time < time - SECONDS || this.list[0].time > time)) {
      this.list.shift();
    }
  }

  /** Another count begins: what is set now is its first mark. */
  clear() {
    this.next ??= this.now === undefined ? undefined : { text: this.now };
    this.now = undefined;
    this.list.length = 0;
  }
}

/** Draws the marks: a line and its word, at the time when something was changed. */
function marksPlugin(marks) {
  return {
    hooks: {
      draw: (plot) => {
        const { ctx, bbox } = plot;
        const scale = devicePixelRatio;
        ctx.save();
        ctx.strokeStyle = theme.soft;
        ctx.fillStyle = theme.soft;
        ctx.font = `${12 * scale}px system-ui, sans-serif`;
        ctx.lineWidth = scale;
        ctx.textAlign = "left";
        ctx.textBaseline = "alphabetic";
        ctx.setLineDash([4 * scale, 3 * scale]);
        const places = marks.list.map((mark) => Math.round(plot.valToPos(mark.time, "x", true)));
        for (const [i, mark] of marks.list.entries()) {
          const x = places[i];
          if (x >= bbox.left && x <= bbox.left + bbox.width) {
            ctx.beginPath();
            ctx.moveTo(x, bbox.top);
            ctx.lineTo(x, bbox.top + bbox.height);
            ctx.stroke();
          }
          if (x >= bbox.left && !(places[i + 1] - x < TEXT_PIXELS * scale)) { // else the next one's is written there
            ctx.save();
            ctx.translate(x + 4 * scale, bbox.top + 5 * scale);
            ctx.rotate(Math.PI / 2);
            ctx.fillText(mark.text, 0, 0, bbox.height - 8 * scale);
            ctx.restore();
          }
        }
        ctx.restore();
      },
    },
  };
}

const isEmpty = (data) => data.slice(1).every((line) => line.every((value) => value === null || value === undefined));
const number = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 6 }); // small steps differ, too

/** What an axis spans: all values, and 0. Where all are 0, a unit. */
export function spanOf(low, high, signed) {
  const most = high > 0 ? 1.08 * high : 0;
  const least = signed && low < 0 ? 1.08 * low : 0;
  return most > least ? [least, most] : [signed ? -1 : 0, 1];
}

/** One chart. `series`: [{ label, colour, dash, width }]; unit is written at the axis; `signed`: goes below 0. */
export class Chart {
  constructor({ title, about, unit, series, marks, digits = 1, signed = false }) {
    this.values = series.map(() => el("b", {}, "–"));
    this.digits = digits;
    this.root = el("section", { class: "chart card" }, el("h2", {}, title), el("p", {}, about),
      el("div", { class: "legend" }, ...series.map((line, i) => el("span", {},
        swatch(line.colour, line.dash, line.width ?? 2.5), line.label, this.values[i]))));
    this.empty = el("div", { class: "empty" }, el("span", {}, "no data yet"));
    this.root.append(this.empty);
    this.data = [[], ...series.map(() => [])];
    const axis = {
      stroke: () => theme.soft,
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
      labelSize: 18,
      grid: { stroke: () => theme.grid, width: 1 },
      ticks: { stroke: () => theme.grid, width: 1, size: 4 },
    };
    this.plot = new uPlot({
      width: 300,
      height: HEIGHT,
      pxAlign: 0,
      cursor: { show: false },
      legend: { show: false },
      scales: { x: { time: false }, y: { range: (plot, low, high) => spanOf(low, high, signed) } },
      axes: [
        { ...axis, size: 26, incrs: [5, 10, 20, 30, 60], values: (plot, ticks) => ticks.map((t) => t + " s") },
        { ...axis, label: unit, size: 46,
          values: (plot, ticks) => ticks.map((t) => (isEmpty(plot.data) ? "" : number.format(t))) },
      ],
      series: [
        {},
        ...series.map((line) => ({ label: line.label, stroke: () => theme[line.colour], width: line.width ?? 2,
          dash: line.dash, points: { show: false } })),
      ],
      plugins: [marksPlugin(marks)],
    }, this.data, this.root);
    new ResizeObserver(() => this.fit()).observe(this.root);
    onTheme(() => this.plot.redraw(false, true));
  }

  fit() {
    const width = Math.max(240, Math.floor(this.root.clientWidth) - 24);
    if (width !== this.plot.width) {
      this.plot.setSize({ width, height: HEIGHT });
    }
  }

  /** Adds a point; values are in the order of the series. */
  add(time, values) {
    const [times, ...lines] = this.data;
    const last = times[times.length - 1];
    if (last !== undefined && time - last < EVERY_MS / 1000 && time >= last) {
      return;
    }
    if (last !== undefined && time < last) {
      this.clear();
    }
    times.push(time);
    lines.forEach((line, i) => line.push(values[i]));
    this.values.forEach((node, i) => setText(node, values[i]?.toFixed(this.digits) ?? "–"));
    while (times[0] < time - SECONDS) {
      times.shift();
      lines.forEach((line) => line.shift());
    }
    this.empty.hidden = !isEmpty(this.data);
    this.plot.setData(this.data);
  }

  clear() {
    this.data.forEach((list) => { list.length = 0; });
  }
}
