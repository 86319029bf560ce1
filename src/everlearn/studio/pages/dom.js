// DOM helpers. Text is always inserted as text, so that no name in a record can become markup.

/** An element: h("a", {href: "#", onclick: f, "aria-label": "x"}, "text", child). */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.includes("-") && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  return fill(element, ...children);
}

/** Replaces all children of an element. */
export function fill(element, ...children) {
  const isShown = (child) => child !== null && child !== undefined && child !== false;
  element.replaceChildren(...children.flat().filter(isShown));
  return element;
}

/** A function that runs once the calls have paused. */
export function debounced(run) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...given), 120);
  };
}

/** An async function that runs once at a time; calls during a run lead to one more run after it. */
export function latest(run) {
  let isBusy = false;
  let isStale = false;
  const call = async () => {
    isStale = isBusy;
    if (isBusy) return;
    isBusy = true;
    try {
      await run();
    } finally {
      isBusy = false;
    }
    if (isStale) call();
  };
  return call;
}

let statusTimer;

/** Shows a message for some seconds, on screen and to screen readers. */
export function showStatus(text) {
  const status = document.getElementById("status");
  status.textContent = text;
  clearTimeout(statusTimer);
  statusTimer = setTimeout(() => (status.textContent = ""), 5000);
}

/** A box for error messages. `attempt` runs a function and shows the error that it throws. */
export function errorBox() {
  const box = h("div", { role: "alert" });
  const show = (text) => {
    fill(box, text ? h("p", { className: "error" }, text) : null);
    if (text) box.scrollIntoView({ block: "nearest" });
  };
  const attempt = async (run) => {
    show("");
    try {
      return await run();
    } catch (error) {
      show(error.message);
      return undefined;
    }
  };
  return { box, show, attempt };
}

/** What to do next on a page without content. */
export const emptyState = (title, ...children) =>
  h("section", { className: "empty" }, h("h2", {}, title), ...children);

/** A slider with its label and formatted value. */
export function slider({ name, label, min, max, step, value, format = (x) => x, oninput }) {
  const output = h("output", { htmlFor: `slider-${name}` });
  const input = h("input", { type: "range", id: `slider-${name}`, min, max, step, value });
  const show = () => {
    output.textContent = format(Number(input.value));
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => {
    show();
    oninput(Number(input.value));
  });
  show();
  const row = h("div", { className: "slider" }, h("label", { htmlFor: input.id }, label), input, output);
  row.set = (to) => {
    input.value = to;
    show();
  };
  return row;
}

/** Seconds in words: "25 s", "26 min", "3 h". */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** A labelled menu of pairs [value, text]; `value` is the selected one. */
export function menu(id, label, options, onchange) {
  const select = h("select", { id, onchange });
  const setOptions = (pairs) => {
    const before = select.value;
    fill(select, pairs.map(([value, text]) => h("option", { value }, text))); // prettier-ignore
    if (pairs.some(([value]) => value === before)) select.value = before;
  };
  setOptions(options);
  const element = h("span", { className: "menu" }, h("label", { htmlFor: id }, label), select);
  return {
    element,
    setOptions,
    get value() {
      return select.value;
    },
    set value(to) {
      select.value = to;
    },
  };
}

export const digits = (n) => (value) => value.toFixed(n);
export const degrees = (radians) => `${Math.round(((((radians * 180) / Math.PI) % 360) + 360) % 360)}°`;

/** The title of a class: its name, or its label if it has no name. */
export const classTitle = ({ label, name }) => (name === String(label) ? `class ${label}` : name);

/** Asks for confirmation; resolves to a boolean. */
export async function confirmed(title, text, action) {
  return (await modal(title, h("p", {}, text), action)) === "ok";
}

/** Asks for a text; resolves to null if it is cancelled. */
export async function prompted(title, label, value) {
  const input = h("input", { value, id: "prompt", required: true, maxLength: 200, autocomplete: "off" });
  const fields = [h("p", {}, h("label", { htmlFor: "prompt" }, label)), h("p", {}, input)];
  return (await modal(title, fields, "OK", () => input.select())) === "ok" ? input.value.trim() : null;
}

function modal(title, fields, action, opened = () => {}) {
  return new Promise((resolve) => {
    const buttons = [
      h("button", { value: "ok", className: "main" }, action),
      h("button", { value: "cancel", formNoValidate: true }, "Cancel"),
    ];
    const form = { method: "dialog", "aria-label": title };
    const dialog = h(
      "dialog",
      { "aria-label": title, onclose: () => (dialog.remove(), resolve(dialog.returnValue)) },
      h("h2", {}, title),
      h("form", form, fields, h("div", { className: "bar" }, buttons)),
    );
    document.body.append(dialog);
    dialog.showModal();
    opened();
  });
}
