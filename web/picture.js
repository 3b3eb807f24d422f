// A picture of a flat world: a camera over it, paths and lines in it.

/** A path of the last seconds; a new life begins a new stroke. */
export class Trail {
  constructor(capacity) {
    this.capacity = capacity;
    this.points = [];
  }

  add(x, y, life) {
    const last = this.points[this.points.length - 1];
    if (last && last.life === life && (last.x - x) ** 2 + (last.y - y) ** 2 < 0.01) {
      last.x = x;
      last.y = y;
      this.still = (this.still ?? 0) + 1;
      if (this.still % 2 === 0 && this.points.length > 1) {
        this.points.shift(); // a tank that stands lets its path fade, too
      }
      return;
    }
    this.points.push({ x, y, life });
    if (this.points.length > this.capacity) {
      this.points.shift();
    }
  }

  clear() {
    this.points.length = 0;
  }
}

export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.centre = { x: 0, y: 0 };
    this.span = 1;
    new ResizeObserver(() => this.fit()).observe(canvas);
    this.fit();
  }

  fit() {
    const scale = Math.min(devicePixelRatio || 1, 2);
    const width = Math.max(1, Math.round(this.canvas.clientWidth * scale));
    const height = Math.max(1, Math.round(this.canvas.clientHeight * scale));
    if (width !== this.canvas.width || height !== this.canvas.height) {
      const before = new OffscreenCanvas(this.canvas.width, this.canvas.height);
      before.getContext("2d").drawImage(this.canvas, 0, 0);
      this.canvas.width = width; // which empties it
      this.canvas.height = height;
      this.context.drawImage(before, 0, 0, width, height); // until the next frame comes
    }
    this.pixel = scale;
  }

  /** Looks at a place, `span` units from edge to edge of the shorter side. */
  look(x, y, span) {
    this.span = span;
    this.centre.x = x;
    this.centre.y = y;
    this.scale = Math.min(this.canvas.width, this.canvas.height) / span;
    this.left = this.canvas.width / 2 - x * this.scale;
    this.top = this.canvas.height / 2 + y * this.scale;
  }

  px(x) {
    return this.left + x * this.scale;
  }

  py(y) {
    return this.top - y * this.scale;
  }

  sees(x, y, margin) {
    return Math.abs(x - this.centre.x) < this.canvas.width / this.scale / 2 + margin
      && Math.abs(y - this.centre.y) < this.canvas.height / this.scale / 2 + margin;
  }

  fill(colour) {
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.setLineDash([]);
    this.context.fillStyle = colour;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  trail(trail, colour, width, dash) {
    const c = this.context;
    let life = null;
    c.strokeStyle = colour;
    c.lineWidth = width * this.pixel;
    c.lineJoin = "round";
    c.setLineDash(dash.map((d) => d * this.pixel));
    c.beginPath();
    for (const point of trail.points) {
      if (point.life === life) {
        c.lineTo(this.px(point.x), this.py(point.y));
      } else {
        c.moveTo(this.px(point.x), this.py(point.y));
        life = point.life;
      }
    }
    c.stroke();
    c.setLineDash([]);
  }

  line(from, to, colour) {
    const c = this.context;
    c.strokeStyle = colour;
    c.lineWidth = this.pixel;
    c.setLineDash([2 * this.pixel, 2 * this.pixel]);
    c.beginPath();
    c.moveTo(this.px(from.x), this.py(from.y));
    c.lineTo(this.px(to.x), this.py(to.y));
    c.stroke();
    c.setLineDash([]);
  }
}
