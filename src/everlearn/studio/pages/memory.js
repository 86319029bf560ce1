// What a learner remembers: a wall of images to search, add to, rename and forget.

import { address, ask, tell } from "./ask.js";
import { aboutMemory } from "./choosing.js";
import { asked, complaints, confirmed, fill, h, say } from "./dom.js";
import { Pad, tools } from "./pad.js";

const AT_ONCE = 96;

export function show(room, query) {
  return aboutMemory(room, query, {
    page: "memory",
    title: "Memory",
    words:
      "What the learner knows of each class is an image. Add one and the class is known; forget it and it is gone. Nothing is trained, and nothing is written before you save.",
    body: (place, record) => new MemoryPage(place, record).list(),
  });
}

class MemoryPage {
  constructor(place, record) {
    this.record = record;
    this.trouble = complaints();
    this.shown = AT_ONCE;
    this.search = h("input", {
      type: "search",
      className: "whole",
      placeholder: "Search by name or label",
      "aria-label": "Search by name or label",
      oninput: () => ((this.shown = AT_ONCE), this.draw()),
    });
    this.unsaved = h("div", {});
    this.accuracy = h("p", { "aria-live": "polite" });
    this.count = h("span", {});
    this.wall = h("ul", { className: "wall" });
    this.more = h("div", { className: "bar" });
    const add = h("button", { className: "main", onclick: () => this.add() }, "Add a class");
    const judge = h("button", { onclick: () => this.judge() }, "Accuracy before and after");
    fill(
      place,
      this.trouble.box,
      h("div", { className: "bar" }, h("div", { className: "grow" }, this.search), add, judge),
      this.unsaved,
      this.accuracy,
      h("p", {}, this.count),
      this.wall,
      this.more,
    );
  }

  async list() {
    if (!this.found) this.count.textContent = "Opening the learner…";
    const found = await this.trouble.attempt(() => ask("memory", { record: this.record }));
    if (!found) return void (this.count.textContent = "");
    this.found = found;
    this.draw();
  }

  draw() {
    const { classes, bytes, unsaved, playing } = this.found;
    const wanted = this.search.value.trim().toLowerCase();
    const fitting = classes.filter(
      ({ label, name }) => name.toLowerCase().includes(wanted) || String(label) === wanted,
    );
    const some = fitting.slice(0, this.shown);
    this.count.textContent = `${fitting.length === classes.length ? "" : `${fitting.length} of `}${classes.length} classes, ${bytes.toLocaleString("en")} bytes`;
    fill(
      this.wall,
      some.map((each) => this.tile(each)),
    );
    const rest = fitting.length - some.length;
    fill(
      this.more,
      rest > 0
        ? h(
            "button",
            { onclick: () => ((this.shown += AT_ONCE), this.draw()) },
            `Show ${Math.min(rest, AT_ONCE)} more of ${rest}`,
          )
        : null,
    );
    fill(this.unsaved, unsaved ? this.reminder(unsaved, playing) : null);
  }

  reminder(n, playing) {
    const words = `${n} ${n === 1 ? "change is" : "changes are"} not saved.`;
    return h(
      "div",
      { className: "bar warning", role: "status" },
      h("span", { className: "grow" }, playing ? `${words} The run is playing; stop it to save.` : words),
      h(
        "button",
        { onclick: () => this.act("undo", { seen: this.found.edition }, "Taken back.") },
        "Undo the last",
      ),
      h(
        "button",
        {
          className: "main",
          disabled: playing,
          onclick: () => this.act("save", {}, "Saved into the record."),
        },
        "Save",
      ),
    );
  }

  tile({ label, name, images }) {
    const source = address("memory/image.png", { record: this.record, label, edition: this.found.edition });
    const title = name === String(label) ? `class ${label}` : name;
    return h(
      "li",
      { "data-label": label },
      h("img", { src: source, loading: "lazy", alt: `Remembered image of ${title}` }),
      title,
      images > 1 ? h("small", {}, ` (${images} images)`) : null,
      h(
        "div",
        { className: "acts" },
        h(
          "button",
          { className: "small", "aria-label": `Rename ${title}`, onclick: () => this.rename(label, name) },
          "Rename",
        ),
        h(
          "button",
          {
            className: "small danger",
            "aria-label": `Forget ${title}`,
            onclick: () => this.forget(label, title),
          },
          "Forget",
        ),
      ),
    );
  }

  async act(act, query, told, body) {
    const done = await this.trouble.attempt(() =>
      tell(`memory/${act}`, { record: this.record, ...query }, body),
    );
    if (done) say(told);
    const kept = this.trouble.box.textContent;
    await this.list();
    if (!done) this.trouble.show(kept);
    return done;
  }

  async rename(label, before) {
    const name = await asked("Rename", `What shall class ${label} be called?`, before);
    if (!name) return;
    const query = { label, name, seen: this.found.edition };
    await this.act("rename", query, `Class ${label} is called ${name}.`);
    this.wall.querySelector(`[data-label="${label}"] button`)?.focus();
  }

  async forget(label, title) {
    const isSure = await confirmed(
      `Forget ${title}?`,
      "Its image is erased from the learner. You can undo this until you save; then it is gone from every file of the record.",
      "Forget",
    );
    if (!isSure) return;
    await this.act("forget", { label, seen: this.found.edition }, `${title} is forgotten.`);
    this.unsaved.querySelector("button")?.focus(); // the button that had the focus is gone with its class
  }

  add() {
    const trouble = complaints();
    const pad = new Pad({ ground: this.found.ground, label: "Drawing of the new class" });
    const name = h("input", { id: "class-name", maxLength: 200, required: true, autocomplete: "off" });
    const box = h("dialog", { "aria-label": "Add a class", onclose: () => box.remove() });
    const form = h("form", {
      "aria-label": "Add a class",
      onsubmit: async (event) => {
        event.preventDefault();
        if (pad.isBlank) return trouble.show("Draw something first, or upload an image.");
        const done = await trouble.attempt(() =>
          tell(
            "memory/add",
            { record: this.record, seen: this.found.edition, name: name.value },
            pad.canonical(),
          ),
        );
        if (!done) return;
        box.close();
        say(`${name.value} is known as class ${done.label}.`);
        this.search.value = name.value;
        await this.list();
      },
    });
    fill(
      form,
      h("h2", {}, "Add a class"),
      trouble.box,
      pad.canvas,
      tools(pad, ["outline", "white", "black", "erase"], trouble.attempt),
      h("p", {}, h("label", { htmlFor: "class-name" }, "Name "), name),
      h(
        "div",
        { className: "bar" },
        h("button", { className: "main", type: "submit" }, "Add"),
        h("button", { type: "button", onclick: () => box.close() }, "Cancel"),
      ),
    );
    box.append(form);
    document.body.append(box);
    box.showModal();
  }

  async judge() {
    this.accuracy.textContent = "Asking the learner…";
    const found = await this.trouble.attempt(() => ask("memory/accuracy", { record: this.record }));
    this.accuracy.textContent = found
      ? `Accuracy on ${found.images} test images: ${found.before.toFixed(3)} as saved, ${found.after.toFixed(3)} with your changes.`
      : "";
  }
}
