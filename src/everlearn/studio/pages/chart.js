// Curves on a canvas: several lines, a cross-hair, and zoom by dragging or by keys.

const MARGIN = { left: 46, right: 10, top: 8, bottom: 22 };
const LINES = 8;
const DASHES = [[], [6, 4], [2, 3], [7, 3, 2, 3]];

/** A figure whose lines are set with `set(name, points, number)`; it redraws at most once a frame. */
export class Chart {
  constructor(canvas, { title, words = short, zero = false, top = undefined }) {
    Object.assign(this, { canvas, title, words, zero, top });
    this.lines = new Map();
    this.span = null;
    this.cross = null;
    this.listen();
  }

  set(name, points, number) {
    this.lines.set(name, { points, number });
    this.draw();
  }

  drop(name) {
    this.lines.delete(name);
    this.draw();
  }

  draw() {
    this.canvas.dataset.points = [...this.lines.values()].reduce((sum, line) => sum + line.points.length, 0);
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      paint(this);
    });
  }

  zoom(span) {
    this.span = span;
    this.draw();
  }

  /** Everything across that there is to see: from before the first task to the last point. */
  whole() {
    const ends = [...this.lines.values()].map(({ points }) => points.at(-1)?.[0] ?? 0);
    return [0, Math.max(1, ...ends)];
  }

  listen() {
    let from = null;
    const at = (event) => toValue(this, event.offsetX);
    this.canvas.tabIndex = 0;
    this.canvas.addEventListener("pointerdown", (event) => {
      from = event.offsetX;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      this.cross = at(event);
      this.brush = from === null ? null : [from, event.offsetX];
      this.draw();
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (from !== null && Math.abs(event.offsetX - from) > 8)
        this.zoom([toValue(this, from), at(event)].sort((a, b) => a - b));
      from = this.brush = null;
    });
    this.canvas.addEventListener("pointerleave", () => ((this.cross = null), this.draw()));
    this.canvas.addEventListener("dblclick", () => this.zoom(null));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    addEventListener("look", () => this.draw());
  }

  key(event) {
    const [low, high] = this.span ?? this.whole();
    const step = (high - low) / 20;
    const middle = this.cross ?? (low + high) / 2;
    const acts = {
      ArrowLeft: () => (this.cross = Math.max(low, middle - step)),
      ArrowRight: () => (this.cross = Math.min(high, middle + step)),
      "+": () => (this.span = [middle - (high - low) / 4, middle + (high - low) / 4]),
      "-": () => (this.span = [middle - (high - low), middle + (high - low)]),
      Escape: () => (this.span = this.cross = null),
    };
    if (!(event.key in acts)) return;
    event.preventDefault();
    acts[event.key]();
    this.draw();
  }
}

function paint(chart) {
  const { canvas } = chart;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const ratio = devicePixelRatio;
  if (!width) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio))
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(canvas);
  const colour = (role) => resolved(style, role);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const view = { x: chart.span ?? chart.whole(), width, height };
  view.y = heights(chart, view.x);
  axes(pen, view, colour, chart.words);
  for (const { points, number } of chart.lines.values())
    curve(
      pen,
      points,
      view,
      colour(`line-${number % LINES}`),
      DASHES[Math.floor(number / LINES) % DASHES.length],
    );
  if (chart.brush) shade(pen, chart.brush, view, colour("ink"));
  const read = chart.cross === null ? null : cross(pen, chart, view, colour);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", described(chart, read));
}

/** A colour that the page names; a canvas does not know light-dark(). */
function resolved(style, role) {
  const both = style.getPropertyValue(`--${role}`).match(/light-dark\(([^,]+),\s*([^)]+)\)/);
  if (!both) return style.getPropertyValue(`--${role}`) || "gray";
  return style.colorScheme === "dark" ||
    (style.colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches)
    ? both[2]
    : both[1];
}

function heights(chart, [from, to]) {
  const ys = [...chart.lines.values()].flatMap(({ points }) =>
    points.filter(([x]) => x >= from && x <= to).map(([, y]) => y),
  );
  let low = ys.reduce((a, b) => Math.min(a, b), Infinity);
  let high = ys.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!ys.length) [low, high] = [0, 1];
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
  for (const x of ticks(...view.x, Math.max(2, Math.floor(view.width / 90))))
    pen.fillText(short(x), toX(view, x), view.height - MARGIN.bottom + 6);
}

function curve(pen, points, view, colour, dash) {
  const [low, high] = view.x;
  const first = Math.max(0, points.findIndex(([x]) => x >= low) - 1);
  const seen = points.slice(first).filter(([x], i, all) => x <= high || all[i - 1]?.[0] <= high);
  pen.save();
  pen.beginPath();
  pen.rect(MARGIN.left, 0, view.width - MARGIN.left - MARGIN.right, view.height);
  pen.clip();
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 1.7;
  pen.lineJoin = "round";
  pen.setLineDash(dash);
  pen.beginPath();
  for (const [x, y] of seen) pen.lineTo(toX(view, x), toY(view, y));
  pen.stroke();
  if (seen.length < 40) for (const [x, y] of seen) dot(pen, toX(view, x), toY(view, y));
  pen.restore();
}

function cross(pen, chart, view, colour) {
  const near = [...chart.lines]
    .filter(([, { points }]) => points.length)
    .map(([name, { points, number }]) => ({ name, number, point: nearest(points, chart.cross) }));
  if (!near.length) return null;
  const x = near
    .map(({ point }) => point[0])
    .reduce((a, b) => (Math.abs(b - chart.cross) < Math.abs(a - chart.cross) ? b : a));
  pen.strokeStyle = colour("quiet");
  pen.setLineDash([3, 3]);
  line(pen, [toX(view, x), MARGIN.top], [toX(view, x), view.height - MARGIN.bottom]);
  pen.setLineDash([]);
  const rows = [
    `after ${short(x)} tasks`,
    ...near.map(({ name, point }) => `${chart.words(point[1])}  ${name}`),
  ];
  const wide = Math.min(view.width - 60, Math.max(...rows.map((row) => pen.measureText(row).width)) + 22);
  const left = toX(view, x) > view.width / 2 ? toX(view, x) - wide - 8 : toX(view, x) + 8;
  pen.fillStyle = colour("raised");
  pen.fillRect(left, MARGIN.top, wide, rows.length * 16 + 8);
  pen.textAlign = "left";
  pen.textBaseline = "top";
  rows.forEach((row, i) => {
    pen.fillStyle = i ? colour(`line-${near[i - 1].number % LINES}`) : colour("quiet");
    pen.fillText(row, left + 8, MARGIN.top + 6 + i * 16, wide - 14);
  });
  for (const { point, number } of near) {
    pen.fillStyle = colour(`line-${number % LINES}`);
    if (point[0] >= view.x[0] && point[0] <= view.x[1])
      dot(pen, toX(view, point[0]), toY(view, point[1]), 3.5);
  }
  return rows.join(", ");
}

function shade(pen, [from, to], view, colour) {
  pen.globalAlpha = 0.1;
  pen.fillStyle = colour;
  pen.fillRect(Math.min(from, to), MARGIN.top, Math.abs(to - from), view.height - MARGIN.top - MARGIN.bottom);
  pen.globalAlpha = 1;
}

function described({ title, lines, words }, read) {
  const last = [...lines]
    .filter(([, { points }]) => points.length)
    .map(
      ([name, { points }]) => `${name}: ${words(points.at(-1)[1])} after ${short(points.at(-1)[0])} tasks`,
    );
  return `${title}. ${read ?? (last.join("; ") || "Nothing measured yet")}. Arrow keys read values, plus and minus zoom, Escape shows all.`;
}

/** Round numbers between two others. */
export function ticks(low, high, about) {
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

/** A number in as few letters as will do. */
export function short(value) {
  const size = Math.abs(value);
  const [unit, by] = size >= 1e9 ? ["G", 1e9] : size >= 1e6 ? ["M", 1e6] : size >= 1e4 ? ["k", 1e3] : ["", 1];
  return `${Number((value / by).toPrecision(3))}${unit ? ` ${unit}` : ""}`;
}

const nearest = (points, x) => points.reduce((a, b) => (Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a));
const share = (value, [low, high]) => (value - low) / (high - low);
const toX = (view, x) => MARGIN.left + share(x, view.x) * (view.width - MARGIN.left - MARGIN.right);
const toY = (view, y) =>
  view.height - MARGIN.bottom - share(y, view.y) * (view.height - MARGIN.top - MARGIN.bottom);

function toValue(chart, offset) {
  const [low, high] = chart.span ?? chart.whole();
  const part = (offset - MARGIN.left) / (chart.canvas.clientWidth - MARGIN.left - MARGIN.right);
  return low + Math.max(0, Math.min(1, part)) * (high - low);
}

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
