// Figures of the plotted runs: a legend, their curves, the score matrix of one run, and a comparison of all.

import { get, url } from "./api.js";
import { Chart } from "./chart.js";
import { dashes, format, isDark, lineRole } from "./chart_render.js";
import { Comparison } from "./comparison.js";
import { debounced, fill, h, latest, menu } from "./dom.js";
import { AXES, RunGroups, along, interpolate, meanAndBand, minus, totals, totalsCurve } from "./run_groups.js";
import { scoreMatrix } from "./score_matrix.js";

const CURVES = {
  accuracy: { title: "Accuracy on all tasks seen", top: 1, about: "share of test images of all tasks so far that are recognized" },
  forgetting: { title: "Forgetting", about: "mean drop of earlier tasks from their best accuracy" },
  loss: { title: "Loss", about: "what the learner minimizes, batch by batch; not comparable between learners" },
  seconds: { title: "Seconds per task", about: "training and evaluation" },
  bytes: { title: "Memory", about: "parameters and stored data", formatY: (y) => format(y, "B") },
};
const REFINE_FROM = 1000;
const SCORES_PAUSE_MS = 1000;

/** `summary` maps the name of a run to its summary; `attempt` runs a function and shows its error. */
export class RunFigures {
  constructor({ summary, attempt }) {
    Object.assign(this, { summary, attempt, plotted: [], lines: [], charts: {} });
    this.groups = new RunGroups();
    this.points = new Map();
    this.scores = h("figure", { id: "scores" });
    this.legend = h("ul", { className: "legend", "aria-label": "Legend" });
    this.figures = h("div", { className: "figures" });
    this.comparison = new Comparison(attempt);
    const controls = this.controls();
    const figures = Object.entries(CURVES).map(([name, options]) => this.figure(name, options));
    fill(this.figures, figures, this.scores);
    this.all = h("a", { download: "", id: "all-curves" }, "Download all curves (CSV)");
    const parts = [controls, this.legend, this.figures, this.comparison.element, h("p", {}, this.all)];
    this.element = h("section", { "aria-label": "Comparison of the plotted runs", hidden: true }, parts);
    this.updateScores = latest(async () => {
      await this.drawScores();
      await new Promise((resolve) => setTimeout(resolve, SCORES_PAUSE_MS));
    });
  }

  controls() {
    const onchange = () => this.applyControls();
    const metrics = Object.entries(CURVES).map(([name, { title }]) => [name, title]);
    const axes = Object.entries(AXES).map(([name, { title }]) => [name, title]);
    this.metric = menu("metric", "Metric", [["", "all"], ...metrics], onchange);
    this.axis = menu("axis", "Over", axes, onchange);
    this.scale = menu("scale", "Scale", [["linear", "linear"], ["log", "logarithmic"]], onchange); // prettier-ignore
    this.baseline = menu("baseline", "Show", [["", "values"]], onchange);
    this.grouped = h("input", { type: "checkbox", id: "grouped", checked: true, onchange });
    const check = h("label", {}, this.grouped, " Group seeds");
    const menus = [this.metric, this.axis, this.scale, this.baseline].map(({ element }) => element);
    return h("div", { className: "bar", role: "group", "aria-label": "Figures" }, menus, check);
  }

  applyControls() {
    for (const [name, chart] of Object.entries(this.charts)) {
      const { top } = CURVES[name];
      const isPlain = !this.baseline.value && this.scale.value === "linear";
      Object.assign(chart, { xTitle: AXES[this.axis.value].title, log: this.scale.value === "log" && !this.baseline.value });
      chart.top = isPlain ? top : undefined;
      chart.canvas.closest("figure").hidden = Boolean(this.metric.value) && this.metric.value !== name;
      if (chart.axis !== this.axis.value) chart.zoom(null);
      chart.axis = this.axis.value;
    }
    this.scores.hidden = Boolean(this.metric.value);
    this.figures.classList.toggle("single", Boolean(this.metric.value));
    this.group();
  }

  /** Starts again with these runs. */
  begin(names) {
    this.plotted = names;
    this.points.clear();
    this.element.hidden = !names.length;
    this.all.href = url("downloads/curves.csv", { record: names });
    for (const chart of Object.values(this.charts)) chart.keep(new Set());
    this.group();
    this.drawScores();
    this.comparison.show(names);
  }

  /** Drops all points, which will be sent again. */
  clear() {
    this.points.clear();
  }

  /** Adds the new points of a run. */
  add({ record, restarts, points, state }) {
    if (restarts || !this.points.has(record)) this.points.set(record, {});
    const all = this.points.get(record);
    for (const [name, some] of Object.entries(points)) all[name] = (all[name] ?? []).concat(some);
    this.draw();
    if (points.accuracy?.length && record === this.scoresOf) this.updateScores();
    if (state.finished) this.comparison.show(this.plotted);
  }

  /** Groups the runs again and shows the legend and the menu of baselines. */
  group() {
    this.lines = this.groups.of(this.plotted.map((name) => this.summary(name)), this.grouped.checked); // prettier-ignore
    const key = JSON.stringify(this.lines);
    if (key !== this.shown) {
      this.shown = key;
      fill(this.legend, this.lines.map(legendItem));
      const options = this.lines.map(({ records, label }) => [records[0], `difference to ${label}`]);
      this.baseline.setOptions(this.lines.length > 1 ? [["", "values"], ...options] : [["", "values"]]);
    }
    this.draw();
  }

  /** The line number of a run. */
  lineOf(record) {
    return this.lines.find(({ records }) => records.includes(record))?.line;
  }

  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      for (const name of Object.keys(this.charts)) this.drawCurve(name);
    });
  }

  drawCurve(name) {
    const chart = this.charts[name];
    const base = this.lines.find(({ records }) => records.includes(this.baseline.value));
    const baseline = base && this.mean(base, name).points;
    const shown = new Set();
    for (const group of this.lines) {
      if (group === base) continue;
      const { points, band } = this.mean(group, name);
      const change = (some) => (baseline ? minus(some, baseline) : some);
      const isSingle = group.records.length === 1;
      const key = isSingle ? group.records[0] : group.key;
      shown.add(key);
      chart.set(key, { label: group.label, line: group.line, points: change(points), band: change(band) });
      if (isSingle) continue;
      for (const record of group.records) {
        shown.add(record);
        chart.set(record, { label: "", line: group.line, thin: true, points: change(this.curve(record, name)) });
      }
    }
    chart.keep(shown);
  }

  /** The curve of a run over the selected axis. */
  curve(record, name) {
    const all = this.points.get(record) ?? {};
    return along(this.axis.value, all, all[name] ?? []);
  }

  /** The mean curve of a group and its band; over another axis, at the mean total after each number of tasks. */
  mean({ records }, name) {
    const curves = (key) => records.map((record) => this.points.get(record)?.[key] ?? []);
    const { points, band } = meanAndBand(curves(name));
    const axis = this.axis.value;
    const curve = totalsCurve(axis);
    const measured = curve ? { [curve]: meanAndBand(curves(curve)).points } : {};
    return { points: along(axis, measured, points), band: along(axis, measured, band) };
  }

  figure(name, options) {
    const canvas = h("canvas", { className: "chart", id: `chart-${name}` });
    const label = `Reset zoom of ${options.title}`;
    const reset = h("button", { className: "small", hidden: true, "aria-label": label }, "Reset zoom");
    const refine = debounced((range) => this.refine(name, range));
    const onzoom = (range) => ((reset.hidden = !range), refine(range));
    const oncursor = (x) => Object.values(this.charts).forEach((other) => other !== chart && other.read(x, false));
    const chart = new Chart(canvas, { zero: true, ...options, onzoom, oncursor });
    chart.axis = "tasks";
    reset.onclick = () => (chart.zoom(null), canvas.focus());
    this.charts[name] = chart;
    const link = (format) => url("downloads/curve", { ...this.view(chart), curve: name, format });
    const actions = h("span", { className: "actions" }, reset, downloads(options.title, link, ["svg", "png", "csv", "tex"]));
    const title = h("a", { href: `#/glossary?term=${name}`, className: "term" }, options.title);
    const about = h("small", {}, options.about);
    return h("figure", {}, h("figcaption", {}, h("span", {}, title, about), actions), canvas);
  }

  /** The parameters of a download with the content of a chart. */
  view(chart) {
    const [low, high] = chart.range ?? [];
    const options = { axis: this.axis.value, log: chart.log, grouped: this.grouped.checked };
    const baseline = this.baseline.value || undefined;
    return { ...theme(), record: this.plotted, low, high, ...options, baseline };
  }

  /** Loads all points within a zoomed range of long curves. */
  refine(name, range) {
    const chart = this.charts[name];
    if (!range || chart.range !== range || this.baseline.value) return;
    for (const [record, { points }] of chart.lines)
      if (points.length >= REFINE_FROM && this.points.has(record))
        this.attempt(async () => {
          const all = this.points.get(record);
          const [low, high] = range.map((x) => toTasks(this.axis.value, all, x));
          const curves = await get("records/curves", { record, low, high });
          if (chart.range === range) chart.refine(record, along(this.axis.value, all, curves[name]));
        });
  }

  async drawScores() {
    const names = this.plotted;
    if (!names.length) return;
    const hasScores = (name) => this.summary(name).accuracy != null;
    if (!names.includes(this.choice)) this.choice = undefined;
    this.scoresOf = this.choice ?? names.find(hasScores) ?? names[0];
    const record = this.scoresOf;
    const scores = await this.attempt(() => get("records/scores", { record }));
    const isFinished = Boolean(this.summary(record).finished);
    if (scores && record === this.scoresOf) this.showScores({ ...scores, isFinished }, names);
  }

  title(name) {
    return this.summary(name).name || name;
  }

  showScores(scores, names) {
    const onchange = (event) => ((this.choice = event.target.value), this.drawScores());
    const option = (name) => h("option", { value: name, selected: name === this.scoresOf }, this.title(name));
    const select = { "aria-label": "Run whose score matrix is shown", onchange };
    const title = h("span", {}, "Score matrix ", names.length > 1 ? h("select", select, names.map(option)) : "");
    const link = (format) => url("downloads/scores", { ...theme(), record: this.scoresOf, format });
    // The caption and the matrix stay in place during live updates, so that clicks and the focus are not lost.
    const key = JSON.stringify([this.scoresOf, names.map((name) => this.title(name))]);
    if (this.matrix && this.scores.dataset.key === key) return this.matrix.update(scores);
    const [caption] = this.scores.children;
    const focused = caption?.contains(document.activeElement) && document.activeElement.tagName;
    this.scores.dataset.key = key;
    this.matrix = scoreMatrix(scores);
    const links = downloads("Score matrix", link, ["svg", "png", "csv", "tex"]);
    fill(this.scores, h("figcaption", {}, title, links), this.matrix.element);
    if (focused) this.scores.querySelector(focused)?.focus();
  }
}

const legendItem = ({ line, label, records }) =>
  h("li", {}, swatch(line), label, records.length > 1 ? ` (${records.length} seeds)` : "");

/** The number of tasks at a value of x on another axis. */
function toTasks(axis, curves, x) {
  const measured = totals(axis, curves);
  if (!measured) return x;
  return interpolate(measured.map(([task, total]) => [total, task]), x) ?? measured.at(-1)[0]; // prettier-ignore
}

/** A square in the colour of a line, striped for dashed lines. */
export function swatch(line) {
  const square = h("span", { className: `swatch${dashes(line).length ? " striped" : ""}` });
  square.style.background = `var(--${lineRole({ line })})`;
  return square;
}

const theme = () => (isDark() ? { dark: true } : {});
const FORMAT_NAMES = { tex: "LaTeX" };

/** Download links; the address is computed from the current content when a link is followed. */
export function downloads(title, href, formats) {
  const link = (format) => {
    const name = FORMAT_NAMES[format] ?? format.toUpperCase();
    const element = h("a", { download: "", "aria-label": `Download ${title} as ${name}` }, name);
    const update = () => (element.href = href(format));
    element.addEventListener("click", update);
    update();
    return element;
  };
  return h("span", { className: "downloads" }, formats.map(link));
}
