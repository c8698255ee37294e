//! What a device counts. A counter that is a statistic by itself is declared here once, with its name, unit and
//! description, in the group beside which the report shows it.

use super::relocation_causes;
use crate::persist::{Reader, Stored, Writer};
use crate::streams::HOSTS;

/// Counts of one kind: one number, or one for each cause.
trait Count: Copy {
    fn since(self, before: Self) -> Self;
    fn plus(self, more: Self) -> Self;
}

impl Count for u64 {
    fn since(self, before: u64) -> u64 {
        self - before
    }
    fn plus(self, more: u64) -> u64 {
        self + more
    }
}

impl<const N: usize> Count for [u64; N] {
    fn since(self, before: [u64; N]) -> [u64; N] {
        std::array::from_fn(|cause| self[cause] - before[cause])
    }
    fn plus(self, more: [u64; N]) -> [u64; N] {
        std::array::from_fn(|cause| self[cause] + more[cause])
    }
}

/// A counter that is a statistic by itself.
pub(super) struct Declared {
    pub name: &'static str,
    pub unit: &'static str,
    pub description: &'static str,
    pub count: fn(&Counters) -> u64,
}

macro_rules! counters {
    (
        $($(#[doc = $about:literal])+ $group:ident {
            $($counter:ident = $name:literal, $unit:literal, $description:literal;)+
        })+
        internal { $($(#[doc = $doc:literal])+ $inner:ident: $type:ty,)+ }
    ) => {
        /// Counts since the start of a device.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Counters {
            $($(#[doc = concat!("`", $name, "`: ", $description, ".")] pub $counter: u64,)+)+
            $($(#[doc = $doc])+ pub $inner: $type,)+
        }

        impl Counters {
            /// What has happened since `before`.
            pub fn since(&self, before: &Counters) -> Counters {
                Counters {
                    $($($counter: self.$counter.since(before.$counter),)+)+
                    $($inner: self.$inner.since(before.$inner),)+
                }
            }

            /// What has happened in two drives together.
            pub fn plus(&self, more: &Counters) -> Counters {
                Counters {
                    $($($counter: self.$counter.plus(more.$counter),)+)+
                    $($inner: self.$inner.plus(more.$inner),)+
                }
            }
        }

        impl Stored for Counters {
            fn write(&self, to: &mut Writer) {
                $($(self.$counter.write(to);)+)+
                $(self.$inner.write(to);)+
            }
            fn read(from: &mut Reader) -> std::io::Result<Counters> {
                Ok(Counters { $($($counter: Stored::read(from)?,)+)+ $($inner: Stored::read(from)?,)+ })
            }
        }

        $($(#[doc = $about])+
        pub(super) const $group: &[Declared] = &[$(Declared {
            name: $name,
            unit: $unit,
            description: $description,
            count: |counters| counters.$counter,
        }),+];)+
    };
}

counters! {
    /// Requests that the drive did not serve as asked.
    FAILED_REQUESTS {
        requests_uncorrectable = "host.uncorrectable", "requests", "requests some of whose data could not be corrected";
        requests_until_uncorrectable = "host.until_uncorrectable", "requests", "requests completed before the first some of whose data could not be corrected";
        requests_given_up = "host.given_up", "requests", "reads some of whose data was not read to the end, as they allow (read.fail_fast)";
        requests_refused = "host.refused", "requests", "writes, trims and flushes that a read-only drive refused (wear.end_of_life)";
    }
    /// What was done to zones.
    ZONES {
        requests_failed = "zones.refused", "requests", "requests that zones, or their absence, refused: the completion has the NVMe status";
        zone_appends = "zones.appends", "requests", "appends";
        zones_reset = "zones.resets", "zones", "zones that held data or were open, and were reset";
        zones_finished = "zones.finishes", "zones", "zones that were finished before they were written to their end";
        zones_opened_by_writes = "zones.opened.by_writes", "zones", "zones that writes opened";
        zones_opened_by_host = "zones.opened.by_host", "zones", "zones that the host opened";
        zones_closed_by_host = "zones.closed.by_host", "zones", "zones that the host closed";
        zones_closed_by_drive = "zones.closed.by_drive", "zones", "zones that the drive closed, so that another one could be opened";
        zone_padding = "zones.padding", "logical pages", "pages programmed empty behind the data of zones: a part of flash.padding";
    }
    /// Reclaim units of placement handles.
    FDP {
        reclaim_units_filled = "fdp.filled", "reclaim units", "reclaim units of handles that were written to their end";
        reclaim_units_left = "fdp.left", "reclaim units", "reclaim units that the host has left before their end";
        invalid_handles = "fdp.invalid_handles", "requests", "writes whose hint names no handle: they went to the hint modulo ftl.hints";
        pages_of_full_groups = "fdp.other_group", "logical pages", "pages that were written to dies of another reclaim group, since their own had no room";
    }
    /// Merges of log blocks and data blocks.
    MERGES {
        switch_merges = "ftl.merges.switch", "logical blocks", "logical blocks that were written in order to their end: the log block is the data block (ftl.mapping = fast)";
        partial_merges = "ftl.merges.partial", "logical blocks", "logical blocks whose rest was copied behind what had been written in order (ftl.mapping = fast)";
        full_merges = "ftl.merges.full", "logical blocks", "logical blocks of which all pages were copied to an erased block (ftl.mapping = fast)";
    }
    /// Pages that requests touched without flash.
    BUFFERED {
        buffer_hits = "host.buffer_hits", "logical pages", "page reads answered by the write buffer";
        merged_writes = "host.merged_writes", "logical pages", "page writes merged into a page that was still in the buffer";
        unmapped_reads = "host.unmapped_reads", "logical pages", "page reads of addresses that hold nothing";
        pages_trimmed = "host.trimmed", "logical pages", "pages unmapped by trims";
    }
    /// Pages that reads found in the read cache.
    READ_CACHE {
        read_cache_hits = "host.read_cache_hits", "logical pages", "page reads answered by the read cache (buffer.read_cache)";
    }
    /// Reads of the flash.
    FLASH_READS {
        pages_read = "flash.reads", "flash pages", "pages read from flash";
    }
    /// What else the flash has done.
    FLASH {
        blocks_erased = "flash.erases", "blocks", "blocks erased";
        fill_reads = "flash.rmw_reads", "flash pages", "pages read to complete partly written ones";
        pages_padded = "flash.padding", "logical pages", "pages programmed empty to fill a flash page or a wordline";
        cold_reads = "flash.cold_reads", "flash pages", "pages read whose data is from before the run";
    }
    /// Programs that failed.
    FAILED_PROGRAMS {
        pages_failed = "flash.failed_programs", "logical pages", "pages whose program failed, programmed again elsewhere";
    }
    /// What the decoder took for other data (ecc.miscorrection).
    MISCORRECTIONS {
        miscorrections_caught = "flash.retry.crc_caught", "flash pages", "senses whose page the decoder took for other data, as the CRC noticed";
    }
    /// Data that the host did not get, or not as it had written it.
    DATA_ERRORS {
        host_pages_lost = "host.data_errors.reported", "flash pages", "pages of host reads that could not be corrected; a flash page counts once in a request, however many logical pages it gives";
        host_pages_wrong = "host.data_errors.silent", "flash pages", "pages of host reads that were wrong without notice, counted as the reported ones";
    }
    /// Reads that no retry corrected, or only a second one.
    FAILED_RETRIES {
        pages_unreadable = "flash.retry.unreadable", "flash pages", "pages read that no sense could correct";
        pages_given_up = "flash.retry.given_up", "flash pages", "pages whose retries ended early, as their host allows (read.fail_fast)";
        reads_repeated = "flash.retry.t_pre_fallbacks", "flash pages", "pages whose retry failed with the RPT's tPRE and was repeated with the default one (AR2)";
    }
    /// First senses that take less than the default tPRE (read.sensing = adaptive-first).
    HASTE {
        first_senses_hastened = "flash.first.hastened", "flash pages", "first senses with the RPT's tPRE (read.sensing = adaptive-first)";
        first_senses_repeated = "flash.first.repeated", "flash pages", "of these, senses that failed and were repeated with the default tPRE";
    }
    /// Questions that decision trees have answered (read.trees).
    LEARNED {
        trees_asked = "flash.learned.asked", "questions", "questions of first senses that decision trees have answered (read.trees)";
        tree_comparisons = "flash.learned.comparisons", "comparisons", "comparisons of a feature with a limit that this took";
    }
    /// Transfers in vain, and predictions that avoid them.
    PREDICTIONS {
        uncorrectable_transfers = "flash.retry.uncorrectable_transfers", "flash pages", "pages that left a die and could not be corrected, and sentinel cells";
        predictions = "flash.prediction.made", "flash pages", "pages predicted to be correctable or not";
        predicted_failures = "flash.prediction.failures", "flash pages", "of these, pages predicted not to be correctable: read again by the die, or not decoded to the end";
    }
    /// Commands of retries.
    RETRY_COMMANDS {
        set_features = "flash.retry.set_features", "", "SET FEATURE commands that changed the timing of senses (AR2)";
        records_evicted = "flash.retry.records_evicted", "", "recorded references that left for others (read.start = recorded)";
        soft_decodings = "flash.retry.soft_decodings", "flash pages", "soft decodings of pages sensed finely (ecc.soft)";
        soft_corrected = "flash.retry.soft_corrected", "flash pages", "of these, pages that were corrected";
    }
    /// Erases that go pulse by pulse and do not end as they should.
    PULSED_ERASES {
        erases_incomplete = "flash.erase.incomplete", "blocks", "blocks whose erase left fail bits to the ECC";
        erases_mispredicted = "flash.erase.mispredicted", "blocks", "blocks whose last pulse was predicted too short and was followed by another";
        erases_exhausted = "flash.erase.exhausted", "blocks", "blocks that all loops did not erase";
    }
    /// Programs and erases that let reads go first.
    SUSPENSIONS {
        program_suspensions = "flash.suspend.programs", "", "times that programs were suspended";
        erase_suspensions = "flash.suspend.erases", "", "times that erases were suspended";
        pulse_suspensions = "flash.suspend.within_pulses", "", "of these, within a pulse, whose rest was done later";
    }
    /// How relocation went.
    RELOCATION {
        background_runs = "ftl.gc_background_runs", "blocks", "of the blocks collected, those that an idle die began";
        pages_copied_back = "ftl.copied_back", "logical pages", "pages relocated without crossing a bus";
    }
    /// What wear has done.
    WEAR {
        blocks_retired = "ftl.wear.retired", "blocks", "blocks that went out of service";
    }
    /// Parity over dies.
    PARITY {
        parity_programs = "ftl.raid.programs", "logical pages", "pages of parity programmed (ftl.raid)";
        parity_reads = "ftl.raid.reads", "flash pages", "pages read to work out others, or to join another stripe before theirs is erased";
        pages_rebuilt = "ftl.raid.rebuilt", "flash pages", "pages that could not be read and were worked out of the rest of their stripes";
    }
    /// Parts that have broken, where any may.
    BROKEN_PARTS {
        planes_broken = "ftl.faults.planes", "planes", "planes that broke (faults)";
        blocks_broken = "ftl.faults.blocks", "blocks", "blocks that broke by themselves, with their data";
        pages_rescued = "ftl.faults.rescued", "logical pages", "pages programmed elsewhere because their plane had broken or they could not be read";
        pages_lost = "ftl.faults.lost", "logical pages", "pages relocated or merged whose data could not be read: lost until they are written again";
    }
    /// What the SLC cache took.
    SLC_CACHE {
        slc_pages = "ftl.slc.writes", "logical pages", "pages of host data programmed into the SLC cache (ftl.slc_cache)";
        native_pages = "ftl.slc.direct", "logical pages", "pages of host data programmed past it, into the chip's own cells";
        slc_erases = "ftl.slc.erases", "blocks", "of the blocks erased, those that held data of the SLC cache or were to";
    }
    /// Look-ups of the cached mapping table.
    MAP_LOOKUPS {
        map_lookups = "ftl.map.lookups", "entries", "look-ups of host requests in the cached mapping table, or in the learned one";
    }
    /// Mispredictions of a learned table.
    MAP_LEARNED {
        map_mispredictions = "ftl.map.mispredictions", "entries", "look-ups that led to another page of the flash, which was read first";
    }
    /// Translation pages.
    MAP_PAGES {
        map_reads = "ftl.map.reads", "flash pages", "translation pages read";
        map_programs = "ftl.map.programs", "logical pages", "translation pages programmed";
    }
    // What only other statistics are made of.
    internal {
        /// Events played.
        events: u64,
        /// Host requests that completed.
        requests_completed: u64,
        /// Host reads started.
        read_requests: u64,
        /// Bytes that host reads asked for.
        read_bytes: u64,
        /// Host writes started.
        write_requests: u64,
        /// Bytes that host writes brought.
        write_bytes: u64,
        /// Pages sensed.
        senses: u64,
        /// Retention ages of the pages read, summed \[s].
        read_retention_s: u64,
        /// P/E cycles of the pages read, summed.
        read_pec: u64,
        /// Retry steps that the pages read need, summed.
        retry_steps: u64,
        /// Pages read that need any retry steps.
        pages_retried: u64,
        /// Senses that turned out not to be needed.
        speculative_senses: u64,
        /// Time that dies spent on senses that turned out not to be needed, resets included \[ns].
        speculative_ns: u64,
        /// Bytes out of the dies that are not decoded: sentinel cells, and pages whose read has ended meanwhile.
        undecoded_bytes: u64,
        /// Time that dies spent on predictions \[ns].
        predicting_ns: u64,
        /// Predictions that were right.
        predictions_right: u64,
        /// Programs and erases that were suspended at least once.
        operations_suspended: u64,
        /// Program and erase commands that have ended.
        operations: u64,
        /// Time that suspended operations took from their beginning to their end \[ns].
        suspended_ns: u64,
        /// What suspended operations would have taken without suspension \[ns].
        suspended_nominal_ns: u64,
        /// Blocks that were erased pulse by pulse (`erase.pulse`).
        pulsed_erases: u64,
        /// Loops of erases that go pulse by pulse, summed.
        erase_loops: u64,
        /// Time that these took, each block for itself, suspensions left out \[ns].
        erase_ns: u64,
        /// Bytes out of the dies.
        bytes_read: u64,
        /// Logical pages programmed, padding included.
        pages_programmed: u64,
        /// Pages programmed with host data.
        user_pages_programmed: u64,
        /// Pages moved into the dies.
        pages_transferred_in: u64,
        /// Blocks whose relocation began, by [`relocation_causes::CAUSES`].
        blocks_relocated: [u64; relocation_causes::CAUSES.len()],
        /// Pages that were relocated, by the same causes.
        pages_relocated: [u64; relocation_causes::CAUSES.len()],
        /// Pages programmed with what the host wrote, of each placement handle of each group, by the number of its
        /// stream.
        handle_written: [u64; HOSTS],
        /// Pages of that data which were relocated, however often before.
        handle_relocated: [u64; HOSTS],
        /// Reclaim units of each that were written to their end.
        handle_filled: [u64; HOSTS],
        /// Reclaim units of each that the host has left.
        handle_left: [u64; HOSTS],
        /// Translation pages programmed for checkpoints of the map.
        checkpoint_programs: u64,
        /// Pages of the map's journal programmed.
        journal_programs: u64,
        /// Checkpoints of the map that were completed.
        checkpoints: u64,
        /// Times that the power was cut.
        cuts: u64,
        /// Requests that were under way then.
        requests_aborted: u64,
        /// Pages whose programs were under way then.
        pages_cut: u64,
        /// Pages of data of the wordlines of these programs that had been programmed before.
        pages_torn: u64,
        /// Blocks whose erases were under way then.
        blocks_half_erased: u64,
        /// Pages of the buffer that were lost.
        buffer_lost: u64,
        /// Time from cuts to the drive's being ready again \[ns].
        recovery_ns: u64,
        /// Pages read for recovery: headers of blocks, journal, young blocks, translation pages.
        recovery_reads: [u64; 4],
        /// Pages that the host checked after cuts.
        pages_checked: u64,
        /// Of these, pages whose newest acknowledged state was lost.
        checked_lost: u64,
        /// Of these, pages that are reported as lost when they are read.
        pages_reported: u64,
        /// Pages of host reads that came from blocks of the SLC cache, and from others.
        parts_by_mode: [u64; 2],
        /// How long these took from their requests on, summed \[ns].
        part_ns_by_mode: [u64; 2],
        /// Pages copied back that are kept count of, and errors per KiB that they took along, summed \[thousandths].
        copied_errors: [u64; 2],
        /// Look-ups that found their entry in the cache.
        map_hits: u64,
        /// Pages read that could not be corrected, for the host or by the drive itself.
        media_errors: u64,
        /// Trims started.
        trim_requests: u64,
        /// Flushes started.
        flush_requests: u64,
        /// Bytes that the host wrote and that have left the write buffer for good: given to a program, trimmed, or
        /// written again before.
        bytes_settled: u64,
    }
}
