//! What a run reports: counters and usage that the device keeps, and the statistics made of them.

pub mod energy;
pub mod latency;
pub mod report;
pub mod series;
pub mod steady;

use units::Span;

/// What a die's time goes into.
pub mod die {
    /// Nothing.
    pub const IDLE: usize = 0;
    /// Sensing, the read command included.
    pub const READ: usize = 1;
    /// Holding sensed pages that have not left.
    pub const HOLD: usize = 2;
    /// Receiving the data of a program.
    pub const LOAD: usize = 3;
    /// Programming.
    pub const PROGRAM: usize = 4;
    /// Erasing, the command included.
    pub const ERASE: usize = 5;
    /// The causes' names and meanings.
    pub const CAUSES: [(&str, &str); 6] = [
        ("idle", "nothing to do"),
        ("read", "sensing, the read command included"),
        ("hold", "holding sensed pages that wait for the bus or leave over it"),
        ("load", "receiving the data of a program"),
        ("program", "programming"),
        ("erase", "erasing, the command included"),
    ];

    /// What an idle die with work waits for. To a die's share of time this is idleness; to a request that waits for
    /// the die it is what keeps it.
    pub const WAITS: [(&str, &str); 3] = [
        ("bus wait", "waiting for the bus, to take a command or data"),
        ("chip wait", "another die of the chip works, and they do not interleave"),
        ("collection wait", "collection of a block that nothing may interrupt, between its operations"),
    ];
    /// For the bus.
    pub const WAIT_BUS: usize = CAUSES.len();
    /// For another die of the chip.
    pub const WAIT_CHIP: usize = CAUSES.len() + 1;
    /// For a collection.
    pub const WAIT_COLLECTION: usize = CAUSES.len() + 2;
    /// How many causes and waits there are.
    pub const SPENT: usize = CAUSES.len() + WAITS.len();
    /// Time by cause, then by wait; idleness is what is left over.
    pub type Spent = [units::Span; SPENT];

    /// The causes and waits by name.
    pub fn names() -> impl Iterator<Item = &'static str> {
        CAUSES.iter().chain(&WAITS).map(|(name, _)| *name)
    }
}

/// What a channel's time goes into.
pub mod channel {
    /// Nothing.
    pub const IDLE: usize = 0;
    /// Read and erase commands.
    pub const COMMAND: usize = 1;
    /// Pages out of dies.
    pub const READ_DATA: usize = 2;
    /// Pages into dies, the program command included.
    pub const WRITE_DATA: usize = 3;
    /// Pages wait, and the ECC engine has no room for them.
    pub const ECC_WAIT: usize = 4;
    /// Pages out of dies that cannot be corrected (UNCOR of hpca24 Fig. 18).
    pub const UNCORRECTABLE: usize = 5;
    /// The causes' names and meanings.
    pub const CAUSES: [(&str, &str); 6] = [
        ("idle", "nothing to move"),
        ("command", "read and erase commands"),
        ("read_data", "pages out of dies that are corrected"),
        ("write_data", "pages into dies, the program command included"),
        ("ecc_wait", "pages wait to leave, and the ECC engine has no room for them"),
        ("uncorrectable", "pages out of dies that are not, and sentinel cells"),
    ];
}

/// Why a block's data moves.
pub mod relocation_causes {
    /// Garbage collection.
    pub const COLLECTION: usize = 0;
    /// Static wear levelling.
    pub const WEAR_LEVELLING: usize = 1;
    /// Old data.
    pub const REFRESH: usize = 2;
    /// A block that was read often.
    pub const READ_RECLAIM: usize = 3;
    /// A block that failed.
    pub const BAD_BLOCK: usize = 4;
    /// The causes' names and meanings.
    pub const CAUSES: [(&str, &str); 5] = [
        ("gc", "garbage collection"),
        ("wear_levelling", "static wear levelling"),
        ("refresh", "refresh of old data"),
        ("read_reclaim", "read reclaim"),
        ("bad_block", "saving the data of blocks that failed"),
    ];
}

/// Counts since the start of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Events played.
    pub events: u64,
    /// Host requests that completed.
    pub requests_completed: u64,
    /// Host reads started, and their bytes.
    pub read_requests: u64,
    /// Bytes that host reads asked for.
    pub read_bytes: u64,
    /// Host writes started.
    pub write_requests: u64,
    /// Bytes that host writes brought.
    pub write_bytes: u64,
    /// Page reads answered by the write buffer.
    pub buffer_hits: u64,
    /// Page writes merged into a page that was still in the buffer.
    pub merged_writes: u64,
    /// Pages sensed.
    pub senses: u64,
    /// Pages read from flash, decoded.
    pub pages_read: u64,
    /// Of these, pages read to complete partly written ones.
    pub fill_reads: u64,
    /// Of these, pages with data from before the run.
    pub cold_reads: u64,
    /// Retention ages of the pages read, summed [s].
    pub read_retention_s: u64,
    /// P/E cycles of the pages read, summed.
    pub read_pec: u64,
    /// Retry steps that the pages read need, summed.
    pub retry_steps: u64,
    /// Of the pages read, those that need any.
    pub pages_retried: u64,
    /// Of the pages read, those that no step reads.
    pub pages_unreadable: u64,
    /// Of the pages retried, those whose every step failed with the RPT's tPRE and that were retried with the default one.
    pub reads_repeated: u64,
    /// Senses that turned out not to be needed, and the time that dies spent on them [ns].
    pub speculative_senses: u64,
    /// Time that dies spent on them, resets included [ns].
    pub speculative_ns: u64,
    /// Pages that left a die and could not be corrected, and sentinel cells.
    pub uncorrectable_transfers: u64,
    /// Pages for which it was predicted whether they can be corrected.
    pub predictions: u64,
    /// Bytes out of the dies with sentinel cells, which are not decoded.
    pub sentinel_bytes: u64,
    /// Time that dies spent on predictions [ns].
    pub predicting_ns: u64,
    /// Of the predictions, pages predicted not to be.
    pub predicted_failures: u64,
    /// Of the predictions, those that were right.
    pub predictions_right: u64,
    /// SET FEATURE commands that changed the timing of senses.
    pub set_features: u64,
    /// Requests some of whose data could not be corrected.
    pub requests_uncorrectable: u64,
    /// Requests that a read-only drive refused.
    pub requests_refused: u64,
    /// Times that programs were suspended.
    pub program_suspensions: u64,
    /// Times that erases were suspended.
    pub erase_suspensions: u64,
    /// Programs and erases that were suspended at least once.
    pub operations_suspended: u64,
    /// Program and erase commands that have ended.
    pub operations: u64,
    /// Time that suspended operations took from their beginning to their end, and would have taken [ns].
    pub suspended_ns: u64,
    /// What they would have taken without.
    pub suspended_nominal_ns: u64,
    /// Blocks that were erased pulse by pulse (`erase.pulse`).
    pub pulsed_erases: u64,
    /// Loops of these erases, summed.
    pub erase_loops: u64,
    /// Time that they took, each block for itself, suspensions left out [ns].
    pub erase_ns: u64,
    /// Of these, those that left something to the ECC.
    pub erases_incomplete: u64,
    /// Of these, those that a misprediction made longer.
    pub erases_mispredicted: u64,
    /// Of these, those for which all loops did not suffice.
    pub erases_exhausted: u64,
    /// Bytes out of the dies.
    pub bytes_read: u64,
    /// Pages programmed, padding included.
    pub pages_programmed: u64,
    /// Of these, pages with host data.
    pub user_pages_programmed: u64,
    /// Of these, pages programmed empty to fill a wordline.
    pub pages_padded: u64,
    /// Pages moved into the dies.
    pub pages_transferred_in: u64,
    /// Blocks erased.
    pub blocks_erased: u64,
    /// Of the pages programmed, those that moved without crossing a bus.
    pub pages_copied_back: u64,
    /// Pages whose program failed.
    pub pages_failed: u64,
    /// Blocks whose data began to move, by [`relocation_causes::CAUSES`].
    pub blocks_relocated: [u64; relocation_causes::CAUSES.len()],
    /// Pages that were moved, by the same causes.
    pub pages_relocated: [u64; relocation_causes::CAUSES.len()],
    /// Of the collections, those that began because a die was idle.
    pub background_runs: u64,
    /// Blocks that went out of service.
    pub blocks_retired: u64,
    /// Look-ups in the cached mapping table, and those that found their entry.
    pub map_lookups: u64,
    /// Look-ups that found their entry in the cache.
    pub map_hits: u64,
    /// Translation pages read.
    pub map_reads: u64,
    /// Translation pages programmed.
    pub map_programs: u64,
    /// Page reads of addresses that hold nothing.
    pub unmapped_reads: u64,
    /// Trims started.
    pub trim_requests: u64,
    /// Pages that they unmapped.
    pub pages_trimmed: u64,
    /// Flushes started.
    pub flush_requests: u64,
    /// Bytes that the host wrote and that have left the write buffer for good: given to a program, trimmed, or written again
    /// before.
    pub bytes_settled: u64,
}

impl Counters {
    /// What has happened since `before`.
    pub fn since(&self, before: &Counters) -> Counters {
        Counters {
            events: self.events - before.events,
            requests_completed: self.requests_completed - before.requests_completed,
            read_requests: self.read_requests - before.read_requests,
            read_bytes: self.read_bytes - before.read_bytes,
            write_requests: self.write_requests - before.write_requests,
            write_bytes: self.write_bytes - before.write_bytes,
            buffer_hits: self.buffer_hits - before.buffer_hits,
            merged_writes: self.merged_writes - before.merged_writes,
            senses: self.senses - before.senses,
            pages_read: self.pages_read - before.pages_read,
            fill_reads: self.fill_reads - before.fill_reads,
            cold_reads: self.cold_reads - before.cold_reads,
            read_retention_s: self.read_retention_s - before.read_retention_s,
            read_pec: self.read_pec - before.read_pec,
            retry_steps: self.retry_steps - before.retry_steps,
            pages_retried: self.pages_retried - before.pages_retried,
            pages_unreadable: self.pages_unreadable - before.pages_unreadable,
            reads_repeated: self.reads_repeated - before.reads_repeated,
            speculative_senses: self.speculative_senses - before.speculative_senses,
            speculative_ns: self.speculative_ns - before.speculative_ns,
            set_features: self.set_features - before.set_features,
            requests_uncorrectable: self.requests_uncorrectable - before.requests_uncorrectable,
            requests_refused: self.requests_refused - before.requests_refused,
            program_suspensions: self.program_suspensions - before.program_suspensions,
            erase_suspensions: self.erase_suspensions - before.erase_suspensions,
            operations_suspended: self.operations_suspended - before.operations_suspended,
            operations: self.operations - before.operations,
            suspended_ns: self.suspended_ns - before.suspended_ns,
            suspended_nominal_ns: self.suspended_nominal_ns - before.suspended_nominal_ns,
            pulsed_erases: self.pulsed_erases - before.pulsed_erases,
            erase_loops: self.erase_loops - before.erase_loops,
            erase_ns: self.erase_ns - before.erase_ns,
            erases_incomplete: self.erases_incomplete - before.erases_incomplete,
            erases_mispredicted: self.erases_mispredicted - before.erases_mispredicted,
            erases_exhausted: self.erases_exhausted - before.erases_exhausted,
            bytes_read: self.bytes_read - before.bytes_read,
            pages_programmed: self.pages_programmed - before.pages_programmed,
            user_pages_programmed: self.user_pages_programmed - before.user_pages_programmed,
            pages_padded: self.pages_padded - before.pages_padded,
            pages_transferred_in: self.pages_transferred_in - before.pages_transferred_in,
            blocks_erased: self.blocks_erased - before.blocks_erased,
            pages_copied_back: self.pages_copied_back - before.pages_copied_back,
            pages_failed: self.pages_failed - before.pages_failed,
            blocks_relocated: std::array::from_fn(|cause| {
                self.blocks_relocated[cause] - before.blocks_relocated[cause]
            }),
            pages_relocated: std::array::from_fn(|cause| self.pages_relocated[cause] - before.pages_relocated[cause]),
            background_runs: self.background_runs - before.background_runs,
            blocks_retired: self.blocks_retired - before.blocks_retired,
            uncorrectable_transfers: self.uncorrectable_transfers - before.uncorrectable_transfers,
            predictions: self.predictions - before.predictions,
            sentinel_bytes: self.sentinel_bytes - before.sentinel_bytes,
            predicting_ns: self.predicting_ns - before.predicting_ns,
            predicted_failures: self.predicted_failures - before.predicted_failures,
            predictions_right: self.predictions_right - before.predictions_right,
            map_lookups: self.map_lookups - before.map_lookups,
            map_hits: self.map_hits - before.map_hits,
            map_reads: self.map_reads - before.map_reads,
            map_programs: self.map_programs - before.map_programs,
            unmapped_reads: self.unmapped_reads - before.unmapped_reads,
            trim_requests: self.trim_requests - before.trim_requests,
            pages_trimmed: self.pages_trimmed - before.pages_trimmed,
            flush_requests: self.flush_requests - before.flush_requests,
            bytes_settled: self.bytes_settled - before.bytes_settled,
        }
    }
}

/// How many pages needed how many retry steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// Pages by their steps.
    pub pages: Vec<u64>,
}

impl Steps {
    pub(crate) fn record(&mut self, steps: usize) {
        if steps >= self.pages.len() {
            self.pages.resize(steps + 1, 0);
        }
        self.pages[steps] += 1;
    }

    /// What was recorded since `before`.
    pub fn since(&self, before: &Steps) -> Steps {
        let earlier = |steps: usize| before.pages.get(steps).copied().unwrap_or(0);
        Steps { pages: self.pages.iter().enumerate().map(|(steps, pages)| pages - earlier(steps)).collect() }
    }

    /// The steps that a share of the pages do not exceed; the fewest of any for 0.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let total: u64 = self.pages.iter().sum();
        let wanted = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.pages.iter().position(|pages| {
            seen += pages;
            seen >= wanted
        });
        found.map(|steps| steps as u64)
    }
}

/// How many valid pages the collected blocks had.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Victims {
    /// Blocks by twentieths of valid pages: none to under 5 %, and so on; the last holds 95 to 100 %.
    pub blocks: [u64; 20],
    /// Valid pages and pages of all of them.
    pub valid: u64,
    /// Pages of all of them.
    pub pages: u64,
}

impl Victims {
    pub(crate) fn add(&mut self, valid: u32, pages: u32) {
        self.blocks[(valid * 20 / pages).min(19) as usize] += 1;
        self.valid += u64::from(valid);
        self.pages += u64::from(pages);
    }

    /// What was added since `before`.
    pub fn since(&self, before: &Victims) -> Victims {
        Victims {
            blocks: std::array::from_fn(|bin| self.blocks[bin] - before.blocks[bin]),
            valid: self.valid - before.valid,
            pages: self.pages - before.pages,
        }
    }
}

/// Where the time of every resource went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Simulated time.
    pub elapsed: Span,
    /// By die, then by [`die::CAUSES`].
    pub dies: Vec<[Span; die::CAUSES.len()]>,
    /// By channel, then by [`channel::CAUSES`].
    pub channels: Vec<[Span; channel::CAUSES.len()]>,
    /// Busy time of each channel's ECC engine, as a mean over its decoders.
    pub decoders: Vec<Span>,
    /// Time with a request in the drive.
    pub host: Span,
    /// Busy time of the link from the host.
    pub link_in: Span,
    /// Busy time of the link to the host.
    pub link_out: Span,
    /// Busy time of the DRAM.
    pub dram: Span,
}

impl Usage {
    /// Where the time since `before` went. An empty `before` stands for the start.
    pub fn since(&self, before: &Usage) -> Usage {
        fn each<const N: usize>(now: &[[Span; N]], before: &[[Span; N]]) -> Vec<[Span; N]> {
            let zero = [Span::ZERO; N];
            now.iter()
                .enumerate()
                .map(|(index, times)| {
                    let earlier = before.get(index).unwrap_or(&zero);
                    std::array::from_fn(|cause| Span(times[cause].0 - earlier[cause].0))
                })
                .collect()
        }
        let less = |now: Span, before: Span| Span(now.0 - before.0);
        Usage {
            elapsed: less(self.elapsed, before.elapsed),
            dies: each(&self.dies, &before.dies),
            channels: each(&self.channels, &before.channels),
            decoders: self
                .decoders
                .iter()
                .enumerate()
                .map(|(index, time)| less(*time, before.decoders.get(index).copied().unwrap_or_default()))
                .collect(),
            link_in: less(self.link_in, before.link_in),
            link_out: less(self.link_out, before.link_out),
            dram: less(self.dram, before.dram),
            host: less(self.host, before.host),
        }
    }
}
