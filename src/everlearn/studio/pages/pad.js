// A place to draw on, or to put an image on, and to see the result in any pose.

import { opened } from "./ask.js";
import { h } from "./dom.js";

const SIDE = 256;
const FRAME = 0.5;

/** A drawing, and the canvas on which it is drawn or shown turned, moved and scaled.

`changed` is called whenever what the canvas shows has changed. */
export class Pad {
  constructor({ ground = "#a9a9a9", label, changed = () => {} }) {
    Object.assign(this, { ground, changed });
    this.pose = { scale: 1, angle: 0, x: 0.5, y: 0.5 };
    this.drawing = Object.assign(document.createElement("canvas"), { width: SIDE, height: SIDE });
    this.canvas = h("canvas", {
      className: "pad",
      width: SIDE,
      height: SIDE,
      tabIndex: 0,
      role: "img",
      "aria-label": label,
    });
    this.tool = "outline";
    this.isBlank = true;
    this.clear();
    this.listen();
  }

  clear() {
    const pen = this.drawing.getContext("2d");
    pen.fillStyle = this.ground;
    pen.fillRect(0, 0, SIDE, SIDE);
    this.isBlank = true;
    this.show();
  }

  /** Put an image on the pad, its proportions kept. */
  put(image) {
    this.clear();
    const by = SIDE / Math.max(image.width, image.height);
    const [width, height] = [image.width * by, image.height * by];
    this.drawing.getContext("2d").drawImage(image, (SIDE - width) / 2, (SIDE - height) / 2, width, height);
    this.isBlank = false;
    this.show();
  }

  async upload(file) {
    this.put(await opened(file));
  }

  turn(change) {
    Object.assign(this.pose, change);
    this.show();
  }

  /** The pixels that are shown, without frames and guides. */
  pixels() {
    this.paint(false);
    const { data } = this.canvas.getContext("2d").getImageData(0, 0, SIDE, SIDE);
    this.paint(true);
    return data;
  }

  /** The pixels of the drawing itself, in no pose. */
  canonical() {
    return this.drawing.getContext("2d").getImageData(0, 0, SIDE, SIDE).data;
  }

  show() {
    this.paint(true);
    this.changed();
  }

  paint(withGuide) {
    const pen = this.canvas.getContext("2d", { willReadFrequently: true });
    const { scale, angle, x, y } = this.pose;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.fillStyle = this.ground;
    pen.fillRect(0, 0, SIDE, SIDE);
    pen.translate(SIDE / 2 + ((x - 0.5) * SIDE) / 2, SIDE / 2 + ((y - 0.5) * SIDE) / 2);
    pen.rotate(angle);
    pen.scale(scale, scale);
    pen.drawImage(this.drawing, -SIDE / 2, -SIDE / 2);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    if (withGuide && this.isBlank && this.tool !== "move") guide(pen);
    if (withGuide && this.path) outline(pen, this.path, false);
  }

  listen() {
    const at = (event) =>
      [event.offsetX, event.offsetY].map((offset) => (offset * SIDE) / this.canvas.clientWidth);
    let last = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      last = at(event);
      if (this.tool === "outline") this.path = [this.unposed(last)];
      else if (this.tool !== "move") this.brush(last, last);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!last) return;
      const here = at(event);
      if (this.tool === "move") this.drag(last, here);
      else if (this.tool === "outline") this.path.push(this.unposed(here));
      else this.brush(last, here);
      last = here;
      if (this.tool === "outline") this.paint(true);
    });
    const end = () => {
      if (this.path?.length > 2) {
        outline(this.drawing.getContext("2d"), this.path, true);
        this.isBlank = false;
      }
      if (last && (this.path || this.tool !== "outline")) ((this.path = null), this.show());
      last = null;
    };
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
    this.canvas.addEventListener(
      "wheel",
      (event) =>
        this.tool === "move" && (event.preventDefault(), this.grow(event.deltaY < 0 ? 1.05 : 1 / 1.05)),
      { passive: false },
    );
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  drag([x0, y0], [x1, y1]) {
    const clamp = (value) => Math.max(0, Math.min(1, value));
    this.turn({
      x: clamp(this.pose.x + (2 * (x1 - x0)) / SIDE),
      y: clamp(this.pose.y + (2 * (y1 - y0)) / SIDE),
    });
    this.posed?.(this.pose);
  }

  grow(by) {
    this.turn({ scale: Math.max(0.3, Math.min(1.5, this.pose.scale * by)) });
    this.posed?.(this.pose);
  }

  key(event) {
    const step = SIDE / 64;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (this.tool !== "move") return;
    if (event.key in moves) this.drag([0, 0], moves[event.key]);
    else if (event.key === "+") this.grow(1.05);
    else if (event.key === "-") this.grow(1 / 1.05);
    else return;
    event.preventDefault();
  }

  brush(from, to) {
    const pen = this.drawing.getContext("2d");
    pen.strokeStyle = { white: "#fff", black: "#000", erase: this.ground }[this.tool];
    pen.lineWidth = this.tool === "erase" ? 24 : 12;
    pen.lineCap = "round";
    pen.beginPath();
    pen.moveTo(...this.unposed(from));
    pen.lineTo(...this.unposed(to));
    pen.stroke();
    this.isBlank = false;
    this.paint(true);
  }

  /** Where on the drawing a place on the canvas is. */
  unposed([px, py]) {
    const { scale, angle, x, y } = this.pose;
    const [dx, dy] = [px - SIDE / 2 - ((x - 0.5) * SIDE) / 2, py - SIDE / 2 - ((y - 0.5) * SIDE) / 2];
    const [c, s] = [Math.cos(angle) / scale, Math.sin(angle) / scale];
    return [SIDE / 2 + c * dx + s * dy, SIDE / 2 - s * dx + c * dy];
  }
}

/** A filled shape, white with a black right half as sprites are. */
function outline(pen, path, isDone) {
  const shape = new Path2D();
  path.forEach((point) => shape.lineTo(...point));
  shape.closePath();
  if (!isDone) {
    pen.strokeStyle = "#fff";
    pen.lineWidth = 2;
    return void pen.stroke(shape);
  }
  const middle = path.reduce((sum, [x]) => sum + x, 0) / path.length;
  pen.save();
  pen.fillStyle = "#fff";
  pen.fill(shape);
  pen.clip(shape);
  pen.fillStyle = "#000";
  pen.fillRect(middle, 0, SIDE, SIDE);
  pen.restore();
}

function guide(pen) {
  const [from, side] = [(SIDE * (1 - FRAME)) / 2, SIDE * FRAME];
  pen.save();
  pen.setLineDash([6, 6]);
  pen.strokeStyle = pen.fillStyle = "rgb(0 0 0 / .55)";
  pen.strokeRect(from, from, side, side);
  pen.font = "13px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.fillText("draw an outline in here", SIDE / 2, from - 10);
  pen.restore();
}

/** Buttons that choose what the pointer does on a pad, and an upload. */
export function tools(pad, names, attempt) {
  const words = { outline: "Outline", white: "White pen", black: "Black pen", erase: "Eraser", move: "Move" };
  const radios = names.map((name) =>
    h(
      "label",
      {},
      h("input", {
        type: "radio",
        name: "tool",
        value: name,
        checked: name === pad.tool,
        onchange: () => ((pad.tool = name), pad.paint(true)),
      }),
      ` ${words[name]}`,
    ),
  );
  const file = h("input", {
    type: "file",
    accept: "image/png,image/jpeg,image/gif,image/webp,image/bmp",
    hidden: true,
    id: "upload",
    onchange: () =>
      attempt(async () => {
        if (file.files[0]) await pad.upload(file.files[0]);
        file.value = "";
      }),
  });
  const upload = h(
    "button",
    { type: "button", className: "small", onclick: () => file.click() },
    "Upload an image",
  );
  const clear = h("button", { type: "button", className: "small", onclick: () => pad.clear() }, "Clear");
  return h(
    "fieldset",
    { className: "bar" },
    h("legend", { className: "unseen" }, "Tool"),
    radios,
    file,
    upload,
    clear,
  );
}
