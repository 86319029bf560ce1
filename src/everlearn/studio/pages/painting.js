// A chart on its canvas: axes, lines, and what is read off them.

const MARGIN = { left: 56, right: 18, top: 8, bottom: 36 };
const LINES = 8;
const DASHES = [[], [6, 4], [2, 3], [7, 3, 2, 3]];
const MARKED = 40;

/** Draw a chart, and say in its label what is to be seen. */
export function paint(chart) {
  const { canvas } = chart;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const ratio = devicePixelRatio;
  if (!width) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio))
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  const pen = canvas.getContext("2d");
  const colour = palette(canvas);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const view = { x: chart.span ?? chart.whole(), width, height };
  view.y = heights(chart, view.x);
  axes(pen, view, colour, chart.words);
  for (const line of chart.lines.values())
    curve(pen, chart, line, view, colour(`line-${line.number % LINES}`));
  if (chart.brush) shade(pen, chart.brush, view, colour("ink"));
  const read = chart.cross === null ? null : cross(pen, chart, view, colour);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", described(chart, read));
}

/** How the line of a number is drawn: solid as long as there are colours left. */
export const dashes = (number) => DASHES[Math.floor(number / LINES) % DASHES.length];

/** How many tasks were learned at a place across the canvas. */
export function toValue(chart, offset) {
  const [low, high] = chart.span ?? chart.whole();
  const part = (offset - MARGIN.left) / (chart.canvas.clientWidth - MARGIN.left - MARGIN.right);
  return low + Math.max(0, Math.min(1, part)) * (high - low);
}

/** The colours that the page names, in the look that it has now; a canvas does not know light-dark(). */
function palette(canvas) {
  const style = getComputedStyle(canvas);
  const which = isDark() ? 2 : 1;
  return (role) => {
    const named = style.getPropertyValue(`--${role}`);
    const both = named.match(/light-dark\(([^,]+),\s*([^)]+)\)/);
    return both ? both[which] : named || "gray";
  };
}

/** Whether the page is dark now, by its own switch or by what the person's system says. */
export function isDark() {
  const scheme = getComputedStyle(document.documentElement).colorScheme;
  return (
    scheme === "dark" || (scheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches)
  );
}

function heights(chart, [from, to]) {
  let [low, high] = [Infinity, -Infinity];
  for (const line of chart.lines.values())
    for (const [x, y] of chart.shown(line))
      if (x >= from && x <= to) [low, high] = [Math.min(low, y), Math.max(high, y)];
  if (low > high) [low, high] = [0, 1];
  if (chart.zero) low = Math.min(0, low);
  if (chart.top !== undefined) high = Math.max(chart.top, high);
  if (low === high) high = low + (Math.abs(low) || 1);
  return [low, high + (chart.top === undefined ? (high - low) * 0.06 : 0)];
}

function axes(pen, view, colour, words) {
  pen.font = "11px system-ui, sans-serif";
  pen.lineWidth = 1;
  for (const y of ticks(...view.y, 4)) {
    const place = toY(view, y);
    pen.strokeStyle = colour("faint");
    line(pen, [MARGIN.left, place], [view.width - MARGIN.right, place]);
    pen.fillStyle = colour("quiet");
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(words(y), MARGIN.left - 6, place);
  }
  pen.textAlign = "center";
  pen.textBaseline = "top";
  const bottom = view.height - MARGIN.bottom;
  for (const x of ticks(...view.x, Math.max(2, Math.floor(view.width / 90))))
    pen.fillText(short(x), toX(view, x), bottom + 6);
  pen.fillText("tasks learned", (MARGIN.left + view.width - MARGIN.right) / 2, bottom + 22);
}

function curve(pen, chart, line, view, colour) {
  const [low, high] = view.x;
  const points = chart.shown(line);
  const first = Math.max(0, points.findIndex(([x]) => x >= low) - 1);
  const seen = points.slice(first).filter(([x], i, all) => x <= high || all[i - 1]?.[0] <= high);
  pen.save();
  pen.beginPath();
  pen.rect(MARGIN.left - 3, 0, view.width - MARGIN.left - MARGIN.right + 6, view.height);
  pen.clip();
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 1.7;
  pen.lineJoin = "round";
  pen.setLineDash(dashes(line.number));
  pen.beginPath();
  seen.forEach(([x, y], i) => {
    if (chart.steps && i) pen.lineTo(toX(view, x), toY(view, seen[i - 1][1]));
    pen.lineTo(toX(view, x), toY(view, y));
  });
  pen.stroke();
  if (seen.length < MARKED) for (const [x, y] of seen) dot(pen, toX(view, x), toY(view, y));
  pen.restore();
}

/** Mark what is nearest to the cross-hair on each line, and give it in words. */
function cross(pen, chart, view, colour) {
  const near = [...chart.lines.values()]
    .map((each) => ({ label: each.label, number: each.number, points: chart.shown(each) }))
    .filter(({ points }) => points.length)
    .map(({ points, ...each }) => ({ ...each, point: nearest(points, chart.cross) }));
  if (!near.length) return null;
  const x = near
    .map(({ point }) => point[0])
    .reduce((a, b) => (Math.abs(b - chart.cross) < Math.abs(a - chart.cross) ? b : a));
  pen.strokeStyle = colour("quiet");
  pen.setLineDash([3, 3]);
  line(pen, [toX(view, x), MARGIN.top], [toX(view, x), view.height - MARGIN.bottom]);
  pen.setLineDash([]);
  // A run that ended earlier has no value here; its last one is told with its own moment.
  const far = (view.x[1] - view.x[0]) / 20;
  const when = (at) => (Math.abs(at - x) > far ? ` (after ${short(at)})` : "");
  const rows = near.map(({ label, point: [at, y] }) => `${chart.words(y)}${when(at)}  ${label}`.trimEnd());
  const told = [`after ${short(x)} tasks`, ...rows];
  box(pen, told, near, toX(view, x), view, colour);
  for (const { point, number } of near) {
    pen.fillStyle = colour(`line-${number % LINES}`);
    if (point[0] >= view.x[0] && point[0] <= view.x[1])
      dot(pen, toX(view, point[0]), toY(view, point[1]), 3.5);
  }
  return told.join(", ");
}

function box(pen, rows, near, x, view, colour) {
  const widest = Math.max(...rows.map((row) => pen.measureText(row).width)) + 22;
  const wide = Math.min(view.width - 60, widest);
  const left = Math.max(0, x > view.width / 2 ? x - wide - 8 : x + 8);
  pen.fillStyle = colour("raised");
  pen.fillRect(left, MARGIN.top, wide, rows.length * 16 + 8);
  pen.textAlign = "left";
  pen.textBaseline = "top";
  rows.forEach((row, i) => {
    pen.fillStyle = i ? colour(`line-${near[i - 1].number % LINES}`) : colour("quiet");
    pen.fillText(row, left + 8, MARGIN.top + 6 + i * 16, wide - 14);
  });
}

function shade(pen, [from, to], view, colour) {
  pen.globalAlpha = 0.1;
  pen.fillStyle = colour;
  pen.fillRect(Math.min(from, to), MARGIN.top, Math.abs(to - from), view.height - MARGIN.top - MARGIN.bottom);
  pen.globalAlpha = 1;
}

function described({ title, lines, words }, read) {
  const last = [...lines.values()]
    .filter(({ points }) => points.length)
    .map(({ label, points }) => {
      const [x, y] = points.at(-1);
      return `${label ? `${label}: ` : ""}${words(y)} after ${short(x)} tasks`;
    });
  return `${title}. ${read ?? (last.join("; ") || "Nothing measured yet")}. Arrow keys read values, plus and minus zoom, Escape shows all.`;
}

/** Round numbers between two others. */
function ticks(low, high, about) {
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

/** A number in as few letters as will do, before a unit if there is one. */
export function short(value, unit = "") {
  const size = Math.abs(value);
  const [prefix, by] =
    size >= 1e9 ? ["G", 1e9] : size >= 1e6 ? ["M", 1e6] : size >= 1e4 ? ["k", 1e3] : ["", 1];
  return `${Number((value / by).toPrecision(3))} ${prefix}${unit}`.trimEnd();
}

const nearest = (points, x) => points.reduce((a, b) => (Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a));
const share = (value, [low, high]) => (value - low) / (high - low);
const toX = (view, x) => MARGIN.left + share(x, view.x) * (view.width - MARGIN.left - MARGIN.right);
const toY = (view, y) =>
  view.height - MARGIN.bottom - share(y, view.y) * (view.height - MARGIN.top - MARGIN.bottom);

function line(pen, from, to) {
  pen.beginPath();
  pen.moveTo(...from);
  pen.lineTo(...to);
  pen.stroke();
}

function dot(pen, x, y, radius = 2) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}
