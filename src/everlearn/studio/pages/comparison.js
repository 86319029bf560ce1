// The comparison of the plotted runs as a table, best learner first.

import { get, url } from "./api.js";
import { fill, h, latest } from "./dom.js";
import { downloads } from "./run_figures.js";

export class Comparison {
  constructor(attempt) {
    this.attempt = attempt;
    this.names = [];
    this.head = h("thead", {});
    this.body = h("tbody", {});
    this.notes = h("p", {});
    this.meanings = h("dl", {});
    const link = (format) => url("downloads/comparison", { record: this.names, format });
    const title = h("h2", {}, "Leaderboard");
    const caption = h("div", { className: "bar" }, title, downloads("Leaderboard", link, ["csv", "tex"]));
    const table = h("table", { id: "leaderboard" }, this.head, this.body);
    const scroll = { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Leaderboard" };
    const explained = h("details", {}, h("summary", {}, "What the columns mean"), this.notes, this.meanings);
    this.element = h("section", {}, caption, h("div", scroll, table), explained);
    this.update = latest(() => this.load());
  }

  /** Shows the comparison of these runs as they are now. */
  show(names) {
    this.names = names;
    this.update();
  }

  async load() {
    if (!this.names.length) return;
    const found = await this.attempt(() => get("comparison", { record: this.names }));
    if (!found) return;
    const { columns, rows, notes } = found;
    const cell = (text, i) => h(i ? "td" : "th", i ? {} : { className: "name", scope: "row" }, text);
    const heading = ({ heading, meaning }, i) =>
      h("th", { scope: "col", className: i ? "" : "name", title: meaning }, heading);
    fill(this.head, h("tr", {}, columns.map(heading)));
    fill(this.body, rows.map((row) => h("tr", {}, row.map(cell)))); // prettier-ignore
    this.notes.textContent = notes.join(" ");
    fill(this.meanings, columns.flatMap(({ heading, meaning }) => [h("dt", {}, heading), h("dd", {}, meaning)])); // prettier-ignore
  }
}
