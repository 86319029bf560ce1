// A line chart with a cursor and zoom, by pointer, touch or keyboard.

import { format, render, toFraction, toValue } from "./chart_render.js";

const CURSOR_STEPS = 20;
const MIN_DRAG_PIXELS = 8;
const MIN_PINCH = 0.02; // distance of two fingers, as a fraction of the plot
const WHEEL_RATE = 0.01;

/** A chart on a canvas; it is rendered at most once per frame.

`onzoom` is called with the visible range of x, or null for all; `oncursor` with the value of x to read, or null.
With `steps`, a value holds until the next point; with `log`, the axis of y is logarithmic. */
export class Chart {
  constructor(canvas, options) {
    const { title, formatY = format, zero = false, top, steps = false, log = false } = options;
    const { xTitle = "tasks trained", onzoom = () => {}, oncursor = () => {} } = options;
    Object.assign(this, { canvas, title, formatY, zero, top, steps, log, xTitle, onzoom, oncursor });
    this.lines = new Map();
    this.range = null;
    this.cursor = null;
    this.listen();
  }

  /** Sets the line of a key.

  `line` is the number of its colour and dash pattern. A `thin` line has no label. `band` has the points
  [x, low, high] of an area behind the line. */
  set(key, { label, points, line, thin = false, band = [] }) {
    this.lines.set(key, { ...this.lines.get(key), label, points, line, thin, band });
    this.draw();
  }

  /** Keeps the lines of these keys only. */
  keep(keys) {
    for (const key of this.lines.keys()) if (!keys.has(key)) this.lines.delete(key);
    this.draw();
  }

  /** Sets the points of a line within the zoomed range; the others are downsampled for the whole curve. */
  refine(key, points) {
    if (this.lines.has(key)) this.lines.get(key).refined = points;
    this.draw();
  }

  /** The points of a line at the current zoom. */
  visible({ points, refined }) {
    const shown = refined && this.range ? this.withNewer(refined, points) : points;
    return this.log ? shown.filter(([, y]) => y > 0) : shown;
  }

  withNewer(refined, points) {
    const end = refined.at(-1)?.[0] ?? -Infinity;
    return [...refined, ...points.filter(([x]) => x > end && x <= this.range[1])];
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

  /** Moves the cursor; charts that are linked by `oncursor` follow. */
  read(x, isOwn = true) {
    this.cursor = x;
    this.draw();
    if (isOwn) this.oncursor(x);
  }

  /** The whole range of x. */
  extent() {
    const ends = [...this.lines.values()].map(({ points }) => points.at(-1)?.[0] ?? 0);
    const last = Math.max(0, ...ends);
    return [0, last > 0 ? last : 1];
  }

  /** A range clipped to the curves; null if it contains them all. */
  within([low, high]) {
    const [first, last] = this.extent();
    return low <= first && high >= last ? null : [Math.max(first, low), Math.min(last, high)];
  }

  /** Zooms with two fingers, or with a touchpad, which sends a wheel event with the control key. */
  listenToPinch() {
    const fingers = new Map(); // positions by pointer
    let values = null; // of x under both fingers when the second one touched
    const positions = () => [...fingers.values()].map((offset) => toFraction(this, offset)).sort((a, b) => a - b);
    const end = (event) => {
      fingers.delete(event.pointerId);
      if (values) this.zoom(this.range); // now the curves are refined
      values = null;
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, event.offsetX);
      values = fingers.size === 2 ? [...fingers.values()].map((x) => toValue(this, x)).sort((a, b) => a - b) : null;
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event.offsetX);
      if (!values) return;
      const [left, right] = positions();
      const width = (values[1] - values[0]) / Math.max(MIN_PINCH, right - left);
      const low = values[0] - left * width;
      this.range = this.within([low, low + width]);
      this.draw();
    });
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, end);
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return; // the page is scrolled
      event.preventDefault();
      const [low, high] = this.range ?? this.extent();
      const width = (high - low) * Math.exp(WHEEL_RATE * event.deltaY);
      const start = toValue(this, event.offsetX) - toFraction(this, event.offsetX) * width;
      this.zoom(this.within([start, start + width]));
    });
    return () => fingers.size > 1;
  }

  listen() {
    let start = null;
    const at = (event) => toValue(this, event.offsetX);
    const isPinching = this.listenToPinch();
    this.canvas.tabIndex = 0;
    this.canvas.addEventListener("pointerdown", (event) => {
      start = isPinching() ? null : event.offsetX;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (isPinching()) return;
      this.selection = start === null ? null : [start, event.offsetX];
      this.read(at(event));
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (start !== null && Math.abs(event.offsetX - start) > MIN_DRAG_PIXELS)
        this.zoom([toValue(this, start), at(event)].sort((a, b) => a - b));
      start = this.selection = null;
    });
    this.canvas.addEventListener("pointercancel", () => (start = this.selection = null));
    this.canvas.addEventListener("pointerleave", () => this.read(null));
    this.canvas.addEventListener("dblclick", () => this.zoom(null));
    this.canvas.addEventListener("keydown", (event) => this.onkey(event));
    this.canvas.addEventListener("blur", () => this.read(null));
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
      ArrowLeft: () => this.read(Math.max(low, middle - width / CURSOR_STEPS)),
      ArrowRight: () => this.read(Math.min(high, middle + width / CURSOR_STEPS)),
      "+": () => this.zoom(around(width / 4)),
      "-": () => this.zoom(wider[1] - wider[0] < last - first ? wider : null),
      Escape: () => (this.read(null), this.zoom(null)),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
    this.draw();
  }
}
