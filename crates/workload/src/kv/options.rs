//! What a serving engine is taken to be, and what of that cannot be met.

use units::{Bytes, ConfigError, Fraction};

use super::cache::Zones;
use crate::generator::{LONGEST_RUN_S, ZoneReset};
use crate::request::LARGEST_REQUEST;

units::section! {
    /// The KV cache of an engine that serves a language model. Prompts come; the keys and values of their known
    /// beginnings are read from the drive, those of the rest are computed and then written. A task (host.task) is a
    /// prompt, from its arrival to its first token.
    pub struct Kv in "kv" {
        /// Where prompts come from: "generated", or a file of them in Mooncake's format (a JSON object a line with
        /// timestamp in ms, input_length and output_length in tokens, and hash_ids, the blocks of the prompt), plain,
        /// gzip or zstd.
        prompts: String = GENERATED.to_owned(),
        /// The factor by which arrivals of the file come faster.
        speed: f64 = 1.0,
        /// Generated prompts: how many.
        number: u64 = 1_000,
        /// Generated prompts: how many a second, independent of one another (Poisson).
        rate: f64 = 0.5,
        /// Generated prompts: mean length [tokens], exponentially distributed; none is longer than 131,072.
        input: u32 = 7_590,
        /// Generated prompts: share of a prompt that an earlier one began with, as far as that was so long.
        reuse: Fraction = Fraction(0.5),
        /// Generated prompts: the earlier one is among this many last ones, the nearer the more likely (log-uniform).
        recent: u32 = 1_000,
        /// Tokens of a block, the unit of what is known and stored.
        block_tokens: u32 = 512,
        /// Keys and values of a token [B].
        token_bytes: Bytes = Bytes::from_kib(128),
        /// Tokens a second that an engine computes before the first new one (prefill).
        prefill_rate: f64 = 8_000.0,
        /// Prompts that are computed at the same time, each at that rate; others wait in the order in which their loads
        /// have ended.
        engines: u32 = 1,
        /// Blocks that are kept in memory too, by recent use: these are not read [B].
        memory: Bytes = Bytes(0),
        /// Share of a prompt, from its first block on, that was on the drive before the run, unless the run has met it
        /// before: with data as old as the drive's.
        stored: Fraction = Fraction(0.0),
        /// Whether a block that is on the drive is computed all the same.
        recompute: Recompute = Recompute::Never,
        /// Size of requests.
        bs: Bytes = Bytes::from_mib(1),
        /// Where on the drive the cache begins.
        offset: Bytes = Bytes(0),
        /// Bytes of the cache on the drive, where the least recently used block makes way; "none" is the rest of the
        /// drive.
        footprint: Option<Bytes> = None,
        /// Blocks are written one behind the other into zones of this size, which make way as a whole, the one written
        /// first before the others; of a zoned drive those of the drive. "none": each block has a place of its own,
        /// which the least recently used one leaves [B].
        zone_size: Option<Bytes> = None,
        /// What of a zone is written; "none" is all of it [B].
        zone_capacity: Option<Bytes> = None,
        /// What the drive is told of a zone before it is written (again): "reset" of a zoned drive, or "trim".
        zone_reset: ZoneReset = ZoneReset::Reset,
        /// Placement hint of what is written, for devices that take hints (ftl.hints); 0 is none.
        hint: u16 = 0,
        /// Submission queues, to which requests are dealt in turn.
        queues: u16 = 1,
    }
}

units::choices! {
    /// When a block that is on the drive is computed all the same.
    pub enum Recompute {
        /// Never: it is read.
        Never = "never",
        /// When computing what is missing with it takes less time than reading it would, at the bandwidth of the loads
        /// before. Of this many prompts in a row of which that holds the last one is read all the same, so that the
        /// bandwidth stays known; 0: none is.
        Faster(u32 = 16 in 0..=1_000_000) = "faster",
    }
}

/// The word for prompts that are made by rule.
pub(super) const GENERATED: &str = "generated";

impl Kv {
    /// Bytes of a block, in whole 4-KiB pages.
    pub(super) fn block_bytes(&self) -> u64 {
        (u64::from(self.block_tokens) * self.token_bytes.0).next_multiple_of(4096)
    }

    /// Blocks that the cache has room for on a drive of `capacity`.
    pub(super) fn slots(&self, capacity: Bytes) -> u64 {
        match self.zones(capacity) {
            Some(zones) => u64::from(zones.count) * u64::from(zones.blocks),
            None => self.bytes_on(capacity) / self.block_bytes().max(1),
        }
    }

    fn bytes_on(&self, capacity: Bytes) -> u64 {
        let rest = capacity.0.saturating_sub(self.offset.0);
        self.footprint.map_or(rest, |footprint| footprint.0.min(rest))
    }

    /// The zones of a cache that is written by zones. Blocks are whole in each.
    pub(super) fn zones(&self, capacity: Bytes) -> Option<Zones> {
        let size = self.zone_size?;
        let (written, block) = (self.zone_capacity.unwrap_or(size).min(size), self.block_bytes().max(1));
        let count = u32::try_from(self.bytes_on(capacity) / size.0.max(1)).unwrap_or(u32::MAX);
        Some(Zones { count, blocks: u32::try_from(written.0 / block).unwrap_or(u32::MAX), size: size.0, block })
    }

    /// Which key of zones cannot be met.
    fn check_zones(
        &self,
        capacity: Bytes,
        refuse: impl Fn(bool, &str, String, &str) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let Some(zones) = self.zones(capacity) else { return Ok(()) };
        let (makes, few) =
            (format!("makes {} zones", zones.count), "choose smaller ones: 3 or more are written in turn");
        refuse(zones.count < LEAST_ZONES, "zone_size", makes, few)?;
        let full = format!("has no room for a block of {}", Bytes(zones.block));
        refuse(zones.blocks == 0, "zone_size", full, "choose larger zones or smaller blocks")?;
        let aligned = zones.size > 0 && self.offset.0.is_multiple_of(zones.size);
        refuse(!aligned, "offset", format!("is {}", self.offset), "choose a multiple of kv.zone_size")
    }

    /// Which parameter cannot be met on a drive of `capacity`.
    pub(super) fn check(&self, capacity: Bytes) -> Result<(), ConfigError> {
        let refuse = |wrong: bool, key: &str, problem: String, remedy: &str| {
            if !wrong {
                return Ok(());
            }
            let (origin, remedy) = ("configuration".into(), remedy.to_owned());
            Err(ConfigError { origin, line: None, key: Some(format!("kv.{key}")), problem, remedy })
        };
        let rates = [
            ("speed", self.speed, 1e-3, 1e6),
            ("rate", self.rate, 1e-6, 1e6),
            ("prefill_rate", self.prefill_rate, 1.0, 1e12),
        ];
        for (key, value, least, most) in rates {
            let remedy = format!("choose a number from {least} to {most:e}");
            refuse(!(least..=most).contains(&value), key, format!("is {value}"), &remedy)?;
        }
        refuse(
            self.number as f64 / self.rate > LONGEST_RUN_S,
            "rate",
            format!("{} prompts at {}/s take more than ten years", self.number, self.rate),
            "raise rate or lower number",
        )?;
        for (key, share) in [("reuse", self.reuse), ("stored", self.stored)] {
            let is_share = (0.0..=1.0).contains(&share.0);
            refuse(!is_share, key, format!("{} is not a share", share.0), "choose from 0 to 1")?;
        }
        let counts = [
            ("number", self.number, 1 << 32),
            ("input", self.input.into(), 1 << 20),
            ("recent", self.recent.into(), 1 << 20),
            ("block_tokens", self.block_tokens.into(), 1 << 20),
            ("token_bytes", self.token_bytes.0, 1 << 30),
            ("engines", self.engines.into(), 1 << 16),
            ("queues", self.queues.into(), 1 << 16),
        ];
        for (key, count, most) in counts {
            let remedy = format!("choose from 1 to {most}");
            refuse(!(1..=most).contains(&count), key, format!("is {count}"), &remedy)?;
        }
        refuse(self.bs.0 == 0 || self.bs > LARGEST_REQUEST, "bs", format!("is {}", self.bs), "choose from 1B to 1GiB")?;
        let wanted = self.footprint.map_or(0, |footprint| footprint.0).saturating_add(self.offset.0);
        refuse(
            wanted > capacity.0,
            if self.footprint.is_some() { "footprint" } else { "offset" },
            format!("reaches to {} of the device's {capacity}", Bytes(wanted)),
            "choose less, or \"none\" for the rest of the device",
        )?;
        self.check_zones(capacity, refuse)?;
        let slots = self.slots(capacity);
        refuse(
            slots < LEAST_BLOCKS || slots > u32::MAX.into(),
            if self.footprint.is_some() { "footprint" } else { "token_bytes" },
            format!("makes room for {slots} blocks of {}", Bytes(self.block_bytes())),
            "a cache holds 16 to 4 billion blocks: choose a larger device or footprint, smaller block_tokens or token_bytes",
        )
    }
}

/// One that is written, and others that hold what was (assumed).
const LEAST_ZONES: u32 = 3;

/// Fewer blocks are no cache (assumed).
const LEAST_BLOCKS: u64 = 16;
