// The page "Try it": how a learner recognizes an image under any pose.

import { get, isPhone, post, url } from "./api.js";
import { classTitle, confirmed, degrees, digits, errorBox, fill, h, latest, showStatus, slider } from "./dom.js";
import { DRAWING_TOOLS, ImageCanvas, toolbar } from "./image_canvas.js";
import { acceptImages } from "./image_sources.js";
import { answerElements, figure } from "./recognition_answer.js";
import { showMemoryPage } from "./record_select.js";

const POSE = [
  { name: "angle", label: "Angle", min: 0, max: 6.28, step: 0.02, format: degrees },
  { name: "scale", label: "Scale", min: 0.3, max: 1.5, step: 0.01, format: digits(2) },
  { name: "x", label: "Position x", min: 0, max: 1, step: 0.01, format: digits(2) },
  { name: "y", label: "Position y", min: 0, max: 1, step: 0.01, format: digits(2) },
];
const CANONICAL = { scale: 1, angle: 0, x: 0.5, y: 0.5 };
const ABOUT =
  "Draw a shape, upload, paste or drop an image, use the camera, or take an exemplar; then rotate, move and scale it. The learner normalises the pose and compares the image with its exemplars.";
const HINT = "The prediction for the image appears here.";
const TEST_POSES = [
  { angle: 0.8, scale: 1, x: 0.5, y: 0.5 },
  { angle: 2.6, scale: 0.8, x: 0.35, y: 0.6 },
  { angle: 4.4, scale: 0.65, x: 0.65, y: 0.4 },
];
const MAX_ASKED = 12;
const SAVE = `save this ${isPhone ? "on the computer" : "on the memory page"}`;

export function show(content, query) {
  const body = async (element, record) => {
    const page = new RecognitionPage(element, record);
    await page.begin();
    return acceptImages(page.canvas, page.errors.attempt);
  };
  return showMemoryPage(content, query, { page: "try", title: "Try it", about: ABOUT, body });
}

class RecognitionPage {
  constructor(element, record) {
    Object.assign(this, { element, record, threshold: 0.5 });
    this.errors = errorBox();
    this.answer = h("div", { id: "answer", "aria-live": "polite" }, h("p", {}, HINT));
    this.taught = h("div", { id: "taught", "aria-live": "polite" });
    this.asked = h("ul", { className: "thumbnails" });
    this.gallery = h("section", { hidden: true }, h("h2", {}, "What was asked"), this.asked);
    this.lastAsked = 0;
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
      onclear: () => this.clear(),
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
      h("div", { className: "side" }, this.controls(), h("div", {}, threshold, this.answer, this.taught, this.gallery)),
    );
  }

  /** Clears the answer. */
  clear() {
    this.result = undefined;
    this.errors.show("");
    fill(this.answer, h("p", {}, HINT));
    fill(this.taught);
    this.question.hidden = true;
  }

  controls() {
    const name = h("input", { id: "new-name", maxLength: 200, autocomplete: "off", placeholder: "class name" });
    const onsubmit = (event) => (event.preventDefault(), this.addToMemory(name));
    this.question = h("p", { className: "question", hidden: true }, "What is it? Name it, and it is known from then on.");
    this.problem = errorBox();
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
        "form",
        { "aria-label": "Teach", onsubmit },
        this.question,
        h(
          "div",
          { className: "bar" },
          h("label", { htmlFor: "new-name", className: "visually-hidden" }, "Class name"),
          name,
          h("button", { type: "submit" }, "Add to memory"),
        ),
        this.problem.box,
      ),
    );
  }

  async recognize() {
    if (!this.canvas || this.canvas.isBlank) return;
    const [pixels, version] = [this.canvas.pixels(), this.canvas.version];
    const result = await this.errors.attempt(() => post("recognition", { record: this.record }, pixels));
    if (this.canvas.isBlank) return; // it was cleared meanwhile
    this.result = result;
    this.show();
    if (result) this.remember(result, version);
  }

  show() {
    if (!this.result) return;
    const isUnknown = this.result.novelty > this.threshold;
    const title = classTitle(this.result);
    const onclick = () => this.forget(this.result.label, title);
    const forget = h("button", { className: "danger small", onclick }, `Forget ${title}`);
    fill(this.answer, answerElements(this.result, this.threshold, isUnknown ? null : forget));
    this.question.hidden = !isUnknown;
  }

  /** Erases a class from the memory; this is not saved yet. */
  async forget(label, title) {
    const text = `The learner will not know it any more; ${SAVE} to erase it from the files.`;
    if (!(await confirmed(`Forget ${title}?`, text, "Forget"))) return;
    const { record, memory } = this;
    const done = await this.errors.attempt(async () => {
      try {
        return await post("memory/forget", { record, version: memory.version, label });
      } finally {
        this.memory = await get("memory", { record }); // it may have been changed by others
      }
    });
    if (!done) return;
    fill(this.taught);
    showStatus(`${title} was forgotten.`);
    this.update();
  }

  /** Adds an image to the gallery, once for all its poses. */
  remember(result, version) {
    const isUnknown = result.novelty > this.threshold;
    const title = isUnknown ? "unknown" : classTitle(result);
    const image = h("img", { src: result.input, alt: "" });
    const button = h("button", { className: "plain", title: "Ask again" }, image, title);
    button.onclick = () => this.canvas.setImage(image);
    const item = h("li", {}, button);
    if (version === this.lastAsked && this.asked.firstChild) this.asked.firstChild.replaceWith(item);
    else this.asked.prepend(item);
    this.lastAsked = version;
    while (this.asked.children.length > MAX_ASKED) this.asked.lastChild.remove();
    this.gallery.hidden = false;
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
    if (this.canvas.isBlank) return this.problem.show("Draw something, use the camera or upload an image first.");
    if (!name) return (this.problem.show("Enter a class name first."), input.focus());
    if (this.memory.classes.some((each) => each.name === name))
      return this.problem.show(`${name} is known already; choose another name, or forget it first.`);
    const query = { record: this.record, version: this.memory.version, name };
    const done = await this.problem.attempt(() => post("memory/add", query, this.canvas.originalPixels()));
    if (!done) return;
    this.memory.version = done.version;
    this.memory.classes.push({ label: done.label, name, n_images: 1 });
    showStatus(`${name} was added; ${SAVE} to keep it.`);
    this.update();
    await this.problem.attempt(() => this.testPoses(name, done));
  }

  /** Shows what was stored, and whether it is recognized in three other poses. */
  async testPoses(name, { label, version }) {
    const stored = url("memory/image.png", { record: this.record, label, version });
    const ask = (pose) => post("recognition", { record: this.record }, this.canvas.pixelsIn(pose));
    const results = [];
    for (const pose of TEST_POSES) results.push(await ask(pose));
    const tested = (result) =>
      figure(`${result.label === label ? "✓" : "✗"} ${classTitle(result)}`, result.input);
    fill(
      this.taught,
      h("h2", {}, `Taught: ${name}`),
      h("div", { className: "comparison" }, figure("Stored exemplar", stored), results.map(tested)),
    );
  }
}
