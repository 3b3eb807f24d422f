// One screen of the arena: walls, tanks, shots.
import { theme } from "./page.js";
import { Picture } from "./picture.js";

const GRID = 25;

export class Scene extends Picture {
  /** `world` as the program tells it. */
  constructor(canvas, world) {
    super(canvas);
    this.world = world;
  }

  /** As a picture does, but what is beyond the arena's walls is not worth looking at. */
  look(x, y, span) {
    const room = Math.max(0, this.world.half + 4 - span / 2);
    const within = (at) => Math.max(-room, Math.min(room, at));
    super.look(within(x), within(y), span);
  }

  begin() {
    const c = this.context;
    const { half, boxes } = this.world;
    this.fill(theme.wall);
    c.fillStyle = theme.field;
    c.fillRect(this.px(-half), this.py(half), 2 * half * this.scale, 2 * half * this.scale);
    c.strokeStyle = theme.grid;
    c.lineWidth = this.pixel;
    c.beginPath();
    const step = Math.max(GRID, half / 10); // large worlds have large squares
    for (let at = -Math.floor(half / step) * step; at <= half; at += step) {
      c.moveTo(this.px(at), this.py(half));
      c.lineTo(this.px(at), this.py(-half));
      c.moveTo(this.px(-half), this.py(at));
      c.lineTo(this.px(half), this.py(at));
    }
    c.stroke();
    c.fillStyle = theme.wall;
    for (const [lowX, lowY, highX, highY] of boxes) {
      c.fillRect(this.px(lowX), this.py(highY), (highX - lowX) * this.scale, (highY - lowY) * this.scale);
    }
  }

  /** A tank: filled, or its outline only. */
  tank(tank, { fill, stroke, width = 1.5 }) {
    if (tank.state === 0 || !this.sees(tank.x, tank.y, this.world.length)) {
      return;
    }
    const c = this.context;
    const size = Math.max(1, (7 * this.pixel) / (this.world.length * this.scale)); // small ones stay visible
    const long = (this.world.length / 2) * this.scale * size;
    const wide = (this.world.width / 2) * this.scale * size;
    c.save();
    c.translate(this.px(tank.x), this.py(tank.y));
    c.rotate(-tank.yaw);
    c.globalAlpha = tank.state === 1 ? 0.3 : 1;
    c.beginPath();
    c.rect(-long, -wide, 2 * long, 2 * wide);
    if (fill) {
      c.fillStyle = fill;
      c.fill();
    }
    if (stroke) {
      c.strokeStyle = stroke;
      c.lineWidth = width * this.pixel;
      c.stroke();
    }
    c.beginPath(); // the barrel
    c.moveTo(0, 0);
    c.lineTo(long * 1.5, 0);
    c.strokeStyle = stroke ?? fill;
    c.lineWidth = Math.max(width * this.pixel, wide * 0.4);
    c.stroke();
    c.restore();
  }

  shots(shots) {
    const c = this.context;
    c.fillStyle = theme.shot;
    for (let i = 0; i + 1 < shots.length; i += 2) {
      c.beginPath();
      c.arc(this.px(shots[i] / 100), this.py(shots[i + 1] / 100), Math.max(2 * this.pixel, 0.8 * this.scale), 0, 7);
      c.fill();
    }
  }
}
