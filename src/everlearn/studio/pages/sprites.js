// Any shape under any factors, drawn while the sliders move.

import { address, ask } from "./ask.js";
import { complaints, fill, h, late, say, slider } from "./dom.js";

const START = {
  shape: 7,
  seed: 0,
  difficulty: 0,
  scale: 1,
  angle: 0,
  x: 0.5,
  y: 0.5,
  colour: "#ffffff",
  marker: true,
};
const HARDER = { noise: 0, blur: 0, occluder: 0, clutter: 0, lighting: 0, texture: 0 };
const SHEET = { columns: 8, margin: 16, step: 68 };
const SIZES = [32, 64, 128, 256, 512];

const degrees = (radians) => `${Math.round((radians * 180) / Math.PI)}°`;
const places = (digits) => (value) => value.toFixed(digits);

const POSE = [
  { name: "scale", label: "Scale", low: 0.3, high: 1.5, step: 0.01, words: places(2) },
  { name: "angle", label: "Angle", low: 0, high: 6.28, step: 0.01, words: degrees },
  { name: "x", label: "Place across", low: 0, high: 1, step: 0.01, words: places(2) },
  { name: "y", label: "Place down", low: 0, high: 1, step: 0.01, words: places(2) },
  { name: "difficulty", label: "Difficulty", low: 0, high: 1, step: 0.01, words: places(2) },
];
const NUISANCES = [
  { name: "noise", label: "Noise", low: 0, high: 0.5, step: 0.01, words: places(2) },
  { name: "blur", label: "Blur", low: 0, high: 16, step: 0.1, words: (x) => `${x.toFixed(1)} px` },
  { name: "occluder", label: "Bar in front", low: 0, high: 0.5, step: 0.01, words: places(2) },
  { name: "clutter", label: "Clutter", low: 0, high: 32, step: 1, words: places(0) },
  { name: "lighting", label: "Uneven light", low: 0, high: 1, step: 0.01, words: places(2) },
  { name: "texture", label: "Texture", low: 0, high: 1, step: 0.01, words: places(2) },
];

export function show(room) {
  const wanted = { ...START, ...HARDER, image_size: 256 };
  const trouble = complaints();
  const image = h("img", { className: "image", id: "sprite", alt: "" });
  const code = h("pre", {
    id: "code",
    tabIndex: 0,
    "aria-label": "The line of code that draws this image",
  });
  const sheet = h("img", {
    className: "sheet",
    hidden: true,
    alt: "Sheet of 64 shapes from this one on; click one, or type its number, to see it large",
  });
  const number = h("input", {
    type: "number",
    id: "shape",
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    step: 1,
    value: wanted.shape,
  });
  const download = h("a", { className: "button", download: "sprite.png" }, "Download PNG");
  const draw = painter(image, trouble, () => wanted);
  const change = (name) => (value) => {
    wanted[name] = value;
    draw();
    describe();
  };
  const rows = (some) =>
    some.map((each) => slider({ ...each, value: wanted[each.name], oninput: change(each.name) }));

  const describe = late(async () => {
    image.alt = `Shape ${wanted.shape}, scale ${wanted.scale}, turned by ${degrees(wanted.angle)}, at ${wanted.x} across and ${wanted.y} down`;
    download.href = address("sprites/image.png", wanted);
    download.download = `shape-${wanted.shape}.png`;
    await trouble.attempt(async () => {
      const lines = await ask("sprites/code", wanted);
      code.textContent = `${lines.imports}\n\n${lines.code}`;
    });
  });
  const go = (to) => {
    wanted.shape = Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.round(to) || 0));
    number.value = wanted.shape;
    draw();
    describe();
    if (!sheet.hidden) sheet.src = address("sprites/sheet.png", wanted);
  };
  number.addEventListener("input", () => number.value !== "" && go(Number(number.value)));
  sheet.addEventListener("click", (event) => go(sheetShape(event, sheet, wanted.shape)));

  fill(
    room,
    h("h1", {}, "Sprites"),
    h(
      "p",
      {},
      "An endless family of shapes. Each is a number; each can be shown in any size, turn, place and colour, and is the same on every machine.",
    ),
    trouble.box,
    h(
      "div",
      { className: "side" },
      h(
        "div",
        {},
        image,
        h(
          "div",
          { className: "bar" },
          h("label", { htmlFor: "shape" }, "Shape"),
          number,
          h("button", { className: "main", onclick: () => go(wanted.shape + 1) }, "Next shape"),
          h("button", { onclick: () => go(Math.random() * 1e9) }, "Any shape"),
        ),
      ),
      h(
        "div",
        {},
        rows(POSE),
        h(
          "div",
          { className: "slider" },
          h("label", { htmlFor: "colour" }, "Colour"),
          h("input", {
            type: "color",
            id: "colour",
            value: wanted.colour,
            oninput: (e) => change("colour")(e.target.value),
          }),
          h("output", {}),
        ),
        h(
          "p",
          {},
          h(
            "label",
            {},
            h("input", {
              type: "checkbox",
              checked: true,
              onchange: (e) => change("marker")(e.target.checked),
            }),
            " Black half, which shows the angle",
          ),
        ),
        h("details", {}, h("summary", {}, "Make it harder to read"), rows(NUISANCES)),
        h(
          "div",
          { className: "bar" },
          h("label", { htmlFor: "size" }, "Pixels"),
          h(
            "select",
            { id: "size", onchange: (e) => change("image_size")(Number(e.target.value)) },
            SIZES.map((n) => h("option", { selected: n === wanted.image_size }, String(n))),
          ),
          download,
          h(
            "button",
            {
              onclick: () => {
                sheet.hidden = !sheet.hidden;
                if (!sheet.hidden) sheet.src = address("sprites/sheet.png", wanted);
              },
            },
            "Sheet of 64",
          ),
          h(
            "button",
            {
              onclick: () =>
                navigator.clipboard.writeText(code.textContent).then(() => say("The code is copied.")),
            },
            "Copy code",
          ),
        ),
      ),
    ),
    sheet,
    h("h2", {}, "In code"),
    code,
  );
  draw();
  describe();
}

/** Draws the newest wish as soon as the last image is there, so that a fast slider never queues. */
function painter(image, trouble, wish) {
  let isBusy = false;
  let isStale = false;
  const next = () => {
    isBusy = false;
    if (isStale) draw();
  };
  const draw = () => {
    isStale = isBusy;
    if (isBusy) return;
    isBusy = true;
    image.src = address("sprites/image.png", wish());
  };
  image.addEventListener("load", () => (trouble.show(""), next()));
  image.addEventListener(
    "error",
    () => (trouble.show("This image cannot be drawn; try other values."), next()),
  );
  return draw;
}

function sheetShape(event, sheet, first) {
  const scale = sheet.naturalWidth / sheet.clientWidth;
  const place = (offset) =>
    Math.max(0, Math.min(SHEET.columns - 1, Math.floor((offset * scale - SHEET.margin) / SHEET.step)));
  return first + place(event.offsetY) * SHEET.columns + place(event.offsetX);
}
