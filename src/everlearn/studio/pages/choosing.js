// Which record's learner a page is about.

import { ask } from "./ask.js";
import { empty, fill, h } from "./dom.js";

/** Show a page about one of the records whose learners remember pictures, and a way to choose another. */
export async function aboutRecord(room, query, { page, title, words, body }) {
  fill(room, h("h1", {}, title), h("p", { role: "status" }, "Looking for learners that remember…"));
  const { records } = await ask("memory/records");
  const played = records.filter((record) => !record.error && record.tasks > 0);
  const head = [h("h1", {}, title), h("p", {}, words)];
  if (!played.length) return void fill(room, head, nothing());
  const wanted = query.get("record");
  const chosen = played.find((record) => record.record === wanted) ?? played[0];
  const go = (event) => (location.hash = `#/${page}?${new URLSearchParams({ record: event.target.value })}`);
  const name = ({ record, name, learner, tasks }) => `${name || record} (${learner}, ${tasks} tasks)`;
  const select = h(
    "select",
    { id: "record", onchange: go },
    played.map((record) => h("option", { value: record.record, selected: record === chosen }, name(record))),
  );
  const place = h("div", {});
  fill(room, head, h("div", { className: "bar" }, h("label", { htmlFor: "record" }, "Run"), select), place);
  return body(place, chosen.record);
}

function nothing() {
  return empty(
    "No learner with a memory yet",
    h(
      "p",
      {},
      "The pictures that a learner of the DCL family remembers appear here once it has played a task. Start one on the ",
      h("a", { href: "#/runs" }, "runs page"),
      ", or in a terminal:",
    ),
    h("pre", {}, "everlearn run --learner dcl --tasks 20"),
  );
}
