// The score matrix as an image: accuracy on each task (column) after each task (row).

import { h } from "./dom.js";

const VIRIDIS = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const HINT = "Point at a cell, or use the arrow keys, to read its value.";
const EMPTY = "No evaluation yet; each task adds a row.";
const NO_SCORES = "This learner does not classify images; the leaderboard has the probes of its latents.";
const MIN_CELL_WITH_TEXT = 26;
const LIGHT_FROM = 0.55;

/** The matrix, its element, and `update`, which shows other scores in the same element. */
export function scoreMatrix(scores) {
  const matrix = new ScoreMatrix();
  matrix.update(scores);
  return matrix;
}

class ScoreMatrix {
  constructor() {
    Object.assign(this, { rows: [], nTasks: 0, cell: null });
    this.canvas = h("canvas", { className: "matrix", tabIndex: 0, role: "img" });
    this.value = h("p", { "aria-live": "polite" }, HINT);
    const axis = (className, text) => h("span", { className, "aria-hidden": "true" }, text);
    const [rows, columns, bar] = [axis("rows", "after task →"), axis("columns", "accuracy on task →"), colourBar()];
    this.shown = [this.canvas, rows, columns, bar];
    const below = h("div", { className: "below" }, this.value, bar);
    this.element = h("div", { className: "matrix-grid" }, rows, this.canvas, columns, below);
    this.listen();
  }

  get side() {
    return Math.max(1, this.rows.length);
  }

  update({ rows, n_tasks, isFinished = false }) {
    Object.assign(this, { rows, nTasks: n_tasks });
    this.canvas.setAttribute("aria-label", `Score matrix of ${n_tasks} tasks; arrow keys read its cells`);
    this.shown.forEach((each) => (each.hidden = !rows.length));
    if (!this.cell) this.value.textContent = rows.length ? HINT : isFinished ? NO_SCORES : EMPTY;
    this.draw();
  }

  listen() {
    const index = (offset) => this.clamp(Math.floor((offset / this.canvas.clientWidth) * this.side));
    const leave = () => ((this.cell = null), this.draw());
    const last = () => [this.side - 1, 0];
    this.canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => this.read([index(offsetY), index(offsetX)]));
    this.canvas.addEventListener("pointerleave", leave);
    this.canvas.addEventListener("focus", () => this.canvas.matches(":focus-visible") && this.read(this.cell ?? last()));
    this.canvas.addEventListener("blur", leave);
    this.canvas.addEventListener("keydown", (event) => {
      if (!(event.key in MOVES)) return;
      event.preventDefault();
      this.read((this.cell ?? last()).map((k, axis) => this.clamp(k + MOVES[event.key][axis])));
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  clamp(k) {
    return Math.max(0, Math.min(this.side - 1, k));
  }

  /** The number of the task of a row or column. */
  task(k) {
    return Math.round((k * this.nTasks) / this.side) + 1;
  }

  read(cell) {
    this.cell = cell;
    const [i, j] = cell;
    const score = this.rows[i]?.[j];
    this.value.textContent =
      score === null || score === undefined
        ? `Task ${this.task(j)} was not evaluated after task ${this.task(i)}.`
        : `Accuracy on task ${this.task(j)} after task ${this.task(i)}: ${score.toFixed(3)}.`;
    this.draw();
  }

  draw() {
    const width = this.canvas.clientWidth;
    if (!width) return;
    const pixels = Math.round(width * devicePixelRatio);
    if (this.canvas.width !== pixels) this.canvas.width = this.canvas.height = pixels;
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, pixels, pixels);
    this.rows.forEach((row, i) => row.forEach((score, j) => this.drawCell(context, pixels, i, j, score)));
    if (this.cell) this.mark(context, pixels);
  }

  drawCell(context, pixels, i, j, score) {
    if (score === null) return;
    const edge = (k) => Math.round((k * pixels) / this.side);
    context.fillStyle = colour(score);
    context.fillRect(edge(j), edge(i), edge(j + 1) - edge(j), edge(i + 1) - edge(i));
    const size = pixels / this.side;
    if (size < MIN_CELL_WITH_TEXT * devicePixelRatio) return;
    context.fillStyle = score > LIGHT_FROM ? "#000" : "#fff";
    context.font = `${Math.round(Math.min(size / 2.6, 13 * devicePixelRatio))}px system-ui, sans-serif`;
    Object.assign(context, { textAlign: "center", textBaseline: "middle" });
    context.fillText(score.toFixed(2).replace(/^0\./, "."), (j + 0.5) * size, (i + 0.5) * size);
  }

  /** Marks the selected cell with a frame that is visible on every colour. */
  mark(context, pixels) {
    const [i, j] = this.cell;
    const size = pixels / this.side;
    for (const [style, width] of [["#000", 4], ["#fff", 2]]) { // prettier-ignore
      context.strokeStyle = style;
      context.lineWidth = width * devicePixelRatio;
      context.strokeRect(j * size, i * size, size, size);
    }
  }
}

function colourBar() {
  const bar = h("canvas", { className: "colour-bar", width: 100, height: 1, "aria-hidden": "true" });
  const context = bar.getContext("2d");
  for (let i = 0; i < 100; i++) {
    context.fillStyle = colour(i / 99);
    context.fillRect(i, 0, 1, 1);
  }
  return h("div", { className: "bar" }, "0", bar, "1");
}

/** The colour of a score between 0 and 1. */
export function colour(score) {
  const position = Math.max(0, Math.min(1, score)) * (VIRIDIS.length - 1);
  const i = Math.min(VIRIDIS.length - 2, Math.floor(position));
  const mix = (from, channel) => Math.round(from + (VIRIDIS[i + 1][channel] - from) * (position - i));
  return `rgb(${VIRIDIS[i].map(mix).join(" ")})`;
}
