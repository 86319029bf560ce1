// The VASE page: inferred environments, reconstructions of an image in each, and latent traversals.

import { get, post, url } from "./api.js";
import { Chart } from "./chart.js";
import { digits, errorBox, fill, h, latest, menu, slider } from "./dom.js";
import { DRAWING_TOOLS, ImageCanvas, toolbar } from "./image_canvas.js";
import { noRecord } from "./introduction.js";
import { showRecordPage } from "./record_select.js";

const wholeNumber = (value) => (Number.isInteger(value) ? String(value) : "");
const CHARTS = {
  environment: { title: "Inferred environment", steps: true, formatY: wholeNumber },
  active_latents: { title: "Active latents", steps: true },
  capacity: { title: "Capacity", steps: true },
  reconstruction: { title: "Reconstruction error, with the entropy of the pixels", zero: false },
};
const COLUMNS = ["Environment", "Batches", "Active latents", "Used latents", "Capacity", "Reconstruction error"];
const ABOUT =
  "The environments that the learner has inferred without labels, the latents that each uses, and an image reconstructed in each.";
const ENVIRONMENTS = "The reconstruction error in tables and below images is that above the entropy of the pixels.";
const INFERRED =
  "How many test images of each task the learner assigns to each environment: one by one, by the smallest reconstruction error or by its classifier q(s | x), and all of them as one batch, as in training.";
const LATENTS =
  "KL divergence of each latent from the prior: how much of the image it encodes. A latent that several environments use is shared, one that a single environment uses is its own.";
const SELECTED =
  "The environment with the smallest reconstruction error is selected. The classifier q(s | x) has seen few batches after a short run and can be wrong.";
const TRAVERSALS = "Each row varies one latent from low to high and keeps the others fixed.";

export function show(content, query) {
  return showRecordPage(content, query, {
    route: "environments",
    page: "vase",
    title: "VASE",
    about: ABOUT,
    empty: noRecord(
      "No record of VASE yet",
      "Inferred environments, reconstructions and latent traversals appear here for records of the learner vase.",
      "everlearn run --learner vase --stream environments --tasks 3",
      "vase",
    ),
    body: (element, record) => new VasePage(element, record).begin(),
  });
}

class VasePage {
  constructor(element, record) {
    Object.assign(this, { element, record, index: 0, environment: undefined });
    this.errors = errorBox();
    const hint = h("p", {}, "Select an image, draw one or upload one.");
    this.answer = h("div", { "aria-live": "polite" }, hint);
    this.update = latest(() => this.reconstruct());
  }

  async begin() {
    fill(this.element, h("p", { role: "status" }, "Loading the learner…"));
    const model = await get("environments", { record: this.record });
    this.canvas = new ImageCanvas({
      background: model.background,
      label: "Image to reconstruct",
      onchange: () => this.update(),
    });
    const option = (name, i) => h("option", { value: i }, `${i + 1}: ${name}`);
    const latents = [...new Set(model.environments.flatMap(({ active }) => active))].sort((a, b) => a - b);
    const names = latents.map((latent) => [String(latent), `latent ${latent}`]);
    this.latent = menu("latent", "Change", [["", "no latent"], ...names], () => this.selectLatent());
    this.value = slider({
      name: "latent-value",
      label: "Value",
      min: -2.5,
      max: 2.5,
      step: 0.05,
      value: 0,
      format: digits(2),
      oninput: (value) => ((this.latentValue = value), this.update()),
    });
    this.value.hidden = true;
    this.task = h("select", { id: "task", onchange: () => this.loadImage() }, model.tasks.map(option));
    fill(
      this.element,
      this.errors.box,
      h("h2", {}, "Environments over training"),
      timeline(model),
      charts(model.curves),
      environmentTable(model),
      h("p", {}, ENVIRONMENTS),
      h("h2", {}, "Inferred environments"),
      h("p", {}, INFERRED),
      inferredTable(model),
      h("h2", {}, "Latents of each environment"),
      h("p", {}, LATENTS),
      sharedLatents(model),
      h("h2", {}, "Reconstruction in every environment"),
      h("p", {}, SELECTED),
      h("div", { className: "side" }, this.controls(), this.answer),
    );
    await this.loadImage();
  }

  controls() {
    return h(
      "div",
      {},
      this.canvas.element,
      toolbar(this.canvas, DRAWING_TOOLS, this.errors.attempt),
      h(
        "div",
        { className: "bar" },
        h("label", { htmlFor: "task" }, "Task"),
        this.task,
        h("button", { onclick: () => this.loadImage() }, "Next image"),
      ),
      h("div", { className: "bar" }, this.latent.element),
      this.value,
    );
  }

  /** Starts the traversal of the selected latent at its value for the image. */
  selectLatent() {
    this.latentValue = this.latents?.[Number(this.latent.value)] ?? 0;
    this.value.set(this.latentValue);
    this.value.hidden = !this.latent.value;
    this.update();
  }

  /** Shows the next test image of the selected task. */
  async loadImage() {
    await this.errors.attempt(async () => {
      const image = new Image();
      const query = { record: this.record, task: this.task.value, index: this.index++ };
      image.src = url("environments/image.png", query);
      await image.decode();
      this.environment = undefined;
      this.canvas.setImage(image);
    });
  }

  async reconstruct() {
    if (!this.canvas || this.canvas.isBlank) return;
    const isChanged = Boolean(this.latent.value);
    const change = isChanged ? { latent: this.latent.value, value: this.latentValue } : {};
    const query = { record: this.record, environment: this.environment, ...change };
    const pixels = this.canvas.pixels();
    const found = await this.errors.attempt(() => post("environments/reconstructions", query, pixels));
    if (!found) return;
    if (!isChanged) this.latents = found.latents;
    this.show(found);
  }

  show({ input, reconstructions, environment, traversals }) {
    const hadFocus = this.answer.contains(document.activeElement);
    const select = (index) => ((this.environment = index), this.update());
    const images = reconstructions.map((each) =>
      reconstruction(each, each.environment === environment, select),
    );
    const noLatents = h("p", {}, `Environment ${environment} uses no latents yet.`);
    fill(
      this.answer,
      h("ul", { className: "thumbnails" }, h("li", {}, h("img", { src: input, alt: "" }), "input"), images),
      h("h2", {}, `Latent traversals in environment ${environment}`),
      h("p", {}, TRAVERSALS),
      traversals.length ? h("ul", { className: "traversals" }, traversals.map(traversal)) : noLatents,
    );
    if (hadFocus) this.answer.querySelector("[aria-pressed=true]")?.focus();
  }
}

/** A reconstruction, as a button that selects its environment for the traversals. */
function reconstruction({ environment, probability, error, image }, isSelected, select) {
  const button = { className: "plain", "aria-pressed": String(isSelected), onclick: () => select(environment) };
  const alt = `Reconstruction in environment ${environment}`;
  return h(
    "li",
    { className: isSelected ? "selected" : "" },
    h("button", button, h("img", { src: image, alt }), `environment ${environment}`),
    h("small", {}, `error ${error.toFixed(1)}`),
    h("small", {}, `q(s | x) ${probability.toFixed(2)}`),
  );
}

function traversal({ latent, kl, images }) {
  const image = (src, i) => h("img", { src, alt: i ? "" : `Latent ${latent} from low to high` });
  const title = h("span", {}, `latent ${latent}`, h("small", {}, `KL ${kl.toFixed(2)}`));
  return h("li", {}, title, h("div", {}, images.map(image)));
}

/** Which task was trained and which environment was inferred, over the batches, in the colours of environments. */
function timeline({ tasks, changes, n_batches }) {
  const end = Math.max(1, n_batches, ...changes.map(([start]) => start));
  const truth = tasks.map((name, i) => ({ share: 1 / tasks.length, index: tasks.indexOf(name), name }));
  const starts = [[0, 0], ...changes];
  const inferred = starts.map(([start, index], i) => {
    const until = i + 1 < starts.length ? starts[i + 1][0] : end;
    return { share: (until - start) / end, index, name: `environment ${index}` };
  });
  const row = (title, parts) => {
    const label = `${title}: ${parts.map(({ name }) => name).join(", then ")}`;
    return [h("span", {}, title), h("div", { role: "img", "aria-label": label }, parts.map(segment))];
  };
  const rows = h("div", { className: "timeline" }, row("Trained on", truth), row("Inferred", inferred));
  return h("div", {}, rows, colourKey(tasks, changes));
}

/** The legend of the timeline. */
function colourKey(tasks, changes) {
  const n = Math.max(tasks.length, ...changes.map(([, index]) => index + 1));
  const item = (i) => {
    const task = tasks[i] && tasks.indexOf(tasks[i]) === i ? `${tasks[i]}, ` : "";
    const square = h("span", { className: "swatch" });
    square.style.background = `var(--line-${i % 8})`;
    return h("li", {}, square, `${task}environment ${i}`);
  };
  return h("ul", { className: "legend" }, Array.from({ length: n }, (_, i) => item(i)));
}

function segment({ share, index, name }) {
  const part = h("i", { title: name });
  part.style.width = `${100 * share}%`;
  part.style.background = `var(--line-${index % 8})`;
  return part;
}

/** How test images of each task are assigned to environments. */
function inferredTable({ environments, tasks, inferred }) {
  const names = environments.map(({ index }) => `environment ${index}`);
  const counts = (values) => values.map((count, i) => (count ? `${names[i]}: ${count}` : "")).filter(Boolean).join(", ");
  const rows = inferred.map(({ by_error, by_classifier, batch }, i) => [
    `${i + 1}: ${tasks[i]}`,
    counts(by_error),
    counts(by_classifier),
    names[batch] ?? "a new one",
  ]);
  return dataTable("inferred", "Inferred environments", ["Task", "By error", "By classifier", "As one batch"], rows);
}

/** Which latents each environment uses; a latent in several rows is shared. */
function sharedLatents({ environments }) {
  const all = [...new Set(environments.flatMap(({ used }) => used))].sort((a, b) => a - b);
  const count = (latent) => environments.filter(({ used }) => used.includes(latent)).length;
  const cell = ({ used, kl }) => (latent) => [
    kl[latent].toFixed(2),
    h("small", {}, used.includes(latent) ? (count(latent) > 1 ? "shared" : "own") : "not used"),
  ];
  const rows = environments.map((each) => [String(each.index), ...all.map(cell(each))]);
  return dataTable("latents", "Latents of each environment", ["Environment", ...all.map((i) => `latent ${i}`)], rows);
}

/** A table whose first column names the rows; it scrolls if it is wide. */
function dataTable(id, label, titles, rows) {
  const name = (i) => (i ? {} : { className: "name" });
  const head = titles.map((title, i) => h("th", { scope: "col", ...name(i) }, title));
  const cells = (row) => row.map((cell, i) => h(i ? "td" : "th", i ? {} : { scope: "row", ...name(i) }, cell));
  const body = rows.map((row) => h("tr", {}, cells(row)));
  const table = h("table", { id }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body));
  return h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": label }, table);
}

function charts(curves) {
  const figure = ([name, options]) => {
    const canvas = h("canvas", { className: "chart", id: `chart-${name}` });
    const chart = new Chart(canvas, { zero: true, ...options });
    chart.set(name, { label: "", points: curves[name], line: 0 });
    return h("figure", {}, h("figcaption", {}, options.title), canvas);
  };
  return h("div", { className: "figures" }, Object.entries(CHARTS).map(figure));
}

function environmentTable({ environments, current }) {
  const rows = environments.map(({ index, n_batches, n_active, n_used, capacity, error }) => [
    `${index}${index === current ? " (current)" : ""}`,
    ...[n_batches, n_active, n_used, capacity.toFixed(1), error.toFixed(1)].map(String),
  ]);
  return dataTable("environments", "Environments", COLUMNS, rows);
}
