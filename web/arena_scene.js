// The arena from above. Who is told how differs by shape as well as by colour.
import { theme } from "./page.js";
import { Picture } from "./picture.js";

const LOW = 45; // a block that one can jump on
const ITEM_SIGNS = { health: "+", medkit: "✚", armour: "A", bullets: "b", sniper: "s", rocket: "r" };

/** How player i is to be drawn: its kind of telling. */
function kindOf(frame, i) {
  const { how, serves } = frame.players;
  if (i === 0) {
    return "own";
  }
  return how[i] === 3 ? "guided" : how[i] === 2 ? "nearing" : serves[i] === 1 ? "focus" : "told";
}

const COLOURS = { own: "accent", focus: "first", nearing: "second", guided: "second", told: "other", truth: "soft" };

function nose(c, size, colour) {
  c.beginPath();
  c.moveTo(size * 0.9, -size * 0.55);
  c.lineTo(size * 1.75, 0);
  c.lineTo(size * 0.9, size * 0.55);
  c.closePath();
  c.fillStyle = colour;
  c.fill();
}

/** One player at canvas coordinates; `size` is its radius there. */
export function drawKind(c, { x, y, yaw, size, pixel, kind, dead = false }) {
  const colour = theme[COLOURS[kind]];
  const square = kind === "guided" || kind === "nearing";
  c.save();
  c.translate(x, y);
  c.globalAlpha = dead ? 0.3 : kind === "truth" ? 0.55 : 1;
  c.beginPath();
  if (square) {
    c.rotate(Math.PI / 4);
    c.rect(-size * 0.85, -size * 0.85, size * 1.7, size * 1.7);
    c.rotate(-Math.PI / 4);
  } else {
    c.arc(0, 0, size, 0, 7);
  }
  c.lineWidth = (kind === "truth" ? 1 : 1.8) * pixel;
  c.strokeStyle = colour;
  if (kind === "truth") {
    c.setLineDash([2 * pixel, 2 * pixel]);
    c.stroke();
    c.restore();
    return;
  }
  c.fillStyle = kind === "guided" ? theme.field : colour;
  c.fill();
  c.stroke();
  if (kind === "focus" || kind === "nearing" || kind === "own") { // who is cared for has a ring
    c.beginPath();
    c.arc(0, 0, size * 1.75, 0, 7);
    c.lineWidth = (kind === "own" ? 3 : 1.8) * pixel;
    c.stroke();
  }
  c.rotate(-yaw);
  nose(c, size, colour);
  c.restore();
}

export class ArenaScene extends Picture {
  /** `world` as the program tells it. */
  constructor(canvas, world) {
    super(canvas);
    this.world = world;
  }

  look(x, y, span) {
    const room = Math.max(0, this.world.half + 20 - span / 2);
    const within = (at) => Math.max(-room, Math.min(room, at));
    super.look(within(x), within(y), span);
  }

  playerOf(frame, i, list = frame.players.seen) {
    return { x: list[4 * i] / 100, y: list[4 * i + 1] / 100, yaw: list[4 * i + 2] / 1000, state: list[4 * i + 3] };
  }

  radius() {
    return Math.max(5 * this.pixel, (this.world.width / 2) * this.scale);
  }

  /** Floor, walls, crates, and the items of which `items` has a bit. */
  begin(items) {
    const c = this.context;
    const { half, boxes } = this.world;
    this.fill(theme.wall);
    c.fillStyle = theme.field;
    c.fillRect(this.px(-half), this.py(half), 2 * half * this.scale, 2 * half * this.scale);
    for (const [lowX, lowY, highX, highY, top] of boxes) {
      const place = [this.px(lowX), this.py(highY), (highX - lowX) * this.scale, (highY - lowY) * this.scale];
      c.fillStyle = top < LOW ? theme.grid : theme.wall;
      c.fillRect(...place);
      c.strokeStyle = theme.wall;
      c.lineWidth = this.pixel;
      c.strokeRect(...place);
    }
    c.fillStyle = theme.soft;
    c.font = `600 ${Math.max(10 * this.pixel, 26 * this.scale)}px system-ui, sans-serif`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    this.world.items.forEach(([x, y, kind], i) => {
      if ((items >>> i) & 1) {
        c.fillText(ITEM_SIGNS[kind] ?? "?", this.px(x), this.py(y));
      }
    });
  }

  /** Where a player truly is, if it is shown elsewhere. */
  truth(frame, i) {
    const shown = this.playerOf(frame, i);
    const truth = this.playerOf(frame, i, frame.players.truth);
    if (shown.state !== 2 || truth.state !== 2) {
      return;
    }
    drawKind(this.context, { x: this.px(truth.x), y: this.py(truth.y), yaw: 0, size: this.radius(), pixel: this.pixel,
      kind: "truth" });
    if (Math.hypot(truth.x - shown.x, truth.y - shown.y) > this.world.width / 2) {
      this.line(truth, shown, theme.soft);
    }
  }

  player(frame, i) {
    const { x, y, yaw, state } = this.playerOf(frame, i);
    if (state === 0 || !this.sees(x, y, this.world.width)) {
      return;
    }
    const c = this.context;
    const size = this.radius();
    drawKind(c, { x: this.px(x), y: this.py(y), yaw, size, pixel: this.pixel, kind: kindOf(frame, i), dead: state === 1 });
    c.fillStyle = theme.text;
    c.font = `${11 * this.pixel}px system-ui, sans-serif`;
    c.textAlign = "left";
    c.textBaseline = "bottom";
    c.fillText(String(i), this.px(x) + 1.3 * size, this.py(y) - 1.3 * size);
  }

  shots(shots) {
    const c = this.context;
    c.fillStyle = theme.shot;
    for (let i = 0; i + 1 < shots.length; i += 2) {
      c.beginPath();
      c.arc(this.px(shots[i] / 100), this.py(shots[i + 1] / 100), 3.5 * this.pixel, 0, 7);
      c.fill();
    }
  }
}
