// The score table as a picture: each row a moment, each column a task, bright where it is still known.

import { h } from "./dom.js";

const STOPS = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

/** The table of one record, and a line that says what is under the pointer or the keys. */
export function heat({ rows, n_tasks: nTasks }) {
  const side = Math.max(1, rows.length);
  const canvas = h("canvas", { className: "heat", width: side, height: side, tabIndex: 0, role: "img" });
  const pen = canvas.getContext("2d");
  rows.forEach((row, i) =>
    row.forEach((score, j) => {
      if (score === null) return;
      pen.fillStyle = `rgb(${shade(score).join(" ")})`;
      pen.fillRect(j, i, 1, 1);
    }),
  );
  const word = h(
    "p",
    { "aria-live": "polite" },
    "Rows: after which task. Columns: on which task. Bright is right.",
  );
  let at = [side - 1, 0];
  const tell = ([i, j]) => {
    at = [i, j];
    const score = rows[i]?.[j];
    const name = (k) => Math.round((k * nTasks) / side) + 1;
    word.textContent =
      score === null || score === undefined
        ? `Task ${name(j)} was not asked about after task ${name(i)}.`
        : `After task ${name(i)}, task ${name(j)} is recognised with accuracy ${score.toFixed(3)}.`;
  };
  const place = (event) =>
    [event.offsetY, event.offsetX].map((offset) =>
      Math.max(0, Math.min(side - 1, Math.floor((offset / canvas.clientWidth) * side))),
    );
  canvas.addEventListener("pointermove", (event) => tell(place(event)));
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!(event.key in moves)) return;
    event.preventDefault();
    tell(at.map((k, axis) => Math.max(0, Math.min(side - 1, k + moves[event.key][axis]))));
  });
  canvas.setAttribute("aria-label", `Score table of ${nTasks} tasks; arrow keys read its cells`);
  return h("div", {}, canvas, word, scale());
}

/** What the colours stand for. */
function scale() {
  const bar = h("canvas", { width: 100, height: 1, "aria-hidden": "true" });
  bar.style.cssText = "width: 10rem; height: .7rem; border-radius: 3px";
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
