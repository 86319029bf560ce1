// The page "Watch it forget": two runs side by side, task by task.

import { get, url } from "./api.js";
import { errorBox, fill, h, menu } from "./dom.js";
import { noRecord } from "./introduction.js";
import { scoreMatrix } from "./score_matrix.js";

const STEP_MS = 900;
const REFRESH_MS = 4000;
const MAX_RUNS = 200;
const ABOUT =
  "Two runs side by side. Tasks come from left to right; each row of a matrix is the accuracy on all tasks so far. A learner that forgets turns dark below the diagonal.";
const LABELS = { start: "Play", stop: "Pause" }; // check-words: allow

export async function show(content, query) {
  fill(content, h("h1", {}, "Watch it forget"), h("p", { role: "status" }, "Loading…"));
  const { records } = await get("records", { limit: MAX_RUNS });
  const usable = records.filter(({ error, accuracy, n_tasks }) => !error && accuracy !== null && n_tasks > 1);
  const head = [h("h1", {}, "Watch it forget"), h("p", {}, ABOUT)];
  if (!usable.length) {
    const text = "Two runs of several tasks are shown here, such as fine-tuning and DCL.";
    return void fill(content, head, noRecord("No run yet", text, "everlearn run --learner naive --tasks 8", "naive"));
  }
  const page = new WatchPage(usable, query);
  fill(content, head, page.element);
  await page.load();
  page.timer = setInterval(() => document.hidden || page.load(), REFRESH_MS);
  return () => page.leave();
}

/** The most instructive pair: of runs on one stream, the worst and the best. */
function bestPair(runs) {
  const sorted = [...runs].sort((a, b) => a.accuracy - b.accuracy);
  const first = sorted[0];
  const second = sorted.findLast(({ stream, n_tasks }) => stream === first.stream && n_tasks === first.n_tasks);
  return [first.record, second.record];
}

class WatchPage {
  constructor(runs, query) {
    const given = query.getAll("record").filter((name) => runs.some(({ record }) => record === name));
    const pair = given.length === 2 ? given : bestPair(runs);
    Object.assign(this, { errors: errorBox(), time: 1, nTasks: 1, animation: null });
    const options = runs.map(({ record, name, learner }) => [record, `${name || record} (${learner})`]);
    this.sides = pair.map((record, i) => new Side(record, menu(`run-${i}`, "Run", options, () => this.load())));
    this.slider = h("input", { type: "range", id: "time", min: 1, max: 1, value: 1, className: "grow" });
    this.slider.oninput = () => (this.stop(), this.seek(Number(this.slider.value)));
    this.button = h("button", { className: "main", onclick: () => this.toggle() }, LABELS.start);
    this.label = h("output", { htmlFor: "time" });
    this.strip = h("ol", { className: "tasks" });
    const time = h("label", { htmlFor: "time" }, "After task");
    this.element = h(
      "div",
      { onkeydown: (event) => this.onkey(event) },
      this.errors.box,
      h("div", { className: "bar" }, this.button, time, this.slider, this.label),
      this.strip,
      h("div", { className: "watch" }, this.sides.map(({ element }) => element)),
    );
  }

  async load() {
    await this.errors.attempt(() => Promise.all(this.sides.map((side) => side.load())));
    this.nTasks = Math.max(1, ...this.sides.map(({ rows }) => rows.length));
    this.slider.max = this.nTasks;
    this.drawStrip();
    this.seek(Math.min(this.time, this.nTasks));
  }

  /** The images of all tasks; those of one stream are loaded once. */
  drawStrip() {
    const record = this.sides[0].record;
    const key = JSON.stringify([record, this.nTasks]);
    if (key === this.shown) return;
    this.shown = key;
    const item = (_, task) => {
      const src = url("records/task.png", { record, task });
      return h("li", {}, h("img", { src, loading: "lazy", alt: `Images of task ${task + 1}` }), `task ${task + 1}`);
    };
    fill(this.strip, Array.from({ length: this.nTasks }, item));
  }

  seek(time) {
    this.time = time;
    this.slider.value = time;
    this.label.textContent = `${time} of ${this.nTasks}`;
    this.slider.setAttribute("aria-valuetext", this.label.textContent);
    [...this.strip.children].forEach((item, i) => {
      item.className = i < time - 1 ? "past" : i === time - 1 ? "current" : "future";
    });
    const current = this.strip.children[time - 1];
    if (current) this.strip.scrollTo({ left: current.offsetLeft - this.strip.clientWidth / 2, behavior: "smooth" });
    for (const side of this.sides) side.draw(time);
  }

  toggle() {
    if (this.animation) return this.stop();
    if (this.time === this.nTasks) this.seek(1);
    this.button.textContent = LABELS.stop;
    this.animation = setInterval(() => {
      if (this.time < this.nTasks) this.seek(this.time + 1);
      else this.stop();
    }, STEP_MS);
  }

  stop() {
    clearInterval(this.animation);
    this.animation = null;
    this.button.textContent = LABELS.start;
  }

  /** The space bar starts and stops, unless a control uses it. */
  onkey(event) {
    if (event.key !== " " || ["BUTTON", "SELECT"].includes(event.target.tagName)) return;
    event.preventDefault();
    this.toggle();
  }

  leave() {
    clearInterval(this.timer);
    this.stop();
  }
}

class Side {
  constructor(record, select) {
    this.select = select;
    select.value = record;
    this.rows = [];
    this.matrix = scoreMatrix({ rows: [], n_tasks: 0 });
    this.accuracy = h("p", { className: "prediction" });
    this.first = h("p", {});
    this.element = h("section", {}, select.element, this.accuracy, this.first, this.matrix.element);
  }

  get record() {
    return this.select.value;
  }

  async load() {
    const record = this.record;
    const { rows } = await get("records/scores", { record });
    if (record === this.record) this.rows = rows;
  }

  /** Shows the matrix as it was after a number of tasks; later rows are empty. */
  draw(time) {
    const n = Math.min(time, this.rows.length);
    const rows = this.rows.map((row, i) => (i < n ? row : row.map(() => null)));
    this.matrix.update({ rows, n_tasks: this.rows.length });
    const scores = (this.rows[n - 1] ?? []).filter((score) => score !== null);
    const mean = scores.reduce((sum, score) => sum + score, 0) / (scores.length || 1);
    this.accuracy.textContent = `${Math.round(100 * mean)} % right on ${n > 1 ? `all ${n} tasks` : "one task"}`;
    this.first.textContent = `The first task: ${Math.round(100 * (scores[0] ?? 0))} %, at first ${Math.round(100 * (this.rows[0]?.[0] ?? 0))} %.`;
  }
}
