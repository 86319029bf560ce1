// Draw a thing, turn it, move it, and watch what a learner makes of it.

import { address, ask, tell } from "./ask.js";
import { aboutMemory } from "./choosing.js";
import { complaints, fill, h, say, slider } from "./dom.js";
import { Pad, tools } from "./pad.js";

const places = (digits) => (value) => value.toFixed(digits);
const degrees = (radians) => `${Math.round(((((radians * 180) / Math.PI) % 360) + 360) % 360)}°`;
const SLIDERS = [
  { name: "angle", label: "Turn", low: 0, high: 6.28, step: 0.02, words: degrees },
  { name: "scale", label: "Size", low: 0.3, high: 1.5, step: 0.01, words: places(2) },
  { name: "x", label: "Across", low: 0, high: 1, step: 0.01, words: places(2) },
  { name: "y", label: "Down", low: 0, high: 1, step: 0.01, words: places(2) },
];

export function show(room, query) {
  return aboutMemory(room, query, {
    page: "try",
    title: "Try it",
    words:
      "Draw a shape or take one, then turn, move and scale it. The learner brings it back to the middle and upright, and compares it with what it remembers.",
    body: (place, record) => new TryPage(place, record).begin(),
  });
}

class TryPage {
  constructor(place, record) {
    this.record = record;
    this.limit = 0.5;
    this.trouble = complaints();
    this.place = place;
    this.answer = h(
      "div",
      { id: "answer", "aria-live": "polite" },
      h("p", {}, "Draw something, and the answer appears here."),
    );
  }

  async begin() {
    fill(this.place, h("p", { role: "status" }, "Opening the learner…"));
    const { ground, classes, edition } = await ask("memory", { record: this.record });
    this.edition = edition;
    this.pad = new Pad({ ground, label: "Canvas: draw a shape, then move it", changed: () => this.look() });
    this.sliders = SLIDERS.map((each) =>
      slider({
        ...each,
        value: this.pad.pose[each.name],
        oninput: (value) => this.pad.turn({ [each.name]: value }),
      }),
    );
    this.pad.posed = (pose) => SLIDERS.forEach(({ name }, i) => this.sliders[i].set(pose[name]));
    const name = h("input", {
      id: "thing-name",
      maxLength: 200,
      autocomplete: "off",
      placeholder: "its name",
    });
    const threshold = slider({
      name: "limit",
      label: "Unknown above",
      low: 0,
      high: 1,
      step: 0.01,
      value: this.limit,
      words: places(2),
      oninput: (value) => ((this.limit = value), this.show()),
    });
    fill(
      this.place,
      this.trouble.box,
      h(
        "div",
        { className: "side" },
        h(
          "div",
          {},
          this.pad.canvas,
          tools(this.pad, ["outline", "white", "black", "erase", "move"], this.trouble.attempt),
          this.sliders,
          h(
            "div",
            { className: "bar" },
            h("button", { onclick: () => this.take(classes) }, "A shape it knows"),
            h("button", { onclick: () => this.straighten() }, "Back to the middle"),
          ),
          h(
            "div",
            { className: "bar" },
            h("label", { htmlFor: "thing-name", className: "unseen" }, "Name"),
            name,
            h("button", { onclick: () => this.teach(name) }, "Teach it this"),
          ),
        ),
        h("div", {}, threshold, this.answer),
      ),
    );
  }

  /** Ask about what the canvas shows now, as soon as the last question is answered. */
  async look() {
    if (!this.pad || this.pad.isBlank) return;
    this.isStale = this.isBusy;
    if (this.isBusy) return;
    this.isBusy = true;
    this.found = await this.trouble.attempt(() =>
      tell("recognise", { record: this.record }, this.pad.pixels()),
    );
    this.isBusy = false;
    if (this.found) this.show();
    if (this.isStale) this.look();
  }

  show() {
    if (!this.found) return;
    const { label, name, novelty, factors, seen, upright, leading } = this.found;
    const isUnknown = novelty > this.limit;
    const title = name === String(label) ? `class ${label}` : name;
    const meter = h("i", {});
    meter.style.width = `${Math.round(100 * novelty)}%`;
    fill(
      this.answer,
      h("p", { className: "verdict" }, isUnknown ? "I do not know this." : `This is ${title}.`),
      h(
        "p",
        {},
        `Strangeness ${novelty.toFixed(2)}${isUnknown ? `, above ${this.limit.toFixed(2)}; nearest is ${title}` : ""}`,
      ),
      h("div", { className: `meter${isUnknown ? " unknown" : ""}`, "aria-hidden": "true" }, meter),
      h("div", { className: "pair" }, image("What it was shown", seen), image("As it turns it", upright)),
      h(
        "p",
        {},
        `It sees a turn of ${degrees(factors.angle)}, size ${factors.scale.toFixed(2)}, place ${factors.x.toFixed(2)} across and ${factors.y.toFixed(2)} down.`,
      ),
      h("h2", {}, "Leading memories"),
      h(
        "ul",
        { className: "leading" },
        leading.map((each) => candidate(each, !isUnknown && each.label === label)),
      ),
    );
  }

  async take(classes) {
    if (!classes.length) return say("It remembers nothing yet.");
    const { label } = classes[Math.floor(Math.random() * classes.length)];
    await this.trouble.attempt(async () => {
      const image = new Image();
      image.src = address("memory/image.png", { record: this.record, label });
      await image.decode();
      this.pad.tool = "move";
      const move = document.querySelector("[name=tool][value=move]");
      if (move) move.checked = true;
      this.pad.put(image);
    });
  }

  straighten() {
    this.pad.turn({ scale: 1, angle: 0, x: 0.5, y: 0.5 });
    this.pad.posed(this.pad.pose);
  }

  async teach(name) {
    if (this.pad.isBlank) return this.trouble.show("Draw something first, or upload an image.");
    if (!name.value.trim()) return (this.trouble.show("Give it a name first."), name.focus());
    const done = await this.trouble.attempt(() =>
      tell(
        "memory/add",
        { record: this.record, seen: this.edition, name: name.value.trim() },
        this.pad.canonical(),
      ),
    );
    if (!done) return;
    this.edition = done.edition;
    say(`${name.value.trim()} is known now; save it on the memory page to keep it.`);
    this.look();
  }
}

const image = (words, source) =>
  h(
    "figure",
    {},
    h("figcaption", {}, words),
    h("img", { className: "image pixels", src: source, alt: words }),
  );

function candidate({ label, name, residual, image: source }, isAnswer) {
  const title = name === String(label) ? `class ${label}` : name;
  return h(
    "li",
    { className: isAnswer ? "answer" : "" },
    h("img", { src: source, alt: `Remembered image of ${title}` }),
    title,
    h("br", {}),
    `off by ${residual.toFixed(1)}`,
  );
}
