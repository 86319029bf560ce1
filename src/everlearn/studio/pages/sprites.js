// The sprites page: any shape under any factors, rendered while the sliders move.

import { get, url } from "./api.js";
import { debounced, degrees, digits, errorBox, fill, h, latest, showStatus, slider } from "./dom.js";

const MAX_SHAPE = Number.MAX_SAFE_INTEGER;
const SHEET = { columns: 8, margin: 16, step: 68 };
const IMAGE_SIZES = [32, 64, 128, 256, 512];
const FACTORS = [
  { name: "scale", label: "Scale", min: 0.3, max: 1.5, step: 0.01, format: digits(2) },
  { name: "angle", label: "Angle", min: 0, max: 6.28, step: 0.01, format: degrees },
  { name: "x", label: "Position x", min: 0, max: 1, step: 0.01, format: digits(2) },
  { name: "y", label: "Position y", min: 0, max: 1, step: 0.01, format: digits(2) },
  { name: "difficulty", label: "Difficulty", min: 0, max: 1, step: 0.01, format: digits(2) },
];
const NUISANCES = [
  { name: "noise", label: "Noise", min: 0, max: 0.5, step: 0.01, format: digits(2) },
  { name: "blur", label: "Blur", min: 0, max: 16, step: 0.1, format: (x) => `${x.toFixed(1)} px` },
  { name: "occluder", label: "Occluder", min: 0, max: 0.5, step: 0.01, format: digits(2) },
  { name: "clutter", label: "Clutter", min: 0, max: 32, step: 1, format: digits(0) },
  { name: "lighting", label: "Lighting", min: 0, max: 1, step: 0.01, format: digits(2) },
  { name: "texture", label: "Texture", min: 0, max: 1, step: 0.01, format: digits(2) },
];
const ABOUT =
  "An infinite family of shapes. Each shape has an index and can be rendered under any scale, angle, position and colour, identically on every machine.";

export function show(content) {
  fill(content, new SpritesPage().element);
}

class SpritesPage {
  constructor() {
    this.sprite = { shape: 7, seed: 0, scale: 1, angle: 0, x: 0.5, y: 0.5, difficulty: 0 };
    Object.assign(this.sprite, { colour: "#ffffff", marker: true, image_size: 256 });
    for (const { name } of NUISANCES) this.sprite[name] = 0;
    this.errors = errorBox();
    this.image = h("img", { className: "image", id: "sprite", alt: "" });
    this.code = h("pre", { id: "code", tabIndex: 0, "aria-label": "Python code that renders this image" });
    this.download = h("a", { className: "button" }, "Download PNG");
    this.sheet = h("img", {
      className: "sheet",
      hidden: true,
      alt: "Contact sheet of 64 shapes, starting with this one; click one, or type its index, to enlarge it",
      onclick: (event) => this.setShape(this.shapeAt(event)),
    });
    this.shape = h("input", {
      type: "number",
      id: "shape",
      min: 0,
      max: MAX_SHAPE,
      step: 1,
      value: this.sprite.shape,
      oninput: () => this.shape.value !== "" && this.setShape(Number(this.shape.value)),
    });
    this.render = latest(() => this.loadImage());
    this.describe = debounced(() => this.errors.attempt(() => this.loadCode()));
    this.element = h(
      "div",
      {},
      h("h1", {}, "Sprites"),
      h("p", {}, ABOUT),
      this.errors.box,
      h("div", { className: "side" }, h("div", {}, this.image, this.shapeBar()), this.controls()),
      this.sheet,
      h("h2", {}, "Python code"),
      this.code,
    );
    this.update();
  }

  shapeBar() {
    return h(
      "div",
      { className: "bar" },
      h("label", { htmlFor: "shape" }, "Shape"),
      this.shape,
      h("button", { className: "main", onclick: () => this.setShape(this.sprite.shape + 1) }, "Next shape"),
      h("button", { onclick: () => this.setShape(Math.random() * 1e9) }, "Random shape"),
    );
  }

  controls() {
    const sliders = (options) => options.map((each) => slider({ ...each, ...this.bound(each.name) }));
    const colour = { type: "color", id: "colour", value: this.sprite.colour };
    const marker = { type: "checkbox", checked: true };
    const size = { id: "size", onchange: (event) => this.update({ image_size: Number(event.target.value) }) };
    const option = (n) => h("option", { selected: n === this.sprite.image_size }, String(n));
    return h(
      "div",
      {},
      sliders(FACTORS),
      h(
        "div",
        { className: "slider" },
        h("label", { htmlFor: "colour" }, "Colour"),
        h("input", { ...colour, oninput: (event) => this.update({ colour: event.target.value }) }),
        h("output", {}),
      ),
      h(
        "p",
        {},
        h(
          "label",
          {},
          h("input", { ...marker, onchange: (event) => this.update({ marker: event.target.checked }) }),
          " Black half, which shows the orientation",
        ),
      ),
      h("details", {}, h("summary", {}, "Nuisances"), sliders(NUISANCES)),
      h(
        "div",
        { className: "bar" },
        h("label", { htmlFor: "size" }, "Image size"),
        h("select", size, IMAGE_SIZES.map(option)),
        this.download,
        h("button", { onclick: () => this.toggleSheet() }, "Contact sheet"),
        h("button", { onclick: () => this.copyCode() }, "Copy code"),
      ),
    );
  }

  bound(name) {
    return { value: this.sprite[name], oninput: (value) => this.update({ [name]: value }) };
  }

  update(change = {}) {
    Object.assign(this.sprite, change);
    this.render();
    this.describe();
  }

  setShape(index) {
    const shape = Math.max(0, Math.min(MAX_SHAPE, Math.round(index) || 0));
    this.shape.value = shape;
    this.update({ shape });
    if (!this.sheet.hidden) this.loadSheet();
  }

  async loadImage() {
    this.image.src = url("sprites/image.png", this.sprite);
    const isLoaded = await this.image.decode().then(
      () => true,
      () => false,
    );
    this.errors.show(isLoaded ? "" : "This image cannot be rendered; try other values.");
  }

  async loadCode() {
    const { shape, scale, angle, x, y } = this.sprite;
    this.image.alt = `Shape ${shape}, scale ${scale}, angle ${degrees(angle)}, position (${x}, ${y})`;
    this.download.href = url("sprites/image.png", this.sprite);
    this.download.download = `shape-${shape}.png`;
    const { imports, code } = await get("sprites/code", this.sprite);
    this.code.textContent = `${imports}\n\n${code}`;
  }

  toggleSheet() {
    this.sheet.hidden = !this.sheet.hidden;
    if (!this.sheet.hidden) this.loadSheet();
  }

  loadSheet() {
    this.sheet.src = url("sprites/sheet.png", this.sprite);
  }

  async copyCode() {
    await navigator.clipboard.writeText(this.code.textContent);
    showStatus("Code copied.");
  }

  /** The index of the shape under the pointer on the contact sheet. */
  shapeAt({ offsetX, offsetY }) {
    const zoom = this.sheet.naturalWidth / this.sheet.clientWidth;
    const cell = (offset) => Math.floor((offset * zoom - SHEET.margin) / SHEET.step);
    const clamped = (offset) => Math.max(0, Math.min(SHEET.columns - 1, cell(offset)));
    return this.sprite.shape + clamped(offsetY) * SHEET.columns + clamped(offsetX);
  }
}
