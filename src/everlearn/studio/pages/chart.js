// Curves that can be read and zoomed into, by the pointer or by keys.

import { paint, short, toValue } from "./painting.js";

const STEPS = 20;
const LEAST = 8;

/** A figure whose lines are set by key, each with a label and a number; it redraws at most once a frame.

`zoomed` is called with the part that is shown, from how many tasks to how many, or with null for all.
With `steps` a line keeps its height until the next point. */
export class Chart {
  constructor(canvas, { title, words = short, zero = false, top, steps = false, zoomed = () => {} }) {
    Object.assign(this, { canvas, title, words, zero, top, steps, zoomed });
    this.lines = new Map();
    this.span = null;
    this.cross = null;
    this.listen();
  }

  set(key, { label, points, number }) {
    this.lines.set(key, { ...this.lines.get(key), label, points, number });
    this.draw();
  }

  /** Show the part that is zoomed into as these points; the others were thinned for a longer view. */
  refine(key, points) {
    if (this.lines.has(key)) this.lines.get(key).fine = points;
    this.draw();
  }

  /** The points of a line as they are drawn now. */
  shown({ points, fine }) {
    if (!fine || !this.span) return points;
    const end = fine.at(-1)?.[0] ?? -Infinity;
    return [...fine, ...points.filter(([x]) => x > end && x <= this.span[1])]; // what was told since
  }

  draw() {
    this.canvas.dataset.points = [...this.lines.values()].reduce(
      (sum, line) => sum + this.shown(line).length,
      0,
    );
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      paint(this);
    });
  }

  zoom(span) {
    this.span = span;
    for (const line of this.lines.values()) delete line.fine;
    this.draw();
    this.zoomed(span);
  }

  /** Everything across that there is to see: from before the first task to the last point. */
  whole() {
    const ends = [...this.lines.values()].map(({ points }) => points.at(-1)?.[0] ?? 0);
    return [0, Math.max(1, ...ends)];
  }

  listen() {
    let from = null;
    const at = (event) => toValue(this, event.offsetX);
    this.canvas.tabIndex = 0;
    this.canvas.addEventListener("pointerdown", (event) => {
      from = event.offsetX;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      this.cross = at(event);
      this.brush = from === null ? null : [from, event.offsetX];
      this.draw();
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (from !== null && Math.abs(event.offsetX - from) > LEAST)
        this.zoom([toValue(this, from), at(event)].sort((a, b) => a - b));
      from = this.brush = null;
    });
    this.canvas.addEventListener("pointerleave", () => ((this.cross = null), this.draw()));
    this.canvas.addEventListener("dblclick", () => this.zoom(null));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    const look = () => (this.canvas.isConnected ? this.draw() : removeEventListener("look", look));
    addEventListener("look", look);
  }

  key(event) {
    const whole = this.whole();
    const [low, high] = this.span ?? whole;
    const length = high - low;
    const middle = this.cross ?? (low + high) / 2;
    const wider = [Math.max(whole[0], middle - length), Math.min(whole[1], middle + length)];
    const acts = {
      ArrowLeft: () => (this.cross = Math.max(low, middle - length / STEPS)),
      ArrowRight: () => (this.cross = Math.min(high, middle + length / STEPS)),
      "+": () => this.zoom([Math.max(whole[0], middle - length / 4), Math.min(whole[1], middle + length / 4)]),
      "-": () => this.zoom(wider[1] - wider[0] < whole[1] - whole[0] ? wider : null),
      Escape: () => ((this.cross = null), this.zoom(null)),
    };
    if (!(event.key in acts)) return;
    event.preventDefault();
    acts[event.key]();
    this.draw();
  }
}
