// The content of an empty studio: three sentences, an image, and runs to train by one click.

import { get, postJson, url } from "./api.js";
import { duration, emptyState, errorBox, fill, h } from "./dom.js";

const SENTENCES = [
  "Continual learning means to learn tasks one after another, without the data of earlier tasks.",
  "A network that is simply trained on each new task forgets: its accuracy on earlier tasks drops, often to zero.",
  "DCL (disentangled continual learning) keeps what all classes share in a network and what is specific to a class in a memory with one exemplar image each, so that new classes cannot overwrite old ones.",
];
const ALT =
  "Bars of accuracy on three tasks: with fine-tuning the bars of earlier tasks shrink as new tasks are trained; with DCL all stay high.";

/** The introduction, with a button for each demo. */
export const introduction = () =>
  emptyState(
    "What is this about?",
    h("p", {}, SENTENCES.join(" "), " ", h("a", { href: "#/glossary" }, "All terms explained")),
    h("img", { className: "introduction", src: "/static/continual_learning.svg", alt: ALT }),
    h("p", {}, "See it on this machine:"),
    ["dcl", "naive", "vase"].map((key) => demoButton(key)),
    h("p", {}, "Or press “New run”, or start one in a terminal, in the folder in which the studio was started:"),
    h("pre", {}, "everlearn run --learner dcl --tasks 20"),
  );

/** A button that starts the run of a preset and shows its progress; then it shows the page again. */
export function demoButton(key) {
  const errors = errorBox();
  const state = h("span", { role: "status" });
  const button = h("button", { className: "main" }, "Train a demo");
  const run = async () => {
    const { learner, stream, name, settings } = button.preset;
    button.disabled = true;
    state.textContent = "Starting: a new process loads the learner, which takes some seconds.";
    const done = await errors.attempt(() => postJson("runs", { learner, stream, name, settings }));
    if (done) return follow(done.record, settings.n_tasks ?? settings["stream.sequence"].length, state);
    button.disabled = false;
    state.textContent = "";
  };
  button.onclick = run;
  errors.attempt(async () => {
    const { presets } = await get("runs/options");
    button.preset = presets.find((preset) => preset.key === key);
    button.textContent = `${button.preset.title}: about ${duration(button.preset.seconds)}`;
    state.textContent = button.preset.about;
  });
  return h("div", { className: "demo" }, h("div", { className: "bar" }, button, state), errors.box);
}

/** Shows the progress of a run and, when it has finished, the page with it. */
function follow(record, nTasks, state) {
  const source = new EventSource(url("records/live", { record: [record] }));
  let done = 0;
  source.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (!state.isConnected) return source.close();
    done = Math.max(done, ...(message.points.seconds ?? []).map(([task]) => task));
    state.textContent = `Training: ${done} of ${nTasks} tasks are done.`;
    if (message.state.error) state.textContent = message.state.error;
    if (!message.state.finished) return;
    source.close();
    dispatchEvent(new Event("hashchange"));
  };
}

/** The content of a page without a record, with a button that creates one. */
export const noRecord = (title, text, command, demo) =>
  emptyState(
    title,
    h("p", {}, `${text} Train one by one click:`),
    demoButton(demo),
    h("p", {}, "Or start a run on the ", h("a", { href: "#/runs" }, "runs page"), ", or in a terminal:"),
    h("pre", {}, command),
  );
