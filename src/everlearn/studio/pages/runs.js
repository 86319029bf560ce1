// All runs: the list, their figures while they play, and a way to start more.

import { address, ask, tell } from "./ask.js";
import { complaints, fill, h, say } from "./dom.js";
import { Figures } from "./figures.js";
import { form } from "./form.js";
import { listing } from "./listing.js";

const SHOWN = 100;
const MOST = 16;
const EVERY = 4000;
const ABOUT =
  "Every run in the folder of records, the latest first. Tick some to lay their curves over one another; those that play draw on.";

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
    this.names = new Map();
    this.playing = new Map();
    this.trouble = complaints();
    this.words = h("input", {
      type: "search",
      id: "filter",
      className: "whole",
      placeholder: "Filter by name, learner or stream",
      "aria-label": "Filter by name, learner or stream",
      oninput: () => this.list(),
    });
    this.table = h("div", {});
    this.form = h("div", {});
    this.figures = new Figures({
      title: (name) => this.names.get(name) || name,
      attempt: this.trouble.attempt,
    });
    const start = h("button", { className: "main", onclick: () => this.open() }, "New run");
    const bar = h("div", { className: "bar" }, h("div", { className: "grow" }, this.words), start);
    const parts = [this.trouble.box, bar, this.form, this.table, this.figures.element];
    this.element = h("div", {}, h("h1", {}, "Runs"), h("p", {}, ABOUT), parts);
  }

  async list() {
    const found = await this.trouble.attempt(() => ask("records", { words: this.words.value, limit: SHOWN }));
    if (!found) return;
    if (this.isFresh && found.records.length) this.chosen.set(found.records[0].record, 0);
    this.isFresh = false;
    for (const { record, name, playing } of found.records) {
      this.names.set(record, name);
      this.playing.set(record, playing);
    }
    // Drawn anew only if something is new, because that takes the focus from whoever uses the keyboard.
    if (JSON.stringify(found) !== JSON.stringify(this.found)) {
      this.found = found;
      this.drawTable();
    }
    this.follow();
  }

  drawTable() {
    const focused = document.activeElement?.getAttribute("aria-label");
    const act = (path, record, told) => this.act(path, record, told);
    fill(this.table, listing(this.found, this.chosen, { tick: (name) => this.tick(name), act }));
    const controls = [...this.table.querySelectorAll("input, button")];
    if (focused) controls.find((each) => each.getAttribute("aria-label") === focused)?.focus();
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
    this.follow();
  }

  /** Listen to what the chosen runs tell, from their beginning on. */
  follow() {
    const names = [...this.chosen.keys()];
    if (names.join("\n") === this.followed) return;
    this.followed = names.join("\n");
    this.source?.close();
    const query = new URLSearchParams(names.map((name) => ["record", name]));
    history.replaceState(null, "", `#/runs?${query}`);
    this.figures.begin(this.chosen);
    if (!names.length) return;
    this.source = new EventSource(address("records/live", { record: names }));
    this.source.onmessage = (message) => this.hear(JSON.parse(message.data));
    this.source.onopen = () => this.figures.clear();
  }

  hear(news) {
    if (news.state.error) return this.trouble.show(news.state.error);
    this.figures.hear(news);
    const known = this.playing.get(news.record);
    if (known !== undefined && known !== news.state.playing) this.list();
  }

  open() {
    const close = () => fill(this.form);
    const started = async (record) => {
      close();
      say(`${record} has begun.`);
      this.chosen.set(record, free([...this.chosen.values()]));
      await this.list();
    };
    fill(this.form, form({ close, started }));
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
