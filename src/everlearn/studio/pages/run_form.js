// The form for a new run, built from the settings that the server describes.

import { get, postJson } from "./api.js";
import { errorBox, fill, h } from "./dom.js";

const MAIN_FIELDS = ["n_tasks", "seed", "epochs", "batch_size"];
const SUGGESTED = { n_tasks: 20 };
const OTHER = "other";
const EXAMPLES = { learner: "my_method.py:MyMethod", stream: "my_stream.py:my_stream" };

/** The form; calls `started` with the name of the record, or `close`. */
export function runForm({ started, close }) {
  const errors = errorBox();
  const form = h("form", { "aria-label": "New run" }, h("p", {}, "Loading…"));
  errors.attempt(async () => fillForm(form, errors.attempt, await get("runs/options"), { started, close }));
  return h("section", { className: "empty" }, h("h2", {}, "New run"), errors.box, form);
}

async function fillForm(form, attempt, { learners, streams, fields }, { started, close }) {
  const inputs = new Map();
  const learner = settingsSection("learner", learners, "dcl", inputs, attempt);
  const stream = settingsSection("stream", streams, "sprites", inputs, attempt);
  const name = h("input", { id: "run-name", maxLength: 200, autocomplete: "off" });
  const start = h("button", { className: "main", type: "submit" }, "Start");
  form.onsubmit = async (event) => {
    event.preventDefault();
    Object.assign(start, { disabled: true, textContent: "Starting…" });
    const run = { learner: learner.name(), stream: stream.name(), name: name.value };
    const done = await attempt(() => postJson("runs", { ...run, settings: changedSettings(inputs) }));
    Object.assign(start, { disabled: false, textContent: "Start" });
    if (done) started(done.record);
  };
  const isMain = ({ key }) => MAIN_FIELDS.includes(key);
  const others = fields.filter((field) => !isMain(field));
  fill(
    form,
    h(
      "div",
      { className: "fields" },
      labelled("Learner", learner.select),
      learner.reference,
      labelled("Stream", stream.select),
      stream.reference,
      labelled("Name (optional)", name),
    ),
    fieldGrid(fields.filter(isMain), inputs),
    learner.element,
    stream.element,
    h("details", {}, h("summary", {}, "Other settings"), fieldGrid(others, inputs)),
    h("div", { className: "bar" }, start, h("button", { type: "button", onclick: close }, "Cancel")),
  );
  learner.select.focus(); // before waiting, so that the focus is not taken from another field later
  await Promise.all([learner.update(), stream.update()]);
}

/** A menu of learners or streams, and the description and settings of the selected one. */
function settingsSection(section, names, selected, inputs, attempt) {
  const options = names.map((name) => h("option", { selected: name === selected }, name));
  options.push(h("option", { value: OTHER }, "from a file or module…"));
  const element = h("div", {});
  const input = h("input", { id: `${section}-reference`, placeholder: EXAMPLES[section], autocomplete: "off" });
  const reference = Object.assign(labelled(`Your ${section}`, input), { hidden: true });
  const name = () => (select.value === OTHER ? input.value.trim() : select.value);
  const update = () =>
    attempt(async () => {
      for (const key of inputs.keys()) if (key.startsWith(`${section}.`)) inputs.delete(key);
      const chosen = name();
      reference.hidden = select.value !== OTHER;
      if (!chosen) return void fill(element);
      const { description, supervision, fields } = await get(`runs/${section}`, { name: chosen });
      if (chosen !== name()) return; // another one was selected meanwhile
      fill(
        element,
        h("p", {}, description, supervision ? h("small", {}, ` Supervision: ${supervision}.`) : ""),
        h(
          "details",
          {},
          h("summary", {}, `Settings of ${chosen} (${fields.length})`),
          fieldGrid(fields, inputs),
        ),
      );
    });
  const select = h("select", { id: section, onchange: update }, options);
  input.onchange = update;
  return { select, reference, name, element, update };
}

const labelled = (text, input) =>
  h("div", { className: "field" }, h("label", { htmlFor: input.id }, text), input);

function fieldGrid(fields, inputs) {
  const element = (field) => {
    const id = `setting-${field.key.replace(".", "-")}`;
    const input = Object.assign(inputElement(field), { id });
    input.setAttribute("aria-describedby", `${id}-help`);
    inputs.set(field.key, { field, input });
    const label = field.key.split(".").at(-1).replaceAll("_", " ");
    return h(
      "div",
      { className: "field" },
      h("label", { htmlFor: id }, label),
      input,
      h("small", { id: `${id}-help` }, field.help),
    );
  };
  return h("div", { className: "fields" }, fields.map(element));
}

function inputElement({ key, input, default: given, options, min, max, integer }) {
  const value = given ?? SUGGESTED[key] ?? "";
  if (input === "select")
    return h(
      "select",
      {},
      options.map((option) => h("option", { selected: option === given }, String(option))),
    );
  if (input === "checkbox") return h("input", { type: "checkbox", checked: given === true });
  if (input === "number")
    return h("input", { type: "number", value, step: integer ? 1 : "any", min: min ?? "", max: max ?? "" });
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return h("input", { value: text, autocomplete: "off" });
}

/** The settings that differ from their defaults. */
function changedSettings(inputs) {
  const settings = {};
  for (const [key, { field, input }] of inputs) {
    const value = input.type === "checkbox" ? input.checked : parse(input.value);
    if (value !== undefined && JSON.stringify(value) !== JSON.stringify(field.default)) settings[key] = value;
  }
  return settings;
}

/** A value from text: JSON, a list with commas, or a string. */
function parse(text) {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  try {
    return JSON.parse(trimmed);
  } catch {
    return trimmed.includes(",") ? trimmed.split(",").map((part) => parse(part)) : trimmed;
  }
}
