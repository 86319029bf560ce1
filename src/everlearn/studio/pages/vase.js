// What a learner that dreams has found out: its environments, and how an image looks in each of them.

import { address, ask, tell } from "./ask.js";
import { Chart } from "./chart.js";
import { aboutRecord } from "./choosing.js";
import { complaints, empty, fill, h } from "./dom.js";
import { Pad, tools } from "./pad.js";

const whole = (value) => (Number.isInteger(value) ? String(value) : "");
const CHARTS = {
  environment: { title: "Environment it believed to be in", steps: true, words: whole },
  active_latents: { title: "Active latents", steps: true },
  capacity: { title: "Capacity, nats", steps: true },
  reconstruction: { title: "Error of what it draws, nats" },
};
const WALKED =
  "Each row moves one latent from low to high and keeps the others; what changes is what it stands for.";
const HEAD = ["Environment", "Batches", "Active latents", "Used latents", "Capacity", "NLL"];

export function show(room, query) {
  return aboutRecord(room, query, {
    about: "dreams",
    page: "vase",
    title: "VASE",
    words:
      "What a learner that dreams has found out about the world, one factor at a time, environment by environment. Nobody told it where it was.",
    nothing: nothing(),
    body: (place, record) => new VasePage(place, record).begin(),
  });
}

class VasePage {
  constructor(place, record) {
    Object.assign(this, { place, record, number: 0, environment: undefined });
    this.trouble = complaints();
    this.answer = h("div", { "aria-live": "polite" }, h("p", {}, "Take an image, draw one or upload one."));
  }

  async begin() {
    fill(this.place, h("p", { role: "status" }, "Opening the learner…"));
    const found = await ask("dreams", { record: this.record });
    this.pad = new Pad({ ground: found.ground, label: "The chosen image", changed: () => this.look() });
    this.stage = h(
      "select",
      { id: "stage", onchange: () => this.take() },
      found.stages.map((name, i) => h("option", { value: i }, `${i + 1}: ${name}`)),
    );
    fill(
      this.place,
      this.trouble.box,
      h("h2", {}, "Environments over time"),
      charts(found.points),
      overview(found),
      h("h2", {}, "An image in every environment"),
      h("div", { className: "side" }, this.chooser(), this.answer),
    );
    await this.take();
  }

  chooser() {
    return h(
      "div",
      {},
      this.pad.canvas,
      tools(this.pad, ["outline", "white", "black", "erase"], this.trouble.attempt),
      h(
        "div",
        { className: "bar" },
        h("label", { htmlFor: "stage" }, "Stage"),
        this.stage,
        h("button", { onclick: () => this.take() }, "Another image"),
      ),
    );
  }

  /** Put the next image of the chosen stage on the pad. */
  async take() {
    await this.trouble.attempt(async () => {
      const image = new Image();
      const query = { record: this.record, task: this.stage.value, number: this.number++ };
      image.src = address("dreams/sample.png", query);
      await image.decode();
      this.environment = undefined;
      this.pad.put(image);
    });
  }

  /** Ask what the learner makes of the image, as soon as the last question is answered. */
  async look() {
    if (!this.pad || this.pad.isBlank) return;
    this.isStale = this.isBusy;
    if (this.isBusy) return;
    this.isBusy = true;
    const query = { record: this.record, environment: this.environment };
    const found = await this.trouble.attempt(() => tell("dreams/imagine", query, this.pad.pixels()));
    this.isBusy = false;
    if (found) this.show(found);
    if (this.isStale) this.look();
  }

  show({ seen, again, chosen, walks }) {
    const hadFocus = this.answer.contains(document.activeElement);
    const choose = (environment) => ((this.environment = environment), this.look());
    const choices = again.map((each) => domain(each, each.environment === chosen, choose));
    const rows = walks.map((each) => walk(each));
    const none = h("p", {}, `Environment ${chosen} uses no latent yet; let the run play on.`);
    const shown = h("li", {}, h("img", { src: seen, alt: "What it was shown" }), "shown");
    fill(
      this.answer,
      h("ul", { className: "leading" }, shown, choices),
      h("h2", {}, `Traversals in environment ${chosen}`),
      h("p", {}, WALKED),
      rows.length ? h("ul", { className: "walks" }, rows) : none,
    );
    if (hadFocus) this.answer.querySelector("[aria-pressed=true]")?.focus();
  }
}

/** The image as one environment draws it; pressed, its traversals are shown. */
function domain({ environment, chance, image }, isChosen, choose) {
  const words = `Image drawn in environment ${environment}`;
  const act = { className: "bare", "aria-pressed": String(isChosen), onclick: () => choose(environment) };
  return h(
    "li",
    { className: isChosen ? "answer" : "" },
    h("button", act, h("img", { src: image, alt: words }), `environment ${environment}`),
    h("br", {}),
    `${Math.round(100 * chance)} % likely`,
  );
}

function walk({ latent, kl, images }) {
  const step = (source, i) => h("img", { src: source, alt: i ? "" : `Latent ${latent} from low to high` });
  const name = h("span", {}, `latent ${latent}`, h("small", {}, `${kl.toFixed(2)} nats`));
  return h("li", {}, name, h("div", {}, images.map(step)));
}

function charts(points) {
  const figure = ([name, options]) => {
    const canvas = h("canvas", { className: "chart", id: `chart-${name}` });
    const chart = new Chart(canvas, { zero: true, ...options });
    chart.set(name, { label: "", points: points[name], number: 0 });
    return h("figure", {}, h("figcaption", {}, options.title), canvas);
  };
  return h("div", { className: "figures" }, Object.entries(CHARTS).map(figure));
}

function overview({ environments, current }) {
  const cells = ({ number, batches, active_latents, used, capacity, nll }) => [
    `${number}${number === current ? " (present)" : ""}`,
    batches,
    active_latents,
    used.length,
    capacity.toFixed(1),
    nll.toFixed(1),
  ];
  const row = (each) => h("tr", {}, cells(each).map((cell) => h("td", {}, String(cell))));
  const head = h("tr", {}, HEAD.map((word) => h("th", { scope: "col" }, word)));
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, environments.map(row)));
  return h("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": "Environments" }, table);
}

function nothing() {
  return empty(
    "No record of VASE yet",
    h(
      "p",
      {},
      "Latent traversals, environments over time and reconstructions across environments appear here for records of the learner vase. Start one on the ",
      h("a", { href: "#/runs" }, "runs page"),
      ", or in a terminal:",
    ),
    h("pre", {}, "everlearn run --learner vase --stream environments --tasks 3"),
  );
}
