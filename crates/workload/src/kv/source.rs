//! The engine: prompts become reads of what is known, computing, and writes of what is new.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;

use units::{Bytes, Time};

use super::cache::{BlockId, Cache, Found, Slot};
use super::options::{GENERATED, Kv, Recompute};
use super::prompts::{File, Generated, Prompt, Prompts};
use crate::error::TraceError;
use crate::request::{ClosedLoop, Number, Op, Request, Source, SourceStatistic, TaskEnd, TaskKind};

/// A part of the drive that is read or written, request by request.
struct Transfer {
    op: Op,
    at: u64,
    left: u64,
    /// Of a read the load that it belongs to; of a write the block and its place.
    of: Of,
}

#[derive(Clone, Copy)]
enum Of {
    Load(u32),
    Block(BlockId, Slot),
}

/// A prompt whose known blocks are being read.
struct Load {
    prompt: Begun,
    bytes: u64,
    /// Requests that are to be made, and that have not completed.
    left: u64,
    /// The places that are read.
    places: Vec<Slot>,
}

/// A prompt that has arrived.
struct Begun {
    arrived: Time,
    /// The number of the request that was next then.
    first: u64,
    /// Tokens to compute before the first new one.
    tokens: u64,
    /// What is written then.
    new: Vec<NewBlock>,
}

/// A block that is computed and written.
struct NewBlock {
    block: BlockId,
    slot: Slot,
    bytes: u64,
}

/// What has come of the prompts so far, in tokens where nothing else is said.
#[derive(Default)]
struct Counts {
    prompts: u64,
    asked: u64,
    from_memory: u64,
    loaded: u64,
    computed: u64,
    recomputed: u64,
    written: u64,
    /// Times \[ns]: of loads, of waiting for an engine, of computing.
    loading: u64,
    waiting: u64,
    computing: u64,
}

/// The requests of an engine.
pub(super) struct Engine {
    kv: Kv,
    block_bytes: u64,
    prompts: Prompts,
    /// The prompt that arrives next.
    next: Option<Prompt>,
    cache: Cache,
    /// What is to be read and written, by time and in which order.
    due: BinaryHeap<Reverse<(Time, u64)>>,
    transfers: HashMap<u64, Transfer>,
    order: u64,
    loads: HashMap<u32, Load>,
    load_number: u32,
    /// Reads under way, by number.
    reading: HashMap<u64, u32>,
    /// When each engine has computed what it was given.
    engines: Vec<Time>,
    /// Bytes of a nanosecond in the loads before, as a moving average; and prompts since the last of them that are
    /// computed in place of loads.
    bandwidth: Option<f64>,
    computed_in_a_row: u32,
    /// When the first prompt and the last one have arrived.
    arrivals: Option<(Time, Time)>,
    made: u64,
    counts: Counts,
    ended: Vec<TaskEnd>,
}

/// Where a block is written that has no place yet.
const UNPLACED: u64 = u64::MAX;

/// What an engine would have computed only after a century, it never has \[ns].
const NEVER: u64 = 1 << 62;

/// The weight of the last load in the bandwidth that is expected (assumed).
const LAST: f64 = 0.25;

impl Engine {
    /// Invariant: `kv` has been checked for this capacity.
    pub fn new(kv: &Kv, capacity: Bytes, seed: u64) -> Result<Engine, TraceError> {
        let prompts = match kv.prompts.as_str() {
            GENERATED => Prompts::Generated(Box::new(Generated::new(kv, seed))),
            path => Prompts::File(Box::new(File::open(Path::new(path), kv)?)),
        };
        let slots = kv.slots(capacity) as u32;
        let in_memory = kv.memory.0 / kv.block_bytes();
        let mut engine = Engine {
            block_bytes: kv.block_bytes(),
            prompts,
            next: None,
            cache: Cache::new(slots, in_memory, kv.stored.0 > 0.0, kv.zones(capacity)),
            due: BinaryHeap::new(),
            transfers: HashMap::new(),
            order: 0,
            loads: HashMap::new(),
            load_number: 0,
            reading: HashMap::new(),
            engines: vec![Time::ZERO; kv.engines as usize],
            bandwidth: None,
            computed_in_a_row: 0,
            arrivals: None,
            made: 0,
            counts: Counts::default(),
            ended: Vec::new(),
            kv: kv.clone(),
        };
        engine.next = engine.prompts.next()?;
        Ok(engine)
    }

    /// Bytes of this many tokens.
    fn bytes(&self, tokens: u64) -> u64 {
        tokens * self.kv.token_bytes.0
    }

    /// How long one engine computes this many tokens \[ns].
    fn computes(&self, tokens: u64) -> u64 {
        (tokens as f64 * 1e9 / self.kv.prefill_rate) as u64
    }

    /// Tokens of block number `i` of a prompt.
    fn tokens_of(&self, prompt: &Prompt, i: usize) -> u64 {
        let size = u64::from(self.kv.block_tokens);
        prompt.tokens.saturating_sub(i as u64 * size).min(size)
    }

    fn is_due(&mut self, time: Time, transfer: Transfer) {
        self.due.push(Reverse((time, self.order)));
        self.transfers.insert(self.order, transfer);
        self.order += 1;
    }

    /// A prompt arrives: what it begins with and is known is read.
    fn arrives(&mut self, prompt: &Prompt) {
        let first = self.arrivals.map_or(prompt.arrives, |(first, _)| first);
        self.arrivals = Some((first, prompt.arrives));
        let mut found = Vec::new();
        let stored = (self.kv.stored.0 * prompt.blocks.len() as f64).round() as usize;
        for (i, block) in prompt.blocks.iter().enumerate() {
            // A block can be used only after all those before it.
            let Some(place) = self.cache.find(*block, i < stored) else { break };
            found.push(place);
        }
        if let Some(kept) = self.faster_to_compute_from(prompt, &found) {
            self.counts.recomputed += (kept..found.len()).map(|i| self.tokens_of(prompt, i)).sum::<u64>();
            found.truncate(kept);
        }
        let known: u64 = (0..found.len()).map(|i| self.tokens_of(prompt, i)).sum();
        let new = (found.len()..prompt.blocks.len()).filter(|i| !self.cache.knows(prompt.blocks[*i]));
        let new: Vec<(BlockId, u64)> = new.map(|i| (prompt.blocks[i], self.bytes(self.tokens_of(prompt, i)))).collect();
        let new =
            new.into_iter().map(|(block, bytes)| NewBlock { block, slot: self.cache.insert(block), bytes }).collect();
        // The last token is computed in any case: it leads to the first new one.
        let tokens = (prompt.tokens - known).max(1);
        self.counts.prompts += 1;
        self.counts.asked += prompt.tokens;
        self.counts.computed += tokens;
        let begun = Begun { arrived: prompt.arrives, first: self.made, tokens, new };
        self.loads(prompt, begun, &found);
    }

    /// Reads what has been found on the drive, or computes at once.
    fn loads(&mut self, prompt: &Prompt, begun: Begun, found: &[Found]) {
        let (number, mut bytes, mut left) = (self.load_number, 0, 0);
        let mut places = Vec::new();
        for (i, place) in found.iter().enumerate() {
            let tokens = self.tokens_of(prompt, i);
            let Found::Drive(slot) = *place else {
                self.counts.from_memory += tokens;
                continue;
            };
            self.counts.loaded += tokens;
            let (at, length) = (self.kv.offset.0 + self.cache.at(slot, self.block_bytes), self.bytes(tokens));
            self.cache.reads(slot, true);
            places.push(slot);
            bytes += length;
            left += length.div_ceil(self.kv.bs.0);
            self.is_due(prompt.arrives, Transfer { op: Op::Read, at, left: length, of: Of::Load(number) });
        }
        if bytes == 0 {
            return self.is_loaded(begun, prompt.arrives);
        }
        self.load_number = self.load_number.wrapping_add(1);
        self.loads.insert(number, Load { prompt: begun, bytes, left, places });
    }

    /// The first block on the drive, if computing it and all that has been found behind it takes less time than reading
    /// what of them is there.
    fn faster_to_compute_from(&mut self, prompt: &Prompt, found: &[Found]) -> Option<usize> {
        let Recompute::Faster(probe) = self.kv.recompute else { return None };
        let bandwidth = self.bandwidth?;
        let is_read = |place: &Found| matches!(place, Found::Drive(_));
        let first = found.iter().position(is_read)?;
        let bytes = found.iter().filter(|place| is_read(place)).count() as u64 * self.block_bytes;
        let more = (first..found.len()).map(|i| self.tokens_of(prompt, i)).sum();
        if self.computes(more) as f64 >= bytes as f64 / bandwidth {
            return None;
        }
        // What is never loaded would be slow for ever.
        self.computed_in_a_row += 1;
        (self.computed_in_a_row != probe).then_some(first)
    }

    /// All that is known of a prompt has been read: the rest is computed when an engine is free, and written when that
    /// is done.
    fn is_loaded(&mut self, prompt: Begun, now: Time) {
        let took = self.computes(prompt.tokens);
        let engine = self.engines.iter_mut().min().expect("Invariant: there is an engine");
        let begins = now.max(*engine);
        let ends = Time(begins.0.saturating_add(took));
        *engine = ends;
        self.counts.loading += now.since(prompt.arrived).0;
        self.counts.waiting += begins.since(now).0;
        self.counts.computing += took;
        let (first, began) = (prompt.first, prompt.arrived);
        self.ended.push(TaskEnd { kind: TaskKind::Whole, first, began, ended: ends });
        for NewBlock { block, slot, bytes } in prompt.new {
            self.counts.written += bytes;
            // In a zone the next block begins where this one ends.
            let left = if self.kv.zone_size.is_some() { self.block_bytes } else { bytes };
            self.is_due(ends, Transfer { op: Op::Write, at: UNPLACED, left, of: Of::Block(block, slot) });
        }
    }

    /// What prompts asked the engines for, over what these can compute from the first arrival to the last; and how many
    /// prompts' worth of it is left for each engine at the last arrival.
    fn offered(&self) -> Option<(f64, f64)> {
        let (first, last) = self.arrivals?;
        let (engines, prompts) = (self.engines.len() as f64, self.counts.prompts as f64);
        let mean = self.counts.computing as f64 / prompts;
        let left: u64 = self.engines.iter().map(|engine| engine.0.saturating_sub(last.0)).sum();
        let load = mean * (prompts - 1.0) / (engines * last.since(first).0 as f64);
        (last > first && mean > 0.0).then(|| (load, left as f64 / (mean * engines)))
    }

    /// A block that begins to be written is given its place; the request that has to come before, if one has to.
    fn places(&mut self, time: Time, order: u64) -> Option<Request> {
        let transfer = self.transfers.get_mut(&order).filter(|transfer| transfer.at == UNPLACED)?;
        let Of::Block(block, slot) = transfer.of else { return None };
        let (slot, reset) = self.cache.places(block, slot);
        transfer.at = self.kv.offset.0 + self.cache.at(slot, self.block_bytes);
        transfer.of = Of::Block(block, slot);
        let (zone, size) = (reset?, self.kv.zone_size?);
        let at = self.kv.offset.0 + u64::from(zone) * size.0;
        self.made += 1;
        Some(Request::new(time, self.kv.zone_reset.op(), Bytes(at), size))
    }

    /// The next request of what is due first. Invariant: something is.
    fn request(&mut self) -> Option<Request> {
        let Reverse((time, order)) = *self.due.peek()?;
        if let Some(before) = self.places(time, order) {
            return Some(before);
        }
        let transfer = self.transfers.get_mut(&order)?;
        let bytes = transfer.left.min(self.kv.bs.0);
        let at = transfer.at;
        (transfer.at, transfer.left) = (at + bytes, transfer.left - bytes);
        let (op, of, is_last) = (transfer.op, transfer.of, transfer.left == 0);
        if is_last {
            self.due.pop();
            self.transfers.remove(&order);
        }
        match of {
            Of::Load(load) => {
                self.reading.insert(self.made, load);
            }
            Of::Block(block, slot) if is_last => self.cache.written(block, slot),
            Of::Block(..) => {}
        }
        // What is written to a zone keeps its order.
        let in_order = op == Op::Write && self.kv.zone_size.is_some();
        let queue = if in_order { 0 } else { (self.made % u64::from(self.kv.queues)) as u16 };
        self.made += 1;
        let hint = if op == Op::Write { self.kv.hint } else { 0 };
        Some(Request::new(time, op, Bytes(at), Bytes(bytes)).on(queue).hinted(hint))
    }

    /// Makes the next request, after the prompts that arrive before it, up to `time`; none where none is made by then.
    fn make(&mut self, time: Time) -> Result<Option<Request>, TraceError> {
        loop {
            let due = self.due.peek().map(|Reverse((due, _))| *due);
            let arrives = self.next.as_ref().map(|prompt| prompt.arrives);
            if due.is_some_and(|due| due <= time && arrives.is_none_or(|arrives| due <= arrives)) {
                return Ok(self.request());
            }
            if arrives.is_none_or(|arrives| arrives > time) {
                return Ok(None);
            }
            if let Some(prompt) = self.next.take() {
                self.arrives(&prompt);
            }
            self.next = self.prompts.next()?;
        }
    }
}

impl Source for Engine {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        for _ in 0..max {
            let Some(time) = self.next_time() else { break };
            match self.make(time)? {
                Some(request) => batch.push(request),
                None => break,
            }
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        self.prompts.progress()
    }

    fn closed_loop(&mut self) -> Option<&mut dyn ClosedLoop> {
        Some(self)
    }

    fn statistics(&self) -> Vec<SourceStatistic> {
        let Counts { prompts, asked, from_memory, loaded, computed, recomputed, written, .. } = self.counts;
        let Counts { loading, waiting, computing, .. } = self.counts;
        let mean = |sum: u64| Number::Amount(sum as f64 / prompts.max(1) as f64);
        let count = |name, unit, about, value: u64| SourceStatistic { name, unit, about, value: Number::Count(value) };
        vec![
            count(
                "kv.prompts",
                "prompts",
                "prompts that arrived, those of the warm-up included, as in all that follows",
                prompts,
            ),
            count("kv.tokens", "tokens", "tokens of the prompts", asked),
            count(
                "kv.tokens_from_memory",
                "tokens",
                "of these tokens those whose keys and values were in memory",
                from_memory,
            ),
            count(
                "kv.tokens_from_drive",
                "tokens",
                "of these tokens those whose keys and values were read from the drive",
                loaded,
            ),
            count("kv.tokens_computed", "tokens", "of these tokens those that were computed", computed),
            count(
                "kv.tokens_recomputed",
                "tokens",
                "computed tokens that were on the drive, and would have been read later",
                recomputed,
            ),
            count("kv.written_bytes", "B", "keys and values that were written", written),
            SourceStatistic {
                name: "kv.load_ns",
                unit: "ns",
                about: "mean time from a prompt's arrival until what is known of it has been read",
                value: mean(loading),
            },
            SourceStatistic {
                name: "kv.wait_ns",
                unit: "ns",
                about: "mean time that a prompt then waits for an engine",
                value: mean(waiting),
            },
            SourceStatistic {
                name: "kv.compute_ns",
                unit: "ns",
                about: "mean time of computing up to the first new token",
                value: mean(computing),
            },
            SourceStatistic {
                name: "kv.engine_load",
                unit: "",
                about: "computing that prompts ask for, over what the engines can do from the first arrival to the last: above 1 waits grow with the run",
                value: Number::Amount(self.offered().map_or(0.0, |(load, _)| load)),
            },
            SourceStatistic {
                name: "kv.backlog",
                unit: "prompts",
                about: "computing that is left for each engine at the last arrival, in mean prompts",
                value: Number::Amount(self.offered().map_or(0.0, |(_, left)| left)),
            },
        ]
    }
}

impl ClosedLoop for Engine {
    fn next_time(&self) -> Option<Time> {
        let due = self.due.peek().map(|Reverse((due, _))| *due);
        let arrives = self.next.as_ref().map(|prompt| prompt.arrives);
        due.into_iter().chain(arrives).min().filter(|time| time.0 < NEVER)
    }

    fn completed(&mut self, number: u64, _: u16, time: Time) {
        let Some(number) = self.reading.remove(&number) else { return };
        let Some(load) = self.loads.get_mut(&number) else { return };
        load.left -= 1;
        if load.left > 0 {
            return;
        }
        let Some(Load { prompt, bytes, places, .. }) = self.loads.remove(&number) else { return };
        places.into_iter().for_each(|slot| self.cache.reads(slot, false));
        let took = time.since(prompt.arrived).0.max(1) as f64;
        let last = bytes as f64 / took;
        self.bandwidth = Some(self.bandwidth.map_or(last, |before| before + LAST * (last - before)));
        self.computed_in_a_row = 0;
        self.ended.push(TaskEnd { kind: TaskKind::Load, first: prompt.first, began: prompt.arrived, ended: time });
        self.is_loaded(prompt, time);
    }

    fn take_ended(&mut self) -> Vec<TaskEnd> {
        std::mem::take(&mut self.ended)
    }
}
