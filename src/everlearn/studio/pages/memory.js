// The memory page: the exemplars of a learner by class, to search, add, rename and forget.

import { get, post, url } from "./api.js";
import { format } from "./chart_render.js";
import { classTitle, confirmed, errorBox, fill, h, prompted, showStatus } from "./dom.js";
import { DRAWING_TOOLS, ImageCanvas, toolbar } from "./image_canvas.js";
import { showMemoryPage } from "./record_select.js";

const PAGE_SIZE = 96;
const ABOUT =
  "The exemplars of the learner, by class. Adding an image makes a class known and forgetting a class removes it, both without training. Changes are written only when you save.";
const FORGET =
  "Its exemplars are erased. You can undo this until you save; then they are removed from all files of the record.";

export function show(content, query) {
  const body = (element, record) => new MemoryPage(element, record).refresh();
  return showMemoryPage(content, query, { page: "memory", title: "Memory", about: ABOUT, body });
}

class MemoryPage {
  constructor(element, record) {
    this.record = record;
    this.errors = errorBox();
    this.nShown = PAGE_SIZE;
    this.search = h("input", {
      type: "search",
      className: "full-width",
      placeholder: "Search by name or label",
      "aria-label": "Search by name or label",
      oninput: () => ((this.nShown = PAGE_SIZE), this.draw()),
    });
    this.unsaved = h("div", {});
    this.accuracy = h("p", { "aria-live": "polite" });
    this.count = h("span", {});
    this.gallery = h("ul", { className: "gallery" });
    this.more = h("div", { className: "bar" });
    const add = h("button", { className: "main", onclick: () => this.openAddDialog() }, "Add a class");
    const evaluate = h("button", { onclick: () => this.evaluate() }, "Accuracy before and after");
    fill(
      element,
      this.errors.box,
      h("div", { className: "bar" }, h("div", { className: "grow" }, this.search), add, evaluate),
      this.unsaved,
      this.accuracy,
      h("p", {}, this.count),
      this.gallery,
      this.more,
    );
  }

  async refresh() {
    if (!this.memory) this.count.textContent = "Loading the learner…";
    const memory = await this.errors.attempt(() => get("memory", { record: this.record }));
    if (!memory) return void (this.count.textContent = "");
    this.memory = memory;
    this.draw();
  }

  draw() {
    const { classes, bytes } = this.memory;
    const query = this.search.value.trim().toLowerCase();
    const matches = ({ label, name }) => name.toLowerCase().includes(query) || String(label) === query;
    const matching = classes.filter(matches);
    const part = matching.length === classes.length ? "" : `${matching.length} of `;
    this.count.textContent = `${part}${classes.length} classes, ${format(bytes, "B")} of exemplars`;
    fill(
      this.gallery,
      matching.slice(0, this.nShown).map((each) => this.tile(each)),
    );
    fill(this.more, this.moreButton(matching.length - this.nShown));
    fill(this.unsaved, this.unsavedBar());
  }

  moreButton(rest) {
    if (rest <= 0) return null;
    const onclick = () => ((this.nShown += PAGE_SIZE), this.draw());
    return h("button", { onclick }, `Show ${Math.min(rest, PAGE_SIZE)} more of ${rest}`);
  }

  unsavedBar() {
    const { n_unsaved: n, running, version } = this.memory;
    if (!n) return null;
    const text = `${n} unsaved ${n === 1 ? "change" : "changes"}.`;
    const undo = { onclick: () => this.send("undo", { version }, "Undone.") };
    const save = { className: "main", disabled: running };
    return h(
      "div",
      { className: "bar warning", role: "status" },
      h("span", { className: "grow" }, running ? `${text} The run is running; stop it to save.` : text),
      h("button", undo, "Undo"),
      h("button", { ...save, onclick: () => this.send("save", {}, "Saved to the record.") }, "Save"),
    );
  }

  tile({ label, name, n_images }) {
    const source = url("memory/image.png", { record: this.record, label, version: this.memory.version });
    const title = classTitle({ label, name });
    const button = (text, className, onclick) =>
      h("button", { className, "aria-label": `${text} ${title}`, onclick }, text);
    return h(
      "li",
      { "data-label": label },
      h("img", { src: source, loading: "lazy", alt: `Exemplar of ${title}` }),
      title,
      n_images > 1 ? h("small", {}, ` (${n_images} images)`) : null,
      h(
        "div",
        { className: "actions" },
        button("Rename", "small", () => this.rename(label, name)),
        button("Forget", "small danger", () => this.forget(label, title)),
      ),
    );
  }

  /** Sends an edit and shows the memory as it is then; an error stays visible. */
  async send(action, query, status) {
    const done = await this.errors.attempt(() => post(`memory/${action}`, { record: this.record, ...query }));
    if (done) showStatus(status);
    const error = this.errors.box.textContent;
    await this.refresh();
    if (!done) this.errors.show(error);
  }

  async rename(label, before) {
    const name = await prompted("Rename", `New name of class ${label}`, before);
    if (!name) return;
    const query = { label, name, version: this.memory.version };
    await this.send("rename", query, `Class ${label} is now called ${name}.`);
    this.gallery.querySelector(`[data-label="${label}"] button`)?.focus();
  }

  async forget(label, title) {
    if (!(await confirmed(`Forget ${title}?`, FORGET, "Forget"))) return;
    await this.send("forget", { label, version: this.memory.version }, `${title} is forgotten.`);
    this.unsaved.querySelector("button")?.focus(); // the focused button was removed
  }

  openAddDialog() {
    const errors = errorBox();
    const canvas = new ImageCanvas({ background: this.memory.background, label: "Image of the new class" });
    const name = h("input", { id: "class-name", maxLength: 200, required: true, autocomplete: "off" });
    const onsubmit = async (event) => {
      event.preventDefault();
      if (canvas.isBlank) return errors.show("Draw something or upload an image first.");
      const query = { record: this.record, version: this.memory.version, name: name.value };
      const done = await errors.attempt(() => post("memory/add", query, canvas.originalPixels()));
      if (!done) return;
      dialog.close();
      showStatus(`${name.value} is now class ${done.label}.`);
      this.search.value = name.value;
      await this.refresh();
    };
    const form = h(
      "form",
      { "aria-label": "Add a class", onsubmit },
      h("h2", {}, "Add a class"),
      errors.box,
      canvas.element,
      toolbar(canvas, DRAWING_TOOLS, errors.attempt),
      h("p", {}, h("label", { htmlFor: "class-name" }, "Name "), name),
      h(
        "div",
        { className: "bar" },
        h("button", { className: "main", type: "submit" }, "Add"),
        h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
      ),
    );
    const dialog = h("dialog", { "aria-label": "Add a class", onclose: () => dialog.remove() }, form);
    document.body.append(dialog);
    dialog.showModal();
  }

  async evaluate() {
    this.accuracy.textContent = "Evaluating…";
    const found = await this.errors.attempt(() => get("memory/accuracy", { record: this.record }));
    this.accuracy.textContent = found
      ? `Accuracy on ${found.n_images} test images: ${found.before.toFixed(3)} as saved, ${found.after.toFixed(3)} with the changes.`
      : "";
  }
}
