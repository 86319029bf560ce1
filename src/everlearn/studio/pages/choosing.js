// Which record's learner a page is about.

import { ask } from "./ask.js";
import { empty, fill, h } from "./dom.js";

/** Show a page about one of the records that a route lists, and a way to choose another.

`about` is the route; `nothing` is what to show while there is no such record. */
export async function aboutRecord(room, query, { about, page, title, words, nothing, body }) {
  fill(room, h("h1", {}, title), h("p", { role: "status" }, "Looking for such learners…"));
  const { records } = await ask(`${about}/records`);
  const head = [h("h1", {}, title), h("p", {}, words)];
  if (!records.length) return void fill(room, head, nothing);
  const wanted = query.get("record");
  const chosen = records.find((record) => record.record === wanted) ?? records[0];
  const go = (event) => (location.hash = `#/${page}?${new URLSearchParams({ record: event.target.value })}`);
  const name = ({ record, name, learner, tasks }) => `${name || record} (${learner}, ${tasks} tasks)`;
  const select = h(
    "select",
    { id: "record", onchange: go },
    records.map((record) => h("option", { value: record.record, selected: record === chosen }, name(record))),
  );
  const place = h("div", {});
  fill(room, head, h("div", { className: "bar" }, h("label", { htmlFor: "record" }, "Run"), select), place);
  return body(place, chosen.record);
}

/** A page about a record whose learner remembers images. */
export const aboutMemory = (room, query, page) =>
  aboutRecord(room, query, { about: "memory", nothing: forgetful(), ...page });

function forgetful() {
  return empty(
    "No learner with a memory yet",
    h(
      "p",
      {},
      "The images that a learner of the DCL family remembers appear here once it has played a task and saved. Start one on the ",
      h("a", { href: "#/runs" }, "runs page"),
      ", or in a terminal:",
    ),
    h("pre", {}, "everlearn run --learner dcl --tasks 20"),
  );
}
