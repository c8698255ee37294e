//! What an array counts.

use ssd::Completion;
use ssd::persist::{Reader, Stored, Writer, stored};
use ssd::stats::Counters;
use units::Time;

use crate::rebuild::RebuildRecord;

/// What the host has seen of its requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SeenByHost {
    pub completed: u64,
    uncorrectable: u64,
    until_uncorrectable: u64,
    refused: u64,
    failed: u64,
    aborted: u64,
    /// Flash pages of reads, of an array with redundancy, that it could not have either.
    pub pages_lost: u64,
}

stored! {
    SeenByHost { completed, uncorrectable, until_uncorrectable, refused, failed, aborted, pages_lost }
}

impl SeenByHost {
    /// A request has completed.
    pub fn completes(&mut self, done: &Completion) {
        let Completion { uncorrectable, refused, aborted, status, .. } = *done;
        // As of a drive, it is not completed then.
        if aborted {
            self.aborted += 1;
            return;
        }
        self.uncorrectable += u64::from(uncorrectable);
        self.until_uncorrectable += u64::from(self.uncorrectable == 0);
        self.refused += u64::from(refused);
        self.failed += u64::from(!status.is_success());
        self.completed += 1;
    }

    /// The counts of the drives together, with those of their requests that the host has seen in place of theirs.
    pub fn in_place(self, of_drives: Counters) -> Counters {
        Counters {
            requests_completed: self.completed,
            requests_uncorrectable: self.uncorrectable,
            requests_until_uncorrectable: self.until_uncorrectable,
            requests_refused: self.refused,
            requests_failed: self.failed,
            requests_aborted: self.aborted,
            requests_given_up: 0,
            ..of_drives
        }
    }
}

/// A count of an array.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What is counted.
    pub about: &'static str,
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $counter:ident: $unit:literal,)+) => {
        /// Counts of an array.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct ArrayCounters {
            $($(#[doc = $doc])+ pub $counter: u64,)+
            /// Rebuilds onto spare drives.
            pub rebuilds: Vec<RebuildRecord>,
            /// When data was lost for the first time.
            pub data_lost: Option<Time>,
        }

        impl Stored for ArrayCounters {
            fn write(&self, to: &mut Writer) {
                let ArrayCounters { $($counter,)+ rebuilds, data_lost } = self;
                $($counter.write(to);)+
                rebuilds.write(to);
                data_lost.write(to);
            }
            fn read(from: &mut Reader) -> std::io::Result<ArrayCounters> {
                $(let $counter = Stored::read(from)?;)+
                let (rebuilds, data_lost) = (Stored::read(from)?, Stored::read(from)?);
                Ok(ArrayCounters { $($counter,)+ rebuilds, data_lost })
            }
        }

        impl ArrayCounters {
            /// The counts, in order.
            pub const DECLARED: &[Count] =
                &[$(Count { name: stringify!($counter), unit: $unit, about: concat!($($doc),+) }),+];

            /// Their values.
            pub fn counts(&self) -> Vec<u64> {
                vec![$(self.$counter),+]
            }

            /// What has been counted since `before`; of rebuilds and losses, all.
            pub fn since(&self, before: &ArrayCounters) -> ArrayCounters {
                ArrayCounters {
                    $($counter: self.$counter - before.$counter,)+
                    rebuilds: self.rebuilds.clone(),
                    data_lost: self.data_lost,
                }
            }
        }
    };
}

counters! {
    /// Reads of stripes whose data was reconstructed, since a drive was missing, could not correct it, gave up early or
    /// had its window open (reads_around).
    reads_reconstructed: "reads of stripes",
    /// Reads of drives that brought nothing: the drive failed, or could not correct its data.
    reads_failed: "requests to drives",
    /// Reads of drives that ended early (read.fail_fast), so that other drives were read.
    reads_given_up: "requests to drives",
    /// Reads of stripes that were reconstructed since the window of a drive with the data was open.
    reads_around: "reads of stripes",
    /// Reads of drives that were no longer needed when they completed.
    reads_unused: "requests to drives",
    /// Reads of stripes that were hedged.
    hedges_sent: "reads of stripes",
    /// Hedged reads that the hedge has completed.
    hedges_won: "reads of stripes",
    /// Reads that were late and not hedged: the stripe was being written, or too few drives were left.
    hedges_left_out: "reads of stripes",
    /// Reads bound late that were completed without one of the drives that hold their data.
    extra_reads_won: "reads of stripes",
    /// Writes of stripes for which nothing had to be read.
    writes_full: "writes of stripes",
    /// Writes of stripes that read the old data and the old parity.
    writes_read_modify: "writes of stripes",
    /// Writes of stripes that read the data that is not written.
    writes_reconstruct: "writes of stripes",
    /// Writes of stripes that read as many units as give the others, since a drive was missing.
    writes_decode: "writes of stripes",
    /// Blocks of 4 KiB that the host has written to a log.
    log_blocks_written: "blocks",
    /// Blocks that were moved out of stripes of a log that were cleaned.
    log_blocks_moved: "blocks",
    /// Blocks that filled slices of a log.
    log_blocks_padded: "blocks",
    /// Stripes of a log that were cleaned.
    log_stripes_cleaned: "stripes",
    /// Operations that waited for another one on the same stripe.
    lock_waits: "operations",
    /// Pieces that a drive could not correct and that were written to it again.
    repairs: "requests to drives",
    /// Stripes that scrubs have read.
    stripes_scrubbed: "stripes",
    /// Reads of scrubs that a drive could not correct.
    scrub_errors: "requests to drives",
    /// Stripes of which scrubs could not read as much as gives the rest.
    scrub_lost: "stripes",
    /// Parts of requests whose data is lost: more drives have failed than the layout allows.
    lost_requests: "reads and writes of stripes",
    /// Trimmed bytes that were not handed on, since that would have made the parity wrong.
    trims_left_out_bytes: "B",
    /// Drives that have failed.
    drives_failed: "drives",
}
