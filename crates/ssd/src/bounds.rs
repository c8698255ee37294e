//! What a device can do at most, from its configuration alone: bounds of simple formulas, before any run.
//!
//! Bounds are of reads that flash answers, without retries, collections or misses of the map, and of writes that reach
//! flash without any amplification: no run of such reads or sustained writes exceeds them. With an SLC cache the bounds
//! of each pattern are those of the faster of the two modes of blocks, and those of the chip's own cells follow ("past
//! the cache").

use nand::{PlanePrograms, PlaneReads, ProgramUnit};
use units::{Bytes, Span};

use crate::config::{Config, EraseWhen, MapTable, MappedBy, SlcCache, Transfer};

/// What a resource allows.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The resource.
    pub resource: &'static str,
    /// Requests a second.
    pub per_s: f64,
    /// How it is worked out, in the keys of the configuration.
    pub formula: String,
}

/// A pattern of access and its bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The pattern.
    pub what: String,
    /// Of a request.
    pub bytes: Bytes,
    /// The tightest first.
    pub bounds: Vec<Bound>,
    /// Latency of a request on an idle drive, exactly; none where several pages overlap, and for writes.
    pub lone: Option<Span>,
    /// Whether runs of the presets come within 3 % of the tightest bound, as they do in sequence with the map in memory
    /// where no other resource is about as scarce.
    pub reached: bool,
}

/// The bounds of a device: random reads of 4 KiB and of a page, sequential reads and writes.
pub fn bounds(config: &Config) -> Vec<Access> {
    let drive = Drive::new(config);
    drive.cases().iter().flat_map(|(modes, suffix)| drive.accesses(modes, suffix)).collect()
}

/// Requests of sequential patterns.
const SEQUENTIAL: u64 = 128 << 10;

/// Blocks of one mode: the chip's own cells, or those of the SLC cache. Times in \[ns], with their names.
#[derive(Clone, Copy)]
struct Mode {
    t_read: f64,
    read: &'static str,
    /// Of a program unit, all of its passes.
    t_program: f64,
    program: &'static str,
    /// Of a program unit on a plane.
    pages: u64,
    passes: u64,
}

impl Mode {
    fn unit(self) -> &'static str {
        if self.pages == 1 { "pages" } else { "wordlines" }
    }
}

/// What the bounds are worked out of.
struct Drive<'a> {
    config: &'a Config,
    channels: u64,
    /// Dies that may be busy at once.
    working: u64,
    planes_of_die: u64,
    page: u64,
    own: Mode,
}

fn mean(times: impl ExactSizeIterator<Item = u64>) -> f64 {
    let count = times.len() as f64;
    times.sum::<u64>() as f64 / count
}

impl<'a> Drive<'a> {
    fn new(config: &'a Config) -> Drive<'a> {
        let Config { geometry, chip, bus, .. } = config;
        let channels = u64::from(geometry.channels);
        let chips = channels * u64::from(geometry.chips);
        let bits = geometry.cell.bits();
        let whole = chip.program_unit == ProgramUnit::Wordline;
        Drive {
            config,
            channels,
            // A chip without die interleaving has one busy die at most.
            working: if bus.die_interleaving { chips * u64::from(geometry.dies) } else { chips },
            planes_of_die: u64::from(geometry.planes),
            page: geometry.page_size.0,
            own: Mode {
                t_read: t_read(config),
                read: "tR",
                t_program: t_program(config, whole),
                program: "tPROG",
                pages: if whole { bits.into() } else { 1 },
                passes: chip.program_passes.into(),
            },
        }
    }

    /// The modes that blocks may be in, and how the patterns of this case are marked.
    fn cases(&self) -> Vec<(Vec<Mode>, &'static str)> {
        let Config { ftl: placing, slc, chip, .. } = self.config;
        if placing.slc_cache == SlcCache::None {
            return vec![(vec![self.own], "")];
        }
        let whole = chip.program_unit == ProgramUnit::Wordline;
        let cache = Mode {
            t_read: mean(slc.t_read.iter().map(|time| time.0)),
            read: "slc.t_read",
            t_program: slc.t_prog.0 as f64,
            program: "slc.t_prog",
            pages: if whole { slc.cell.bits().into() } else { 1 },
            passes: 1,
        };
        vec![(vec![self.own, cache], ""), (vec![self.own], " past the cache")]
    }

    /// The patterns, on blocks that may be in any of these modes.
    fn accesses(&self, modes: &[Mode], suffix: &str) -> Vec<Access> {
        let mut sizes = vec![4 << 10, self.page];
        sizes.sort_unstable();
        sizes.dedup();
        sizes.retain(|size| *size <= self.page);
        let cells = *modes.iter().min_by(|a, b| a.t_read.total_cmp(&b.t_read)).unwrap_or(&self.own);
        let random = |size: &u64| self.reads(format!("random read {} KiB{suffix}", size >> 10), *size, cells);
        let mut found: Vec<Access> = sizes.iter().map(random).collect();
        found.push(self.reads(format!("sequential read{suffix}"), SEQUENTIAL, cells));
        found.push(self.writes(format!("write{suffix}"), SEQUENTIAL, modes));
        found
    }

    /// Time of bytes on the bus \[ns].
    fn t_dma(&self, size: u64) -> u64 {
        let bus = &self.config.bus;
        match (bus.t_dma, bus.bandwidth) {
            (Some(page), _) => (page.0 * size).div_ceil(self.page),
            (None, bandwidth) => (size * 1_000_000_000).div_ceil(bandwidth.map_or(1, |bandwidth| bandwidth.0)),
        }
    }

    /// Bytes of a page that a read of `size` moves over the bus.
    fn moved(&self, size: u64) -> u64 {
        if self.config.bus.transfer == Transfer::Page {
            return self.page;
        }
        let codeword = self.page.min(self.config.ecc.codeword.0);
        self.page.min(size.div_ceil(codeword) * codeword)
    }

    /// Reads of `size` that flash answers, from blocks of a mode.
    fn reads(&self, what: String, size: u64, cells: Mode) -> Access {
        let Config { chip, bus, ecc, buffer, host, .. } = self.config;
        let part = size.min(self.page);
        let parts = size as f64 / part as f64;
        let held = if chip.cache_read { 0 } else { self.t_dma(self.moved(part)) };
        let planes = (self.working * self.planes_of_die) as f64;
        let read = cells.read;
        let formula = if held > 0 { format!("planes / ({read} + tDMA)") } else { format!("planes / {read}") };
        let array =
            Bound { resource: "flash array", per_s: planes / (cells.t_read + held as f64) / parts * 1e9, formula };
        let busy = bus.t_command.0 + self.t_dma(self.moved(part));
        let per_s = self.channels as f64 / busy as f64 / parts * 1e9;
        let mut found = vec![array, bound("bus", per_s, "channels / (bus.t_command + tDMA)")];
        if chip.plane_reads == PlaneReads::Single {
            let per_s = self.working as f64 / cells.t_read / parts * 1e9;
            found.push(bound("sensing dies", per_s, &format!("dies / {read}")));
        }
        if ecc.t_decode.0 > 0 {
            let engines = (self.channels * u64::from(ecc.decoders)) as f64;
            let per_s = engines / ecc.t_decode.0 as f64 / parts * 1e9;
            found.push(bound("ECC", per_s, "channels x ecc.decoders / ecc.t_decode"));
        }
        if buffer.read_through {
            found.push(bound("DRAM", buffer.dram_bandwidth.0 as f64 / size as f64, "buffer.dram_bandwidth / size"));
        }
        found.extend(self.host(size));
        let lone = (size <= self.page).then(|| self.lone(size, cells));
        if let Some(lone) = lone {
            let most = u64::from(host.commands).min(u64::from(host.queues) * u64::from(host.queue_depth));
            found.push(bound("commands", most as f64 / lone as f64 * 1e9, "host.commands / lone latency"));
        }
        let own = cells.read == self.own.read;
        self.access(what, size, found, lone, size > self.page && own)
    }

    fn access(&self, what: String, size: u64, mut bounds: Vec<Bound>, lone: Option<u64>, steady: bool) -> Access {
        bounds.sort_by(|a, b| a.per_s.total_cmp(&b.per_s));
        // Two resources that are about as scarce are not both busy all the time.
        let alone = bounds.len() < 2 || bounds[1].per_s > 1.1 * bounds[0].per_s;
        let reached = steady && alone && self.config.mapping.table == MapTable::Ideal;
        Access { what, bytes: Bytes(size), bounds, lone: lone.map(Span), reached }
    }

    /// The latency of a read of a page or less on an idle drive \[ns] (docs/model.md, "A read").
    fn lone(&self, size: u64, cells: Mode) -> u64 {
        let Config { host, bus, ecc, buffer, .. } = self.config;
        let moved = |rate: u64| (size * 1_000_000_000).div_ceil(rate);
        let fixed = host.t_submit.0 + host.t_firmware.0 + host.t_complete.0 + bus.t_command.0 + ecc.t_decode.0;
        let flash = libm::rint(cells.t_read) as u64 + self.t_dma(self.moved(size));
        let dram = if buffer.read_through { moved(buffer.dram_bandwidth.0) } else { 0 };
        fixed + flash + moved(host.link_bandwidth.0) + dram
    }

    /// Sustained writes: every byte is programmed once, in a block of any of these modes.
    fn writes(&self, what: String, size: u64, modes: &[Mode]) -> Access {
        let Config { buffer, ftl: placing, geometry, .. } = self.config;
        // The first of those that allow the most.
        let most = |of: &dyn Fn(Mode) -> Bound| {
            let larger = |a: Bound, b: Bound| if b.per_s > a.per_s { b } else { a };
            modes.iter().map(|mode| of(*mode)).reduce(larger)
        };
        let mut found: Vec<Bound> = most(&|mode| self.array(mode, size)).into_iter().collect();
        found.extend(most(&|mode| self.loading(mode, size)));
        found.push(bound("DRAM", buffer.dram_bandwidth.0 as f64 / size as f64, "buffer.dram_bandwidth / size"));
        found.extend(self.host(size));
        // The bound leaves out that blocks are erased (now and then none is) and that data of a cache is folded.
        let own = self.own;
        let erases = (self.t_erase() * own.pages) as f64 / f64::from(geometry.pages);
        // Zones are written one after another, each by the dies of its group.
        let everywhere = placing.slc_cache == SlcCache::None && placing.mapping != MappedBy::Zoned;
        self.access(what, size, found, None, erases < 0.01 * own.t_program && everywhere)
    }

    /// Time on the bus of a pass over a program unit of a plane \[ns].
    fn load(&self, mode: Mode) -> u64 {
        self.config.bus.t_command.0 + mode.pages * self.t_dma(self.page)
    }

    /// What planes allow that are loaded and then program, all the time.
    fn array(&self, mode: Mode, size: u64) -> Bound {
        let chip = &self.config.chip;
        // A die is loaded for all of its planes, and then programs them.
        let joined = if chip.plane_programs == PlanePrograms::Lockstep { self.planes_of_die } else { 1 };
        let loads = if chip.cache_program { 0 } else { mode.passes * joined * self.load(mode) };
        let planes = if chip.plane_programs == PlanePrograms::Single { 1 } else { self.planes_of_die };
        let bytes = (self.working * planes * mode.pages * self.page) as f64;
        let per_s = bytes / (mode.t_program + loads as f64) / size as f64 * 1e9;
        let busy = if loads > 0 { format!("({} + loading)", mode.program) } else { mode.program.into() };
        bound("flash array", per_s, &format!("planes x bytes of their {} / {busy}", mode.unit()))
    }

    /// What buses allow, over which every pass takes its data.
    fn loading(&self, mode: Mode, size: u64) -> Bound {
        let bytes = (self.channels * mode.pages * self.page) as f64;
        let per_s = bytes / (mode.passes * self.load(mode)) as f64 / size as f64 * 1e9;
        bound("bus", per_s, &format!("channels x bytes of {} / (bus.t_command + tDMA)", mode.unit()))
    }

    /// tBERS of blocks that are erased just before their first program \[ns]; 0 where a fresh drive needs none, and
    /// with schemes that shorten it.
    fn t_erase(&self) -> u64 {
        let Config { chip, ftl: placing, erase, .. } = self.config;
        if placing.erase_when != EraseWhen::Opened || erase.pulse.is_some() {
            return 0;
        }
        let loops = || u64::from(chip.erase_loops.unwrap_or(0)) * (chip.t_erase_pulse.0 + chip.t_erase_verify.0);
        chip.t_bers.map_or_else(loops, |time| time.0)
    }

    fn host(&self, size: u64) -> Vec<Bound> {
        let host = &self.config.host;
        let mut found = vec![bound("link", host.link_bandwidth.0 as f64 / size as f64, "host.link_bandwidth / size")];
        if host.t_firmware.0 > 0 {
            let per_s = f64::from(host.cores) / host.t_firmware.0 as f64 * 1e9;
            found.push(bound("firmware", per_s, "host.cores / host.t_firmware"));
        }
        found
    }
}

fn bound(resource: &'static str, per_s: f64, formula: &str) -> Bound {
    Bound { resource, per_s, formula: formula.into() }
}

/// tR \[ns], the mean over the pages of a wordline.
fn t_read(config: &Config) -> f64 {
    let chip = &config.chip;
    if let Some(times) = &chip.t_read {
        return mean(times.iter().map(|time| time.0));
    }
    let one = chip.t_pre.0 + chip.t_eval.0 + chip.t_disch.0;
    let senses = chip.senses.as_deref().unwrap_or(&[1]);
    (one * senses.iter().map(|count| u64::from(*count)).sum::<u64>()) as f64 / senses.len() as f64
}

/// tPROG of a program unit \[ns]: the mean over the pages of a wordline, or the sum of its passes.
fn t_program(config: &Config, whole: bool) -> f64 {
    let chip = &config.chip;
    let passes = u64::from(chip.program_passes);
    let Some(times) = &chip.t_prog else {
        let one = chip.t_program_pulse.0 + chip.t_program_verify.0;
        return (u64::from(chip.program_loops.unwrap_or(0)) * one * if whole { passes } else { 1 }) as f64;
    };
    let sum: u64 = times.iter().map(|time| time.0).sum();
    match (whole, times.len() as u64 == passes) {
        (false, _) => sum as f64 / times.len() as f64,
        (true, true) => sum as f64,
        (true, false) => (times[0].0 * passes) as f64,
    }
}
