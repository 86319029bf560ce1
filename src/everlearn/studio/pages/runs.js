// The runs page: all runs, the curves of selected ones, and a form to start more.

import { get, post, url } from "./api.js";
import { debounced, errorBox, fill, h, menu, showStatus } from "./dom.js";
import { editRecord, openFolder, showTrash } from "./record_dialogs.js";
import { RunFigures } from "./run_figures.js";
import { runForm } from "./run_form.js";
import { RunTable } from "./run_table.js";

const PAGE_SIZE = 100;
const STATES = ["any", "running", "finished", "stopped", "damaged"].map((state) => [state, state]);
const ORDERS = [
  ["newest", "newest first"],
  ["name", "name"],
  ["accuracy", "accuracy"],
  ["tasks", "tasks"],
];
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
      placeholder: "Filter by name, learner, stream, tag or note",
      "aria-label": "Filter by name, learner, stream, tag or note",
      oninput: debounced(() => this.listAgain()),
    });
    this.state = menu("state", "State", STATES, () => this.listAgain());
    this.order = menu("order", "Order", ORDERS, () => this.listAgain());
    this.nListed = PAGE_SIZE;
    this.table = new RunTable({
      toggle: (name) => this.toggle(name),
      toggleAll: (isPlotted) => this.toggleAll(isPlotted),
      send: (action, record) => this.send(action, record),
      edit: (record) => this.edit(record),
      filterBy: (tag) => ((this.filter.value = `tag:${tag}`), this.listAgain()),
      showMore: () => ((this.nListed += PAGE_SIZE), this.refresh()),
    });
    this.form = h("div", {});
    this.figures = new RunFigures({
      summary: (name) => this.summaries.get(name) ?? { record: name, name: "", learner: name },
      attempt: this.errors.attempt,
    });
    const start = h("button", { className: "main", onclick: () => this.openForm() }, "New run");
    const menus = [this.state.element, this.order.element];
    const bar = h("div", { className: "bar" }, h("div", { className: "grow" }, this.filter), menus, start);
    const dialog = (open) => async () => ((await this.errors.attempt(open)), this.refresh());
    this.trash = h("button", { className: "small", onclick: dialog(showTrash) }, "Trash");
    const other = h("button", { className: "small", onclick: dialog(openFolder) }, "Open another folder");
    const folders = h("div", { className: "bar" }, other, this.trash);
    const parts = [this.errors.box, bar, this.form, this.table.element, folders, this.figures.element];
    this.element = h("div", {}, h("h1", {}, "Runs"), h("p", {}, ABOUT), parts);
  }

  /** Shows another list from its start. */
  listAgain() {
    this.nListed = PAGE_SIZE;
    this.refresh();
  }

  async refresh() {
    const [state, order] = [this.state.value, this.order.value];
    const query = { query: this.filter.value, state, order, limit: this.nListed };
    const list = await this.errors.attempt(() => get("records", query));
    if (!list) return;
    const key = JSON.stringify([query.query, state, order]);
    if (this.key !== undefined && key !== this.key) this.table.clear();
    this.key = key;
    this.trash.textContent = list.n_deleted ? `Trash (${list.n_deleted})` : "Trash";
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

  async edit(record) {
    await editRecord(this.summaries.get(record), (name) => this.remove(name));
    await this.refresh();
  }

  async remove(record) {
    if (!(await this.errors.attempt(() => post("records/delete", { record })))) return;
    this.plotted.delete(record);
    showStatus(`${record} was moved to the trash.`);
    await this.refresh();
    this.trash.focus(); // the focused button was removed
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
