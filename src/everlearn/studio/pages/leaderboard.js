// The leaderboard: score cards of all learners in one table, sorted by any column.

import { get } from "./api.js";
import { emptyState, fill, h } from "./dom.js";

const ABOUT =
  "Every learner in the same suite of runs. A heading sorts by its column, best first; a second click reverses the order.";
const COMMAND = "everlearn benchmark --learner er";

export async function show(content) {
  const title = h("h1", {}, "Leaderboard");
  fill(content, title, h("p", { role: "status" }, "Loading…"));
  const board = await get("leaderboard");
  const sizes = Object.keys(board.columns);
  if (!sizes.length) return void fill(content, title, noCards());
  const state = { size: sizes.at(-1), key: "long", reversed: false };
  const table = h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Score cards" });
  const draw = () => fill(table, tableOf(board, state, draw));
  const choice = h(
    "select",
    { id: "size", onchange: (event) => (Object.assign(state, { size: event.target.value }), draw()) },
    sizes.map((size) => h("option", { value: size, selected: size === state.size }, size)),
  );
  fill(content, title, h("p", {}, ABOUT), h("p", {}, h("label", { htmlFor: "size" }, "Size "), choice), table, h("p", {}, board.legend, "."));
  draw();
}

const noCards = () =>
  emptyState("There are no score cards yet", h("p", {}, "Make one with ", h("code", {}, COMMAND), "; it is then shown here."));

function tableOf(board, state, draw) {
  const columns = board.columns[state.size];
  const cards = sorted(board.cards.filter((card) => card.size === state.size), columns, state);
  const head = [heading({ key: "name", heading: "learner", meaning: "the learner and its settings" }, state, draw)];
  head.push(h("th", { scope: "col" }, "seeds"), ...columns.map((column) => heading(column, state, draw)));
  const rows = cards.map((card) => h("tr", {}, h("th", { scope: "row", className: "name", title: card.supervision }, card.name), h("td", {}, card.seeds), columns.map((column) => cell(card, column))));
  return h("table", { id: "leaderboard" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
}

function heading(column, state, draw) {
  const isSorted = state.key === column.key;
  const order = isDescending(column) === state.reversed ? "ascending" : "descending";
  const sort = () => {
    Object.assign(state, { key: column.key, reversed: isSorted && !state.reversed });
    draw();
    document.querySelector("#leaderboard th[aria-sort] button").focus();
  };
  const button = h("button", { type: "button", title: column.meaning, onclick: sort }, column.heading);
  return h("th", { scope: "col", className: column.key === "name" ? "name" : "", "aria-sort": isSorted ? order : undefined }, button);
}

function cell(card, { key }) {
  const score = card.scores[key];
  return h("td", { title: score?.reason ?? "" }, score?.text ?? "not run");
}

/** Whether large values come first. */
const isDescending = (column) => column.key !== "name" && !column.is_cost;

/** Best first; cards without a value stay at the end. */
function sorted(cards, columns, { key, reversed }) {
  const column = columns.find((each) => each.key === key) ?? { key: "name" };
  const valueOf = (card) => (column.key === "name" ? card.name : card.scores[key]?.value) ?? null;
  const sign = (isDescending(column) ? -1 : 1) * (reversed ? -1 : 1);
  const compare = (a, b) => (a < b ? -sign : a > b ? sign : 0);
  const known = cards.filter((card) => valueOf(card) !== null);
  return [...known.sort((a, b) => compare(valueOf(a), valueOf(b))), ...cards.filter((card) => valueOf(card) === null)];
}
