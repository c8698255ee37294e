// Four tours, one a paper: six steps each. A step has a state, a text, the paper's claim (its id is that of studies/*/claims.toml) and the number that is found here.

import { lasts } from "./views.js";

const mean = (run) => run.result.host.read.latency_ns.mean;
const less = (of) => ({ runs: { a, b } }) => a && b && !a.preview && !b.preview ? 100 * (1 - of(b) / of(a)) : null;
const more = (of) => ({ runs: { a, b } }) => a && b && !a.preview && !b.preview ? 100 * (of(b) / of(a) - 1) : null;
const of = (which, value) => ({ runs }) => runs[which] && !runs[which].preview ? value(runs[which].result) : null;
const bandwidth = (run) => run.result.host.all.bandwidth_mb_s;
const life = (name) => ({ life: found }) => found[name]?.exact ? lasts(found[name].rows, found[name].requirement) : null;
const ratio = (name, base) => ({ life: found }) => found[name]?.exact && found[base]?.exact ? 100 * (life(name)({ life: found }) / life(base)({ life: found }) - 1) : null;

const RETRY = { device: "asplos21", workload: "asplos21/usr_1", requests: "5000", set: ["host.t_complete=140us"] };
const FLASH = { device: "hpca24", workload: "hpca24/Ali_124", pec: "2000", requests: "9000", warmup: "1500",
  set: ["buffer.size=64MiB", "workload.iodepth=32", "host.link_bandwidth=5.79GB/s", "ecc.buffer=1", "age.retention=uniform:0..30d"] };
const SUSPEND = { device: "fast12-slc", workload: "fast12/F1", requests: "10000", rate: "5670",
  set: ["geometry.blocks=512", "workload.footprint=512MiB", "age.precondition=closed-form", "buffer.mode=write-through", "gc.idle=none", "age.fill=1.0", "gc.relocations=1", "workload.align=512B", "workload.arrivals=batches:19.5"] };
const LIFE = { tab: "life" };

export const TOURS = [
  { id: "asplos21", name: "Retries that overlap (PR² and AR², ASPLOS'21)", whose: "one of the paper's twelve workloads, one age", steps: [
    { set: { ...RETRY, scheme: "baseline", pec: "0", months: "0" }, title: "A fresh page is read at once",
      text: "Flash cells lose charge. While data is fresh, the ordinary read references tell all states apart, and no read needs a second sense. Look at the retries by age: at 0 months they are 0.",
      claim: { id: "rr.fresh.no_retry", says: "reads of fresh pages that need a retry", published: 0, unit: "%", digits: 1 }, live: of("a", (result) => 100 * result.flash.retry.share) },
    { set: { ...RETRY, scheme: "baseline", versus: "norr", pec: "2000", months: "6" }, title: "Old data is read again and again",
      text: "After 2,000 P/E cycles the states of old data have moved. The controller senses the page, transfers it, fails to decode it, and senses again with the next references of the vendor's table, step after step. Beside it runs the ideal, a drive whose reads never fail: it is several times as fast. “Retries by age” counts the steps.",
      claim: { id: "rr.steps.2k.12mo.mean", says: "mean retry steps at 2,000 cycles and 12 months", published: 19.9, unit: "steps", digits: 1 }, live: ({ ages }) => ages?.points.find((point) => point.months === 12)?.mean ?? null, whose: "four blocks of the chip, 12 months" },
    { set: { ...RETRY, scheme: "baseline", versus: "pr2", pec: "2000", months: "6" }, title: "PR²: sense ahead",
      text: "CACHE READ lets a die sense the next step while the bus still moves the last one. In the picture of the slow read, look how the amber senses of PR² follow one another without a gap: transfer and decoding are hidden behind them.",
      claim: { id: "rr.pr2.mean", says: "mean response time saved by PR², all workloads and ages", published: 17.7, unit: "%", digits: 1 }, live: less(mean) },
    { set: { ...RETRY, scheme: "baseline", versus: "ar2", pec: "2000", months: "6" }, title: "AR²: sense faster",
      text: "In the last steps of the table few errors are left, far fewer than the code corrects. AR² spends that margin: it shortens the precharge (tPRE) of retries. Every sense of a retry is shorter.",
      claim: { id: "rr.ar2.mean", says: "mean response time saved by AR², all workloads and ages", published: 11.9, unit: "%", digits: 1 }, live: less(mean) },
    { set: { ...RETRY, scheme: "baseline", versus: "pnar2", pec: "2000", months: "6" }, title: "Both together",
      text: "Once transfers are hidden, senses alone decide how long a read takes, and those are what AR² shortens: together they save more than each alone would suggest.",
      claim: { id: "rr.pnar2.2k.6mo", says: "mean response time saved by both, 2,000 cycles and 6 months", published: 35.2, unit: "%", digits: 1 }, live: less(mean) },
    { set: { ...RETRY, scheme: "pso", versus: "pso-pnar2", pec: "2000", months: "6", requests: "10000", warmup: "5000" }, title: "Beginning near the right references",
      text: "Another way is not to begin at the start of the table: PSO remembers what last read a similar page. Fewer steps are left, and PR² and AR² still shorten these.",
      claim: { id: "rr.pso_pnar2.read.mean", says: "mean response time saved beside PSO, read-dominant workloads", published: 17, unit: "%", digits: 1 }, live: less(mean) } ] },
  { id: "hpca24", name: "Retries inside the flash (RiF, HPCA'24)", whose: "Ali_124 alone, 9,000 requests", steps: [
    { set: { ...FLASH, scheme: "ssd-zero" }, title: "A drive whose reads never fail",
      text: "Reads of a cloud volume, 96 % of all requests, on a drive that no error delays: the links and the channels set the pace.",
      claim: { id: "rif.ali124.zero", says: "bandwidth of Ali_124 without retries", published: 6026, unit: "MB/s", digits: 0 }, live: of("a", (result) => result.host.all.bandwidth_mb_s) },
    { set: { ...FLASH, scheme: "ssd-zero", versus: "ssd-one" }, title: "One retry halves it",
      text: "Now old pages need just one more sense, with the best references. Still the bandwidth falls far: what could not be corrected has crossed the channel, and the ECC engine has worked on it to its last iteration, while other pages waited.",
      claim: { id: "rif.ali124.one.2k", says: "bandwidth of Ali_124 with one retry, 2,000 cycles", published: 2831, unit: "MB/s", digits: 0 }, live: of("b", (result) => result.host.all.bandwidth_mb_s) },
    { set: { ...FLASH, scheme: "senc", versus: "swr" }, title: "Finding the references",
      text: "SENC finds the best references with sentinel cells, read off the chip. Swift-Read finds them inside the die. Both learn only after a failed decoding that they are needed.",
      claim: { id: "rif.swr.waste", says: "channel time spent on what cannot be corrected and on waiting for the engine, SWR, Ali_124, 2,000 cycles", published: 54.4, unit: "%", digits: 1 },
      live: of("b", ({ usage: { channel } }) => channel.failed_reads + channel.ecc_wait) },
    { set: { ...FLASH, scheme: "swr", versus: "rif" }, title: "RiF: the die knows",
      text: "RiF puts a predictor into the die: from the syndrome of one 4-KiB chunk it tells in 2.5 µs whether the page can be corrected, and if not the die reads again by itself. In the picture, the failed transfer and its decoding are gone.",
      claim: { id: "rif.swr.2k", says: "bandwidth gained over SWR, mean of eight workloads, 2,000 cycles", published: 61.2, unit: "%", digits: 1 }, live: more(bandwidth) },
    { set: { ...FLASH, scheme: "senc", versus: "rif" }, title: "Against sentinel cells",
      text: "Against SENC, whose retries read the sentinel cells over the channel as well, it gains more.",
      claim: { id: "rif.senc.2k", says: "bandwidth gained over SENC, mean of eight workloads, 2,000 cycles", published: 72.1, unit: "%", digits: 1 }, live: more(bandwidth) },
    { set: { ...FLASH, scheme: "ssd-zero", versus: "rif" }, title: "Almost as if nothing failed",
      text: "Back to the ideal of the first step: a drive with RiF is nearly as fast, though as many pages fail their first sense as before.",
      claim: { id: "rif.zero.2k", says: "bandwidth lost to the ideal, mean of eight workloads", published: 1.8, unit: "%", digits: 1 }, live: less(bandwidth) } ] },
  { id: "fast12", name: "Programs that make way (suspension, FAST'12)", whose: "F1 alone, 10,000 requests, on an eighth of the drive and of its data", steps: [
    { set: { ...SUSPEND, scheme: "fifo", versus: "rps" }, title: "Reads go first",
      text: "A program takes ten times as long as a read. With first come, first served a read waits for all of them. Read priority lets it pass those that wait, but not the one that runs.",
      claim: { id: "pes.rps.slc", says: "read latency saved by read priority, mean of six traces, SLC", published: 44.6, unit: "%", digits: 1 }, live: less(mean) },
    { set: { ...SUSPEND, scheme: "fifo", versus: "pe0" }, title: "What would be possible",
      text: "An ideal: programs and erases take no time at all. The distance to read priority is what reads wait for operations that have begun.",
      claim: { id: "pes.pe0.slc", says: "read latency saved if programs and erases took no time", published: 71.7, unit: "%", digits: 1 }, live: less(mean) },
    { set: { ...SUSPEND, scheme: "fifo", versus: "pes-ipc" }, title: "Suspend what runs",
      text: "Programs and erases are suspended for a read, within their phases, and go on after it. In the picture the lane “suspended” shows it. Reads are as fast as if programs took no time.",
      claim: { id: "pes.ipc_fifo.slc", says: "read latency saved by suspension within phases", published: 71.6, unit: "%", digits: 1 }, live: less(mean) },
    { set: { ...SUSPEND, scheme: "rps", versus: "pes-ipc" }, title: "Beyond read priority",
      text: "The same against read priority: half of what a read still took is gone.",
      claim: { id: "pes.ipc_rps.slc", says: "read latency saved over read priority", published: 48.9, unit: "%", digits: 1 }, live: less(mean) },
    { set: { ...SUSPEND, scheme: "pes-ipc", versus: "pes-ips" }, title: "Only between phases",
      text: "A simpler chip suspends a program only between two of its phases (IPS): reads wait for the phase to end, and nothing is done twice.",
      claim: { id: "pes.ips_ipc.slc", says: "read latency of IPS above IPC", published: 8.0, unit: "%", digits: 1 }, live: more(mean) },
    { set: { ...SUSPEND, scheme: "fifo", versus: "pes-ipc" }, title: "What writes pay",
      text: "Suspended programs end later, and some phases run twice. Writes, which wait for their program on this drive, become a little slower.",
      claim: { id: "pes.write.ipc.slc", says: "write latency added by suspension", published: 3.6, unit: "%", digits: 1 }, live: more((run) => run.result.host.write.latency_ns.mean) } ] },
  { id: "electronics25", name: "Erases just long enough (REO, Electronics 2025)", whose: "640 blocks of the virtual chip", steps: [
    { set: LIFE, title: "Erases wear blocks out",
      text: "A block is erased by pulses, loop after loop at rising voltage, until all cells are erased (ISPE). Each pulse is of the same length, and mostly longer than the last cells need. That stress is four fifths of all wear. The blue line passes the requirement of 63 errors first but for one.",
      claim: { id: "reo.life.base", says: "P/E cycles of a block under ISPE", published: 5300, unit: "cycles", digits: 0 }, live: life("ispe") },
    { set: LIFE, title: "Straight to the last loop?",
      text: "i-ISPE begins with the loop that succeeded last time. It is faster, and wears more: the voltage is high from the first moment on.",
      claim: { id: "reo.life.i_ispe", says: "lifetime under i-ISPE against ISPE", published: -25, unit: "%", digits: 0 }, live: ratio("i-ispe", "ispe") },
    { set: LIFE, title: "A lower voltage",
      text: "DPES lowers the erase voltage while blocks are young, and programs more slowly for it.",
      claim: { id: "reo.life.dpes", says: "lifetime under DPES against ISPE", published: 26, unit: "%", digits: 0 }, live: ratio("dpes", "ispe") },
    { set: LIFE, title: "REO−: predict the last pulse",
      text: "The verify read after a pulse counts the cells that are not erased yet. Their number tells how much longer the next pulse must be: REO− ends it there.",
      claim: { id: "reo.life.reo_minus", says: "P/E cycles of a block under REO−", published: 6900, unit: "cycles", digits: 0 }, live: life("reo-minus") },
    { set: LIFE, title: "REO: leave some to the code",
      text: "As long as the error-correcting code has room, a few cells may stay unerased. A fresh block then has more errors (the line begins higher), and yet lives longest.",
      claim: { id: "reo.life.reo", says: "P/E cycles of a block under REO", published: 7600, unit: "cycles", digits: 0 }, live: life("reo") },
    { set: { ...LIFE, dwpd: "3", waf: "3" }, title: "Years",
      text: "Cycles become years by what is written: three times the drive a day, each byte programmed three times. The gain in years is the gain in cycles; move the sliders.",
      claim: { id: "reo.mrber.0", says: "mean M_RBER of a fresh block under REO", published: 46, unit: "errors per KiB", digits: 0 }, live: ({ life: found }) => found.reo?.exact ? found.reo.rows[0].m_rber : null } ] },
];
