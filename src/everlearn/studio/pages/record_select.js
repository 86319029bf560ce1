// Pages about the learner of one record, with a menu to select the record.

import { get, isPhone } from "./api.js";
import { emptyState, fill, h } from "./dom.js";
import { noRecord } from "./introduction.js";

/** Shows a page about one of the records that the route `${route}/records` lists.

`page` is its name in the address, `empty` is shown if there are no records, `body(element, record)` fills it. */
export async function showRecordPage(content, query, { route, page, title, about, empty, body }) {
  fill(content, h("h1", {}, title), h("p", { role: "status" }, "Loading…"));
  const { records } = await get(`${route}/records`);
  const head = [h("h1", {}, title), h("p", {}, about)];
  if (!records.length) return void fill(content, head, empty);
  const selected = records.find(({ record }) => record === query.get("record")) ?? records[0];
  const label = ({ record, name, learner, n_tasks }) => `${name || record} (${learner}, ${n_tasks} tasks)`;
  const options = records.map((each) =>
    h("option", { value: each.record, selected: each === selected }, label(each)),
  );
  const onchange = (event) =>
    (location.hash = `#/${page}?${new URLSearchParams({ record: event.target.value })}`);
  const menu = h("select", { id: "record", onchange }, options);
  const element = h("div", {});
  fill(content, head, h("div", { className: "bar" }, h("label", { htmlFor: "record" }, "Run"), menu), element);
  return body(element, selected.record);
}

/** A page about a record whose learner has an exemplar memory. */
export const showMemoryPage = (content, query, page) =>
  showRecordPage(content, query, { route: "memory", empty: noMemory(), ...page });

const NO_MEMORY = "No learner with exemplars yet";

const noMemory = () =>
  isPhone
    ? emptyState(NO_MEMORY, h("p", {}, "Train DCL on the computer that runs the studio, then load this page again."))
    : noRecord(
        NO_MEMORY,
        "The exemplars of a DCL learner appear here after its first task.",
        "everlearn run --learner dcl --tasks 20",
        "dcl",
      );
