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

/** The matrix, and a line with the value under the pointer or the keyboard cursor. */
export function scoreMatrix({ rows, n_tasks }) {
  const side = Math.max(1, rows.length);
  const canvas = h("canvas", { className: "matrix", width: side, height: side, tabIndex: 0, role: "img" });
  canvas.setAttribute("aria-label", `Score matrix of ${n_tasks} tasks; arrow keys read its cells`);
  renderCells(canvas, rows);
  const value = h("p", { "aria-live": "polite" }, HINT);
  const clamp = (k) => Math.max(0, Math.min(side - 1, k));
  const task = (k) => Math.round((k * n_tasks) / side) + 1;
  let cursor = [side - 1, 0];
  const read = (cell) => {
    cursor = cell;
    value.textContent = describe(rows, cursor, task);
  };
  const index = (offset) => clamp(Math.floor((offset / canvas.clientWidth) * side));
  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => read([index(offsetY), index(offsetX)]));
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in MOVES)) return;
    event.preventDefault();
    read(cursor.map((k, axis) => clamp(k + MOVES[event.key][axis])));
  });
  const axis = (className, text) => h("span", { className, "aria-hidden": "true" }, text);
  return h(
    "div",
    { className: "matrix-grid" },
    axis("rows", "after task →"),
    canvas,
    axis("columns", "accuracy on task →"),
    h("div", { className: "below" }, value, colourBar()),
  );
}

function renderCells(canvas, rows) {
  const context = canvas.getContext("2d");
  rows.forEach((row, i) =>
    row.forEach((score, j) => {
      if (score === null) return;
      context.fillStyle = colour(score);
      context.fillRect(j, i, 1, 1);
    }),
  );
}

function describe(rows, [i, j], task) {
  const score = rows[i]?.[j];
  return score === null || score === undefined
    ? `Task ${task(j)} was not evaluated after task ${task(i)}.`
    : `Accuracy on task ${task(j)} after task ${task(i)}: ${score.toFixed(3)}.`;
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

function colour(score) {
  const position = Math.max(0, Math.min(1, score)) * (VIRIDIS.length - 1);
  const i = Math.min(VIRIDIS.length - 2, Math.floor(position));
  const mix = (from, channel) => Math.round(from + (VIRIDIS[i + 1][channel] - from) * (position - i));
  return `rgb(${VIRIDIS[i].map(mix).join(" ")})`;
}
