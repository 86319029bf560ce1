// The figures over the chosen runs: a legend, their curves, and the score table of one of them.

import { address, ask } from "./ask.js";
import { Chart } from "./chart.js";
import { fill, h, late } from "./dom.js";
import { heat } from "./heat.js";
import { dashes, isDark, short } from "./painting.js";

const CURVES = {
  accuracy: { title: "Accuracy on all tasks seen", zero: true, top: 1 },
  forgetting: { title: "Forgetting", zero: true },
  loss: { title: "Loss", zero: true },
  seconds: { title: "Seconds per task", zero: true },
  bytes: { title: "Bytes held", zero: true, words: (y) => short(y, "B") },
};
const ENDINGS = ["svg", "png", "csv"];
const LONG = 1000;
const PAUSE = 1000;

/** Charts of some runs. `title` names a run; `attempt` does what may fail and shows why if it does. */
export class Figures {
  constructor({ title, attempt }) {
    Object.assign(this, { title, attempt });
    this.element = h("div", {});
    this.scores = h("figure", { id: "scores" });
    this.chosen = new Map();
    this.points = new Map();
    this.charts = {};
  }

  /** Begin anew with these runs, by the numbers of their lines. */
  begin(chosen) {
    this.chosen = new Map(chosen);
    this.points.clear();
    this.charts = {};
    if (!chosen.size) return void fill(this.element);
    const figures = Object.entries(CURVES).map(([name, options]) => this.figure(name, options));
    fill(
      this.element,
      this.legend(),
      h("div", { className: "figures" }, figures, this.scores),
      h("p", {}, this.everything()),
    );
    fill(this.scores);
    this.drawScores();
  }

  /** Forget what was told; it is told again. */
  clear() {
    this.points.clear();
  }

  /** Take in what is new of a run. */
  hear({ record, anew, points }) {
    if (anew || !this.points.has(record)) this.points.set(record, {});
    const mine = this.points.get(record);
    for (const [name, some] of Object.entries(points)) mine[name] = (mine[name] ?? []).concat(some);
    const [label, number] = [this.title(record), this.chosen.get(record) ?? 0];
    for (const [name, chart] of Object.entries(this.charts))
      chart.set(record, { label, number, points: mine[name] ?? [] });
    if (points.accuracy?.length && record === this.shown) this.drawScores();
  }

  legend() {
    const runs = [...this.chosen].map(([name, number]) => h("li", {}, swatch(number), this.title(name)));
    return h("ul", { className: "legend", "aria-label": "Lines" }, runs);
  }

  figure(name, options) {
    const canvas = h("canvas", { className: "chart", id: `chart-${name}` });
    const all = h(
      "button",
      { className: "small", hidden: true, "aria-label": `Show all of ${options.title}` },
      "Show all",
    );
    const refine = late((span) => this.refine(name, span));
    const zoomed = (span) => ((all.hidden = !span), refine(span));
    const chart = new Chart(canvas, { ...options, zoomed });
    all.onclick = () => (chart.zoom(null), canvas.focus());
    this.charts[name] = chart;
    const file = (ending) => {
      const [low, high] = chart.span ?? [];
      const record = [...this.chosen.keys()];
      return address("exports/curve", { ...look(), record, curve: name, ending, low, high });
    };
    const acts = h("span", { className: "acts" }, all, saves(options.title, file));
    return h("figure", {}, h("figcaption", {}, h("span", {}, options.title), acts), canvas);
  }

  /** Ask for all there is to see in a part of long curves, which were thinned for the whole view. */
  refine(name, span) {
    const chart = this.charts[name];
    if (!span || chart.span !== span) return;
    for (const [record, { points }] of chart.lines)
      if (points.length >= LONG)
        this.attempt(async () => {
          const [low, high] = span;
          const found = await ask("records/curves", { record, low, high });
          if (chart.span === span) chart.refine(record, found.points[name]);
        });
  }

  everything() {
    const href = address("exports/curves.csv", { record: [...this.chosen.keys()] });
    return h("a", { href, download: "", id: "every-curve" }, "Save all curves as one table (CSV)");
  }

  /** The score table of one of the runs, renewed at most once in a while. */
  async drawScores() {
    if (this.isDrawing) return void (this.isStale = true);
    [this.isDrawing, this.isStale] = [true, false];
    const names = [...this.chosen.keys()];
    if (!names.includes(this.shown)) this.shown = names[0];
    const name = this.shown;
    const table = await this.attempt(() => ask("records/scores", { record: name }));
    if (table && name === this.shown) this.showScores(table, names);
    setTimeout(() => {
      this.isDrawing = false;
      if (this.isStale && this.chosen.size) this.drawScores();
    }, PAUSE);
  }

  showScores(table, names) {
    const choose = (event) => {
      this.shown = event.target.value;
      this.isDrawing = false;
      this.drawScores();
    };
    const option = (each) => h("option", { value: each, selected: each === this.shown }, this.title(each));
    const about = { "aria-label": "Run whose score table is shown", onchange: choose };
    const title = h("span", {}, "Score table ", names.length > 1 ? h("select", about, names.map(option)) : "");
    const file = (ending) => address("exports/scores", { ...look(), record: this.shown, ending });
    const hadFocus = this.scores.contains(document.activeElement) && document.activeElement.tagName;
    const nothing = h("p", {}, "Nothing is scored yet; a row appears after each task.");
    const caption = h("figcaption", {}, title, saves("Score table", file));
    fill(this.scores, caption, table.rows.length ? heat(table) : nothing);
    if (hadFocus) this.scores.querySelector(hadFocus)?.focus();
  }
}

/** A square in the colour of a line; with stripes once the colours begin again. */
export function swatch(number) {
  const square = h("span", { className: `swatch${dashes(number).length ? " striped" : ""}` });
  square.style.background = `var(--line-${number % 8})`;
  return square;
}

const look = () => (isDark() ? { dark: true } : {});

/** Links that save a figure; where they lead is decided when they are followed, by what is shown then. */
function saves(title, file) {
  const saved = (ending) => {
    const name = ending.toUpperCase();
    const link = h("a", { href: file(ending), download: "", "aria-label": `Save ${title} as ${name}` }, name);
    link.addEventListener("click", () => (link.href = file(ending)));
    return link;
  };
  return h("span", { className: "saves" }, ENDINGS.map(saved));
}
