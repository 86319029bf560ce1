// The score table as an image: each row a moment, each column a task, bright where it is still known.

import { h } from "./dom.js";

const STOPS = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const HINT = "Bright is right. Point at a cell, or use the arrow keys, to read it.";

/** The score table of one record, and a line that says what is under the pointer or the keys. */
export function heat({ rows, n_tasks: nTasks }) {
  const side = Math.max(1, rows.length);
  const canvas = h("canvas", { className: "heat", width: side, height: side, tabIndex: 0, role: "img" });
  canvas.setAttribute("aria-label", `Score table of ${nTasks} tasks; arrow keys read its cells`);
  paint(canvas, rows);
  const word = h("p", { "aria-live": "polite" }, HINT);
  const within = (k) => Math.max(0, Math.min(side - 1, k));
  let at = [side - 1, 0];
  const tell = (place) => {
    at = place;
    word.textContent = told(rows, at, (k) => Math.round((k * nTasks) / side) + 1);
  };
  const cell = (offset) => within(Math.floor((offset / canvas.clientWidth) * side));
  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => tell([cell(offsetY), cell(offsetX)]));
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in MOVES)) return;
    event.preventDefault();
    tell(at.map((k, axis) => within(k + MOVES[event.key][axis])));
  });
  const axis = (name, words) => h("span", { className: name, "aria-hidden": "true" }, words);
  return h(
    "div",
    { className: "table" },
    axis("down", "after task →"),
    canvas,
    axis("across", "on task →"),
    h("div", { className: "below" }, word, scale()),
  );
}

function paint(canvas, rows) {
  const pen = canvas.getContext("2d");
  rows.forEach((row, i) =>
    row.forEach((score, j) => {
      if (score === null) return;
      pen.fillStyle = `rgb(${shade(score).join(" ")})`;
      pen.fillRect(j, i, 1, 1);
    }),
  );
}

function told(rows, [i, j], name) {
  const score = rows[i]?.[j];
  return score === null || score === undefined
    ? `Task ${name(j)} was not asked about after task ${name(i)}.`
    : `After task ${name(i)}, task ${name(j)} is recognised with accuracy ${score.toFixed(3)}.`;
}

/** What the colours stand for. */
function scale() {
  const bar = h("canvas", { className: "scale", width: 100, height: 1, "aria-hidden": "true" });
  const pen = bar.getContext("2d");
  for (let i = 0; i < 100; i++) {
    pen.fillStyle = `rgb(${shade(i / 99).join(" ")})`;
    pen.fillRect(i, 0, 1, 1);
  }
  return h("div", { className: "bar" }, "0", bar, "1");
}

function shade(score) {
  const place = Math.max(0, Math.min(1, score)) * (STOPS.length - 1);
  const i = Math.min(STOPS.length - 2, Math.floor(place));
  return STOPS[i].map((from, channel) => Math.round(from + (STOPS[i + 1][channel] - from) * (place - i)));
}
