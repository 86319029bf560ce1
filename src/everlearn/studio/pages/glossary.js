// The glossary: learners, metrics and terms, each in one line; or the settings of one learner or stream.

import { get } from "./api.js";
import { fill, h } from "./dom.js";

const TITLES = { terms: "Terms", learners: "Learners", metrics: "Metrics" };
const ABOUT = "Terms of these pages. Links lead to the publications, and to the settings of each learner.";

export async function show(content, query) {
  fill(content, h("h1", {}, "Glossary"), h("p", { role: "status" }, "Loading…"));
  const section = query.get("settings");
  fill(content, section ? await settingsPage(section, query.get("of") ?? "") : await glossaryPage());
  const wanted = query.get("term");
  const term = wanted && [...content.querySelectorAll("dt")].find((each) => each.textContent === wanted);
  if (!term) return;
  term.classList.add("wanted");
  term.scrollIntoView({ block: "center" });
}

async function glossaryPage() {
  const entries = await get("glossary");
  const sections = Object.entries(TITLES).map(([key, title]) => [h("h2", {}, title), list(entries[key], key)]);
  return [h("h1", {}, "Glossary"), h("p", {}, ABOUT), ...sections.flat()];
}

const list = (entries, key) =>
  h(
    "dl",
    {},
    entries.flatMap((entry) => [
      h("dt", {}, entry.name),
      h("dd", {}, entry.text, ". ", citation(entry), key === "learners" ? [" ", settingsLink("learner", entry.name)] : []),
    ]),
  );

const settingsLink = (section, name) =>
  h("a", { href: `#/glossary?${new URLSearchParams({ settings: section, of: name })}`, "aria-label": `Settings of ${name}` }, "Settings");

/** All settings of a learner, of a stream or of every run: meaning, default, range, and how a command sets them. */
async function settingsPage(section, name) {
  const form = await get(...(section === "run" ? ["runs/options"] : [`runs/${section}`, { name }]));
  const title = section === "run" ? "Settings of every run" : `Settings of ${name}`;
  const back = h("p", {}, h("a", { href: "#/glossary" }, "All terms"));
  const rows = form.fields.flatMap((field) => [h("dt", {}, field.key), h("dd", {}, settingText(field))]);
  return [h("h1", {}, title), h("p", {}, form.description ?? "", " ", citation(form)), back, h("dl", {}, rows)];
}

function settingText({ key, help, default: given, options, min, max }) {
  const value = given === null ? "none" : JSON.stringify(given);
  const values = options ? `one of ${options.join(", ")}` : "";
  const range = [min === undefined || min === null ? "" : `at least ${min}`, max === undefined || max === null ? "" : `at most ${max}`];
  const about = [`default ${value}`, values, ...range].filter(Boolean).join(", ");
  return [`${help}. `, h("small", {}, `${about}; `, h("code", {}, `--set ${key}=…`))];
}

/** The publication of a learner, as a link if there is one. */
export function citation({ reference, url }) {
  if (!reference) return "";
  return url ? h("a", { href: url, target: "_blank", rel: "noreferrer" }, reference) : reference;
}
