// Rendering of a chart on its canvas: axes, lines, cursor, and a text description.

const MARGIN = { left: 56, right: 18, top: 8, bottom: 36 };
const N_COLOURS = 8;
const DASHES = [[], [6, 4], [2, 3], [7, 3, 2, 3]];
const MAX_MARKERS = 40;
const HELP = "Arrow keys read values, plus and minus zoom, Escape resets.";

/** Renders a chart and describes it in its label. */
export function render(chart) {
  const { canvas } = chart;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!width) return;
  const context = canvas.getContext("2d");
  resize(canvas, context, width, height);
  context.clearRect(0, 0, width, height);
  const colour = palette(canvas);
  const view = { x: chart.range ?? chart.extent(), width, height, log: chart.log };
  view.y = yRange(chart, view.x);
  renderAxes(context, view, colour, chart);
  const lines = [...chart.lines.values()];
  for (const line of lines) renderBand(context, line, view, colour(lineRole(line)));
  for (const line of lines.filter(({ thin }) => thin)) renderLine(context, chart, line, view, colour(lineRole(line)));
  for (const line of lines.filter(({ thin }) => !thin)) renderLine(context, chart, line, view, colour(lineRole(line)));
  if (!lines.some((line) => chart.visible(line).length)) renderNote(context, view, colour("muted"));
  if (chart.selection) renderSelection(context, chart.selection, view, colour("foreground"));
  const reading = chart.cursor === null ? null : renderCursor(context, chart, view, colour);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", description(chart, reading));
}

/** The dash pattern of a line; solid until the colours repeat. */
export const dashes = (line) => DASHES[Math.floor(line / N_COLOURS) % DASHES.length];

/** The CSS variable of the colour of a line. */
export const lineRole = ({ line }) => `line-${line % N_COLOURS}`;

/** A horizontal position in pixels as a fraction of the width of the plot, from 0 to 1. */
export function toFraction({ canvas }, offset) {
  const fraction = (offset - MARGIN.left) / (canvas.clientWidth - MARGIN.left - MARGIN.right);
  return Math.max(0, Math.min(1, fraction));
}

/** The value of x at a horizontal position in pixels. */
export function toValue(chart, offset) {
  const [low, high] = chart.range ?? chart.extent();
  return low + toFraction(chart, offset) * (high - low);
}

/** A number in three digits with a metric prefix, and a unit. */
export function format(value, unit = "") {
  const size = Math.abs(value);
  if (size >= 1e15 || (size < 1e-3 && size > 0)) return `${value.toPrecision(2)} ${unit}`.trimEnd();
  const [prefix, scale] =
    size >= 1e12 ? ["T", 1e12] : size >= 1e9 ? ["G", 1e9] : size >= 1e6 ? ["M", 1e6] : size >= 1e4 ? ["k", 1e3] : ["", 1];
  return `${Number((value / scale).toPrecision(3))} ${prefix}${unit}`.trimEnd();
}

/** Whether the dark theme is active, by the theme switch or the system setting. */
export function isDark() {
  const scheme = getComputedStyle(document.documentElement).colorScheme;
  return (
    scheme === "dark" || (scheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches)
  );
}

function resize(canvas, context, width, height) {
  const ratio = devicePixelRatio;
  const size = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
  if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

/** The colours of the style sheet in the current theme; a canvas does not support light-dark(). */
function palette(canvas) {
  const style = getComputedStyle(canvas);
  const theme = isDark() ? 2 : 1;
  return (role) => {
    const value = style.getPropertyValue(`--${role}`);
    const pair = value.match(/light-dark\(([^,]+),\s*([^)]+)\)/);
    if (!pair) throw new Error(`the style sheet has no colour ${role}`);
    return pair[theme];
  };
}

function yRange(chart, [from, to]) {
  let [low, high] = [Infinity, -Infinity];
  const include = (x, least, most) => {
    if (x >= from && x <= to) [low, high] = [Math.min(low, least), Math.max(high, most)];
  };
  for (const line of chart.lines.values()) {
    for (const [x, y] of chart.visible(line)) include(x, y, y);
    for (const [x, least, most] of line.band) if (!chart.log || least > 0) include(x, least, most);
  }
  if (low > high) [low, high] = chart.log ? [0.1, 1] : [0, 1];
  if (chart.log) return low === high ? [low / 2, high * 2] : [low / 1.1, high * 1.1];
  if (chart.zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (chart.top !== undefined) high = Math.max(chart.top, high);
  if (low === high) high = low + (Math.abs(low) || 1);
  const space = (high - low) * 0.06;
  return [low < 0 ? low - space : low, high + (chart.top === undefined ? space : 0)];
}

function renderAxes(context, view, colour, { formatY, xTitle }) {
  context.font = "11px system-ui, sans-serif";
  context.lineWidth = 1;
  for (const y of view.log ? logTicks(...view.y) : ticks(...view.y, 4)) {
    const height = toY(view, y);
    context.strokeStyle = colour("faint");
    segment(context, [MARGIN.left, height], [view.width - MARGIN.right, height]);
    context.fillStyle = colour("muted");
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(formatY(y), MARGIN.left - 6, height);
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  const bottom = view.height - MARGIN.bottom;
  for (const x of ticks(...view.x, Math.max(2, Math.floor(view.width / 90))))
    context.fillText(format(x), toX(view, x), bottom + 6);
  context.fillText(xTitle, (MARGIN.left + view.width - MARGIN.right) / 2, bottom + 22);
}

function renderNote(context, view, colour) {
  Object.assign(context, { fillStyle: colour, textAlign: "center", textBaseline: "middle" });
  context.fillText("no data", (MARGIN.left + view.width) / 2, view.height / 2 - MARGIN.bottom / 2);
}

function clipToPlot(context, view) {
  context.beginPath();
  context.rect(MARGIN.left - 3, 0, view.width - MARGIN.left - MARGIN.right + 6, view.height - MARGIN.bottom + 3);
  context.clip();
}

function renderBand(context, { band }, view, colour) {
  const shown = view.log ? band.filter(([, low]) => low > 0) : band;
  if (shown.length < 2) return;
  context.save();
  clipToPlot(context, view);
  context.globalAlpha = 0.16;
  context.fillStyle = colour;
  context.beginPath();
  for (const [x, , high] of shown) context.lineTo(toX(view, x), toY(view, high));
  for (const [x, low] of shown.toReversed()) context.lineTo(toX(view, x), toY(view, low));
  context.fill();
  context.restore();
}

function renderLine(context, chart, line, view, colour) {
  const [low, high] = view.x;
  const points = chart.visible(line);
  const first = Math.max(0, points.findIndex(([x]) => x >= low) - 1);
  const inView = points.slice(first).filter(([x], i, all) => x <= high || all[i - 1]?.[0] <= high);
  context.save();
  clipToPlot(context, view);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = line.thin ? 1 : 1.9;
  context.globalAlpha = line.thin ? 0.5 : 1;
  context.lineJoin = "round";
  context.setLineDash(dashes(line.line));
  context.beginPath();
  inView.forEach(([x, y], i) => {
    if (chart.steps && i) context.lineTo(toX(view, x), toY(view, inView[i - 1][1]));
    context.lineTo(toX(view, x), toY(view, y));
  });
  context.stroke();
  if (inView.length < MAX_MARKERS && !line.thin) for (const [x, y] of inView) dot(context, toX(view, x), toY(view, y));
  context.restore();
}

/** Marks the point nearest to the cursor on each line; returns their values as text. */
function renderCursor(context, chart, view, colour) {
  const distance = ([x]) => Math.abs(x - chart.cursor);
  const nearest = (points) => points.reduce((a, b) => (distance(b) < distance(a) ? b : a));
  const readings = [...chart.lines.values()]
    .filter((line) => !line.thin && chart.visible(line).length)
    .map((line) => ({ ...line, point: nearest(chart.visible(line)) }));
  if (!readings.length) return null;
  const [x] = nearest(readings.map(({ point }) => point));
  context.strokeStyle = colour("muted");
  context.setLineDash([3, 3]);
  segment(context, [toX(view, x), MARGIN.top], [toX(view, x), view.height - MARGIN.bottom]);
  context.setLineDash([]);
  // The nearest point of a run that ended earlier is far from the cursor; its x is shown as well.
  const far = (view.x[1] - view.x[0]) / 20;
  const where = (at) => (Math.abs(at - x) > far ? ` (after ${format(at)})` : "");
  const values = readings.map((line) =>
    `${chart.formatY(line.point[1])}${between(chart, line)}${where(line.point[0])}  ${line.label}`.trimEnd(),
  );
  const rows = [`after ${format(x)} ${unit(chart)}`, ...values];
  const colours = ["muted", ...readings.map(lineRole)].map(colour);
  renderTooltip(context, rows, colours, toX(view, x), view, colour("surface"));
  for (const { point, line } of readings) {
    context.fillStyle = colour(lineRole({ line }));
    if (point[0] >= view.x[0] && point[0] <= view.x[1])
      dot(context, toX(view, point[0]), toY(view, point[1]), 3.5);
  }
  return rows.join(", ");
}

/** The band of a line at the point that is read. */
function between({ formatY }, { band, point }) {
  const found = band.find(([x]) => x === point[0]);
  return found ? ` (${formatY(found[1])} to ${formatY(found[2])})` : "";
}

const unit = ({ xTitle }) => xTitle.replace(" trained", "");

function renderTooltip(context, rows, colours, x, view, background) {
  const widest = Math.max(...rows.map((row) => context.measureText(row).width)) + 22;
  const width = Math.min(view.width - 60, widest);
  const left = Math.max(0, x > view.width / 2 ? x - width - 8 : x + 8);
  context.fillStyle = background;
  context.fillRect(left, MARGIN.top, width, rows.length * 16 + 8);
  context.textAlign = "left";
  context.textBaseline = "top";
  rows.forEach((row, i) => {
    context.fillStyle = colours[i];
    context.fillText(row, left + 8, MARGIN.top + 6 + i * 16, width - 14);
  });
}

function renderSelection(context, [from, to], view, colour) {
  context.globalAlpha = 0.1;
  context.fillStyle = colour;
  const height = view.height - MARGIN.top - MARGIN.bottom;
  context.fillRect(Math.min(from, to), MARGIN.top, Math.abs(to - from), height);
  context.globalAlpha = 1;
}

function description(chart, reading) {
  const { title, lines, formatY } = chart;
  const last = [...lines.values()]
    .filter(({ points, thin }) => points.length && !thin)
    .map(({ label, points }) => {
      const [x, y] = points.at(-1);
      return `${label ? `${label}: ` : ""}${formatY(y)} after ${format(x)} ${unit(chart)}`;
    });
  return `${title}. ${reading ?? (last.join("; ") || "No data yet")}. ${HELP}`;
}

/** Round numbers in an interval, about `n` of them. */
function ticks(low, high, n) {
  const raw = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

/** Powers of ten in an interval; with 2 and 5 times them if there are few. */
function logTicks(low, high) {
  const found = [];
  const isWide = high / low > 300;
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const factor of isWide ? [1] : [1, 2, 5]) found.push(factor * 10 ** power);
  return found.filter((value) => value >= low && value <= high);
}

const fraction = (value, [low, high]) => (value - low) / (high - low);
const toX = (view, x) => MARGIN.left + fraction(x, view.x) * (view.width - MARGIN.left - MARGIN.right);
function toY(view, y) {
  const height = view.log ? fraction(Math.log(y), view.y.map(Math.log)) : fraction(y, view.y);
  return view.height - MARGIN.bottom - height * (view.height - MARGIN.top - MARGIN.bottom);
}

function segment(context, from, to) {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

function dot(context, x, y, radius = 2) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
