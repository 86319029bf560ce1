// The table of runs: which there are, how far and how good each is, and what can be done with it.

import { empty, h } from "./dom.js";
import { swatch } from "./figures.js";

const HEAD = ["Show", "Run", "Tasks", "Accuracy", "State"];

/** The table of what the server listed; `chosen` are the runs with a line in the figures, by its number. */
export function listing({ total, fitting, records }, chosen, acts) {
  if (!total) return nothing();
  const title = (word) => (word === "Show" ? h("span", { className: "unseen" }, word) : word);
  const name = (word) => (word === "Run" ? "name" : "");
  const head = HEAD.map((word) => h("th", { scope: "col", className: name(word) }, title(word)));
  const rows = records.map((record) => row(record, chosen.get(record.record), acts));
  const table = h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
  return h(
    "div",
    {},
    h("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": "Runs" }, table),
    h("p", {}, counted(total, fitting, rows.length)),
  );
}

function counted(total, fitting, shown) {
  if (fitting > shown) return `${shown} of ${fitting} runs are listed; filter to find the others.`;
  if (!fitting) return `None of ${total} runs fits; filter by fewer words.`;
  return fitting < total ? `${fitting} of ${total} runs fit.` : "";
}

function row(record, number, { tick, act }) {
  const { record: folder, name, learner, stream, seed, tasks, accuracy, error } = record;
  const box = h("input", {
    type: "checkbox",
    checked: number !== undefined,
    "aria-label": `Show ${folder}`,
    onchange: () => tick(folder),
  });
  const about = error ?? [name ? folder : "", stream, `seed ${seed}`].filter(Boolean).join(", ");
  const mark = number === undefined ? null : swatch(number);
  const planned = record.finished ? "" : ` of ${record.tasks_planned ?? "?"}`;
  return h(
    "tr",
    {},
    h("td", {}, box),
    h("td", { className: "name" }, mark, name || folder, h("small", {}, `${learner}, ${about}`)),
    h("td", {}, error ? "–" : `${tasks}${planned}`),
    h("td", {}, typeof accuracy === "number" ? accuracy.toFixed(3) : "–"),
    h("td", {}, h("div", { className: "state" }, state(record), button(record, act))),
  );
}

function state({ error, playing, finished }) {
  const word = error ? "damaged" : playing ? "playing" : finished ? "finished" : "stopped";
  return h("span", {}, h("i", { className: `dot ${word}` }), word);
}

function button({ record, error, playing, finished }, act) {
  if (error || (finished && !playing)) return null;
  const [word, path, told] = playing
    ? ["Stop", "runs/stop", "It saves and stops."]
    : ["Resume", "runs/resume", "It plays on."];
  const onclick = () => act(path, record, told);
  return h("button", { className: "small", "aria-label": `${word} ${record}`, onclick }, word);
}

function nothing() {
  return empty(
    "No runs yet",
    h("p", {}, "Press “New run” above, or start one in a terminal, in the folder the studio was started in:"),
    h("pre", {}, "everlearn run --learner dcl --tasks 20"),
    h("p", {}, "Its curves appear here while it plays."),
  );
}
