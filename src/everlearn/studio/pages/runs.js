// The runs page: all runs, the curves of selected ones, and a form to start more.

import { get, post, url } from "./api.js";
import { errorBox, fill, h, showStatus } from "./dom.js";
import { RunFigures } from "./run_figures.js";
import { runForm } from "./run_form.js";
import { RunTable } from "./run_table.js";

const MAX_LISTED = 100;
const MAX_PLOTTED = 32;
const REFRESH_MS = 4000;
const PENDING_REFRESH_MS = 500;
const WORDS = { stop: "stopping", resume: "resuming" };
const ABOUT =
  "All runs in the folder of records, newest first. Selected runs are plotted together; the curves of active runs update live.";

export async function show(content, query) {
  const page = new RunsPage(query.getAll("record"));
  fill(content, page.element);
  await page.refresh();
  page.timer = setInterval(() => document.hidden || page.refresh(), REFRESH_MS);
  return () => page.leave();
}

class RunsPage {
  constructor(plotted) {
    this.plotted = new Set(plotted.slice(0, MAX_PLOTTED));
    this.plotsNewest = !plotted.length;
    this.summaries = new Map();
    this.pending = new Map();
    this.errors = errorBox();
    this.filter = h("input", {
      type: "search",
      id: "filter",
      className: "full-width",
      placeholder: "Filter by name, learner or stream",
      "aria-label": "Filter by name, learner or stream",
      oninput: () => this.refresh(),
    });
    this.table = new RunTable({
      toggle: (name) => this.toggle(name),
      toggleAll: (isPlotted) => this.toggleAll(isPlotted),
      send: (action, record) => this.send(action, record),
    });
    this.form = h("div", {});
    this.figures = new RunFigures({
      summary: (name) => this.summaries.get(name) ?? { record: name, name: "", learner: name },
      attempt: this.errors.attempt,
    });
    const start = h("button", { className: "main", onclick: () => this.openForm() }, "New run");
    const bar = h("div", { className: "bar" }, h("div", { className: "grow" }, this.filter), start);
    const parts = [this.errors.box, bar, this.form, this.table.element, this.figures.element];
    this.element = h("div", {}, h("h1", {}, "Runs"), h("p", {}, ABOUT), parts);
  }

  async refresh() {
    const query = { query: this.filter.value, limit: MAX_LISTED };
    const list = await this.errors.attempt(() => get("records", query));
    if (!list) return;
    if (this.plotsNewest && list.records.length) this.plotted.add(list.records[0].record);
    this.plotsNewest = false;
    for (const summary of list.records) {
      const { record, running } = summary;
      this.summaries.set(record, summary);
      if (this.pending.get(record)?.word === (running ? "resuming" : "stopping")) this.pending.delete(record);
    }
    this.list = list;
    this.follow();
    this.figures.group();
    this.drawTable();
  }

  drawTable() {
    const line = (name) => (this.plotted.has(name) ? (this.figures.lineOf(name) ?? 0) : undefined);
    this.table.update(this.list, line, this.pending);
  }

  /** Stops or resumes a run; the row shows it at once, and an error of it. */
  async send(action, record) {
    if (this.pending.get(record)?.word) return;
    this.pending.set(record, { word: WORDS[action] });
    this.drawTable();
    try {
      await post(`runs/${action}`, { record });
    } catch (error) {
      this.pending.set(record, { error: error.message });
    }
    await this.refresh();
    while (this.pending.get(record)?.word && !this.hasLeft) {
      await new Promise((resolve) => setTimeout(resolve, PENDING_REFRESH_MS));
      await this.refresh();
    }
  }

  toggle(name) {
    if (this.plotted.has(name)) this.plotted.delete(name);
    else if (this.plotted.size < MAX_PLOTTED) this.plotted.add(name);
    else showStatus(`At most ${MAX_PLOTTED} runs can be plotted together.`);
    this.follow();
    this.drawTable();
  }

  /** Plots all listed runs, or none. */
  toggleAll(isPlotted) {
    const names = isPlotted ? this.list.records.filter(({ error }) => !error).map(({ record }) => record) : [];
    if (names.length > MAX_PLOTTED) showStatus(`The first ${MAX_PLOTTED} runs are plotted.`);
    this.plotted = new Set(names.slice(0, MAX_PLOTTED));
    this.follow();
    this.drawTable();
  }

  /** Subscribes to the curves of the plotted runs, from their start. */
  follow() {
    const names = [...this.plotted];
    if (names.join("\n") === this.followed) return;
    this.followed = names.join("\n");
    this.source?.close();
    const query = new URLSearchParams(names.map((name) => ["record", name]));
    history.replaceState(null, "", `#/runs?${query}`);
    this.figures.begin(names);
    if (!names.length) return;
    this.source = new EventSource(url("records/live", { record: names }));
    this.source.onmessage = (message) => this.receive(JSON.parse(message.data));
    this.source.onopen = () => this.figures.clear(); // after a lost connection everything is sent again
  }

  receive(message) {
    if (message.state.error) return this.errors.show(message.state.error);
    this.figures.add(message);
    const before = this.summaries.get(message.record);
    if (before && before.running !== message.state.running) this.refresh();
  }

  openForm() {
    const close = () => fill(this.form);
    const started = async (record) => {
      close();
      showStatus(`${record} has started.`);
      this.plotted.add(record);
      await this.refresh();
    };
    fill(this.form, runForm({ close, started }));
  }

  leave() {
    this.hasLeft = true;
    clearInterval(this.timer);
    this.source?.close();
  }
}
