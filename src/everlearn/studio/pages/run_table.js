// The table of runs, with a button to stop or resume each.

import { emptyState, h } from "./dom.js";
import { swatch } from "./run_figures.js";

/** The table of a response of `records`; `plotted` maps the names of plotted runs to line numbers. */
export function runTable({ n_records, n_matching, records }, plotted, actions) {
  if (!n_records) return noRuns();
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, h("span", { className: "visually-hidden" }, "Plot")),
    h("th", { scope: "col", className: "name" }, "Run"),
    ["Tasks", "Accuracy", "State"].map((title) => h("th", { scope: "col" }, title)),
  );
  const rows = records.map((record) => row(record, plotted.get(record.record), actions));
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, rows));
  return h(
    "div",
    {},
    h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Runs" }, table),
    h("p", {}, count(n_records, n_matching, rows.length)),
  );
}

function count(total, matching, shown) {
  if (matching > shown) return `${shown} of ${matching} runs are listed; filter to find the others.`;
  if (!matching) return `None of ${total} runs matches the filter.`;
  return matching < total ? `${matching} of ${total} runs match the filter.` : "";
}

function row(run, line, { toggle, send }) {
  const { record, name, learner, stream, seed, n_tasks, n_tasks_planned, finished, accuracy, error } = run;
  const isPlotted = line !== undefined;
  const checkbox = h("input", {
    type: "checkbox",
    checked: isPlotted,
    "aria-label": `Plot ${record}`,
    onchange: () => toggle(record),
  });
  const details = error ?? [name && name !== record ? record : "", stream, `seed ${seed}`].filter(Boolean).join(", ");
  const planned = finished ? "" : ` of ${n_tasks_planned ?? "?"}`;
  return h(
    "tr",
    {},
    h("td", {}, checkbox),
    h(
      "td",
      { className: "name" },
      isPlotted ? swatch(line) : null,
      name || record,
      h("small", {}, `${learner}, ${details}`),
    ),
    h("td", {}, error ? "–" : `${n_tasks}${planned}`),
    h("td", {}, typeof accuracy === "number" ? accuracy.toFixed(3) : "–"),
    h("td", {}, h("div", { className: "state" }, state(run), button(run, send))),
  );
}

function state({ error, running, finished }) {
  const word = error ? "damaged" : running ? "running" : finished ? "finished" : "stopped";
  return h("span", {}, h("i", { className: `dot ${word}` }), word);
}

function button({ record, error, running, finished }, send) {
  if (error || (finished && !running)) return null;
  const [word, path, status] = running
    ? ["Stop", "runs/stop", "The run saves a checkpoint and stops."]
    : ["Resume", "runs/resume", "The run resumes."];
  const onclick = () => send(path, record, status);
  return h("button", { className: "small", "aria-label": `${word} ${record}`, onclick }, word);
}

function noRuns() {
  return emptyState(
    "No runs yet",
    h("p", {}, "Press “New run”, or start one in a terminal, in the folder in which the studio was started:"),
    h("pre", {}, "everlearn run --learner dcl --tasks 20"),
    h("p", {}, "Its curves appear here during training."),
  );
}
