// Fields of a form, built from the settings that the server describes, with errors beside them.

import { h } from "./dom.js";

const SUGGESTED = { n_tasks: 20 };

/** A labelled input with its explanation, a link to its description, and a place for its error. */
export function labelled(text, input, help = "", link = null) {
  const error = h("p", { className: "field-error", id: `${input.id}-error`, role: "alert" });
  const small = help ? h("small", { id: `${input.id}-help` }, help, " ", link) : null;
  input.setAttribute("aria-describedby", `${input.id}-help ${error.id}`);
  return h("div", { className: "field" }, h("label", { htmlFor: input.id }, text), input, error, small);
}

/** Shows an error beside an input, opens the groups that contain it, and moves the focus to it. */
export function showFieldError(input, text) {
  input.setAttribute("aria-invalid", String(Boolean(text)));
  document.getElementById(`${input.id}-error`).textContent = text;
  if (!text) return;
  for (let group = input.closest("details"); group; group = group.parentElement.closest("details")) group.open = true;
  input.focus({ preventScroll: true });
  input.closest(".field").scrollIntoView({ block: "center" });
}

/** A grid of inputs, which are added to the map `inputs` by key; `owner` has them: a learner, a stream or a run. */
export function fieldGrid(fields, inputs, owner) {
  const element = (field) => {
    const input = Object.assign(inputElement(field), { id: `setting-${field.key.replace(".", "-")}` });
    inputs.set(field.key, { field, input });
    const title = field.key.split(".").at(-1).replaceAll("_", " ");
    return labelled(title, input, field.help, settingLink(field.key, title, owner));
  };
  return h("div", { className: "fields" }, fields.map(element));
}

/** A link to the description of a setting, in another tab, so that the form is kept. */
function settingLink(key, title, owner) {
  const href = `#/glossary?${new URLSearchParams({ ...owner, term: key })}`;
  const tab = { target: "_blank", rel: "opener" }; // only a tab with an opener gets the token
  return h("a", { href, ...tab, "aria-label": `More about ${title}` }, "more");
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
  return h("input", { value: asText(value), autocomplete: "off" });
}

const asText = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));

/** Sets the value of an input. */
export function setValue(input, value) {
  if (input.type === "checkbox") input.checked = value;
  else input.value = asText(value);
}

/** The settings that differ from their defaults. */
export function changedSettings(inputs) {
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
