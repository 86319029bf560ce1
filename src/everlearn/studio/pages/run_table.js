// The table of runs. Rows are changed in place and keep their order: nothing moves under the pointer or the focus.

import { fill, h } from "./dom.js";
import { introduction } from "./introduction.js";
import { swatch } from "./run_figures.js";

const COLUMNS = ["Tasks", "Accuracy", "State"];
const MAX_NOTE = 140;

/** Actions: `toggle(record)`, `toggleAll(isPlotted)`, `send("stop" or "resume", record)`, `edit(record)`,
`filterBy(tag)`, `showMore()`. */
export class RunTable {
  constructor(actions) {
    this.actions = actions;
    this.rows = new Map();
    this.body = h("tbody", {});
    const onchange = () => actions.toggleAll(this.all.checked);
    this.all = h("input", { type: "checkbox", "aria-label": "Plot all listed runs", onchange });
    const plot = h("th", { scope: "col" }, this.all);
    const titles = COLUMNS.map((title) => h("th", { scope: "col" }, title));
    const head = h("tr", {}, plot, h("th", { scope: "col", className: "name" }, "Run"), titles);
    const table = h("table", { id: "runs" }, h("thead", {}, head), this.body);
    this.scroll = h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Runs" }, table);
    this.count = h("span", { role: "status" });
    this.more = h("button", { className: "small", onclick: actions.showMore }, "Show more");
    this.below = h("div", { className: "bar" }, this.count, this.more);
    this.empty = introduction();
    this.element = h("div", {}, this.scroll, this.below, this.empty);
  }

  /** Shows a response of `records`.

  `line` maps plotted runs to line numbers, `pending` runs to what they are doing or to an error. */
  update({ n_records, n_matching, records }, line, pending) {
    this.empty.hidden = n_records > 0;
    this.scroll.hidden = this.below.hidden = !n_records;
    const listed = new Set(records.map(({ record }) => record));
    for (const [name, row] of this.rows) if (!listed.has(name)) this.remove(name, row);
    let last = null;
    for (const record of records) {
      const row = this.rows.get(record.record) ?? this.insert(record.record, last);
      row.update(record, line(record.record), pending.get(record.record) ?? {});
      last = row.element;
    }
    const nPlotted = records.filter(({ record }) => line(record) !== undefined).length;
    this.all.checked = nPlotted > 0 && nPlotted === records.length;
    this.all.indeterminate = nPlotted > 0 && nPlotted < records.length;
    setText(this.count, count(n_records, n_matching, records.length));
    this.more.hidden = n_matching <= records.length;
  }

  /** Forgets the order of the rows, because another list follows. */
  clear() {
    this.rows.clear();
    fill(this.body);
  }

  remove(name, row) {
    this.rows.delete(name);
    row.element.remove();
  }

  insert(name, after) {
    const row = new Row(name, this.actions);
    this.rows.set(name, row);
    if (after) after.after(row.element);
    else this.body.prepend(row.element);
    return row;
  }
}

class Row {
  constructor(record, { toggle, send, edit, filterBy }) {
    Object.assign(this, { record, filterBy, tags: "" });
    const onchange = () => toggle(record);
    this.checkbox = h("input", { type: "checkbox", "aria-label": `Plot ${record}`, onchange });
    this.swatch = h("span", {});
    this.title = h("span", {});
    this.details = h("small", {});
    this.note = h("small", { className: "note" });
    this.chips = h("span", {});
    this.error = h("p", { className: "field-error", role: "alert" });
    const label = { className: "small", "aria-label": `Edit ${record}` };
    this.edit = h("button", { ...label, onclick: () => edit(record) }, "Edit");
    this.tasks = h("td", {});
    this.accuracy = h("td", {});
    this.dot = h("i", {});
    this.word = h("span", {});
    this.button = h("button", { className: "small", onclick: () => send(this.action, record) });
    const state = h("div", { className: "state" }, h("span", {}, this.dot, this.word), this.button, this.edit);
    const parts = [this.swatch, this.title, this.chips, this.details, this.note, this.error];
    const name = h("td", { className: "name" }, parts);
    this.element = h("tr", {}, h("td", {}, this.checkbox), name, this.tasks, this.accuracy, h("td", {}, state));
  }

  update(run, line, pending) {
    const { record, name, learner, stream, seed, n_tasks, n_tasks_planned, finished, accuracy, error } = run;
    const other = [name && name !== record ? record : "", stream, `seed ${seed}`].filter(Boolean).join(", ");
    this.checkbox.checked = line !== undefined;
    fill(this.swatch, line === undefined ? null : swatch(line));
    setText(this.title, name || record);
    setText(this.details, `${learner}, ${error ?? other}`);
    setText(this.tasks, error ? "–" : `${n_tasks}${finished ? "" : ` of ${n_tasks_planned ?? "?"}`}`);
    setText(this.accuracy, typeof accuracy === "number" ? accuracy.toFixed(3) : "–");
    setText(this.error, pending.error ?? "");
    const note = run.note ?? "";
    setText(this.note, note.length > MAX_NOTE ? `${note.slice(0, MAX_NOTE)}…` : note);
    this.showTags(run.tags ?? []);
    this.showState(run, pending);
  }

  /** Tags as buttons that filter by them; replaced only if they have changed. */
  showTags(tags) {
    if (this.tags === tags.join(" ")) return;
    this.tags = tags.join(" ");
    const chip = (tag) =>
      h("button", { className: "chip", title: `Filter by ${tag}`, onclick: () => this.filterBy(tag) }, tag);
    fill(this.chips, tags.map(chip));
  }

  showState({ record, error, running, finished }, { word }) {
    const state = word ?? (error ? "damaged" : running ? "running" : finished ? "finished" : "stopped");
    this.dot.className = `dot ${state}`;
    setText(this.word, word ? `${word}…` : state);
    this.action = running ? "stop" : "resume";
    const title = running ? "Stop" : "Resume";
    setText(this.button, title);
    this.button.setAttribute("aria-label", `${title} ${record}`);
    // A button that has the focus is not disabled: the focus would be lost.
    this.button.setAttribute("aria-disabled", String(Boolean(word)));
    this.button.hidden = Boolean(error) || (finished && !running);
  }
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function count(total, matching, shown) {
  if (matching > shown) return `${shown} of ${matching.toLocaleString("en")} runs are listed.`;
  if (!matching) return `None of ${total} runs matches the filter.`;
  return matching < total ? `${matching} of ${total} runs match the filter.` : "";
}
