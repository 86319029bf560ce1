// Elements in a line; text is always text, so that nothing a record says can become markup.

/** An element: h("a", {href: "#", onclick: f, "aria-label": "x"}, "words", child). */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.includes("-") && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Put new children in the place of all that an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Does something when it was not asked for again for a moment. */
export function late(act) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), 120);
  };
}

let silence;

/** Say something in passing, to eyes and screen readers alike. */
export function say(words) {
  const place = document.getElementById("word");
  place.textContent = words;
  clearTimeout(silence);
  silence = setTimeout(() => (place.textContent = ""), 5000);
}

/** A box for what went wrong; empty while nothing has. */
export function complaints() {
  const box = h("div", { role: "alert" });
  const show = (words) => fill(box, words ? h("p", { className: "refused" }, words) : null);
  /** Do something, and show why it failed if it does. */
  const attempt = async (act) => {
    show("");
    try {
      return await act();
    } catch (error) {
      show(error.message);
      return undefined;
    }
  };
  return { box, show, attempt };
}

/** What to do while there is nothing to see. */
export const empty = (title, ...words) => h("section", { className: "empty" }, h("h2", {}, title), ...words);

/** A slider with its name and its value in words. */
export function slider({ name, label, low, high, step, value, words = (x) => x, oninput }) {
  const output = h("output", { htmlFor: `s-${name}` });
  const input = h("input", { type: "range", id: `s-${name}`, min: low, max: high, step, value });
  const show = () => {
    output.textContent = words(Number(input.value));
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => {
    show();
    oninput(Number(input.value));
  });
  show();
  const row = h("div", { className: "slider" }, h("label", { htmlFor: `s-${name}` }, label), input, output);
  row.set = (to) => {
    input.value = to;
    show();
  };
  return row;
}

/** A question before something that cannot be taken back lightly; true if the answer is yes. */
export function confirmed(title, words, yes) {
  return new Promise((resolve) => {
    const box = h(
      "dialog",
      { "aria-label": title, onclose: () => (box.remove(), resolve(box.returnValue === "yes")) },
      h("h2", {}, title),
      h("p", {}, words),
      h(
        "form",
        { method: "dialog", className: "bar", "aria-label": title },
        h("button", { value: "yes", className: "main" }, yes),
        h("button", { value: "no" }, "Cancel"),
      ),
    );
    document.body.append(box);
    box.showModal();
  });
}

/** A question for a few words; null if it is not answered. */
export function asked(title, label, value = "") {
  return new Promise((resolve) => {
    const input = h("input", { value, id: "asked", required: true, maxLength: 200, autocomplete: "off" });
    const form = h(
      "form",
      { method: "dialog", "aria-label": title },
      h("p", {}, h("label", { htmlFor: "asked" }, label)),
      h("p", {}, input),
      h(
        "div",
        { className: "bar" },
        h("button", { value: "yes", className: "main" }, "OK"),
        h("button", { value: "no", formNoValidate: true }, "Cancel"),
      ),
    );
    const done = () => (box.remove(), resolve(box.returnValue === "yes" ? input.value.trim() : null));
    const box = h("dialog", { "aria-label": title, onclose: done }, h("h2", {}, title), form);
    document.body.append(box);
    box.showModal();
    input.select();
  });
}
