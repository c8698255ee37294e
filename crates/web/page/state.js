// What the page shows, as words that stand in its address; and the same as a run's options, a command, a file.

/** Keys of the address, with what they are where it does not say. All are text, so that what is wrong reaches the laboratory as it stands. */
export const DEFAULTS = {
  tab: "drive", device: "tlc", pec: "0", months: "0", celsius: "", scheme: "", versus: "", workload: "default",
  reads: "", bs: "", qd: "", rate: "", requests: "5000", warmup: "", seed: "1", read: "",
  chip: "tlc48", wear: "tlc48-reo", factor: "0", page: "0", retry: "0", dwpd: "1", waf: "2", requirement: "63", tour: "", step: "1",
};

/** Where a reader without an address begins. */
export const FIRST = { device: "asplos21", workload: "asplos21/usr_1", pec: "2000", months: "6", scheme: "baseline", versus: "pnar2" };

/** The tabs. */
export const TABS = ["drive", "chip", "life"];

/** The state that an address gives: `set` is a list, all else is text. A tab that there is not is the first. */
export function read(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...DEFAULTS, ...([...given.keys()].length ? {} : FIRST), set: given.getAll("set") };
  for (const name of Object.keys(DEFAULTS)) if (given.has(name)) state[name] = given.get(name);
  if (!TABS.includes(state.tab)) state.tab = DEFAULTS.tab;
  return state;
}

/** The address of a state: what is not as it would be anyway. */
export function write(state) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(DEFAULTS)) if (state[name] !== value) words.append(name, state[name]);
  for (const setting of state.set) words.append("set", setting);
  return `#${words.toString() || "device=tlc"}`;
}

/** A number as a setting has it; what is none stays as it was given, for the laboratory to refuse. */
const share = (text) => (Number.isFinite(Number(text)) && text.trim() ? String(Number((Number(text) / 100).toFixed(6))) : text);
const count = (text) => (/^\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : text);

/** Options of a run by the names that `ssdlab.run` has for them. */
export function options(state, scheme = state.scheme) {
  const age = [];
  if (state.pec !== DEFAULTS.pec) age.push(`pec=${state.pec}`);
  if (state.months !== DEFAULTS.months) age.push(`retention=${/^[\d.]+$/.test(state.months) ? `${state.months}mo` : state.months}`);
  if (state.celsius) age.push(`temperature=${/^-?[\d.]+$/.test(state.celsius) ? `${state.celsius}C` : state.celsius}`);
  const settings = [...state.set];
  if (state.reads) settings.push(`workload.read_ratio=${share(state.reads)}`);
  if (state.bs) settings.push(`workload.bs=${state.bs}`);
  if (state.rate) settings.push(`workload.rate_iops=${state.rate}`);
  return {
    device: state.device, workload: state.workload, requests: count(state.requests), seed: count(state.seed),
    ...(state.warmup && { warmup: count(state.warmup) }), ...(age.length && { age: age.join(",") }), ...(scheme && { scheme }),
    ...(state.qd && { qd: count(state.qd) }), ...(settings.length && { settings }),
  };
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

/** The command that prints the same numbers. */
export function command(state, scheme = state.scheme) {
  const { settings = [], ...rest } = options(state, scheme);
  const words = Object.entries(rest).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return ["ssdlab", "run", ...words, ...settings.flatMap((setting) => ["--set", setting])].map(quoted).join(" ");
}

const toml = (value) => (typeof value === "number" || /^(true|false|-?\d+(\.\d+)?)$/.test(value) ? String(value) : JSON.stringify(value));

/** A sweep file with both schemes. */
export function sweep(state) {
  const { settings = [], scheme, seed, ...rest } = options(state);
  const lines = ["# ssdlab sweep THIS.toml --out table.csv", 'statistics = ["host.read.latency_ns.*", "flash.retry.*"]', "", "[run]"];
  for (const [name, value] of Object.entries(rest)) lines.push(`${name} = ${name === "requests" || name === "qd" ? toml(value) : JSON.stringify(value)}`);
  for (const setting of settings) {
    const at = setting.indexOf("=");
    lines.push(`${JSON.stringify(setting.slice(0, at))} = ${toml(setting.slice(at + 1))}`);
  }
  const schemes = [scheme, state.versus].filter(Boolean);
  lines.push("", "[axes]", `seed = [${toml(seed)}]`);
  if (schemes.length) lines.push(`scheme = ${JSON.stringify(schemes)}`);
  return `${lines.join("\n")}\n`;
}
