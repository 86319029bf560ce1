// The form for a new run: presets, the learner, the stream and their settings.

import { get, postJson } from "./api.js";
import { duration, errorBox, fill, h } from "./dom.js";
import { changedSettings, fieldGrid, labelled, setValue, showFieldError } from "./run_fields.js";
import { citation } from "./glossary.js";

const MAIN_FIELDS = ["n_tasks", "seed", "epochs", "batch_size"];
const OTHER = "other";
const EXAMPLES = { learner: "my_method.py:MyMethod", stream: "my_stream.py:my_stream" };
const STARTING = "Starting: a new process loads the learner, which takes some seconds.";

/** The form; calls `started` with the name of the record, or `close`. */
export function runForm({ started, close }) {
  const errors = errorBox();
  const section = h("section", { className: "empty" }, h("h2", {}, "New run"), errors.box, h("p", {}, "Loading…"));
  errors.attempt(async () => {
    const form = new RunForm(await get("runs/options"), { started, close });
    section.lastChild.replaceWith(form.element);
    await form.begin();
  });
  return section;
}

class RunForm {
  constructor({ learners, streams, fields, presets }, { started, close }) {
    Object.assign(this, { started, inputs: new Map(), perTask: null });
    this.learner = new Section("learner", learners, "dcl", this.inputs);
    this.stream = new Section("stream", streams, "sprites", this.inputs);
    this.name = h("input", { id: "run-name", maxLength: 200, autocomplete: "off" });
    this.start = h("button", { className: "main", type: "submit" }, "Start");
    this.note = h("p", { role: "status" });
    this.problem = errorBox();
    const isMain = ({ key }) => MAIN_FIELDS.includes(key);
    const others = fields.filter((field) => !isMain(field));
    this.presets = presets.map((preset) => this.presetButton(preset));
    this.element = h(
      "form",
      { "aria-label": "New run", noValidate: true, onsubmit: (event) => this.submit(event) },
      h("div", { className: "presets", role: "group", "aria-label": "Presets" }, this.presets),
      h(
        "div",
        { className: "fields" },
        this.learner.field,
        this.learner.reference,
        this.stream.field,
        this.stream.reference,
        labelled("Name (optional)", this.name),
      ),
      fieldGrid(fields.filter(isMain), this.inputs, { settings: "run" }),
      this.learner.element,
      this.stream.element,
      h("details", {}, h("summary", {}, "Other settings"), fieldGrid(others, this.inputs, { settings: "run" })),
      h("div", { className: "bar" }, this.start, h("button", { type: "button", onclick: close }, "Cancel"), this.note),
      this.problem.box,
    );
    this.inputs.get("n_tasks").input.addEventListener("input", () => this.showEstimate());
    for (const { select } of [this.learner, this.stream])
      select.addEventListener("change", () => ((this.perTask = null), this.showEstimate()));
  }

  async begin() {
    this.learner.select.focus(); // before waiting, so that the focus is not taken from another field later
    await Promise.all([this.learner.update(), this.stream.update()]);
  }

  presetButton(preset) {
    const time = `about ${duration(preset.seconds)}${preset.asks ? " per task" : ""}`;
    const onclick = () => this.usePreset(preset);
    const text = [h("strong", {}, preset.title), h("span", {}, preset.about), h("small", {}, time)];
    return h("button", { type: "button", "aria-pressed": "false", "data-key": preset.key, onclick }, text);
  }

  async usePreset({ key, learner, stream, name, settings, seconds, asks }) {
    this.presets.forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.key === key)));
    await Promise.all([this.learner.choose(learner), this.stream.choose(stream)]);
    for (const { field, input } of this.inputs.values()) setValue(input, field.default ?? "");
    for (const [setting, value] of Object.entries(settings)) setValue(this.inputs.get(setting).input, value);
    this.name.value = name;
    this.perTask = asks ? seconds : seconds / (settings.n_tasks ?? 1);
    this.showEstimate();
    if (asks) showFieldError(this.inputs.get(asks).input, "Enter the path of your images on this machine.");
    else this.start.focus();
  }

  showEstimate() {
    const nTasks = Number(this.inputs.get("n_tasks").input.value);
    const [seconds, unit] = nTasks ? [this.perTask * nTasks, ""] : [this.perTask, " per task"];
    this.note.textContent = this.perTask ? `About ${duration(seconds)}${unit} on one CPU core.` : "";
  }

  async submit(event) {
    event.preventDefault();
    this.clearErrors();
    Object.assign(this.start, { disabled: true, textContent: "Starting…" });
    this.note.textContent = STARTING;
    const run = { learner: this.learner.name(), stream: this.stream.name(), name: this.name.value };
    try {
      this.started((await postJson("runs", { ...run, settings: changedSettings(this.inputs) })).record);
    } catch (error) {
      this.showError(error);
    } finally {
      Object.assign(this.start, { disabled: false, textContent: "Start" });
      this.showEstimate();
    }
  }

  /** The input of the field that an error is about. */
  inputOf(key) {
    if (key === "name") return this.name;
    if (key === "learner" || key === "stream") return this[key].input;
    return this.inputs.get(key)?.input;
  }

  clearErrors() {
    this.problem.show("");
    const inputs = [...this.inputs.values()].map(({ input }) => input);
    for (const input of [this.name, this.learner.input, this.stream.input, ...inputs]) showFieldError(input, "");
  }

  showError({ message, field }) {
    const input = this.inputOf(field);
    this.problem.show(input ? `Not started; see “${input.labels[0].textContent}”.` : message);
    if (input) showFieldError(input, message);
  }
}

/** A menu of learners or streams, and the description and settings of the selected one. */
class Section {
  constructor(section, names, selected, inputs) {
    Object.assign(this, { section, inputs });
    const options = names.map((name) => h("option", { selected: name === selected }, name));
    options.push(h("option", { value: OTHER }, "from a file or module…"));
    const reference = { placeholder: EXAMPLES[section], autocomplete: "off", onchange: () => this.update() };
    this.typed = h("input", { id: `${section}-reference`, ...reference });
    this.select = h("select", { id: section, onchange: () => this.update() }, options);
    this.field = labelled(section === "learner" ? "Learner" : "Stream", this.select);
    this.reference = Object.assign(labelled(`Your ${section}`, this.typed), { hidden: true });
    this.element = h("div", {});
  }

  /** The element in which the name was entered. */
  get input() {
    return this.select.value === OTHER ? this.typed : this.select;
  }

  name() {
    return this.select.value === OTHER ? this.typed.value.trim() : this.select.value;
  }

  async choose(name) {
    this.select.value = name;
    await this.update();
  }

  async update() {
    for (const key of this.inputs.keys()) if (key.startsWith(`${this.section}.`)) this.inputs.delete(key);
    const chosen = this.name();
    this.reference.hidden = this.select.value !== OTHER;
    showFieldError(this.input, "");
    fill(this.element);
    if (!chosen) return;
    try {
      const form = await get(`runs/${this.section}`, { name: chosen });
      if (chosen === this.name()) this.show(chosen, form); // otherwise another one was selected meanwhile
    } catch (error) {
      showFieldError(this.input, error.message);
    }
  }

  show(chosen, { description, supervision, fields, ...publication }) {
    const given = supervision ? h("small", {}, ` Supervision: ${supervision}.`) : "";
    const summary = h("summary", {}, `Settings of ${chosen} (${fields.length})`);
    const grid = fieldGrid(fields, this.inputs, { settings: this.section, of: chosen });
    fill(this.element, h("p", {}, description, given, " ", citation(publication)), h("details", {}, summary, grid));
  }
}
