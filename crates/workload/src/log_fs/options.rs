//! What a log-structured file system is taken to be, and what of that cannot be met.

use units::{Bytes, ConfigError, Fraction, Span};

use super::shape::{BLOCK, LOGS, NAT_ENTRIES, OF_INODE, SEGMENT, SIT_ENTRIES, Shape};
use crate::generator::{Distribution, LONGEST_RUN_S, ZoneReset};
use crate::request::LARGEST_REQUEST;

units::section! {
    /// A log-structured file system on flash (F2FS). Programs read and update blocks of files, and write files again;
    /// the file system writes all that to its logs, cleans old sections and makes checkpoints. Placement hints 1 to 6
    /// are its logs: hot, warm and cold data, hot, warm and cold nodes.
    pub struct LogFs in "log_fs" {
        /// What programs ask for: how many reads, updates and files that are written again.
        operations: u64 = 200_000,
        /// How many of these come a second, independent of one another (Poisson).
        rate: f64 = 10_000.0,
        /// Share of reads among them.
        read_ratio: Fraction = Fraction(0.5),
        /// Of the others the share that write a file again, which is removed before; the rest update a part of one.
        replaced: Fraction = Fraction(0.05),
        /// What is read or updated at once, in whole 4-KiB blocks [B].
        bs: Bytes = Bytes::from_kib(16),
        /// Share of updates that are synchronous (fsync): the file's node is written with them, and otherwise by the
        /// next checkpoint.
        fsync: Fraction = Fraction(0.5),
        /// Which files are read and updated how often.
        random_distribution: Distribution = Distribution::Zipf(0.9),
        /// Size of a file, in whole blocks [B].
        file_size: Bytes = Bytes::from_mib(1),
        /// Files of a directory.
        files_of_directory: u32 = 64,
        /// Share of files whose data is cold (multimedia): they are read and written again, and never updated.
        cold_files: Fraction = Fraction(0.2),
        /// Share of the main area that holds live blocks.
        utilization: Fraction = Fraction(0.8),
        /// Logs that are written at the same time: 6, 4 or 2 (F2FS: active_logs).
        active_logs: ActiveLogs = ActiveLogs::Six,
        /// Which section is cleaned next.
        cleaning: Cleaning = Cleaning::Greedy,
        /// Cleaning begins where fewer sections are free.
        free_sections: u32 = 16,
        /// How often a checkpoint is made.
        checkpoint: Span = Span(60_000_000_000),
        /// A section: what is written in order and freed as a whole, in segments of 2 MiB; of a zoned drive a zone [B].
        section_size: Bytes = Bytes::from_mib(2),
        /// What the drive is told of a section that was freed: "trim", or "reset" of a zoned drive.
        section_reset: ZoneReset = ZoneReset::Trim,
        /// How often the main area was written before the run: what then is where, and how full sections are, is known
        /// from there.
        past: f64 = 2.0,
        /// Where on the drive the file system begins: its tables, which are written in place, and then its logs.
        offset: Bytes = Bytes(0),
        /// Bytes of the file system; "none" is the rest of the drive.
        footprint: Option<Bytes> = None,
    }
}

units::choices! {
    /// Logs that are written at the same time.
    pub enum ActiveLogs {
        /// Data and nodes, hot, warm and cold each.
        Six = "six",
        /// Data of directories and of files; nodes of files and others.
        Four = "four",
        /// Data and nodes.
        Two = "two",
    }
}

units::choices! {
    /// Which section is cleaned next.
    pub enum Cleaning {
        /// The one with the fewest live blocks.
        Greedy = "greedy",
        /// The one whose free room times its age is the largest, for what cleaning costs (M. Rosenblum, J. Ousterhout,
        /// 1992; as F2FS's background cleaning).
        CostBenefit = "cost-benefit",
    }
}

impl LogFs {
    /// What the volume on a drive of `capacity` looks like, or which parameter cannot be met.
    pub(super) fn check(&self, capacity: Bytes) -> Result<Shape, ConfigError> {
        let rates = [("rate", self.rate, 1e-3, 1e9), ("past", self.past, 0.0, 100.0)];
        for (key, value, least, most) in rates {
            let remedy = format!("choose a number from {least} to {most:e}");
            refuse(!(least..=most).contains(&value), key, format!("is {value}"), &remedy)?;
        }
        refuse(
            self.operations as f64 / self.rate > LONGEST_RUN_S,
            "rate",
            format!("{} operations at {}/s take more than ten years", self.operations, self.rate),
            "raise rate or lower operations",
        )?;
        let shares = [
            ("read_ratio", self.read_ratio.0, 1.0),
            ("replaced", self.replaced.0, 1.0),
            ("fsync", self.fsync.0, 1.0),
            ("cold_files", self.cold_files.0, 0.99),
            ("utilization", self.utilization.0, 0.95),
        ];
        for (key, share, most) in shares {
            let is_share = (0.0..=most).contains(&share);
            refuse(!is_share, key, format!("is {share}"), &format!("choose from 0 to {most}"))?;
        }
        for (key, bytes, of, most) in [
            ("bs", self.bs, BLOCK, self.file_size.min(LARGEST_REQUEST).0),
            ("file_size", self.file_size, BLOCK, 1 << 30),
            ("section_size", self.section_size, SEGMENT, 1 << 36),
            ("offset", self.offset, self.section_size.0.max(1), u64::MAX),
        ] {
            let fits = bytes.0.is_multiple_of(of) && bytes.0 <= most && (bytes.0 > 0 || key == "offset");
            let remedy = format!("choose a multiple of {} up to {}", Bytes(of), Bytes(most));
            refuse(!fits, key, format!("is {bytes}"), &remedy)?;
        }
        let counts = [
            ("operations", self.operations, 1, 1 << 48),
            ("files_of_directory", self.files_of_directory.into(), 1, 1 << 20),
            ("free_sections", self.free_sections.into(), LOGS as u64 + 2, 1 << 20),
            ("checkpoint", self.checkpoint.0, 1_000_000, 1 << 50),
        ];
        for (key, count, least, most) in counts {
            let remedy = format!("choose from {least} to {most}");
            refuse(!(least..=most).contains(&count), key, format!("is {count}"), &remedy)?;
        }
        self.shape(capacity)
    }

    /// What the volume looks like.
    fn shape(&self, capacity: Bytes) -> Result<Shape, ConfigError> {
        let rest = capacity.0.saturating_sub(self.offset.0);
        let wanted = self.footprint.map_or(rest, |footprint| footprint.0);
        refuse(
            wanted > rest,
            "footprint",
            format!("reaches to {} of the device's {capacity}", Bytes(wanted.saturating_add(self.offset.0))),
            "choose less, or \"none\" for the rest of the device",
        )?;
        let shape = self.shape_of(wanted);
        // Sections that cleaning needs, one that each log fills, and one to gain from.
        let spare = u64::from(self.free_sections) + LOGS as u64 + 1;
        let of_section = self.section_size.0 / BLOCK;
        let needed = shape.blocks().div_ceil(of_section) + spare;
        refuse(
            shape.files == 0 || needed > u64::from(shape.sections),
            if self.footprint.is_some() { "footprint" } else { "section_size" },
            format!(
                "makes {} sections of {}, and {needed} are needed: {} for live blocks, the others for logs and cleaning",
                shape.sections,
                self.section_size,
                needed - spare
            ),
            "choose a larger device or footprint, smaller sections, or a lower utilization or free_sections",
        )?;
        let most = u64::from(u32::MAX);
        refuse(
            u64::from(shape.sections) * of_section >= most || shape.blocks() >= most,
            "footprint",
            format!("makes {} blocks", u64::from(shape.sections) * of_section),
            "choose a footprint of less than 16 TiB",
        )?;
        Ok(shape)
    }

    /// Of a volume of this many bytes.
    fn shape_of(&self, bytes: u64) -> Shape {
        let of_section = self.section_size.0 / BLOCK;
        let all = bytes / self.section_size.0;
        let blocks_of_file = self.file_size.0 / BLOCK;
        // Tables for as many nodes as there could be blocks of files of a block each would be F2FS's; here for those
        // that there are.
        let blocks = all * of_section;
        let tables =
            2 * SEGMENT / BLOCK + (blocks / (SEGMENT / BLOCK)).div_ceil(SIT_ENTRIES) + blocks.div_ceil(NAT_ENTRIES);
        let tables = tables.div_ceil(of_section).min(all);
        let sections = all - tables;
        let of_each = blocks_of_file + 1 + u64::from(blocks_of_file > OF_INODE);
        let per_directory = of_each * u64::from(self.files_of_directory) + 2;
        let live = (sections * of_section) as f64 * self.utilization.0;
        let files = (live / per_directory as f64 * f64::from(self.files_of_directory)) as u64;
        Shape {
            files,
            blocks_of_file,
            directories: files.div_ceil(self.files_of_directory.into()),
            first_cold: files - (files as f64 * self.cold_files.0) as u64,
            sections: sections.min(u32::MAX.into()) as u32,
            tables: tables as u32,
            blocks_of_section: of_section as u32,
        }
    }
}

fn refuse(wrong: bool, key: &str, problem: String, remedy: &str) -> Result<(), ConfigError> {
    if !wrong {
        return Ok(());
    }
    let (origin, remedy) = ("configuration".into(), remedy.to_owned());
    Err(ConfigError { origin, line: None, key: Some(format!("log_fs.{key}")), problem, remedy })
}
