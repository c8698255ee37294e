// What is found out, drawn.

import { amount, colour, escape, lanes, legend, plot, stacked, time } from "./charts.js";

const $ = (id) => document.getElementById(id);
const WHICH = ["a", "b"];
/** A chart is as wide as its place, so that its words stay as large as others. */
const width = (id, most = 1080) => Math.max(280, Math.min(most, $(id).clientWidth || 520));
const reads = (found) => found.result.host.read;

/** The names of both schemes, as they are shown. */
const nameOf = (state, which) => (which === "a" ? state.scheme : state.versus) || "the drive's own";

/** Numbers of both runs, side by side. */
export function numbers(state, runs) {
  const rows = [
    ["reads: mean", (r) => reads(r)?.latency_ns?.mean, time], ["p50", (r) => reads(r)?.latency_ns?.p50, time],
    ["p99", (r) => reads(r)?.latency_ns?.p99, time], ["p99.9", (r) => reads(r)?.latency_ns?.p99_9, time],
    ["longest", (r) => reads(r)?.latency_ns?.max, time], ["writes: mean", (r) => r.result.host.write?.latency_ns?.mean, time],
    ["requests/s", (r) => r.result.host.all?.iops, amount], ["MB/s", (r) => r.result.host.all?.bandwidth_mb_s, amount],
    ["retry steps of a flash read", (r) => r.result.flash.retry.steps.mean, (v) => (v ?? 0).toFixed(2)],
    ["write amplification (WAF)", (r) => r.result.ftl.waf, (v) => (v === null || v === undefined ? "–" : v.toFixed(2))],
  ];
  const there = WHICH.filter((which) => runs[which]);
  const head = there.map((which) => `<th scope="col" class="key-${which}">${escape(nameOf(state, which))}</th>`).join("");
  const both = there.length === 2;
  const body = rows.map(([name, of, text]) => {
    const values = there.map((which) => of(runs[which]));
    const ratio = both && values[0] > 0 && Number.isFinite(values[1]) ? `${values[1] <= values[0] ? "−" : "+"}${Math.abs(100 * (values[1] / values[0] - 1)).toFixed(0)} %` : "";
    return `<tr><th scope="row">${name}</th>${values.map((value) => `<td data-value="${value ?? ""}">${text(value)}</td>`).join("")}${both ? `<td>${ratio}</td>` : ""}</tr>`;
  }).join("");
  const short = there.map((which) => runs[which].stopped).find(Boolean);
  const until = short === "time" ? "A run was stopped after a minute, which is what the page gives it: its numbers are of the requests until then."
    : short === "requests" ? "A run was stopped at 200,000 requests, which is what the page gives it: its numbers are of the requests until then." : "";
  const ended = there.map((which) => runs[which].ended).find(Boolean);
  const notes = [until, ended].filter(Boolean).map((note) => `<p class="refused">${escape(note)}</p>`).join("");
  $("numbers").innerHTML = `<div class="scroll"><table><thead><tr><td></td>${head}${both ? '<th scope="col">change</th>' : ""}</tr></thead><tbody>${body}</tbody></table></div>${notes}`;
  $("numbers").classList.toggle("fresh", there.some((which) => runs[which].preview));
}

export function warnings(runs) {
  const seen = new Map();
  for (const which of WHICH) for (const warning of runs[which]?.result.warnings ?? []) if (!seen.has(warning.id)) seen.set(warning.id, warning);
  const preview = WHICH.some((which) => runs[which]?.preview);
  const list = $("warnings");
  list.hidden = preview || !seen.size;
  list.innerHTML = [...seen.values()].map(({ id, text, remedy }) => `<li><b>${escape(id)}</b> ${escape(text)} <span class="dim">(${escape(remedy)})</span></li>`).join("");
}

/** Shares of reads by nines. */
export function cdf(state, runs) {
  const nines = (share) => -Math.log10(Math.max(1 - share, 1e-6));
  const there = WHICH.filter((which) => runs[which]?.reads.length);
  if (!there.length) { $("cdf").innerHTML = '<p class="dim">No reads.</p>'; return; }
  const counts = there.map((which) => reads(runs[which]).requests);
  const most = Math.min(5, Math.max(1, Math.floor(Math.log10(Math.max(...counts)))));
  const lines = there.map((which) => {
    const points = [];
    let before = 0;
    for (const [ns, share] of runs[which].reads) { points.push([ns, Math.min(nines(before), most)], [ns, Math.min(nines(share), most)]); before = share; }
    return { points, at: WHICH.indexOf(which) };
  });
  const all = there.flatMap((which) => runs[which].reads.map(([ns]) => ns)).filter((ns) => ns > 0);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const marks = [0, nines(0.5), 1, 2, 3, 4, 5].filter((at) => at <= most);
  const inWords = there.map((which) => `${nameOf(state, which)}: p99 ${time(reads(runs[which]).latency_ns.p99)}`).join("; ");
  const grid = [1, 2, 5].flatMap((by) => [3, 4, 5, 6, 7, 8, 9].map((power) => by * 10 ** power)).sort((a, b) => a - b).filter((at) => at >= low * 0.8 && at <= high * 1.2);
  $("cdf").innerHTML = plot({
    width: width("cdf"),
    about: `Distribution of read latency. ${inWords}`, lines,
    x: { log: true, from: low * 0.8, to: high * 1.2, text: time, label: "read latency", ticks: grid.length > 6 ? grid.filter((_, at) => at % Math.ceil(grid.length / 6) === 0) : grid },
    y: { from: 0, to: most, ticks: marks, text: (at) => (at === 0 ? "0" : at < 1 ? "50 %" : `${(100 * (1 - 10 ** -at)).toFixed(Math.max(0, at - 2))} %`) },
  }) + legend(there.map((which) => [nameOf(state, which), colour(WHICH.indexOf(which))]));
}

/** Stages of a read, put together as they are drawn. */
const GROUPS = [
  ["host, firmware, map", "var(--host)", ["host queue", "firmware", "map"]], ["waiting for the die", "var(--die)", ["die"]],
  ["first sense", "var(--sense)", ["sense", "command"]], ["retry senses", "var(--retry)", []], ["waiting for bus and engine", "var(--bus)", ["bus", "ecc"]],
  ["transfer", "var(--transfer)", ["transfer"]], ["decoding", "var(--decode)", ["decode"]], ["to the host", "var(--send)", ["send"]],
];
const groupOf = (stage) => (stage.step > 0 && (stage.what === "sense" || stage.what === "command") ? 3 : Math.max(0, GROUPS.findIndex(([, , whats]) => whats.includes(stage.what))));

/** Mean time of reads by group [ns]. */
export function spent(explained) {
  const sums = GROUPS.map(() => 0);
  for (const of of explained) for (const stage of of.stages) sums[groupOf(stage)] += stage.to_ns - stage.from_ns;
  return sums.map((sum) => sum / Math.max(1, explained.length));
}

export function bars(state, runs) {
  const there = WHICH.filter((which) => runs[which]?.explained);
  if (!there.length) return;
  const latency = (of) => of.finish_ns - of.arrival_ns;
  const rows = (what, pick) => there.map((which) => {
    const found = spent(pick(runs[which].explained.filter((of) => of.op === "read")));
    return { name: `${what}`, colour: colour(WHICH.indexOf(which)), parts: found.map((value, at) => ({ value, colour: GROUPS[at][1], text: `${GROUPS[at][0]}: ${time(value)}` })) };
  });
  // The sample is every so-manyth request; the rest are the slowest.
  const sampled = (of) => of.filter((one) => runs.numbers.has(one.request));
  const slowest = (of) => [...of].sort((a, b) => latency(b) - latency(a)).slice(0, 20);
  const parts = [rows("typical", sampled), rows("slowest", slowest)];
  $("bars").innerHTML = parts.map((some, at) => stacked({
    about: `Where the time of ${at ? "the slowest" : "sampled"} reads went. ${some.map((row) => row.parts.filter((part) => part.value > 0).map((part) => part.text).join(", ")).join("; ")}`, rows: some, text: time, width: width("bars"),
  })).join("") + legend(GROUPS.map(([name, of]) => [name, of])) + (there.length > 1 ? `<p class="dim">First ${escape(nameOf(state, "a"))}, then ${escape(nameOf(state, "b"))}.</p>` : "");
}

export function curve(state, points) {
  const there = WHICH.filter((which) => points[which]?.length);
  if (!there.length) { $("curve").innerHTML = '<p class="dim">Runs at 1, 2, 4 … 128 requests under way follow.</p>'; return; }
  const all = there.flatMap((which) => points[which]).filter((point) => point.latency_ns);
  if (!all.length) { $("curve").innerHTML = '<p class="dim">No reads.</p>'; return; }
  const high = Math.max(...all.map((point) => point.iops)), slow = all.map((point) => point.latency_ns);
  const [low, top] = [Math.min(...slow) * 0.8, Math.max(...slow) * 1.25];
  const grid = [1, 2, 5].flatMap((by) => [3, 4, 5, 6, 7, 8].map((power) => by * 10 ** power)).filter((at) => at >= low && at <= top).sort((a, b) => a - b);
  $("curve").innerHTML = plot({
    width: width("curve"),
    about: `Mean read latency against throughput, ${there.map((which) => `${nameOf(state, which)} up to ${amount(Math.max(...points[which].map((point) => point.iops)))} requests a second`).join("; ")}`,
    x: { from: 0, to: high * 1.05, text: amount, label: "requests/s" }, y: { log: true, from: low, to: top, text: time, ticks: grid.length > 7 ? grid.filter((_, at) => at % 2 === 0) : grid },
    lines: there.map((which) => ({ points: points[which].map((point) => [point.iops, point.latency_ns]), at: WHICH.indexOf(which), dots: true })),
  }) + legend(there.map((which) => [nameOf(state, which), colour(WHICH.indexOf(which))]));
}

/** The bounds of the pattern that is nearest to the run's requests. */
export function bounds(device, run) {
  if (!device) return;
  const host = run?.result.host;
  const [own, few] = host && (host.read?.requests ?? 0) < (host.write?.requests ?? 0) ? ["write", host.write] : ["random read", host?.read];
  const size = few?.requests ? few.bytes / few.requests : 16384;
  const fitting = device.bounds.filter((access) => access.what.startsWith(own) && !access.what.includes("past"));
  const access = fitting.reduce((best, each) => (Math.abs(Math.log(each.bytes / size)) < Math.abs(Math.log(best.bytes / size)) ? each : best), fitting[0]);
  // Requests of this size do part of what a page does, or several pages' worth.
  const most = Math.min(access.bounds.at(-1).per_s, access.bounds[0].per_s * 12);
  const rows = access.bounds.map((bound, at) => ({ name: bound.resource, parts: [{ value: Math.min(bound.per_s, most), colour: at ? "var(--other)" : "var(--a)", text: bound.formula }], note: `${amount(bound.per_s)}/s` }));
  const limit = access.bounds[0], iops = few?.iops ?? 0, share = (iops * size) / (limit.per_s * access.bytes);
  $("bounds").innerHTML = `<p class="dim">${escape(access.what)}: <b>${escape(limit.resource)}</b> limits, at ${amount(limit.per_s)} requests/s (${escape(limit.formula)}); by bytes this run asks for ${(100 * share).toFixed(share < 0.1 ? 1 : 0)} % of that.</p>`
    + stacked({ about: `Bounds of ${access.what}: ${access.bounds.map((bound) => `${bound.resource} ${amount(bound.per_s)} a second`).join(", ")}`, rows, text: amount, most, width: width("bounds") });
}

export function ages(state, found) {
  if (!found) { $("ages").innerHTML = '<p class="dim">This drive has no chip model: no read fails.</p>'; return; }
  const { points, chip } = found, most = Math.max(5, ...points.map((point) => point.most));
  const now = Number.parseFloat(state.months);
  $("ages").innerHTML = plot({
    width: width("ages"),
    about: `Retry steps by age on ${chip}: ${points.map((point) => `${point.months} months ${point.mean.toFixed(1)}`).join(", ")}`,
    x: { from: 0, to: 12, ticks: [0, 1, 3, 6, 9, 12], label: "months at 30 °C" }, y: { from: 0, to: most, label: "steps" },
    lines: [{ points: points.map((point) => [point.months, point.mean]), at: 0, dots: true, band: points.map((point) => [point.months, point.fewest, point.most]) }],
    marks: Number.isFinite(now) && now <= 12 ? [{ x: now, text: "now" }] : [],
  }) + `<p class="dim">Chip ${escape(chip)}, read by the vendor's table from the default references.</p>`;
}

const LOOK = [
  [/speculative/, "var(--ahead)", "ahead"], [/in flash/, "var(--retry)", "again"], [/retry/, "var(--retry)", "retry"], [/^sense/, "var(--sense)", "sense"], [/program/, "var(--d)", "program"],
  [/erase/, "var(--e)", "erase"], [/suspended/, "var(--die)", "suspended"], [/decode/, "var(--decode)", "decode"], [/RESET|SET FEATURE/, "var(--die)", ""],
  [/command/, "var(--host)", ""], [/failed_reads/, "var(--bus)", ""], [/ecc_wait/, "var(--die)", ""], [/read_data|write_data|transfer/, "var(--transfer)", ""],
];
const look = (name) => LOOK.find(([pattern]) => pattern.test(name)) ?? [null, "var(--other)", ""];

/** Lanes of the resources that a read used: the plane whose page arrived last, or the one that is preferred, the bus and the engine of its channel; `from` is when that page was first sensed [ns]. */
export function lanesOf({ read, tracks }, { preferred = null, steps = false } = {}) {
  const mine = (slice) => slice.request === read.request;
  const above = (track) => (track.parent === null ? null : tracks[track.parent]);
  const last = (track) => Math.max(...track.slices.filter(mine).map((slice) => slice.to_ns));
  const planes = tracks.filter((track) => /^plane/.test(track.name) && track.slices.some(mine)).sort((a, b) => last(b) - last(a));
  const plane = planes.find((track) => track === tracks[preferred]) ?? planes[0];
  if (!plane) return null;
  const die = above(plane), channel = above(die), engine = tracks.find((track) => above(track) === channel && /^ECC engine/.test(track.name));
  const suspended = tracks.find((track) => above(track) === die && track.name === "suspended");
  const decoders = tracks.filter((track) => above(track) === engine && track.slices.length);
  const first = Math.min(...plane.slices.filter(mine).map((slice) => slice.from_ns));
  // Where a page was read again its steps are shown, otherwise what it waited for.
  const from = steps ? Math.max(read.arrival_ns, first - 0.04 * (read.finish_ns - first)) : read.arrival_ns;
  const shape = (slices) => slices.filter((slice) => slice.depth === 0 && slice.to_ns > from && slice.from_ns < read.finish_ns).map((slice) => {
    const [, of, short] = look(slice.name), own = mine(slice), nobodys = slice.request === null;
    return { from: slice.from_ns - from, to: slice.to_ns - from, colour: own || nobodys ? of : "var(--other)", faint: !own,
      short: own ? (slice.step > 0 && short ? `${slice.step}` : short) : "", text: `${slice.name}${own || nobodys ? "" : `, of request ${slice.request}`}: ${time(slice.to_ns - slice.from_ns)}` };
  }).sort((a, b) => b.faint - a.faint);
  const rows = [{ name: `${die.name}, ${plane.name}`, slices: shape(plane.slices) }];
  if (suspended && shape(suspended.slices).length) rows.push({ name: "suspended", slices: shape(suspended.slices) });
  rows.push({ name: `bus of ${channel.name}`, slices: shape(channel.slices) }, { name: engine.name, slices: shape(decoders.flatMap((track) => track.slices)) });
  return { rows, from, to: read.finish_ns - from, plane: tracks.indexOf(plane) };
}

export function slowRead(state, found) {
  const there = WHICH.filter((which) => found[which]);
  if (!there.length) { $("lanes").innerHTML = '<p class="dim">It follows when the runs are through.</p>'; return; }
  const took = (which) => found[which].read.finish_ns - found[which].read.arrival_ns;
  const drawn = {};
  for (const which of there) drawn[which] = lanesOf(found[which], { preferred: drawn.a?.plane, steps: there.some((one) => found[one].read.retries) });
  const to = Math.max(...there.map((which) => drawn[which]?.to ?? 1));
  $("lanes").innerHTML = there.map((which) => {
    const { read } = found[which], of_page = drawn[which];
    const of = read.stages.map((stage) => `<tr><th scope="row">${escape(stage.what)}${stage.step ? `, retry ${stage.step}` : ""}</th><td>${time(stage.from_ns - read.arrival_ns)}</td><td>${time(stage.to_ns - stage.from_ns)}</td></tr>`).join("");
    return `<h3 class="key-${which}">${escape(nameOf(state, which))}: request ${read.request}, ${read.retries} retries, ${time(took(which))}</h3>`
      + (of_page && of_page.from > read.arrival_ns ? `<p class="dim">Its page was first sensed ${time(of_page.from - read.arrival_ns)} after the request arrived; the picture begins there.</p>` : "")
      + (of_page ? `<div class="scroll"><div class="lane">${lanes({ about: `Request ${read.request} under ${nameOf(state, which)}: ${read.stages.length} stages in ${time(took(which))}; the table below lists them`, to, rows: of_page.rows, text: time, width: Math.max(640, width("lanes", 1400)) })}</div></div>` : '<p class="dim">No page of it came from flash.</p>')
      + `<details><summary>its stages</summary><div class="scroll"><table><thead><tr><th scope="col">stage</th><th scope="col">from</th><th scope="col">took</th></tr></thead><tbody>${of}</tbody></table></div></details>`;
  }).join("") + legend([["sense", "var(--sense)"], ["retry", "var(--retry)"], ["sensed ahead", "var(--ahead)"], ["transfer", "var(--transfer)"], ["transfer in vain", "var(--bus)"], ["decoding", "var(--decode)"], ["program", "var(--d)"], ["erase", "var(--e)"], ["suspended", "var(--die)"], ["other requests", "var(--other)"]])
    + '<p class="dim">The same read under both schemes, on one scale, until its completion. Lanes: the plane that held its page (of several, the one that arrived last under the first scheme), the bus and the ECC engine of its channel. Numbers are retry steps; thin bars are other work there.</p>';
}

export function chip(state, found) {
  const page = Math.min(found.pages.length - 1, Math.max(0, Number.parseInt(state.page) || 0));
  const step = Math.min(found.steps.length - 1, Math.max(0, Number.parseInt(state.retry) || 0));
  const bell = (mean, width) => Array.from({ length: 61 }, (_, at) => { const z = (at - 30) / 7.5; return [mean + z * width, Math.exp(-z * z / 2)]; });
  const count = found.states.length;
  const from = Math.min(found.states[0], found.fresh.states[0]) - 4 * found.width, to = found.fresh.states.at(-1) + 4 * found.fresh.width;
  const at = found.pages[page].boundaries;
  const now = found.steps[step];
  $("states").innerHTML = plot({
    width: width("states"), height: 250, about: `Threshold voltages of ${count} states, shifted by ${found.shift.toFixed(2)} half pitches at the highest boundary; width ${found.width.toFixed(2)}`,
    x: { from, to, ticks: found.fresh.states, text: (value) => String(found.fresh.states.indexOf(value)), label: "state (threshold voltage, in half pitches)" }, y: { from: 0, to: 1.1, ticks: [] },
    lines: [...found.fresh.states.map((mean) => ({ points: bell(mean, found.fresh.width), colour: "var(--other)", thick: 1.2 })), ...found.states.map((mean) => ({ points: bell(mean, found.width), at: 0, fill: "var(--a)" }))],
    marks: [...at.map((boundary) => ({ x: found.references[boundary], colour: "var(--dim)", dash: "2 3" })), ...at.map((boundary) => ({ x: now[boundary], colour: "var(--b)", dash: "", thick: 1.8 }))],
  }) + legend([["just programmed", "var(--other)"], ["now", "var(--a)"], [`references of the ordinary read, page ${page}`, "var(--dim)"], [`references of retry step ${step}`, "var(--b)"]]);
  const errors = found.pages.map((of) => of.errors);
  const passes = errors.map((of) => of.findIndex((each) => each <= found.capability));
  const most = Math.max(found.capability * 2, ...errors.map((of) => of[0]));
  $("errors").innerHTML = plot({
    width: width("errors"), height: 270, about: `Errors per KiB by retry step. ${passes.map((first, number) => `page ${number}: ${first < 0 ? "never read" : `read at step ${first}`}`).join(", ")}. The code corrects ${found.capability}.`,
    x: { from: 0, to: found.steps.length - 1, label: "step of the retry table (0: the ordinary read)" }, y: { log: true, from: Math.max(0.5, Math.min(...errors.flat())) , to: most * 1.2, ticks: [1, 10, 100, 1000].filter((value) => value <= most * 1.2), label: "errors per KiB" },
    lines: errors.map((of, number) => ({ points: of.map((value, each) => [each, Math.max(value, 0.5)]), at: number, thick: number === page ? 3 : 1.4 })),
    marks: [{ y: found.capability, text: `the code corrects ${found.capability}` }, { x: step, colour: "var(--b)", dash: "", text: "" }],
  }) + legend(errors.map((_, number) => [`page ${number} of the wordline: ${passes[number] < 0 ? "not read by any step" : passes[number] ? `read at step ${passes[number]}` : "read at once"}`, colour(number)]))
    + `<p class="dim">${escape(found.about)}. A typical page's mean; the worst codeword of sixteen decides in the drive, so that retries are a little more.</p>`;
}

/** P/E cycles at which the mean passes the requirement, on a line between the cycles looked at; null where it does not. */
export function lasts(rows, requirement) {
  for (let at = 1; at < rows.length; at++) {
    const [low, high] = [rows[at - 1], rows[at]];
    if (low.m_rber < requirement && requirement <= high.m_rber) return low.pec + ((requirement - low.m_rber) / (high.m_rber - low.m_rber)) * (high.pec - low.pec);
  }
  return null;
}

export function life(state, found) {
  const names = Object.keys(found);
  if (!names.length) return;
  const requirement = found[names[0]].requirement, waf = Number(state.waf), dwpd = Number(state.dwpd), raw = 1.07;
  const sound = waf >= 1 && dwpd > 0;
  const after = (cycles) => (cycles * raw) / (waf * dwpd * 365.25);
  // A life is told in cycles, and in the years that these take.
  const years = (cycles) => `${Number(after(cycles).toPrecision(2))} y`;
  const when = (cycles) => amount(cycles) + (sound && cycles ? ` (${years(cycles)})` : "");
  const rows = names.map((name, at) => {
    const cycles = lasts(found[name].rows, requirement), base = lasts(found[names[0]].rows, requirement);
    const lasting = cycles && sound ? after(cycles) : null;
    return `<tr><th scope="row" style="color:${colour(at)}">${escape(name)}</th><td>${cycles ? Math.round(cycles).toLocaleString("en") : "beyond"}</td><td>${cycles && base ? `${cycles >= base ? "+" : "−"}${Math.abs(100 * (cycles / base - 1)).toFixed(0)} %` : ""}</td><td>${lasting ? lasting.toFixed(1) : "–"}</td></tr>`;
  });
  $("lives").innerHTML = `<div class="scroll"><table><thead><tr><th scope="col">erase scheme</th><th scope="col">P/E cycles</th><th scope="col">over ${escape(names[0])}</th><th scope="col">years</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>`
    + `<p class="dim">${names.every((name) => found[name].exact) ? "640 blocks, cycled in steps of 50" : "A first look at 160 blocks"}. Until the mean M_RBER passes ${requirement} errors per KiB. Years: cycles × flash over capacity (1.07, the default spare) ÷ (WAF × drive writes a day × 365.25), wear spread evenly.</p>${sound ? "" : '<p class="refused">WAF is at least 1, and drive writes a day are positive: write such numbers</p>'}`;
  const draw = (id, key, label, marks = []) => {
    const all = names.flatMap((name) => found[name].rows);
    // A narrow picture has room for one of the two.
    const narrow = sound && width(id) < 460;
    // What is far beyond the requirement is no longer of interest.
    const most = key === "m_rber" ? requirement * 2.5 : Math.max(...all.map((row) => row[key] ?? 0));
    $(id).innerHTML = plot({
      width: width(id),
      about: `${label} by P/E cycles: ${names.map((name) => `${name} ${(found[name].rows.at(-1)[key] ?? 0).toFixed(1)} at ${found[name].rows.at(-1).pec}`).join(", ")}`,
      x: { from: 0, to: Math.max(...all.map((row) => row.pec)), text: narrow ? years : when, label: narrow ? "years of such writes" : sound ? "P/E cycles (years of such writes)" : "P/E cycles" }, y: { from: 0, to: most, label },
      lines: names.map((name, at) => ({ points: found[name].rows.filter((row) => row[key] <= most * 1.01).map((row) => [row.pec, row[key]]), at })), marks,
    }) + legend(names.map((name, at) => [name, colour(at)]));
  };
  draw("mrber", "m_rber", "errors per KiB", [{ y: requirement, text: `requirement ${requirement}` }]);
  draw("loops", "loops", "loops");
  draw("tbers", "erase_ms", "ms");
}
