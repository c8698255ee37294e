// Runs the laboratory beside the page: a job at a time, in short steps, between which a newer job takes over.

import { answered, start, Trap } from "./lab.js";

/** Wall time that a step aims at [ms]: a newer job waits for one at most. */
const STEP_MS = 30;
/** Wall time that a run may take [ms]; it ends there as if interrupted. */
const MOST_MS = 60_000;
/** What is shown while a knob moves: the first requests, and no more than fit into this time [ms] a scheme. */
const PREVIEW = 250, PREVIEW_MS = 100;
/** Requests of a point of the curve. */
const POINT = 1500;
const DEPTHS = [1, 2, 4, 8, 16, 32, 64, 128];
/** Reads of a run that are explained. */
const SAMPLE = 200, SLOWEST = 20;

const compiled = fetch(new URL("lab.wasm", import.meta.url)).then(async (response) => {
  if (!response.ok) throw new Error(`lab.wasm: ${response.status} ${response.statusText}\n  help: serve the whole folder that make page has built`);
  return WebAssembly.compile(await response.arrayBuffer());
});
let text, newest = null, playing = false;
const GONE = Symbol("a newer job has come");

const channel = new MessageChannel();
let resume = () => {};
channel.port1.onmessage = () => resume();
/** Lets messages in. */
const turn = () => new Promise((done) => { resume = done; channel.port2.postMessage(0); });

onmessage = ({ data }) => {
  newest = data;
  if (!playing) play();
};

async function play() {
  playing = true;
  while (newest) {
    const job = newest;
    newest = null;
    const tell = (what, value) => postMessage({ job: job.job, what, value });
    try {
      text ??= await start(await compiled);
      await JOBS[job.kind](job, tell);
      tell("done");
    } catch (error) {
      if (error instanceof Trap) text = undefined;
      if (error !== GONE) tell("error", error.message);
    }
  }
  playing = false;
}

const ask = (question) => answered(text(question));

/** Goes on, unless a newer job has come. */
async function stillWanted() {
  await turn();
  if (newest) throw GONE;
}

/** Plays a run to its end, or to the page's bounds; `share` is told how far it is. */
async function run(options, { watch, share = () => {}, most = MOST_MS } = {}) {
  ask({ do: "open", options, watch });
  const began = performance.now();
  let requests = 32, at;
  do {
    await stillWanted();
    const before = performance.now();
    at = ask({ do: "step", requests });
    const took = performance.now() - before;
    requests = Math.min(1 << 20, Math.max(1, Math.floor(requests * Math.min(4, Math.max(0.25, STEP_MS / Math.max(took, 0.01))))));
    share(at);
  } while (!at.ended && performance.now() - began < most);
  if (!at.ended && !at.completed) {
    ask({ do: "close" });
    if (most < MOST_MS) return null;
    throw new Error("what was written before the run takes more than a minute, which is what the page gives it\n  help: run it with `ssdlab run`, or choose a smaller drive");
  }
  const found = ask({ do: "finish" });
  found.stopped = at.bounded ? "requests" : at.ended ? null : "time";
  return found;
}

/** Why the laboratory refuses, where it does. */
function refusal(act) {
  try {
    act();
  } catch (error) {
    if (error instanceof Trap) throw error;
    return error.message;
  }
  return null;
}

/** The retry steps of an explained read. */
const retriesOf = (of) => Math.max(0, ...of.parts.flat().map((stage) => stage.step));

const JOBS = {
  async catalogue(_, tell) {
    tell("catalogue", ask({ do: "catalogue" }));
  },

  async drive({ runs, wanted }, tell) {
    for (const [which, options] of runs) {
      // All of it is checked as it was given, and then the first requests are played.
      const refused = refusal(() => tell("device", { which, ...ask({ do: "device", options }) }));
      if (refused) return tell("refused", { which, message: refused });
    }
    for (const [which, options] of runs) {
      const few = Math.min(PREVIEW, Number(options.requests));
      const found = await run({ ...options, requests: few, warmup: 0 }, { most: PREVIEW_MS });
      if (found) tell("run", { which, preview: true, ...found });
    }
    let slow = null;
    const explained = [];
    for (const [which, options] of runs) {
      const count = Number(options.requests);
      const sample = Array.from({ length: SAMPLE }, (_, at) => Math.floor((at + 0.5) * count / SAMPLE));
      const numbers = [...new Set(slow ? [...sample, slow.request] : sample)];
      const found = await run(options, { watch: { slowest: SLOWEST, requests: numbers }, share: (at) => tell("share", { which, ...at }) });
      const reads = found.explained.filter((of) => of.op === "read");
      if (!slow) {
        const fromFlash = reads.filter((of) => of.parts.length).sort((a, b) => (b.finish_ns - b.arrival_ns) - (a.finish_ns - a.arrival_ns));
        slow = fromFlash.find((of) => of.request === wanted) ?? fromFlash[0] ?? null;
      }
      tell("run", { which, preview: false, ...found });
      explained.push([which, options, reads.find((of) => slow && of.request === slow.request)]);
    }
    for (const [which, options, read] of explained) {
      if (!read) continue;
      const window = `${Math.max(0, read.arrival_ns)}ns:${read.finish_ns + 1}ns`;
      const tracks = await run(options, { watch: { windows: [window] } });
      tell("lanes", { which, read: { ...read, retries: retriesOf(read) }, tracks });
    }
    await ages(runs[0][1], tell);
    for (const depth of DEPTHS) {
      for (const [which, options] of runs) {
        const settings = [...(options.settings ?? []), "workload.rate_iops=none", "workload.iodepth=none"];
        const one = { ...options, settings, requests: Math.max(POINT, 24 * depth), warmup: 2 * depth, qd: depth };
        const found = await run(one).catch((error) => { if (error === GONE || error instanceof Trap) throw error; return null; });
        if (found) tell("point", { which, depth, iops: found.result.host.all.iops, latency_ns: found.result.host.read?.latency_ns?.mean ?? null });
      }
    }
  },

  async chip({ question }, tell) {
    const refused = refusal(() => tell("chip", ask({ do: "chip", ...question })));
    if (refused) tell("refused", { which: "a", message: refused });
  },

  async life({ schemes, question }, tell) {
    // A first look, then what the study of electronics25 cycles.
    for (const [exact, how] of [[false, { chips: 40, blocks: 4, step: 200 }], [true, { chips: 160, blocks: 4, step: 50 }]]) {
      for (const [name, choices] of schemes) {
        const refused = refusal(() => tell("life", { name, exact, ...ask({ do: "lifetime", last: 9000, ...question, ...choices, ...how }) }));
        if (refused) return tell("refused", { which: "a", message: refused });
        await stillWanted();
      }
    }
  },
};

/** Retry steps by age, on the chip of the device. */
async function ages(options, tell) {
  const { manifest } = ask({ do: "device", options });
  const { chip, geometry, age } = manifest.device.config;
  const own = { SLC: "slc", MLC: "mlc", TLC: "tlc48", QLC: "qlc", PLC: "plc" }[geometry.cell];
  const name = chip.model === "auto" ? own : chip.model;
  if (name === "none" || name.includes(".")) return tell("ages", null);
  const pec = Number(age.pec), celsius = Number.parseFloat(age.temperature);
  const months = [0, 0.25, 0.5, 1, 2, 3, 6, 9, 12];
  const points = [];
  for (const each of months) {
    await stillWanted();
    points.push(ask({ do: "retries", chip: name, pec: Number.isFinite(pec) ? pec : 0, celsius: Number.isFinite(celsius) ? celsius : 30, ages: [each], chips: 1, blocks: 4 })[0]);
  }
  tell("ages", { chip: name, points });
}
