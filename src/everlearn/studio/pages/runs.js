// All runs: the list, their curves while they play, their score tables, and a way to start more.

import { address, ask, tell } from "./ask.js";
import { Chart, short } from "./chart.js";
import { complaints, fill, h, say } from "./dom.js";
import { form } from "./form.js";
import { heat } from "./heat.js";
import { listing } from "./listing.js";

const SHOWN = 100;
const MOST = 16;
const EVERY = 4000;
const FIGURES = {
  accuracy: { title: "Accuracy on all tasks seen", zero: true, top: 1 },
  forgetting: { title: "Forgetting", zero: true },
  loss: { title: "Loss", zero: true },
  seconds: { title: "Seconds per task", zero: true },
  bytes: { title: "Bytes held", zero: true, words: (y) => `${short(y)}B` },
};

export async function show(room, query) {
  const page = new RunsPage(query.getAll("record"));
  fill(room, page.element);
  await page.list();
  page.clock = setInterval(() => document.hidden || page.list(), EVERY);
  return () => page.leave();
}

class RunsPage {
  constructor(chosen) {
    this.chosen = new Map(chosen.slice(0, MOST).map((name, i) => [name, i]));
    this.isFresh = !chosen.length;
    this.points = new Map();
    this.trouble = complaints();
    this.words = h("input", {
      type: "search",
      id: "filter",
      placeholder: "Filter by name, learner or stream",
      "aria-label": "Filter by name, learner or stream",
    });
    this.words.addEventListener("input", () => this.list());
    this.table = h("div", {});
    this.figures = h("div", { className: "figures" });
    this.scores = h("div", {});
    this.form = h("div", {});
    const start = h("button", { className: "main", onclick: () => this.open() }, "New run");
    this.element = h(
      "div",
      {},
      h("h1", {}, "Runs"),
      h(
        "p",
        {},
        "Every run in the folder of records, the latest first. Tick some to lay their curves over one another; those that play draw on.",
      ),
      this.trouble.box,
      h("div", { className: "bar" }, h("div", { className: "grow" }, this.words), start),
      this.form,
      this.table,
      this.figures,
      this.scores,
    );
    this.words.style.width = "100%";
  }

  async list() {
    const found = await this.trouble.attempt(() => ask("records", { words: this.words.value, limit: SHOWN }));
    if (!found) return;
    if (this.isFresh && found.records.length) this.chosen.set(found.records[0].record, 0);
    this.isFresh = false;
    this.records = new Map(found.records.map((record) => [record.record, record]));
    // Drawn anew only if something is new, because that takes the focus from whoever uses the keyboard.
    if (JSON.stringify(found) !== JSON.stringify(this.found)) {
      this.found = found;
      this.drawTable();
    }
    this.follow();
  }

  drawTable() {
    fill(
      this.table,
      listing(this.found, this.chosen, {
        tick: (name) => this.tick(name),
        act: (path, record, told) => this.act(path, record, told),
      }),
    );
  }

  async act(path, record, told) {
    const done = await this.trouble.attempt(() => tell(path, { record }));
    if (done) say(told);
    await this.list();
  }

  tick(name) {
    if (this.chosen.has(name)) this.chosen.delete(name);
    else if (this.chosen.size < MOST) this.chosen.set(name, free([...this.chosen.values()]));
    else say(`At most ${MOST} runs fit into one figure.`);
    this.drawTable();
    const boxes = [...this.table.querySelectorAll("input")];
    boxes.find((box) => box.getAttribute("aria-label") === `Show ${name}`)?.focus();
    this.follow();
  }

  /** Listen to what the chosen runs tell, from their beginning on. */
  follow() {
    const wanted = [...this.chosen.keys()].join("\n");
    if (wanted === this.followed) return;
    this.followed = wanted;
    this.source?.close();
    this.points.clear();
    history.replaceState(
      null,
      "",
      `#/runs?${new URLSearchParams([...this.chosen.keys()].map((name) => ["record", name]))}`,
    );
    this.prepare();
    if (!wanted) return;
    this.source = new EventSource(address("records/live", { record: [...this.chosen.keys()] }));
    this.source.onmessage = (message) => this.hear(JSON.parse(message.data));
    this.source.onopen = () => this.points.clear();
  }

  prepare() {
    const names = this.chosen.size ? Object.entries(FIGURES) : [];
    this.charts = {};
    fill(
      this.figures,
      names.map(([name, options]) => {
        const canvas = h("canvas", { className: "chart", id: `chart-${name}` });
        this.charts[name] = new Chart(canvas, options);
        return h(
          "figure",
          {},
          h(
            "figcaption",
            {},
            h("span", {}, options.title),
            h("button", { className: "small", onclick: () => this.charts[name].zoom(null) }, "Whole"),
          ),
          canvas,
        );
      }),
    );
    this.drawScores();
  }

  hear({ record, anew, points, state: told }) {
    if (told.error) return this.trouble.show(told.error);
    if (anew || !this.points.has(record)) this.points.set(record, {});
    const mine = this.points.get(record);
    for (const [name, some] of Object.entries(points)) (mine[name] ??= []).push(...some);
    for (const [name, chart] of Object.entries(this.charts))
      chart.set(this.title(record), mine[name] ?? [], this.chosen.get(record) ?? 0);
    const listed = this.records.get(record);
    if (listed && listed.playing !== told.playing) this.list();
    if (points.accuracy?.length && record === this.shownScores) this.drawScores();
  }

  title(name) {
    const record = this.records.get(name);
    return record?.name || name;
  }

  /** The score table of one of the chosen runs, with its files. */
  async drawScores() {
    const names = [...this.chosen.keys()];
    if (!names.length) return void fill(this.scores);
    if (!names.includes(this.shownScores)) this.shownScores = names[0];
    const name = this.shownScores;
    const table = await this.trouble.attempt(() => ask("records/scores", { record: name }));
    if (!table || name !== this.shownScores) return;
    const choose = h(
      "select",
      {
        "aria-label": "Run whose score table is shown",
        onchange: (event) => ((this.shownScores = event.target.value), this.drawScores()),
      },
      names.map((each) => h("option", { value: each, selected: each === name }, this.title(each))),
    );
    const export_ = h(
      "a",
      { className: "button", href: address("records/export.csv", { record: name }), download: "" },
      "Export curves (CSV)",
    );
    const figures = h("button", { onclick: () => this.picture(name) }, "Export figure (PNG)");
    fill(
      this.scores,
      h("h2", {}, "Score table"),
      h("div", { className: "bar" }, choose, export_, figures),
      table.rows.length ? heat(table) : h("p", {}, "Nothing is scored yet; a row appears after each task."),
    );
  }

  /** The accuracy figure as a file. */
  picture() {
    const link = h("a", { href: this.charts.accuracy.canvas.toDataURL(), download: "accuracy.png" });
    link.click();
  }

  open() {
    const close = () => fill(this.form);
    fill(
      this.form,
      form({
        close,
        started: async (record) => {
          close();
          say(`${record} has begun.`);
          this.chosen.set(record, free([...this.chosen.values()]));
          await this.list();
        },
      }),
    );
  }

  leave() {
    clearInterval(this.clock);
    this.source?.close();
  }
}

/** The lowest number that is not taken, so that a line keeps its colour. */
function free(taken) {
  let number = 0;
  while (taken.includes(number)) number++;
  return number;
}
