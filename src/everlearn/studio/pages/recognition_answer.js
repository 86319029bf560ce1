// Shows an answer of a learner: the prediction, the alignment, and the candidates.

import { classTitle, degrees, h } from "./dom.js";

/** The elements of an answer; above the threshold of novelty the image is unknown. `action` follows the prediction. */
export function answerElements(result, threshold, action) {
  const { label, novelty, factors, input, normalised, candidates } = result;
  const isUnknown = novelty > threshold;
  const nearest = `, above ${threshold.toFixed(2)}; the nearest class is ${classTitle(result)}`;
  const bar = h("i", {});
  bar.style.width = `${Math.round(100 * novelty)}%`;
  const position = `(${factors.x.toFixed(2)}, ${factors.y.toFixed(2)})`;
  const pose = `angle ${degrees(factors.angle)}, scale ${factors.scale.toFixed(2)}, position ${position}`;
  const [best, second] = candidates;
  const comparison = (each, text) => [
    figure(`${text}: ${classTitle(each)}, in this pose`, each.aligned),
    figure(`Difference, residual ${each.residual.toFixed(1)}`, each.difference),
  ];
  return [
    h("p", { className: "prediction" }, isUnknown ? "Unknown" : classTitle(result)),
    action,
    h("p", {}, `Novelty ${novelty.toFixed(2)}${isUnknown ? nearest : ""}`),
    h("div", { className: `meter${isUnknown ? " unknown" : ""}`, "aria-hidden": "true" }, bar),
    h("p", {}, `Estimated pose: ${pose}.`),
    h(
      "div",
      { className: "comparison" },
      figure("Input", input),
      figure("After pose normalisation", normalised),
      comparison(best, "Best"),
      second ? comparison(second, "Runner-up") : null,
    ),
    h("h2", {}, "Best matching exemplars"),
    h(
      "ul",
      { className: "thumbnails" },
      candidates.map((each) => candidate(each, !isUnknown && each.label === label)),
    ),
  ];
}

export const figure = (caption, source) =>
  h(
    "figure",
    {},
    h("img", { className: "image pixels", src: source, alt: caption }),
    h("figcaption", {}, caption),
  );

function candidate({ label, name, residual, image }, isPrediction) {
  const title = classTitle({ label, name });
  return h(
    "li",
    { className: isPrediction ? "selected" : "" },
    h("img", { src: image, alt: `Exemplar of ${title}` }),
    title,
    h("br", {}),
    `residual ${residual.toFixed(1)}`,
  );
}
