// A canvas to draw on or to show an image on, under any pose.

import { decodeImage } from "./api.js";
import { h } from "./dom.js";
import { cameraButton } from "./image_sources.js";

const SIDE = 256;
const GUIDE_FRACTION = 0.5;
const SCALE = { min: 0.3, max: 1.5, factor: 1.05 };
const TOOLS = { outline: "Outline", white: "White pen", black: "Black pen", erase: "Eraser", move: "Move" };
export const DRAWING_TOOLS = ["outline", "white", "black", "erase"];

/** An image, and a canvas that shows it rotated, moved and scaled.

`onchange` is called when the shown image changes, `onpose` when the pointer or a key changes its pose, `onclear`
when the user has cleared it. `version` counts the images. */
export class ImageCanvas {
  constructor({ background, label, onchange = () => {}, onpose = () => {}, onclear = () => {} }) {
    Object.assign(this, { background, onchange, onpose, onclear });
    this.pose = { scale: 1, angle: 0, x: 0.5, y: 0.5 };
    this.original = h("canvas", { width: SIDE, height: SIDE });
    this.element = h("canvas", {
      className: "image-canvas",
      width: SIDE,
      height: SIDE,
      tabIndex: 0,
      role: "img",
      "aria-label": label,
    });
    this.tool = "outline";
    this.version = 0;
    this.clear();
    this.listen();
  }

  clear() {
    const context = this.original.getContext("2d");
    context.fillStyle = this.background;
    context.fillRect(0, 0, SIDE, SIDE);
    this.isBlank = true;
    this.version++;
    this.update();
  }

  /** Clears the image and resets tool and pose. */
  reset() {
    this.pose = { scale: 1, angle: 0, x: 0.5, y: 0.5 };
    this.tool = "outline";
    this.clear();
    this.onpose(this.pose);
    this.onclear();
  }

  /** The pixels under another pose. */
  pixelsIn(pose) {
    const before = this.pose;
    this.pose = { ...before, ...pose };
    const pixels = this.pixels();
    this.pose = before;
    this.render(true);
    return pixels;
  }

  /** Shows an image in its aspect ratio. */
  setImage(image) {
    this.clear();
    const zoom = SIDE / Math.max(image.width, image.height);
    const [width, height] = [image.width * zoom, image.height * zoom];
    const context = this.original.getContext("2d");
    context.imageSmoothingEnabled = zoom < 1; // an exemplar that is enlarged must not be blurred
    context.drawImage(image, (SIDE - width) / 2, (SIDE - height) / 2, width, height);
    this.isBlank = false;
    this.update();
  }

  setPose(change) {
    Object.assign(this.pose, change);
    this.update();
  }

  /** The pixels under the current pose, without guides. */
  pixels() {
    this.render(false);
    const { data } = this.element.getContext("2d").getImageData(0, 0, SIDE, SIDE);
    this.render(true);
    return data;
  }

  /** The pixels of the image itself, in canonical pose. */
  originalPixels() {
    return this.original.getContext("2d").getImageData(0, 0, SIDE, SIDE).data;
  }

  update() {
    this.render(true);
    this.onchange();
  }

  render(withGuides) {
    const context = this.element.getContext("2d", { willReadFrequently: true });
    const { scale, angle } = this.pose;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.background;
    context.fillRect(0, 0, SIDE, SIDE);
    context.translate(...this.center());
    context.rotate(angle);
    context.scale(scale, scale);
    context.drawImage(this.original, -SIDE / 2, -SIDE / 2);
    context.setTransform(1, 0, 0, 1, 0, 0);
    if (withGuides && this.isBlank && this.tool !== "move") renderGuide(context);
    if (withGuides && this.path) strokeOutline(context, this.path);
  }

  listen() {
    const at = (event) =>
      [event.offsetX, event.offsetY].map((offset) => (offset * SIDE) / this.element.clientWidth);
    let last = null;
    this.element.addEventListener("pointerdown", (event) => {
      this.element.setPointerCapture(event.pointerId);
      last = at(event);
      if (this.tool === "outline") this.path = [this.toOriginal(last)];
      else if (this.tool !== "move") this.stroke(last, last);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (!last) return;
      const point = at(event);
      if (this.tool === "move") this.move(point[0] - last[0], point[1] - last[1]);
      else if (this.tool === "outline") this.path.push(this.toOriginal(point));
      else this.stroke(last, point);
      last = point;
      if (this.tool === "outline") this.render(true);
    });
    const end = () => {
      if (this.path?.length > 2) {
        fillOutline(this.original.getContext("2d"), this.path);
        this.isBlank = false;
      }
      if (last && (this.path || this.tool !== "outline")) {
        this.path = null;
        this.version++;
        this.update();
      }
      last = null;
    };
    this.element.addEventListener("pointerup", end);
    this.element.addEventListener("pointercancel", end);
    const onwheel = (event) => {
      if (this.tool !== "move") return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? SCALE.factor : 1 / SCALE.factor);
    };
    this.element.addEventListener("wheel", onwheel, { passive: false });
    this.element.addEventListener("keydown", (event) => this.onkey(event));
  }

  onkey(event) {
    const step = SIDE / 64;
    const actions = {
      ArrowLeft: () => this.move(-step, 0),
      ArrowRight: () => this.move(step, 0),
      ArrowUp: () => this.move(0, -step),
      ArrowDown: () => this.move(0, step),
      "+": () => this.zoom(SCALE.factor),
      "-": () => this.zoom(1 / SCALE.factor),
    };
    if (this.tool !== "move" || !(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  move(dx, dy) {
    const moved = (value, pixels) => Math.max(0, Math.min(1, value + (2 * pixels) / SIDE));
    this.setPose({ x: moved(this.pose.x, dx), y: moved(this.pose.y, dy) });
    this.onpose(this.pose);
  }

  zoom(factor) {
    this.setPose({ scale: Math.max(SCALE.min, Math.min(SCALE.max, this.pose.scale * factor)) });
    this.onpose(this.pose);
  }

  stroke(from, to) {
    const context = this.original.getContext("2d");
    context.strokeStyle = { white: "#fff", black: "#000", erase: this.background }[this.tool];
    context.lineWidth = this.tool === "erase" ? 24 : 12;
    context.lineCap = "round";
    context.beginPath();
    context.moveTo(...this.toOriginal(from));
    context.lineTo(...this.toOriginal(to));
    context.stroke();
    this.isBlank = false;
    this.render(true);
  }

  /** The center of the image on the canvas; positions 0 and 1 are half-way to its edges. */
  center() {
    return [this.pose.x, this.pose.y].map((position) => SIDE / 2 + ((position - 0.5) * SIDE) / 2);
  }

  /** The point of the image at a point of the canvas. */
  toOriginal([px, py]) {
    const { scale, angle } = this.pose;
    const [cx, cy] = this.center();
    const [dx, dy] = [px - cx, py - cy];
    const [c, s] = [Math.cos(angle) / scale, Math.sin(angle) / scale];
    return [SIDE / 2 + c * dx + s * dy, SIDE / 2 - s * dx + c * dy];
  }
}

function closedPath(points) {
  const path = new Path2D();
  points.forEach((point) => path.lineTo(...point));
  path.closePath();
  return path;
}

function strokeOutline(context, points) {
  context.strokeStyle = "#fff";
  context.lineWidth = 2;
  context.stroke(closedPath(points));
}

/** Fills a shape white, with a black right half like that of sprites. */
function fillOutline(context, points) {
  const path = closedPath(points);
  const middle = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  context.save();
  context.fillStyle = "#fff";
  context.fill(path);
  context.clip(path);
  context.fillStyle = "#000";
  context.fillRect(middle, 0, SIDE, SIDE);
  context.restore();
}

function renderGuide(context) {
  const [start, side] = [(SIDE * (1 - GUIDE_FRACTION)) / 2, SIDE * GUIDE_FRACTION];
  context.save();
  context.setLineDash([6, 6]);
  context.strokeStyle = context.fillStyle = "rgb(0 0 0 / .55)";
  context.strokeRect(start, start, side, side);
  context.font = "13px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillText("draw an outline in here", SIDE / 2, start - 10);
  context.restore();
}

/** Radio buttons for the tools of a canvas, and buttons to upload an image and to clear it. */
export function toolbar(canvas, names, attempt) {
  const radio = (name) => {
    const onchange = () => ((canvas.tool = name), canvas.render(true));
    const input = { type: "radio", name: "tool", value: name, checked: name === canvas.tool, onchange };
    return h("label", {}, h("input", input), ` ${TOOLS[name]}`);
  };
  const upload = async () => {
    if (file.files[0]) canvas.setImage(await decodeImage(file.files[0]));
    file.value = "";
  };
  const file = h("input", {
    type: "file",
    accept: "image/png,image/jpeg,image/gif,image/webp,image/bmp",
    hidden: true,
    id: "upload",
    onchange: () => attempt(upload),
  });
  const button = (text, onclick) => h("button", { type: "button", className: "small", onclick }, text);
  return h(
    "fieldset",
    { className: "bar" },
    h("legend", { className: "visually-hidden" }, "Tool"),
    names.map(radio),
    file,
    button("Upload an image", () => file.click()),
    cameraButton(canvas),
    button("Clear", (event) => {
      canvas.reset();
      event.target.closest("fieldset").querySelector("[name=tool]").checked = true;
    }),
  );
}
