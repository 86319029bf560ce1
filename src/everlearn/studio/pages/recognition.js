// The page "Try it": how a learner recognizes an image under any pose.

import { get, post, url } from "./api.js";
import { classTitle, degrees, digits, errorBox, fill, h, latest, showStatus, slider } from "./dom.js";
import { DRAWING_TOOLS, ImageCanvas, toolbar } from "./image_canvas.js";
import { showMemoryPage } from "./record_select.js";

const POSE = [
  { name: "angle", label: "Angle", min: 0, max: 6.28, step: 0.02, format: degrees },
  { name: "scale", label: "Scale", min: 0.3, max: 1.5, step: 0.01, format: digits(2) },
  { name: "x", label: "Position x", min: 0, max: 1, step: 0.01, format: digits(2) },
  { name: "y", label: "Position y", min: 0, max: 1, step: 0.01, format: digits(2) },
];
const CANONICAL = { scale: 1, angle: 0, x: 0.5, y: 0.5 };
const ABOUT =
  "Draw a shape or take an exemplar, then rotate, move and scale it. The learner normalises the pose and compares the image with its exemplars.";

export function show(content, query) {
  const body = (element, record) => new RecognitionPage(element, record).begin();
  return showMemoryPage(content, query, { page: "try", title: "Try it", about: ABOUT, body });
}

class RecognitionPage {
  constructor(element, record) {
    Object.assign(this, { element, record, threshold: 0.5 });
    this.errors = errorBox();
    const hint = h("p", {}, "The prediction for the image appears here.");
    this.answer = h("div", { id: "answer", "aria-live": "polite" }, hint);
    this.update = latest(() => this.recognize());
  }

  async begin() {
    fill(this.element, h("p", { role: "status" }, "Loading the learner…"));
    this.memory = await get("memory", { record: this.record });
    this.canvas = new ImageCanvas({
      background: this.memory.background,
      label: "Canvas: draw a shape, then move it",
      onchange: () => this.update(),
      onpose: (pose) => this.showPose(pose),
    });
    this.sliders = POSE.map((each) => {
      const oninput = (value) => this.canvas.setPose({ [each.name]: value });
      return slider({ ...each, value: CANONICAL[each.name], oninput });
    });
    const threshold = slider({
      name: "threshold",
      label: "Novelty threshold",
      min: 0,
      max: 1,
      step: 0.01,
      value: this.threshold,
      format: digits(2),
      oninput: (value) => ((this.threshold = value), this.show()),
    });
    fill(
      this.element,
      this.errors.box,
      h("div", { className: "side" }, this.controls(), h("div", {}, threshold, this.answer)),
    );
  }

  controls() {
    const name = h("input", { id: "new-name", maxLength: 200, autocomplete: "off", placeholder: "class name" });
    return h(
      "div",
      {},
      this.canvas.element,
      toolbar(this.canvas, [...DRAWING_TOOLS, "move"], this.errors.attempt),
      this.sliders,
      h(
        "div",
        { className: "bar" },
        h("button", { onclick: () => this.takeExemplar() }, "Random exemplar"),
        h("button", { onclick: () => this.resetPose() }, "Reset pose"),
      ),
      h(
        "div",
        { className: "bar" },
        h("label", { htmlFor: "new-name", className: "visually-hidden" }, "Class name"),
        name,
        h("button", { onclick: () => this.addToMemory(name) }, "Add to memory"),
      ),
    );
  }

  async recognize() {
    if (!this.canvas || this.canvas.isBlank) return;
    const pixels = this.canvas.pixels();
    this.result = await this.errors.attempt(() => post("recognition", { record: this.record }, pixels));
    this.show();
  }

  show() {
    if (!this.result) return;
    const { label, novelty, factors, input, normalised, candidates } = this.result;
    const isUnknown = novelty > this.threshold;
    const title = classTitle(this.result);
    const nearest = `, above ${this.threshold.toFixed(2)}; the nearest class is ${title}`;
    const bar = h("i", {});
    bar.style.width = `${Math.round(100 * novelty)}%`;
    const position = `(${factors.x.toFixed(2)}, ${factors.y.toFixed(2)})`;
    const pose = `angle ${degrees(factors.angle)}, scale ${factors.scale.toFixed(2)}, position ${position}`;
    fill(
      this.answer,
      h("p", { className: "prediction" }, isUnknown ? "Unknown" : title),
      h("p", {}, `Novelty ${novelty.toFixed(2)}${isUnknown ? nearest : ""}`),
      h("div", { className: `meter${isUnknown ? " unknown" : ""}`, "aria-hidden": "true" }, bar),
      h("div", { className: "pair" }, figure("Input", input), figure("After pose normalisation", normalised)),
      h("p", {}, `Estimated pose: ${pose}.`),
      h("h2", {}, "Best matching exemplars"),
      h(
        "ul",
        { className: "thumbnails" },
        candidates.map((each) => candidate(each, !isUnknown && each.label === label)),
      ),
    );
  }

  async takeExemplar() {
    const { classes } = this.memory;
    if (!classes.length) return showStatus("The memory is empty.");
    const { label } = classes[Math.floor(Math.random() * classes.length)];
    await this.errors.attempt(async () => {
      const image = new Image();
      image.src = url("memory/image.png", { record: this.record, label });
      await image.decode();
      document.querySelector("[name=tool][value=move]").click();
      this.canvas.setImage(image);
    });
  }

  resetPose() {
    this.canvas.setPose(CANONICAL);
    this.showPose(CANONICAL);
  }

  showPose(pose) {
    POSE.forEach(({ name }, i) => this.sliders[i].set(pose[name]));
  }

  async addToMemory(input) {
    const name = input.value.trim();
    if (this.canvas.isBlank) return this.errors.show("Draw something or upload an image first.");
    if (!name) return (this.errors.show("Enter a class name first."), input.focus());
    const query = { record: this.record, version: this.memory.version, name };
    const done = await this.errors.attempt(() => post("memory/add", query, this.canvas.originalPixels()));
    if (!done) return;
    this.memory.version = done.version;
    showStatus(`${name} was added; save it on the memory page to keep it.`);
    this.update();
  }
}

const figure = (caption, source) =>
  h(
    "figure",
    {},
    h("figcaption", {}, caption),
    h("img", { className: "image pixels", src: source, alt: caption }),
  );

function candidate({ label, name, residual, image }, isPrediction) {
  const title = classTitle({ label, name });
  return h(
    "li",
    { className: isPrediction ? "selected" : "" },
    h("img", { src: image, alt: `Exemplar of ${title}` }),
    title,
    h("br", {}),
    `residual ${residual.toFixed(1)}`,
  );
}
