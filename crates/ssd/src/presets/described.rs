//! A device in a line: `2TB, 16 ch x 4 dies x 4 planes, TLC, PCIe 5 x4`. It becomes the text of a device file, in which
//! everything that the line leaves open is the preset's of its cells, or `assumed`.

use std::fmt::Write as _;

use units::value::{Scalar, Value};
use units::{Bytes, ConfigError};

/// What a part of the line may be.
const PARTS: &str = "a capacity (2TB), channels, dies on each channel and planes in each die (16 ch x 4 dies x 4 planes), cells (SLC, MLC, TLC, QLC, PLC), \
                     a link (PCIe 4 x4, of 1, 2, 4, 8 or 16 lanes; SATA), a bus (2400MT/s), spare flash (28% spare), a write buffer (64MiB buffer)";
/// Pages of 16 KiB that a wordline has, and wordlines of a block: of the preset `tlc`.
const PAGE: u64 = 16 << 10;
const WORDLINES: u64 = 384;
/// Flash of a die, for each bit of a cell (assumed: 512 Gb of TLC, rounded).
const OF_DIE: u64 = 64 << 30;
/// What a lane of PCIe 4.0 delivers \[MB/s\] (the preset `tlc`: 7 GB/s by four); each generation doubles it.
const LANE: f64 = 1750.0;
/// Lanes that a link may have (PCIe Base Specification; the x12 and x32 of early ones are of no drive).
const LANES: [u64; 5] = [1, 2, 4, 8, 16];
/// What SATA 3.2 at 6 Gb/s delivers \[MB/s\] (assumed, as data sheets have it).
const SATA: u64 = 550;

#[derive(Default)]
struct Described {
    capacity: Option<u64>,
    channels: Option<u64>,
    dies: Option<u64>,
    planes: Option<u64>,
    bits: Option<u64>,
    /// \[MB/s\]
    link: Option<u64>,
    generation: Option<i32>,
    /// \[MB/s\]
    bus: Option<u64>,
    spare: Option<f64>,
    buffer: Option<u64>,
}

/// The text of the device file that a line stands for; none where it is a name or a path.
pub(super) fn text_of(line: &str) -> Option<Result<String, ConfigError>> {
    let is_size = Bytes::read(&Scalar::Text(line.replace(' ', ""))).is_some();
    (line.contains(',') || is_size).then(|| Ok(read(line)?.text(line)))
}

fn read(line: &str) -> Result<Described, ConfigError> {
    let mut found = Described::default();
    for part in line.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if found.take(part).is_none() {
            let twice = Described::default().take(part).is_some();
            let problem = if twice { "says what another part says too" } else { "is not understood" };
            return Err(ConfigError {
                origin: format!("device `{line}`"),
                line: None,
                key: None,
                problem: format!("`{part}` {problem}"),
                remedy: format!("a device in a line has {PARTS}, with commas between"),
            });
        }
    }
    Ok(found)
}

impl Described {
    /// What a part says; none where it is not understood, or says again what another one said.
    fn take(&mut self, part: &str) -> Option<()> {
        let lower = part.to_lowercase();
        let word = lower.replace(' ', "");
        if let Some(bits) = ["slc", "mlc", "tlc", "qlc", "plc"].iter().position(|cell| *cell == word) {
            return set(&mut self.bits, bits as u64 + 1);
        }
        if word == "sata" {
            return set(&mut self.link, SATA);
        }
        if let Some(link) = word.strip_prefix("pcie").or_else(|| word.strip_prefix("nvme")) {
            let (generation, lanes) = link.split_once('x')?;
            let generation: f64 = generation.trim_start_matches("gen").parse().ok()?;
            let lanes: u64 = lanes.parse().ok()?;
            if !(1.0..=8.0).contains(&generation) || !LANES.contains(&lanes) {
                return None;
            }
            set(&mut self.generation, generation as i32)?;
            return set(&mut self.link, (LANE * libm::pow(2.0, generation - 4.0)) as u64 * lanes);
        }
        if let Some(rate) = word.strip_suffix("mt/s") {
            return set(&mut self.bus, rate.parse().ok().filter(|rate| *rate > 0)?);
        }
        if let Some(spare) = word.strip_suffix("%spare") {
            let share: f64 = spare.parse().ok()?;
            return (share > 0.0 && share < 1000.0).then(|| set(&mut self.spare, share / 100.0))?;
        }
        let as_written = part.replace(' ', "");
        if let Some(size) = as_written.strip_suffix("buffer") {
            return set(&mut self.buffer, Bytes::read(&Scalar::Text(size.into()))?.0);
        }
        if let Some(size) = Bytes::read(&Scalar::Text(as_written)) {
            return set(&mut self.capacity, size.0);
        }
        lower.split(['x', '×', '*']).try_for_each(|factor| self.take_factor(factor.trim()))
    }

    /// A factor of the shape, such as `16 ch`.
    fn take_factor(&mut self, factor: &str) -> Option<()> {
        let digits = factor.chars().take_while(char::is_ascii_digit).count();
        let (count, of) = factor.split_at(digits);
        let count = count.parse().ok().filter(|count| *count > 0)?;
        match of.trim().trim_end_matches('s') {
            "ch" | "channel" => set(&mut self.channels, count),
            "die" => set(&mut self.dies, count),
            "plane" => set(&mut self.planes, count),
            _ => None,
        }
    }

    fn text(&self, line: &str) -> String {
        let bits = self.bits.unwrap_or(3);
        let base = ["tlc", "tlc", "tlc", "qlc", "plc"][bits as usize - 1];
        let (channels, planes) = (self.channels.unwrap_or(8), self.planes.unwrap_or(4));
        let capacity = self.capacity.unwrap_or(1_000_000_000_000);
        let spare = self.spare.unwrap_or(0.07);
        let raw = capacity as f64 * (1.0 + spare);
        let of_channel = raw / channels as f64 / (OF_DIE * bits / 3) as f64;
        let dies = self.dies.unwrap_or((of_channel.round() as u64).max(1));
        // Pairs of dies share a chip, as in the preset.
        let (chips, of_chip) = if dies.is_multiple_of(2) { (dies / 2, 2) } else { (dies, 1) };
        let pages = WORDLINES * bits;
        let blocks = (raw / (channels * dies * planes * pages * PAGE) as f64).ceil() as u64;
        let assumed = |given: bool| if given { "" } else { " # assumed" };
        let mut text = String::new();
        let mut put = |line: std::fmt::Arguments| writeln!(text, "{line}").expect("Invariant: a text takes more");
        put(format_args!("about = {:?}", format!("as described: {line}")));
        put(format_args!("source = \"what is described; the rest assumed, as in the preset {base}\""));
        put(format_args!("base = \"{base}\"\n\n[geometry]"));
        put(format_args!("channels = {channels}{}", assumed(self.channels.is_some())));
        let of_channel = format!("in each chip: {dies} on each channel");
        put(format_args!("chips = {chips} # on each channel"));
        put(format_args!("dies = {of_chip} # {}{of_channel}", if self.dies.is_some() { "" } else { "assumed: " }));
        put(format_args!("planes = {planes}{}", assumed(self.planes.is_some())));
        put(format_args!("blocks = {blocks} # what the capacity takes"));
        put(format_args!("pages = {pages} # assumed: {WORDLINES} wordlines"));
        put(format_args!("cell = \"{}\"", ["SLC", "MLC", "TLC", "QLC", "PLC"][bits as usize - 1]));
        if let Some(times) = match bits {
            1 => Some(("25us", "15us", "200us", "2ms")),
            2 => Some(("45us", "28us", "600us", "3ms")),
            _ => None,
        } {
            let (read, pre, program, erase) = times;
            put(format_args!(
                "\n[chip] # assumed\nt_read = \"{read}\"\nt_pre = \"{pre}\"\nt_prog = \"{program}\"\nt_bers = \"{erase}\""
            ));
        }
        put(format_args!("\n[ftl]\nover_provisioning = {spare}{}", assumed(self.spare.is_some())));
        if let Some(rate) = self.bus {
            put(format_args!("\n[bus]\nbandwidth = \"{rate}MB/s\""));
        }
        if self.link.is_some() {
            let link = self.link.unwrap_or_default();
            put(format_args!("\n[host]\nlink_bandwidth = \"{link}MB/s\" # assumed: what the link delivers"));
            // As many more cores as the link is faster.
            let cores = (4.0 * libm::pow(2.0, f64::from(self.generation.unwrap_or(4) - 4))).clamp(1.0, 32.0);
            put(format_args!("cores = {} # assumed", if self.generation.is_some() { cores as u64 } else { 1 }));
        }
        if let Some(size) = self.buffer {
            put(format_args!("\n[buffer]\nsize = \"{size}B\""));
        }
        text
    }
}

/// Sets what nothing has set before.
fn set<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.is_none().then(|| *place = Some(value))
}

#[cfg(test)]
mod tests {
    use crate::presets::load;

    #[test]
    fn a_line_has_the_capacity_and_shape_that_it_says() {
        for (line, capacity, shape) in [
            ("2TB, 16ch x 4 dies x 4 planes, TLC, PCIe 5 x4", 2e12, (16, 4, 4)),
            ("1TB", 1e12, (8, 2, 4)),
            ("8 TB, QLC", 8e12, (8, 12, 4)),
            ("480GB, SATA, 4 channels, MLC, 28% spare", 480e9, (4, 3, 4)),
            ("100GB, SLC, 2 channels x 2 dies", 100e9, (2, 2, 4)),
        ] {
            let plan = load(line).unwrap().config.plan().unwrap_or_else(|error| panic!("{line}: {error}"));
            let found = plan.capacity().0 as f64;
            assert!((1.0..1.01).contains(&(found / capacity)), "{line}: {found}");
            let geometry = &plan.config.geometry;
            assert_eq!((geometry.channels, geometry.chips * geometry.dies, geometry.planes), shape, "{line}");
        }
        let five = load("2TB, PCIe 5 x4").unwrap().config;
        assert_eq!(five.host.link_bandwidth.0, 14_000_000_000);
        assert_eq!(five.host.cores, 8);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (line, part) in [
            ("2TB, 4 wings", "`4 wings`"),
            ("2TB, PCIe 9 x4", "`PCIe 9 x4`"),
            ("2TB, PCIe 5 x3", "`PCIe 5 x3`"),
            ("2TB, 4TB", "`4TB`"),
            ("tlc, qlc", "`qlc`"),
            ("2TB, 4 ch x 4 ch", "`4 ch x 4 ch`"),
        ] {
            let error = load(line).unwrap_err();
            assert!(error.problem.contains(part) && error.remedy.contains("16 ch x 4 dies"), "{line}: {error}");
        }
        assert!(load("tlc, qlc").unwrap_err().problem.contains("another part"));
        assert!(load("2TB TLC").unwrap_err().remedy.contains("commas"));
    }
}
