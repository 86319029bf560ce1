// The page of words: learners, metrics and terms, each in one line.

import { get } from "./api.js";
import { fill, h } from "./dom.js";

const TITLES = { terms: "Terms", learners: "Learners", metrics: "Metrics" };

export async function show(content, query) {
  fill(content, h("h1", {}, "Words"), h("p", { role: "status" }, "Loading…"));
  const words = await get("words");
  const sections = Object.entries(TITLES).map(([key, title]) => [h("h2", {}, title), list(words[key])]);
  const about = h("p", {}, "What the pages call things. Links lead to the publications.");
  fill(content, h("h1", {}, "Words"), about, sections.flat());
  const wanted = query.get("word");
  if (wanted) [...content.querySelectorAll("dt")].find((each) => each.textContent === wanted)?.scrollIntoView();
}

const list = (words) =>
  h(
    "dl",
    {},
    words.flatMap((word) => [h("dt", {}, word.name), h("dd", {}, word.text, ". ", citation(word))]),
  );

/** The publication of a learner, as a link if there is one. */
export function citation({ reference, url }) {
  if (!reference) return "";
  return url ? h("a", { href: url, target: "_blank", rel: "noreferrer" }, reference) : reference;
}
