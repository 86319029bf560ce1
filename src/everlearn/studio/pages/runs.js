// The runs page: all runs, the curves of selected ones, and a form to start more.

import { get, post, url } from "./api.js";
import { errorBox, fill, h, showStatus } from "./dom.js";
import { RunFigures } from "./run_figures.js";
import { runForm } from "./run_form.js";
import { RunTable } from "./run_table.js";

const MAX_LISTED = 100;
const MAX_PLOTTED = 16;
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
    this.plotted = new Map(plotted.slice(0, MAX_PLOTTED).map((name, line) => [name, line]));
    this.plotsNewest = !plotted.length;
    this.names = new Map();
    this.running = new Map();
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
      send: (action, record) => this.send(action, record),
    });
    this.form = h("div", {});
    this.figures = new RunFigures({
      title: (name) => this.names.get(name) || name,
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
    if (this.plotsNewest && list.records.length) this.plotted.set(list.records[0].record, 0);
    this.plotsNewest = false;
    for (const { record, name, running } of list.records) {
      this.names.set(record, name);
      this.running.set(record, running);
      if (this.pending.get(record)?.word === (running ? "resuming" : "stopping")) this.pending.delete(record);
    }
    this.list = list;
    this.drawTable();
    this.follow();
  }

  drawTable() {
    this.table.update(this.list, this.plotted, this.pending);
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
    else if (this.plotted.size < MAX_PLOTTED) this.plot(name);
    else showStatus(`At most ${MAX_PLOTTED} runs can be plotted together.`);
    this.drawTable();
    this.follow();
  }

  /** Adds a run with the lowest free line number, so that all lines keep their colours. */
  plot(name) {
    const used = [...this.plotted.values()];
    let line = 0;
    while (used.includes(line)) line++;
    this.plotted.set(name, line);
  }

  /** Subscribes to the curves of the plotted runs, from their start. */
  follow() {
    const names = [...this.plotted.keys()];
    if (names.join("\n") === this.followed) return;
    this.followed = names.join("\n");
    this.source?.close();
    const query = new URLSearchParams(names.map((name) => ["record", name]));
    history.replaceState(null, "", `#/runs?${query}`);
    this.figures.begin(this.plotted);
    if (!names.length) return;
    this.source = new EventSource(url("records/live", { record: names }));
    this.source.onmessage = (message) => this.receive(JSON.parse(message.data));
    this.source.onopen = () => this.figures.clear(); // after a lost connection everything is sent again
  }

  receive(message) {
    if (message.state.error) return this.errors.show(message.state.error);
    this.figures.add(message);
    const before = this.running.get(message.record);
    if (before !== undefined && before !== message.state.running) this.refresh();
  }

  openForm() {
    const close = () => fill(this.form);
    const started = async (record) => {
      close();
      showStatus(`${record} has started.`);
      this.plot(record);
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
