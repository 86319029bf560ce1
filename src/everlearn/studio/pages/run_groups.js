// Runs by learner: the axis of x, the mean and the range over seeds, and differences.

const N_COLOURS = 8;
const MAX_MEAN_POINTS = 400;

/** The quantities of the x axis, each with its curve of totals over tasks. */
export const AXES = {
  tasks: { title: "tasks trained" },
  images: { title: "images", curve: "images" },
  flops: { title: "FLOPs", curve: "flops" },
  seconds: { title: "seconds", curve: "total_seconds" },
};

/** The value of a curve at x by linear interpolation; undefined outside. */
export function interpolate(points, x) {
  if (!points.length || x < points[0][0] || x > points.at(-1)[0]) return undefined;
  let [low, high] = [0, points.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= x) low = middle;
    else high = middle;
  }
  const [[x0, y0], [x1, y1]] = [points[low], points[high]];
  return x1 === x0 ? y1 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

/** The name of the curve of totals of an axis; undefined for tasks. */
export const totalsCurve = (axis) => AXES[axis].curve;

/** The totals from which x is read for an axis; undefined for tasks. */
export const totals = (axis, curves) =>
  totalsCurve(axis) ? [[0, 0], ...(curves[totalsCurve(axis)] ?? [])] : undefined;

/** A curve or a band over another axis; points of a task that has not ended are left out. */
export function along(axis, curves, points) {
  const measured = totals(axis, curves);
  if (!measured) return points;
  return points.map(([x, ...y]) => [interpolate(measured, x), ...y]).filter(([x]) => x !== undefined);
}

/** The mean of curves, and the points [x, lowest, highest], where all of them are defined. */
export function meanAndBand(curves) {
  if (curves.length === 1 || curves.some((points) => !points.length)) return { points: curves[0], band: [] };
  const step = Math.ceil(curves[0].length / MAX_MEAN_POINTS);
  const points = [];
  const band = [];
  for (const x of curves[0].filter((_, i) => i % step === 0).map(([x]) => x)) {
    const values = curves.map((each) => interpolate(each, x));
    if (values.includes(undefined)) continue;
    points.push([x, values.reduce((sum, y) => sum + y, 0) / values.length]);
    band.push([x, Math.min(...values), Math.max(...values)]);
  }
  return { points, band };
}

/** A curve, or the points of a band, minus a curve. */
export function minus(points, baseline) {
  return points
    .map(([x, ...values]) => [x, interpolate(baseline, x), values])
    .filter(([, base]) => base !== undefined)
    .map(([x, base, values]) => [x, ...values.map((y) => y - base)]);
}

/** Groups of plotted runs. Learners differ in colour, settings of one learner in the dash pattern. */
export class RunGroups {
  constructor() {
    this.colours = new Map();
  }

  /** The groups of summaries of runs, each with a key, a label, a line number and its records.

  Without `isGrouped`, each run is a group of its own. */
  of(summaries, isGrouped) {
    const groups = new Map();
    for (const { record, name, learner, group } of summaries) {
      const key = isGrouped ? (group ?? record) : record;
      if (!groups.has(key)) groups.set(key, { key, learner, label: isGrouped ? learner : name || record, records: [] });
      groups.get(key).records.push(record);
      if (groups.get(key).records.length === 1) groups.get(key).title = name || record;
    }
    const all = [...groups.values()];
    this.assignColours(new Set(all.map((each) => (isGrouped ? each.learner : each.key))));
    const variants = new Map();
    for (const each of all) {
      const owner = isGrouped ? each.learner : each.key;
      const variant = variants.get(owner) ?? 0;
      variants.set(owner, variant + 1);
      const colour = this.colours.get(owner);
      each.line = (colour % N_COLOURS) + N_COLOURS * (variant + Math.floor(colour / N_COLOURS));
      if (isGrouped && all.some((other) => other !== each && other.learner === each.learner))
        each.label = `${each.learner}: ${each.title}`;
    }
    return all;
  }

  /** Each owner keeps its colour while it is plotted; a new one gets the lowest free one. */
  assignColours(owners) {
    for (const owner of this.colours.keys()) if (!owners.has(owner)) this.colours.delete(owner);
    for (const owner of owners) {
      if (this.colours.has(owner)) continue;
      const used = new Set(this.colours.values());
      let colour = 0;
      while (used.has(colour)) colour++;
      this.colours.set(owner, colour);
    }
  }
}
