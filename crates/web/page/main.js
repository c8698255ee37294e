// The page: knobs and address on one side, what the laboratory finds on the other.

import { amount, escape } from "./charts.js";
import { command, DEFAULTS, options, read, sweep, TABS, write } from "./state.js";
import { TOURS } from "./tours.js";
import * as views from "./views.js";

const $ = (id) => document.getElementById(id);
const LIVES = ["ispe", "i-ispe", "dpes", "reo-minus", "reo"];

let state = read(location.hash), catalogue = null, job = 0, timer = 0;
/** What has been found for this state. */
let found;
const nothing = () => ({ runs: { numbers: new Set() }, device: null, points: { a: [], b: [] }, lanes: {}, life: {}, chip: null, began: performance.now() });

const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
worker.onerror = (event) => fail(`the laboratory could not be started: ${event.message ?? "worker.js"}\n  help: serve the folder with a file server, and use a browser with WebAssembly and module workers`);
worker.onmessage = ({ data: { job: of, what, value } }) => {
  if (what === "catalogue") return begin(value);
  if (of !== job) return;
  (TOLD[what] ?? (() => {}))(value);
};

const say = (text) => { if ($("status").textContent !== text) $("status").textContent = text; };
function fail(message) {
  $("error").textContent = message;
  $("error").hidden = false;
  done();
}
function done() {
  document.body.dataset.busy = "no";
  document.body.dataset.job = String(job);
}

const TOLD = {
  device(value) {
    if (value.which !== "a") return;
    found.device = value;
    views.bounds(value, null);
    press(value.manifest.device.config);
    // What the workload itself says stands in the field until somebody says otherwise.
    const ratio = value.manifest.workload.generator?.read_ratio, knob = document.querySelector('#knobs-drive [data-knob="reads"]');
    if (typeof ratio === "number" && knob) {
      knob.querySelector("[type=text]").placeholder = String(Math.round(100 * ratio));
      if (!state.reads) knob.querySelector("[type=range]").value = String(100 * ratio);
    }
  },
  refused({ which, message }) { found.refused = true; refuse(which, message); },
  run({ which, ...value }) {
    found.runs[which] = value;
    const { runs } = found;
    views.numbers(state, runs); views.cdf(state, runs); views.warnings(runs); views.bars(state, runs); views.bounds(found.device, runs.a);
    // How long a reader waits for the first picture after a knob has moved [ms].
    if (value.preview && which === "a") document.body.dataset.preview = String(Math.round(performance.now() - found.began));
    if (!value.preview && (which === "b" || !state.versus)) say(`${amount(Number(state.requests))} requests under ${state.versus ? "each scheme" : "the scheme"}; the slow read, retries by age and the curve follow.`);
    else if (value.preview) say("A first look at the first requests; the whole run follows.");
    tell();
  },
  share({ which, share, submitted, warms }) {
    const who = which === "b" ? state.versus : state.scheme || "the drive";
    say(warms ? `${who}: what was written before the run is played through the FTL, ${amount(warms[0])} pages so far` : `${who}: ${share === null || share === undefined ? `${amount(submitted)} requests` : `${Math.floor(100 * share)} %`}`);
  },
  lanes({ which, ...value }) { found.lanes[which] = value; views.slowRead(state, found.lanes); },
  ages(value) { views.ages(state, value); found.ages = value; tell(); },
  point({ which, ...value }) { found.points[which].push(value); views.curve(state, found.points); },
  chip(value) { found.chip = value; views.chip(state, value); tell(); },
  life({ name, ...value }) { found.life[name] = value; views.life(state, found.life); tell(); },
  error(message) { say(""); fail(message); },
  done() {
    say(found.refused ? "Not run: what is wrong stands beside its knob." : state.tab === "drive" ? "All runs are through. Move a knob to begin again." : "");
    done();
  },
};

/** Asks again for what the state says; what is under way is given up. */
function ask() {
  job += 1;
  found = nothing();
  document.body.dataset.busy = "yes";
  document.querySelectorAll(".knobs .refused").forEach((note) => note.remove());
  $("error").hidden = true;
  if (state.tab === "drive") {
    const runs = [["a", options(state)]];
    if (state.versus) runs.push(["b", options(state, state.versus)]);
    const count = Number(state.requests);
    for (let at = 0; at < 200; at++) found.runs.numbers.add(Math.floor(((at + 0.5) * count) / 200));
    views.curve(state, found.points);
    views.slowRead(state, found.lanes);
    post({ kind: "drive", runs, wanted: state.read ? Number(state.read) : null });
  } else if (state.tab === "chip") {
    post({ kind: "chip", question: { chip: state.chip, pec: Number(state.pec), months: Number(state.months), celsius: Number(state.celsius || 30), log_factor: Number(state.factor) } });
  } else {
    const choices = Object.fromEntries(catalogue.schemes.map((scheme) => [scheme.name, Object.fromEntries(scheme.choices)]));
    const schemes = LIVES.map((name) => [name, { pulse: choices[name].pulse, margin: choices[name].margin, voltage: choices[name].voltage }]);
    post({ kind: "life", schemes, question: { chip: state.wear, requirement: Number(state.requirement) || 0 } });
  }
}
const post = (of) => worker.postMessage({ job, ...of });

/** Changes the state, its address, what shows it, and asks. */
function change(changes, { render = true, keep = false } = {}) {
  state = { ...state, ...changes };
  if (!keep && !("tour" in changes) && !("tab" in changes)) Object.assign(state, { tour: "", step: "1" });
  clearTimeout(timer);
  // Browsers allow few changes of the address a second.
  timer = setTimeout(() => history.replaceState(null, "", write(state)), 150);
  if (render) show();
  // Some knobs change what is drawn, and nothing that must be asked.
  const drawn = { chip: ["page", "retry"], life: ["dwpd", "waf"] }[state.tab] ?? [];
  if (!("tour" in changes) && Object.keys(changes).every((name) => drawn.includes(name))) redraw();
  else ask();
}

function redraw() {
  if (state.tab === "chip" && found.chip) views.chip(state, found.chip);
  if (state.tab === "life") views.life(state, found.life);
}

// ------------------------------------------------------------------ knobs

const knobs = {};

/** A row: a name, a slider and a field, or a menu. */
function knob({ name, label, from, to, step, values, unit = "", about = "", hint = "" }) {
  const id = `${state.tab}-${name}`, value = state[name] ?? "";
  const field = document.createElement("div");
  field.className = "knob";
  field.dataset.knob = name;
  if (values) {
    const known = values.some(([word]) => word === value);
    field.innerHTML = `<label for="${id}">${label}</label><div class="row"><select id="${id}">${values.map(([word, text]) => `<option value="${escape(word)}">${escape(text)}</option>`).join("")}${known ? "" : `<option value="${escape(value)}">${escape(value)}</option>`}</select></div>${about ? `<p class="about">${escape(about)}</p>` : ""}`;
    const menu = field.querySelector("select");
    menu.value = value;
    menu.onchange = () => change({ [name]: menu.value });
  } else {
    const slider = to === undefined ? "" : `<input type="range" id="${id}" min="${from}" max="${to}" step="${step}" aria-label="${label}">`;
    field.innerHTML = `<label for="${id}${slider ? "-text" : ""}">${label}</label><div class="row">${slider}<input type="text" id="${id}${slider ? "-text" : ""}" size="7" placeholder="${escape(hint)}">${unit ? `<span class="about">${unit}</span>` : ""}</div>${about ? `<p class="about">${escape(about)}</p>` : ""}`;
    const [text, range] = [field.querySelector("input[type=text]"), field.querySelector("input[type=range]")];
    text.value = value;
    if (range) {
      range.value = Number.isFinite(Number.parseFloat(value)) ? Number.parseFloat(value) : Number.parseFloat(hint) || from;
      range.oninput = () => { text.value = range.value; change({ [name]: range.value }, { render: false }); };
    } else field.classList.add("long");
    text.onchange = () => { if (range && text.value) range.value = text.value; change({ [name]: text.value.trim() || DEFAULTS[name] }, { render: false }); };
  }
  return field;
}

/** The choices of a scheme on its axes. */
function choicesOf(scheme) {
  const named = catalogue.schemes.find((of) => of.name === scheme);
  if (named) return Object.fromEntries(named.choices);
  return Object.fromEntries(scheme.split(",").map((word) => word.trim().split("=")).filter((pair) => pair.length === 2 && pair[0]));
}

function axes() {
  const box = document.createElement("details");
  box.innerHTML = "<summary>Choices on each axis of the first scheme</summary>";
  box.open = knobs.axesOpen ?? false;
  box.ontoggle = () => { knobs.axesOpen = box.open; };
  for (const { axis, key, expects, about } of catalogue.axes) {
    const group = document.createElement("fieldset");
    group.innerHTML = `<legend title="${escape(about)}">${escape(axis)}</legend><div class="chips"></div>`;
    group.className = "knob";
    group.dataset.key = key;
    for (const [, choice] of expects.matchAll(/"([^"]+)"/g)) {
      const chip = document.createElement("button");
      chip.type = "button";
      chip.textContent = choice;
      chip.setAttribute("aria-pressed", "false");
      chip.onclick = () => {
        const next = { ...choicesOf(state.scheme), [axis]: choice };
        change({ scheme: Object.entries(next).map((pair) => pair.join("=")).join(",") });
      };
      group.querySelector("div").append(chip);
    }
    box.append(group);
  }
  return box;
}

/** Shows what the drive does on each axis, whoever has said so: the drive, its scheme or a key. */
function press(config) {
  for (const group of document.querySelectorAll("#knobs-drive [data-key]")) {
    const [section, key] = group.dataset.key.split(".");
    for (const chip of group.querySelectorAll("button")) chip.setAttribute("aria-pressed", String(String(config[section][key]) === chip.textContent));
  }
}

function further() {
  const field = document.createElement("div");
  field.className = "knob";
  field.dataset.knob = "set";
  field.innerHTML = '<label for="drive-set">Any other key (--set), one a line</label><textarea id="drive-set" rows="2" placeholder="chip.t_prog=600us" spellcheck="false"></textarea>';
  const area = field.querySelector("textarea");
  area.value = state.set.join("\n");
  area.rows = Math.max(2, Math.min(8, state.set.length));
  area.onchange = () => change({ set: area.value.split("\n").map((line) => line.trim()).filter(Boolean) }, { render: false });
  return field;
}

function pace() {
  const field = document.createElement("div");
  field.className = "knob";
  field.dataset.knob = "pace";
  const kind = state.qd ? "qd" : state.rate ? "rate" : "";
  field.innerHTML = '<label for="drive-pace">Pace</label><div class="row"><select id="drive-pace"><option value="">as the workload says</option><option value="qd">requests under way</option><option value="rate">requests/s</option></select><input type="text" aria-label="how many" size="7"></div>';
  const [menu, text] = [field.querySelector("select"), field.querySelector("input")];
  menu.value = kind;
  text.value = state.qd || state.rate;
  text.hidden = !kind;
  const set = () => {
    text.hidden = !menu.value;
    if (!text.value) text.value = menu.value === "qd" ? "16" : "10000";
    change({ qd: menu.value === "qd" ? text.value.trim() : "", rate: menu.value === "rate" ? text.value.trim() : "" }, { render: false });
  };
  menu.onchange = () => { text.value = ""; set(); };
  text.onchange = set;
  return field;
}

const AGE = [
  { name: "pec", label: "P/E cycles", from: 0, to: 5000, step: 100 },
  { name: "months", label: "Months since it was written, at 30 °C", from: 0, to: 12, step: 0.5 },
  { name: "celsius", label: "Temperature", from: 0, to: 85, step: 5, unit: "°C", hint: "30" },
];

function show() {
  for (const tab of TABS) {
    const on = tab === state.tab;
    $(`view-${tab}`).hidden = !on;
    $(`tab-${tab}`).setAttribute("aria-selected", String(on));
    $(`tab-${tab}`).tabIndex = on ? 0 : -1;
  }
  const box = $(`knobs-${state.tab}`);
  const about = (kind, name) => catalogue[kind].find((of) => of.name === name)?.about ?? "";
  const names = (kind) => catalogue[kind].map((of) => [of.name, of.name]);
  const schemes = (none) => [["", none], ...catalogue.schemes.map((of) => [of.name, of.name])];
  const chips = catalogue.chips.map((name) => [name, name]);
  const parts = {
    drive: () => [
      knob({ name: "device", label: "Drive", values: names("devices"), about: about("devices", state.device) }), ...AGE.map(knob),
      knob({ name: "scheme", label: "Scheme", values: schemes("the drive's own"), about: about("schemes", state.scheme) }),
      knob({ name: "versus", label: "beside it", values: schemes("none"), about: about("schemes", state.versus) }), axes(),
      knob({ name: "workload", label: "Workload", values: names("workloads"), about: about("workloads", state.workload) }),
      knob({ name: "reads", label: "Reads", from: 0, to: 100, step: 5, unit: "%", hint: "70" }),
      knob({ name: "bs", label: "Size of requests", values: [["", "as the workload says"], ...["4KiB", "8KiB", "16KiB", "64KiB", "128KiB", "256KiB"].map((size) => [size, size])] }), pace(),
      knob({ name: "requests", label: "Requests (200,000 at most)" }), knob({ name: "warmup", label: "Left out at the start (warm-up)" }), knob({ name: "seed", label: "Seed" }), further() ],
    chip: () => [
      knob({ name: "chip", label: "Chip", values: chips }), ...AGE.map(knob),
      knob({ name: "factor", label: "How much worse than a typical page (log factor)", from: -0.6, to: 0.6, step: 0.05 }),
      knob({ name: "page", label: "Page of the wordline", values: [0, 1, 2, 3, 4].map((at) => [String(at), String(at)]) }), knob({ name: "retry", label: "Retry step", from: 0, to: 40, step: 1 }) ],
    life: () => [
      knob({ name: "wear", label: "Chip", values: chips }), knob({ name: "requirement", label: "Errors per KiB that are allowed", from: 40, to: 72, step: 1 }),
      knob({ name: "dwpd", label: "Drive writes a day", from: 0.1, to: 5, step: 0.1 }), knob({ name: "waf", label: "Write amplification (WAF)", from: 1, to: 8, step: 0.1, about: "That of a run is among its numbers." }) ],
  };
  box.replaceChildren(...parts[state.tab]());
  if (state.tab === "drive" && found?.device) press(found.device.manifest.device.config);
  guide();
}

/** Where a refusal belongs: by what its first line names. */
const PLACES = [
  [/--age pec|^pec/, "pec"], [/--age retention|^months/, "months"], [/^lifetime/, "requirement"], [/--age temperature/, "celsius"], [/^device\b|--device/, "device"], [/scheme/, "scheme"], [/--requests/, "requests"], [/--warmup/, "warmup"],
  [/--seed/, "seed"], [/--replay|rate_iops/, "pace"], [/workload\.read_ratio/, "reads"], [/workload\.bs/, "bs"], [/^workload/, "workload"],
];

function refuse(which, message) {
  const first = message.split("\n")[0], axis = catalogue.axes.find(({ key }) => first.includes(key));
  let name = state.set.some((setting) => first.includes(setting.split("=")[0])) ? "set" : PLACES.find(([pattern]) => pattern.test(first))?.[1];
  if (name === "scheme" && which === "b") name = "versus";
  const box = $(`knobs-${state.tab}`);
  // On the other tabs what is left is the chip's name.
  name ??= { chip: "chip", life: "wear" }[state.tab];
  const place = (name !== "set" && axis && which === "a" && box.querySelector(`[data-key="${axis.key}"]`)) || (name && box.querySelector(`[data-knob="${name}"]`));
  if (!place) return fail(message);
  place.closest("details")?.setAttribute("open", "");
  const note = document.createElement("pre");
  note.className = "refused";
  note.setAttribute("role", "alert");
  note.textContent = message;
  place.append(note);
}

// ------------------------------------------------------------------ tours

function guide() {
  const tour = TOURS.find((of) => of.id === state.tour), box = $("guide");
  $("tour").value = tour ? tour.id : "";
  box.hidden = !tour;
  if (!tour) return;
  const at = Math.min(tour.steps.length, Math.max(1, Number.parseInt(state.step) || 1)), step = tour.steps[at - 1];
  Object.assign(box.dataset, { step: at, claim: step.claim.id, published: step.claim.published });
  box.innerHTML = `<h2>${escape(step.title)}</h2><p>${escape(step.text)}</p>
    <div class="claim"><div><b>${step.claim.published} ${escape(step.claim.unit)}</b><span>the paper: ${escape(step.claim.says)}</span></div>
    <div aria-live="polite"><b id="live">…</b><span>found here (${escape(step.whose ?? tour.whose)})</span></div></div>
    <div class="steps"><button type="button" id="back"${at === 1 ? " disabled" : ""}>Back</button><span>step ${at} of ${tour.steps.length}</span><button type="button" id="next"${at === tour.steps.length ? " disabled" : ""}>Next</button><button type="button" id="leave">Leave the tour</button></div>`;
  $("back").onclick = () => go(tour, at - 1);
  $("next").onclick = () => go(tour, at + 1);
  $("leave").onclick = () => change({ tour: "", step: "1" });
}

function go(tour, at) {
  const focus = document.activeElement?.id;
  change({ ...DEFAULTS, set: [], ...tour.steps[at - 1].set, tour: tour.id, step: String(at) });
  if (focus) $(focus)?.focus();
}

/** The live number of the tour's step, where it is known by now. */
function tell() {
  const tour = TOURS.find((of) => of.id === state.tour), step = tour?.steps[(Number.parseInt(state.step) || 1) - 1];
  if (!step || !$("live")) return;
  let value = null;
  try { value = step.live(found); } catch { value = null; }
  if (value === null || !Number.isFinite(value)) return;
  $("live").textContent = `${step.claim.unit === "cycles" ? Math.round(value) : value.toFixed(step.claim.digits)} ${step.claim.unit}`;
  $("live").dataset.value = String(value);
}

// ------------------------------------------------------------------ the whole

async function copy(button, text) {
  const label = button.dataset.label ??= button.textContent;
  document.body.dataset.copied = text;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // Without leave to write to the clipboard the text is shown, to be copied by hand.
    $("by-hand").querySelector("textarea").value = text;
    $("by-hand").showModal();
    $("by-hand").querySelector("textarea").select();
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}

function begin(value) {
  catalogue = value;
  $("version").textContent = value.version;
  for (const tour of TOURS) $("tour").append(new Option(tour.name, tour.id));
  $("tour").onchange = () => { const tour = TOURS.find((of) => of.id === $("tour").value); if (tour) go(tour, 1); else change({ tour: "", step: "1" }); };
  TABS.forEach((tab, at) => {
    const button = $(`tab-${tab}`);
    button.onclick = () => change({ tab }, { keep: true });
    button.onkeydown = ({ key }) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (by) { const next = TABS[(at + by + TABS.length) % TABS.length]; change({ tab: next }, { keep: true }); $(`tab-${next}`).focus(); }
    };
  });
  $("copy-link").onclick = () => copy($("copy-link"), location.href.split("#")[0] + write(state));
  $("copy-command").onclick = () => copy($("copy-command"), [command(state), ...(state.versus ? [command(state, state.versus)] : [])].join("\n"));
  $("copy-toml").onclick = () => copy($("copy-toml"), sweep(state));
  document.querySelectorAll(".knobs").forEach((form) => { form.onsubmit = (event) => event.preventDefault(); });
  addEventListener("hashchange", () => { state = read(location.hash); show(); ask(); });
  if (!location.hash) history.replaceState(null, "", write(state));
  show();
  ask();
}

say("The laboratory is loaded: 1 MB.");
worker.postMessage({ job: 0, kind: "catalogue" });
