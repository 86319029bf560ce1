// A form made from what learners and streams themselves say can be set.

import { ask, tellObject } from "./ask.js";
import { complaints, fill, h } from "./dom.js";

const FIRST = ["n_tasks", "seed", "epochs", "batch_size"];
const USUAL = { n_tasks: 20 };

/** The form of a new run; calls `started` with the record's name, or `close`. */
export function form({ started, close }) {
  const trouble = complaints();
  const place = h("form", { "aria-label": "New run" }, h("p", {}, "One moment…"));
  const section = h("section", { className: "empty" }, h("h2", {}, "New run"), trouble.box, place);
  const inputs = new Map();
  trouble.attempt(async () => {
    const { learners, streams, fields } = await ask("runs/choices");
    const learner = choice("learner", learners, "dcl");
    const stream = choice("stream", streams, "sprites");
    const name = h("input", { id: "run-name", maxLength: 200, autocomplete: "off" });
    const mine = h("div", {});
    const theirs = h("div", {});
    const renew = (select, part, element) =>
      trouble.attempt(async () => {
        for (const key of inputs.keys()) if (key.startsWith(`${part}.`)) inputs.delete(key);
        const about = await ask(`runs/${part}`, { name: select.value });
        fill(
          element,
          h("p", {}, about.about, about.given ? h("small", {}, ` Is given ${about.given}.`) : ""),
          h(
            "details",
            {},
            h("summary", {}, `Settings of ${select.value} (${about.fields.length})`),
            grid(about.fields, inputs),
          ),
        );
      });
    learner.onchange = () => renew(learner, "learner", mine);
    stream.onchange = () => renew(stream, "stream", theirs);
    const button = h("button", { className: "main", type: "submit" }, "Start");
    place.onsubmit = async (event) => {
      event.preventDefault();
      Object.assign(button, { disabled: true, textContent: "Starting…" });
      const wish = { learner: learner.value, stream: stream.value, name: name.value };
      const done = await trouble.attempt(() => tellObject("runs", { ...wish, settings: changed(inputs) }));
      Object.assign(button, { disabled: false, textContent: "Start" });
      if (done) started(done.record);
    };
    fill(
      place,
      h(
        "div",
        { className: "fields" },
        label("Learner", "learner", learner),
        label("Stream", "stream", stream),
        label("Name (if you like)", "run-name", name),
      ),
      grid(
        fields.filter(({ key }) => FIRST.includes(key)),
        inputs,
      ),
      mine,
      theirs,
      h(
        "details",
        {},
        h("summary", {}, "Everything else"),
        grid(
          fields.filter(({ key }) => !FIRST.includes(key)),
          inputs,
        ),
      ),
      h("div", { className: "bar" }, button, h("button", { type: "button", onclick: close }, "Cancel")),
    );
    learner.focus(); // before anything is waited for: whoever is quick keeps the place they went to
    await Promise.all([learner.onchange(), stream.onchange()]);
  });
  return section;
}

const choice = (id, names, usual) =>
  h(
    "select",
    { id },
    names.map((name) => h("option", { selected: name === usual }, name)),
  );
const label = (words, id, input) =>
  h("div", { className: "field" }, h("label", { htmlFor: id }, words), input);

function grid(fields, inputs) {
  return h(
    "div",
    { className: "fields" },
    fields.map((field) => {
      const [input, id] = [entry(field), `set-${field.key.replace(".", "-")}`];
      Object.assign(input, { id });
      input.setAttribute("aria-describedby", `${id}-meaning`);
      inputs.set(field.key, { field, input });
      const name = h("label", { htmlFor: id }, field.key.split(".").at(-1).replaceAll("_", " "));
      return h(
        "div",
        { className: "field" },
        name,
        input,
        h("small", { id: `${id}-meaning` }, field.meaning),
      );
    }),
  );
}

function entry({ key, input, default: usual, choices, low, high, whole }) {
  const value = usual ?? USUAL[key] ?? "";
  if (input === "choice")
    return h(
      "select",
      {},
      choices.map((each) => h("option", { selected: each === usual }, String(each))),
    );
  if (input === "switch") return h("input", { type: "checkbox", checked: usual === true });
  if (input === "number")
    return h("input", { type: "number", value, step: whole ? 1 : "any", min: low ?? "", max: high ?? "" });
  return h("input", {
    value: typeof value === "object" ? JSON.stringify(value) : String(value),
    autocomplete: "off",
  });
}

/** Only what differs from what is usual, so that a record says no more than was chosen. */
function changed(inputs) {
  const settings = {};
  for (const [key, { field, input }] of inputs) {
    const value = input.type === "checkbox" ? input.checked : read(input.value);
    if (value !== undefined && JSON.stringify(value) !== JSON.stringify(field.default)) settings[key] = value;
  }
  return settings;
}

/** A value as a person writes it: JSON, several with commas, or plain words. */
function read(text) {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  try {
    return JSON.parse(trimmed);
  } catch {
    return trimmed.includes(",") ? trimmed.split(",").map((part) => read(part)) : trimmed;
  }
}
