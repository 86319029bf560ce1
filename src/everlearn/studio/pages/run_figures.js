// Figures of the plotted runs: a legend, their curves, and the score matrix of one run.

import { get, url } from "./api.js";
import { Chart } from "./chart.js";
import { dashes, format, isDark, lineRole } from "./chart_render.js";
import { debounced, fill, h, latest } from "./dom.js";
import { scoreMatrix } from "./score_matrix.js";

const CURVES = {
  accuracy: { title: "Accuracy on all tasks seen", top: 1 },
  forgetting: { title: "Forgetting" },
  loss: { title: "Loss" },
  seconds: { title: "Seconds per task" },
  bytes: { title: "Memory", formatY: (y) => format(y, "B") },
};
const FORMATS = ["svg", "png", "csv"];
const REFINE_FROM = 1000;
const SCORES_PAUSE_MS = 1000;

/** `title` maps the name of a run to its title; `attempt` runs a function and shows its error. */
export class RunFigures {
  constructor({ title, attempt }) {
    Object.assign(this, { title, attempt });
    this.element = h("div", {});
    this.scores = h("figure", { id: "scores" });
    this.plotted = new Map();
    this.points = new Map();
    this.charts = {};
    this.updateScores = latest(async () => {
      await this.drawScores();
      await new Promise((resolve) => setTimeout(resolve, SCORES_PAUSE_MS));
    });
  }

  /** Starts again with these runs, by line number. */
  begin(plotted) {
    this.plotted = new Map(plotted);
    this.points.clear();
    this.charts = {};
    fill(this.scores);
    if (!plotted.size) return void fill(this.element);
    const figures = Object.entries(CURVES).map(([name, options]) => this.figure(name, options));
    fill(
      this.element,
      this.legend(),
      h("div", { className: "figures" }, figures, this.scores),
      h("p", {}, this.downloadAll()),
    );
    this.drawScores();
  }

  /** Drops all points, which will be sent again. */
  clear() {
    this.points.clear();
  }

  /** Adds the new points of a run. */
  add({ record, restarts, points }) {
    if (restarts || !this.points.has(record)) this.points.set(record, {});
    const all = this.points.get(record);
    for (const [name, some] of Object.entries(points)) all[name] = (all[name] ?? []).concat(some);
    const [label, line] = [this.title(record), this.plotted.get(record) ?? 0];
    for (const [name, chart] of Object.entries(this.charts))
      chart.set(record, { label, line, points: all[name] ?? [] });
    if (points.accuracy?.length && record === this.scoresOf) this.updateScores();
  }

  legend() {
    const runs = [...this.plotted].map(([name, line]) => h("li", {}, swatch(line), this.title(name)));
    return h("ul", { className: "legend", "aria-label": "Legend" }, runs);
  }

  figure(name, options) {
    const canvas = h("canvas", { className: "chart", id: `chart-${name}` });
    const label = `Reset zoom of ${options.title}`;
    const reset = h("button", { className: "small", hidden: true, "aria-label": label }, "Reset zoom");
    const refine = debounced((range) => this.refine(name, range));
    const onzoom = (range) => ((reset.hidden = !range), refine(range));
    const chart = new Chart(canvas, { zero: true, ...options, onzoom });
    reset.onclick = () => (chart.zoom(null), canvas.focus());
    this.charts[name] = chart;
    const link = (format) => {
      const [low, high] = chart.range ?? [];
      const record = [...this.plotted.keys()];
      return url("downloads/curve", { ...theme(), record, curve: name, format, low, high });
    };
    const actions = h("span", { className: "actions" }, reset, downloads(options.title, link));
    return h("figure", {}, h("figcaption", {}, h("span", {}, options.title), actions), canvas);
  }

  /** Loads all points within a zoomed range of long curves. */
  refine(name, range) {
    const chart = this.charts[name];
    if (!range || chart.range !== range) return;
    for (const [record, { points }] of chart.lines)
      if (points.length >= REFINE_FROM)
        this.attempt(async () => {
          const [low, high] = range;
          const curves = await get("records/curves", { record, low, high });
          if (chart.range === range) chart.refine(record, curves[name]);
        });
  }

  downloadAll() {
    const href = url("downloads/curves.csv", { record: [...this.plotted.keys()] });
    return h("a", { href, download: "", id: "all-curves" }, "Download all curves (CSV)");
  }

  async drawScores() {
    const names = [...this.plotted.keys()];
    if (!names.length) return;
    if (!names.includes(this.scoresOf)) this.scoresOf = names[0];
    const record = this.scoresOf;
    const scores = await this.attempt(() => get("records/scores", { record }));
    if (scores && record === this.scoresOf) this.showScores(scores, names);
  }

  showScores(scores, names) {
    const onchange = (event) => ((this.scoresOf = event.target.value), this.drawScores());
    const option = (name) => h("option", { value: name, selected: name === this.scoresOf }, this.title(name));
    const select = { "aria-label": "Run whose score matrix is shown", onchange };
    const title = h("span", {}, "Score matrix ", names.length > 1 ? h("select", select, names.map(option)) : "");
    const link = (format) => url("downloads/scores", { ...theme(), record: this.scoresOf, format });
    const noScores = h("p", {}, "No evaluation yet; each task adds a row.");
    const matrix = scores.rows.length ? scoreMatrix(scores) : noScores;
    // The caption stays in place during live updates: a link that is replaced during a click is not followed.
    const key = JSON.stringify([this.scoresOf, names.map((name) => this.title(name))]);
    const [caption, shown] = this.scores.children;
    if (shown && this.scores.dataset.key === key) {
      const focused = shown.contains(document.activeElement);
      shown.replaceWith(matrix);
      if (focused) matrix.querySelector("canvas")?.focus();
    } else {
      const focused = caption?.contains(document.activeElement) && document.activeElement.tagName;
      this.scores.dataset.key = key;
      fill(this.scores, h("figcaption", {}, title, downloads("Score matrix", link)), matrix);
      if (focused) this.scores.querySelector(focused)?.focus();
    }
  }
}

/** A square in the colour of a line, striped for dashed lines. */
export function swatch(line) {
  const square = h("span", { className: `swatch${dashes(line).length ? " striped" : ""}` });
  square.style.background = `var(--${lineRole({ line })})`;
  return square;
}

const theme = () => (isDark() ? { dark: true } : {});

/** Download links; the address is computed when a link is followed, from what is shown then. */
function downloads(title, href) {
  const link = (format) => {
    const name = format.toUpperCase();
    const element = h("a", { download: "", "aria-label": `Download ${title} as ${name}` }, name);
    const update = () => (element.href = href(format));
    element.addEventListener("click", update);
    update();
    return element;
  };
  return h("span", { className: "downloads" }, FORMATS.map(link));
}
