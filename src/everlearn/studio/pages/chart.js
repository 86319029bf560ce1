// A line chart with a cursor and zoom, by pointer or keyboard.

import { format, render, toValue } from "./chart_render.js";

const CURSOR_STEPS = 20;
const MIN_DRAG_PIXELS = 8;

/** A chart on a canvas; it is rendered at most once per frame.

`onzoom` is called with the visible range of x, or null for all. With `steps`, a value holds until the next point. */
export class Chart {
  constructor(canvas, { title, formatY = format, zero = false, top, steps = false, onzoom = () => {} }) {
    Object.assign(this, { canvas, title, formatY, zero, top, steps, onzoom });
    this.lines = new Map();
    this.range = null;
    this.cursor = null;
    this.listen();
  }

  /** Sets the line of a key; `line` is the number of its colour and dash pattern. */
  set(key, { label, points, line }) {
    this.lines.set(key, { ...this.lines.get(key), label, points, line });
    this.draw();
  }

  /** Sets the points of a line within the zoomed range; the others are downsampled for the whole curve. */
  refine(key, points) {
    if (this.lines.has(key)) this.lines.get(key).refined = points;
    this.draw();
  }

  /** The points of a line at the present zoom. */
  visible({ points, refined }) {
    if (!refined || !this.range) return points;
    const end = refined.at(-1)?.[0] ?? -Infinity;
    return [...refined, ...points.filter(([x]) => x > end && x <= this.range[1])]; // newer points
  }

  draw() {
    const count = (sum, line) => sum + this.visible(line).length;
    this.canvas.dataset.points = [...this.lines.values()].reduce(count, 0);
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      render(this);
    });
  }

  zoom(range) {
    this.range = range;
    for (const line of this.lines.values()) delete line.refined;
    this.draw();
    this.onzoom(range);
  }

  /** The whole range of x. */
  extent() {
    const ends = [...this.lines.values()].map(({ points }) => points.at(-1)?.[0] ?? 0);
    return [0, Math.max(1, ...ends)];
  }

  listen() {
    let start = null;
    const at = (event) => toValue(this, event.offsetX);
    this.canvas.tabIndex = 0;
    this.canvas.addEventListener("pointerdown", (event) => {
      start = event.offsetX;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      this.cursor = at(event);
      this.selection = start === null ? null : [start, event.offsetX];
      this.draw();
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (start !== null && Math.abs(event.offsetX - start) > MIN_DRAG_PIXELS)
        this.zoom([toValue(this, start), at(event)].sort((a, b) => a - b));
      start = this.selection = null;
    });
    this.canvas.addEventListener("pointerleave", () => ((this.cursor = null), this.draw()));
    this.canvas.addEventListener("dblclick", () => this.zoom(null));
    this.canvas.addEventListener("keydown", (event) => this.onkey(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    const redraw = () =>
      this.canvas.isConnected ? this.draw() : removeEventListener("themechange", redraw);
    addEventListener("themechange", redraw);
  }

  onkey(event) {
    const [first, last] = this.extent();
    const [low, high] = this.range ?? [first, last];
    const width = high - low;
    const middle = this.cursor ?? (low + high) / 2;
    const around = (half) => [Math.max(first, middle - half), Math.min(last, middle + half)];
    const wider = around(width);
    const actions = {
      ArrowLeft: () => (this.cursor = Math.max(low, middle - width / CURSOR_STEPS)),
      ArrowRight: () => (this.cursor = Math.min(high, middle + width / CURSOR_STEPS)),
      "+": () => this.zoom(around(width / 4)),
      "-": () => this.zoom(wider[1] - wider[0] < last - first ? wider : null),
      Escape: () => ((this.cursor = null), this.zoom(null)),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
    this.draw();
  }
}
