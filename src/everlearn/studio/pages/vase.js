// Traversals and dreams of generative learners, once there are records of one.

import { empty, fill, h } from "./dom.js";

export function show(room) {
  fill(
    room,
    h("h1", {}, "VASE"),
    h(
      "p",
      {},
      "What a learner that dreams has found out about the world: one factor at a time, environment by environment.",
    ),
    empty(
      "No record of VASE yet",
      h(
        "p",
        {},
        "This page shows latent traversals, environments over time and reconstructions across domains for records of the learner vase, which this version of everlearn does not have yet.",
      ),
      h("p", {}, "What it will live in can be seen already: environments that share factors."),
      h("pre", {}, "everlearn stream show --stream environments"),
      h("p", {}, h("a", { href: "#/runs" }, "Start a run"), " of another learner meanwhile."),
    ),
  );
}
