//! The array's section of a configuration: its layout, its host policies, its link and its rebuild.

use units::{Bandwidth, Bytes, ConfigError, Span};

use crate::coordinate::Coordinate;
use crate::hedge::Hedge;
use crate::layout::{Code, Layout, Placement};
use crate::log::{Log, TooSmall};
use crate::rewrite::Rewrite;
use crate::select::Select;

units::choices! {
    /// How data is spread over the drives and protected.
    pub enum LayoutKind {
        /// Striped without redundancy (RAID-0).
        Stripe = "stripe",
        /// Copies on `copies` drives each (RAID-1; RAID-10 where there are more drives than copies).
        Mirror = "mirror",
        /// One parity chunk a stripe, rotated (RAID-5).
        Raid5 = "raid5",
        /// Two parity chunks a stripe, rotated (RAID-6).
        Raid6 = "raid6",
        /// `data` + `parity` chunks a stripe: any `data` of them give the others (an MDS erasure code).
        Erasure = "erasure",
    }
}

units::section! {
    /// An array of drives.
    pub struct ArrayConfig in "array" {
        /// Layout: stripe, mirror, raid5, raid6 or erasure.
        layout: LayoutKind = LayoutKind::Stripe,
        /// Bytes of a stripe that lie on one drive (assumed: a usual choice).
        chunk: Bytes = Bytes::from_kib(64),
        /// Copies of a mirror; "none" means one on every drive.
        copies: Option<u16> = None,
        /// Data chunks of a stripe (raid5, raid6, erasure); "none" means that a stripe spans all drives.
        data: Option<u16> = None,
        /// Parity chunks of a stripe (erasure).
        parity: Option<u16> = None,
        /// Where the chunks of a stripe lie: rotated (the conventional layout, left-symmetric), declustered (each
        /// stripe on another choice of drives, so that all drives take part in a rebuild) or hashed (as declustered, by
        /// a hash of the stripe, so that some drives have more of them than others).
        placement: Placement = Placement::Rotated,
        /// Which copy is read, and which chunks a missing one is reconstructed from: primary, round-robin or
        /// shortest-queue.
        select: Select = Select::Primary,
        /// When a read that has not completed is also sent to other drives: none, delay or percentile.
        hedge: Hedge = Hedge::None,
        /// Hedging by delay: the time after which a read is hedged (assumed). By percentile: before enough reads have
        /// completed to know it.
        hedge_delay: Span = Span::from_ms(1),
        /// Hedging by percentile: after this percentile of the latencies of recent reads.
        hedge_percentile: f64 = 95.0,
        /// Late binding: how many chunks more than needed are read at once where a read covers all data chunks of a
        /// stripe (of a mirror: any read), and the first that suffice are taken.
        extra_reads: u16 = 0,
        /// How a part of a stripe with parity is written: fewest-reads, read-modify-write or reconstruct; or log
        /// (nowhere: data goes to whole slices of other stripes, which are cleaned).
        rewrite: Rewrite = Rewrite::FewestReads,
        /// Share of the stripes that a log keeps beyond the address space (assumed).
        log_spare: f64 = 0.2,
        /// How long a log waits for blocks that fill a slice (assumed).
        log_wait: Span = Span::from_us(100),
        /// When drives collect ahead of need, and reads go around them: none, staggered, shortest-queue or together.
        coordinate: Coordinate = Coordinate::None,
        /// How long a turn of that takes (assumed).
        window: Span = Span::from_ms(10),
        /// Bandwidth of the link or switch that all drives share, in each direction; "none" is no limit.
        link_bandwidth: Option<Bandwidth> = None,
        /// Time on the way between host and drive, in each direction.
        link_latency: Span = Span::ZERO,
        /// Most data that a rebuild writes to a spare drive in a second (assumed, as the rebuild's depth).
        rebuild_rate: Bandwidth = Bandwidth(200_000_000),
        /// Chunks that a rebuild works on at once.
        rebuild_depth: u16 = 4,
        /// Data that scrubs read in a second, of all drives together, to find errors that no read has met; "none" is no
        /// scrubs.
        scrub_rate: Option<Bandwidth> = None,
        /// A read that a drive cannot correct and that the others have reconstructed is written again.
        repair: bool = true,
    }
}

/// The refusal of a key of the array.
pub(crate) fn refusal(key: &str, problem: impl Into<String>, remedy: impl Into<String>) -> ConfigError {
    ConfigError {
        origin: "array".into(),
        line: None,
        key: Some(format!("array.{key}")),
        problem: problem.into(),
        remedy: remedy.into(),
    }
}

impl ArrayConfig {
    /// The erasure code of the layout on this many drives.
    ///
    /// # Errors
    /// The layout does not fit the number of drives.
    pub fn code(&self, drives: usize) -> Result<Code, ConfigError> {
        let fail = |key, problem: String, remedy: String| Err(refusal(key, problem, remedy));
        if drives == 0 || drives > Layout::MOST_DRIVES {
            let problem = format!("has {drives} drives");
            return fail("layout", problem, format!("give 1 to {} drives ([drive.NAME])", Layout::MOST_DRIVES));
        }
        let name = self.layout.word();
        let unused = [
            ("copies", self.copies.is_some() && self.layout != LayoutKind::Mirror),
            ("data", self.data.is_some() && matches!(self.layout, LayoutKind::Stripe | LayoutKind::Mirror)),
            ("parity", self.parity.is_some() && self.layout != LayoutKind::Erasure),
        ];
        if let Some((key, _)) = unused.into_iter().find(|(_, unused)| *unused) {
            return fail(key, format!("has no meaning for layout = \"{name}\""), "leave it out".into());
        }
        let parity = match self.layout {
            LayoutKind::Stripe => 0,
            LayoutKind::Mirror => usize::from(self.copies.unwrap_or(drives as u16)).saturating_sub(1),
            LayoutKind::Raid5 => 1,
            LayoutKind::Raid6 => 2,
            LayoutKind::Erasure => match self.parity {
                Some(parity) => usize::from(parity),
                None => {
                    return fail("parity", "is not given".into(), "write how many parity chunks a stripe has".into());
                }
            },
        };
        if self.layout != LayoutKind::Stripe && parity == 0 {
            let key = if self.layout == LayoutKind::Mirror { "copies" } else { "parity" };
            let remedy = "give at least one more drive, copy or parity chunk, or choose layout = \"stripe\"";
            return fail(key, format!("layout = \"{name}\" has no redundancy"), remedy.into());
        }
        let data = match self.layout {
            LayoutKind::Mirror => 1,
            LayoutKind::Stripe => drives,
            _ => self.data.map_or(drives.saturating_sub(parity), usize::from),
        };
        if data == 0 || data + parity > drives {
            let (least, key) = (data.max(1) + parity, if self.data.is_some() { "data" } else { "layout" });
            let problem = format!("\"{name}\" with {parity} parity chunks a stripe does not fit {drives} drives");
            let remedy = format!("give at least {least} drives, or fewer data or parity chunks");
            return fail(key, problem, remedy);
        }
        if parity > 0 && data + parity > Code::WIDEST {
            let key = if self.layout == LayoutKind::Mirror { "copies" } else { "data" };
            let problem = format!("gives a stripe {} chunks: \"{name}\" on {drives} drives", data + parity);
            let remedy =
                format!("write it so that a stripe has {} at most, as a code over bytes can have", Code::WIDEST);
            return fail(key, problem, remedy);
        }
        Ok(Code { data, parity })
    }

    /// The log that writes go to, if they go to one.
    ///
    /// # Errors
    /// It would not have room to be cleaned.
    pub(crate) fn log(&self, layout: &Layout) -> Result<Option<Log>, ConfigError> {
        if self.rewrite != Rewrite::Log {
            return Ok(None);
        }
        if self.log_wait == Span::ZERO {
            return Err(refusal("log_wait", "is 0", "write a positive time"));
        }
        if !(0.0..1.0).contains(&self.log_spare) {
            let problem = format!("is {}, which is no share of the stripes", self.log_spare);
            return Err(refusal("log_spare", problem, "write 0 or more and less than 1"));
        }
        let log = Log::new(layout, self.log_spare);
        log.map(Some).map_err(|TooSmall { problem, remedy }| refusal("log_spare", problem, remedy))
    }

    /// Bytes of the address space on a layout.
    ///
    /// # Errors
    /// See the log of [`ArrayConfig`]: `log_spare`, `log_wait`.
    pub(crate) fn capacity(&self, layout: &Layout) -> Result<Bytes, ConfigError> {
        Ok(self.log(layout)?.map_or(layout.capacity(), |log| log.capacity()))
    }

    /// Checks the section, and places stripes on drives of which the smallest has `capacity`.
    ///
    /// # Errors
    /// A key cannot be used: which, why, and what to write instead.
    pub fn layout(&self, drives: usize, capacity: Bytes, seed: u64) -> Result<Layout, ConfigError> {
        let code = self.code(drives)?;
        let fail = |key, problem: String, remedy: &str| Err(refusal(key, problem, remedy));
        if self.chunk.0 == 0 || !self.chunk.0.is_multiple_of(4096) {
            return fail("chunk", format!("is {}", self.chunk), "write a multiple of 4KiB");
        }
        if self.chunk > capacity {
            return fail("chunk", format!("is {}, and a drive has {capacity}", self.chunk), "write a smaller chunk");
        }
        let redundant = "choose a layout with redundancy (mirror, raid5, raid6, erasure)";
        if code.parity == 0 && self.hedge != Hedge::None {
            return fail("hedge", "has no second way to the data: layout = \"stripe\"".into(), redundant);
        }
        if code.parity == 0 && self.extra_reads > 0 {
            return fail("extra_reads", "has nothing to read: layout = \"stripe\"".into(), redundant);
        }
        if code.parity == 0 && self.select != Select::Primary {
            return fail("select", "has nothing to choose from: layout = \"stripe\"".into(), redundant);
        }
        if (code.parity == 0 || code.copies()) && self.rewrite != Rewrite::FewestReads {
            let remedy = "leave it out, or choose a layout with parity (raid5, raid6, erasure)";
            return fail("rewrite", "has no parity to work out".into(), remedy);
        }
        if code.parity == 0 && self.coordinate != Coordinate::None {
            return fail("coordinate", "has no way around a drive: layout = \"stripe\"".into(), redundant);
        }
        if self.window == Span::ZERO {
            return fail("window", "is 0".into(), "write a positive time");
        }
        if usize::from(self.extra_reads) > code.parity {
            let problem = format!("is {}, and a stripe has {} chunks to spare", self.extra_reads, code.parity);
            return fail("extra_reads", problem, "write at most as many as there are parity chunks or further copies");
        }
        if !(self.hedge_percentile > 0.0 && self.hedge_percentile < 100.0) {
            return fail(
                "hedge_percentile",
                format!("is {}", self.hedge_percentile),
                "write more than 0 and less than 100",
            );
        }
        if code.parity == 0 && self.scrub_rate.is_some() {
            return fail("scrub_rate", "has nothing to repair from: layout = \"stripe\"".into(), redundant);
        }
        if self.scrub_rate.is_some_and(|rate| rate.0 == 0) {
            return fail("scrub_rate", "is 0".into(), "write a positive value, or \"none\"");
        }
        if self.rebuild_depth == 0 || self.rebuild_rate.0 == 0 || self.link_bandwidth.is_some_and(|rate| rate.0 == 0) {
            let zero = [("rebuild_depth", self.rebuild_depth == 0), ("rebuild_rate", self.rebuild_rate.0 == 0)];
            let key = zero.into_iter().find(|(_, zero)| *zero).map_or("link_bandwidth", |(key, _)| key);
            return fail(key, "is 0".into(), "write a positive value");
        }
        if self.placement == Placement::Rotated && !drives.is_multiple_of(code.width()) {
            let problem =
                format!("is \"rotated\", and {drives} drives are no multiple of {} chunks a stripe", code.width());
            return fail(
                "placement",
                problem,
                "write placement = \"declustered\" or \"hashed\", or another number of drives",
            );
        }
        Layout::new(code, drives, self.chunk, capacity, self.placement, seed).ok_or_else(|| {
            refusal("chunk", "is too large: a drive holds no whole set of stripes", "write a smaller chunk")
        })
    }
}
