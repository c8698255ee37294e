// Charts as SVG: no library, no state. Each has a text that says what it shows.

const NAMES = ["a", "b", "c", "d", "e"];
export const colour = (at) => `var(--${NAMES[at % NAMES.length]})`;
export const escape = (text) => String(text).replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);

const digits = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
/** A time for people. */
export function time(ns) {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return "–";
  const [by, unit] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  return `${digits(ns / by)} ${unit}`;
}
/** A count for people. */
export function amount(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const [by, unit] = value >= 1e6 ? [1e6, "M"] : value >= 1e4 ? [1e3, "k"] : [1, ""];
  return `${digits(value / by)}${unit}`;
}

const frame = (width, height, about, inside) =>
  `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(about)}"><title>${escape(about)}</title>${inside}</svg>`;

/** Ticks of a scale from `low` to `high`: about so many. */
export function ticks(low, high, about = 5) {
  const raw = (high - low) / about, power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((of) => of * power).find((of) => of >= raw) ?? power;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}
const decades = (low, high) => {
  const found = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); 10 ** power <= high * (1 + 1e-9); power++) found.push(10 ** power);
  return found.length > 1 ? found : [low, high];
};

/**
 * Lines. `x` and `y` are { log, from, to, ticks, text, label }; `lines` are { points, at (its colour), dash, band, dots }; `marks` are vertical or horizontal.
 */
export function plot({ width = 520, height = 270, about, x, y, lines, marks = [] }) {
  const left = 52, right = 12, top = 12, bottom = 38;
  const scale = (axis, low, high) => {
    const of = axis.log ? Math.log10 : (value) => value;
    const [from, to] = [of(axis.from), of(axis.to)];
    return (value) => low + ((of(value) - from) / (to - from || 1)) * (high - low);
  };
  const px = scale(x, left, width - right), py = scale(y, height - bottom, top);
  const within = (axis) => (at) => at >= Math.min(axis.from, axis.to) * (axis.log ? 0.999 : 1) - 1e-9 && at <= Math.max(axis.from, axis.to) * (axis.log ? 1.001 : 1) + 1e-9;
  const of = (axis) => (axis.ticks ?? (axis.log ? decades(axis.from, axis.to) : ticks(axis.from, axis.to))).filter(within(axis));
  let inside = "";
  for (const at of of(x)) inside += `<line class="grid" x1="${px(at)}" x2="${px(at)}" y1="${top}" y2="${height - bottom}"/><text x="${px(at)}" y="${height - bottom + 14}" text-anchor="middle">${escape(x.text ? x.text(at) : at)}</text>`;
  for (const at of of(y)) inside += `<line class="grid" x1="${left}" x2="${width - right}" y1="${py(at)}" y2="${py(at)}"/><text x="${left - 5}" y="${py(at) + 4}" text-anchor="end">${escape(y.text ? y.text(at) : at)}</text>`;
  inside += `<line class="axis" x1="${left}" x2="${width - right}" y1="${height - bottom}" y2="${height - bottom}"/>`;
  if (x.label) inside += `<text x="${(left + width - right) / 2}" y="${height - 6}" text-anchor="middle">${escape(x.label)}</text>`;
  if (y.label) inside += `<text x="12" y="${(top + height - bottom) / 2}" text-anchor="middle" transform="rotate(-90 12 ${(top + height - bottom) / 2})">${escape(y.label)}</text>`;
  for (const mark of marks) {
    const at = mark.x !== undefined ? `x1="${px(mark.x)}" x2="${px(mark.x)}" y1="${top}" y2="${height - bottom}"` : `x1="${left}" x2="${width - right}" y1="${py(mark.y)}" y2="${py(mark.y)}"`;
    inside += `<line ${at} stroke="${mark.colour ?? "var(--dim)"}" stroke-dasharray="${mark.dash ?? "5 3"}" stroke-width="${mark.thick ?? 1.3}"/>`;
    if (mark.text) inside += mark.x !== undefined
      ? `<text x="${px(mark.x) + 4}" y="${top + 10}">${escape(mark.text)}</text>` : `<text x="${width - right - 4}" y="${py(mark.y) - 4}" text-anchor="end">${escape(mark.text)}</text>`;
  }
  const clamp = (value, [low, high]) => Math.min(high, Math.max(low, value));
  const place = ([a, b]) => `${px(a).toFixed(1)},${clamp(py(b), [top - 4, height - bottom]).toFixed(1)}`;
  for (const line of lines) {
    const points = line.points.filter(([a, b]) => Number.isFinite(px(a)) && Number.isFinite(py(b)));
    if (!points.length) continue;
    const stroke = line.colour ?? colour(line.at ?? 0);
    if (line.band) {
      const edge = [...line.band.map(([a, low]) => place([a, low])), ...[...line.band].reverse().map(([a, , high]) => place([a, high]))];
      inside += `<polygon points="${edge.join(" ")}" fill="${stroke}" opacity=".15"/>`;
    }
    inside += `<polyline points="${points.map(place).join(" ")}" fill="${line.fill ?? "none"}" fill-opacity=".12" stroke="${stroke}" stroke-width="${line.thick ?? 2}" stroke-linejoin="round"${line.dash ? ` stroke-dasharray="${line.dash}"` : ""}/>`;
    if (line.dots) for (const point of points) inside += `<circle cx="${place(point).split(",")[0]}" cy="${place(point).split(",")[1]}" r="3" fill="${stroke}"/>`;
  }
  return frame(width, height, about, inside);
}

/** Bars of stretches: rows of { name, parts: [{ colour, value, text }], note }, all on one scale. */
export function stacked({ width = 520, about, rows, text, most = Math.max(...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0)), 1e-9) }) {
  const left = 96, right = 64, high = 22, gap = 8;
  const height = rows.length * (high + gap) + 4;
  let inside = "";
  rows.forEach((row, number) => {
    const y = number * (high + gap);
    let at = left;
    inside += `<text class="strong" x="${left - 8}" y="${y + 15}" text-anchor="end"${row.colour ? ` style="fill:${row.colour}"` : ""}>${escape(row.name)}</text>`;
    for (const part of row.parts) {
      const long = (part.value / most) * (width - left - right);
      if (long > 0) inside += `<rect x="${at.toFixed(1)}" y="${y}" width="${Math.max(0.4, long).toFixed(1)}" height="${high}" fill="${part.colour}"><title>${escape(part.text)}</title></rect>`;
      at += long;
    }
    inside += `<text x="${at + 6}" y="${y + 15}">${escape(row.note ?? text(row.parts.reduce((sum, part) => sum + part.value, 0)))}</text>`;
  });
  return frame(width, height, about, inside);
}

/** A legend of colours. */
export const legend = (entries) => `<ul class="legend">${entries.map(([name, of]) => `<li><i style="background:${of}"></i>${escape(name)}</li>`).join("")}</ul>`;

/** Lanes over time: { name, slices: [{ from, to, colour, text, faint }] }, on one scale from 0 to `to`. */
export function lanes({ width = 1080, about, to, rows, text }) {
  const left = 128, right = 8, high = 22, gap = 5, bottom = 20;
  const height = rows.length * (high + gap) + bottom;
  const px = (at) => left + (Math.min(to, Math.max(0, at)) / to) * (width - left - right);
  let inside = "";
  for (const at of ticks(0, to, 8)) inside += `<line class="grid" x1="${px(at)}" x2="${px(at)}" y1="0" y2="${height - bottom}"/><text x="${px(at)}" y="${height - 6}" text-anchor="middle">${escape(text(at))}</text>`;
  rows.forEach((row, number) => {
    const y = number * (high + gap);
    inside += `<text class="strong" x="${left - 8}" y="${y + 15}" text-anchor="end">${escape(row.name)}</text><line class="axis" x1="${left}" x2="${width - right}" y1="${y + high}" y2="${y + high}"/>`;
    for (const slice of row.slices) {
      const [from, end] = [px(slice.from), px(slice.to)];
      if (end - from <= 0) continue;
      inside += `<rect x="${from.toFixed(1)}" y="${y + (slice.faint ? 5 : 0)}" width="${Math.max(0.8, end - from - 0.5).toFixed(1)}" height="${slice.faint ? high - 10 : high}" rx="2" fill="${slice.colour}"${slice.faint ? ' opacity=".55"' : ""}><title>${escape(slice.text)}</title></rect>`;
      if (!slice.faint && slice.short && end - from > 7 * slice.short.length) inside += `<text x="${((from + end) / 2).toFixed(1)}" y="${y + 15}" text-anchor="middle" style="fill:var(--paper);pointer-events:none">${escape(slice.short)}</text>`;
    }
  });
  return frame(width, height, about, inside);
}
