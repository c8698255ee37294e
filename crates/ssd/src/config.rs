//! The device's one configuration schema: every crate's parameters, composed, checked together and worked
//! out into what the simulation needs.

use nand::chip::LONGEST;
use nand::{Chip, Geometry, Layout, PlanePrograms, PlaneReads, ProgramUnit, Timings};
use schemes::Order;
use units::document::{Document, apply_word};
use units::section::Section;
use units::value::{Scalar, Value};
use units::{Bandwidth, Bytes, ConfigError, Fraction, PeCycles, Rate, Retention, Span, Temperature};

units::choices! {
    /// When a host write is acknowledged.
    pub enum BufferMode {
        /// When its data is in the buffer.
        WriteBack = "write-back",
        /// When its data is on flash.
        WriteThrough = "write-through",
    }
}

units::choices! {
    /// How a written page finds its plane.
    pub enum Placement {
        /// By its address, in the page allocation order.
        Static = "static",
        /// The next die without a program takes the oldest waiting pages.
        Dynamic = "dynamic",
    }
}

units::choices! {
    /// When a free block is erased.
    pub enum EraseWhen {
        /// When it is reclaimed: free blocks are kept erased.
        Reclaimed = "reclaimed",
        /// Just before its first page is programmed.
        Opened = "opened",
    }
}

units::choices! {
    /// What a read moves over the bus.
    pub enum Transfer {
        /// Whole pages.
        Page = "page",
        /// Only the codewords that hold requested bytes.
        Codeword = "codeword",
    }
}

/// The order in which consecutive pages are dealt to channels, chips (ways), dies and planes: the first
/// letter changes fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageOrder(pub [u8; 4]);

impl Value for PageOrder {
    fn expects() -> String {
        "the letters C (channel), W (chip), D (die), P (plane), each once, fastest first, such as \"CWDP\"".into()
    }
    fn read(scalar: &Scalar) -> Option<PageOrder> {
        let Scalar::Text(text) = scalar else { return None };
        let letters: [u8; 4] = text.as_bytes().try_into().ok()?;
        b"CWDP".iter().all(|letter| letters.contains(letter)).then_some(PageOrder(letters))
    }
    fn write(&self) -> Scalar {
        Scalar::Text(self.0.iter().map(|b| char::from(*b)).collect())
    }
}

impl PageOrder {
    /// The plane of each position: entry `i` is the plane of pages `i`, `i + planes`, ...
    pub fn planes(self, layout: &Layout) -> Vec<u32> {
        let sizes = |letter: u8| match letter {
            b'C' => layout.channels,
            b'W' => layout.chips,
            b'D' => layout.dies_per_chip,
            _ => layout.planes_per_die,
        };
        (0..layout.planes)
            .map(|position| {
                let (mut rest, mut at) = (position, [0; 4]);
                for letter in self.0 {
                    let place = b"CWDP".iter().position(|l| *l == letter).expect("Invariant: only these four letters");
                    at[place] = rest % sizes(letter);
                    rest /= sizes(letter);
                }
                ((at[0] * layout.chips + at[1]) * layout.dies_per_chip + at[2]) * layout.planes_per_die + at[3]
            })
            .collect()
    }
}

units::section! {
    /// The host interface: NVMe-style submission queues and a full-duplex link.
    pub struct Host in "host" {
        /// Submission queues; a request's queue number is taken modulo this.
        queues: u16 = 8,
        /// Requests that a queue may have outstanding; further ones wait in the host.
        queue_depth: u32 = 1024,
        /// Commands that the device works on at once; the others wait in their queues.
        commands: u32 = 1024,
        /// Commands taken from one queue before the next one's turn (NVMe arbitration burst, round robin).
        arbitration_burst: u16 = 1,
        /// Bandwidth of the link, in each direction.
        link_bandwidth: Bandwidth = Bandwidth(7_000_000_000),
        /// From the host's doorbell to a fetched command.
        t_submit: Span = Span(1_000),
        /// From the last byte to the host's completion.
        t_complete: Span = Span(1_000),
    }
}

units::section! {
    /// The DRAM write buffer.
    pub struct Buffer in "buffer" {
        /// Room for written data.
        size: Bytes = Bytes::from_mib(64),
        /// When a write is acknowledged: write-back or write-through.
        mode: BufferMode = BufferMode::WriteBack,
        /// Share of the buffer that may stay dirty: above it the oldest pages go to flash. 0 writes at once.
        dirty_limit: Fraction = Fraction(0.0),
        /// Bandwidth of the DRAM, for all host data in and out.
        dram_bandwidth: Bandwidth = Bandwidth(12_800_000_000),
    }
}

units::section! {
    /// The flash translation layer: a page-level map held in memory.
    pub struct Ftl in "ftl" {
        /// Raw capacity over logical capacity, minus 1.
        over_provisioning: f64 = 0.07,
        /// How a written page finds its plane: static or dynamic.
        placement: Placement = Placement::Dynamic,
        /// Page allocation order, fastest first: C channel, W chip, D die, P plane.
        page_order: PageOrder = PageOrder(*b"PCWD"),
        /// When a free block is erased: reclaimed or opened.
        erase_when: EraseWhen = EraseWhen::Opened,
    }
}

units::section! {
    /// The channels' buses.
    pub struct Bus in "bus" {
        /// Transfer rate; "none" when `t_dma` gives it.
        bandwidth: Option<Bandwidth> = Some(Bandwidth(1_600_000_000)),
        /// tDMA: time to move a whole page, parts in proportion; "none" when `bandwidth` gives it.
        t_dma: Option<Span> = None,
        /// Command and address cycles of one page's read, program or erase.
        t_command: Span = Span(200),
        /// What a read moves: page or codeword.
        transfer: Transfer = Transfer::Codeword,
        /// Dies of a chip work at the same time; otherwise a chip has one busy die at most.
        die_interleaving: bool = true,
    }
}

units::section! {
    /// The ECC engines, one a channel. Encoding keeps up with the bus and takes no time of its own.
    pub struct Ecc in "ecc" {
        /// tECC: time to decode one page.
        t_decode: Span = Span(5_000),
        /// Pages that an engine decodes at once.
        decoders: u32 = 2,
        /// Pages that may be in an engine or on their way into it.
        buffer: u32 = 8,
        /// Data bytes of a codeword.
        codeword: Bytes = Bytes::from_kib(4),
    }
}

units::section! {
    /// The order in which dies and buses serve waiting operations.
    pub struct Schedule in "schedule" {
        /// Which waiting operation goes first: fifo, read-first or user-first.
        order: Order = Order::ReadFirst,
    }
}

units::section! {
    /// The state that a run starts from: a drive that has been written and has aged.
    pub struct Age in "age" {
        /// Program/erase cycles of every block.
        pec: PeCycles = PeCycles(0),
        /// Age of the data at 30 C, such as "3mo" or "uniform:0..30d".
        retention: Retention = Retention::Fixed(Span::ZERO),
        /// Temperature of the drive during the run.
        temperature: Temperature = Temperature(30.0),
        /// Share of the logical capacity that holds data, from address 0 up.
        fill: Fraction = Fraction(1.0),
        /// Share of the pages of written blocks that hold stale data.
        invalid: Fraction = Fraction(0.0),
    }
}

/// Everything that describes a device and the state it starts in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Flash geometry.
    pub geometry: Geometry,
    /// Chip timings.
    pub chip: Chip,
    /// Channel buses.
    pub bus: Bus,
    /// ECC engines.
    pub ecc: Ecc,
    /// Host interface.
    pub host: Host,
    /// Write buffer.
    pub buffer: Buffer,
    /// Flash translation layer.
    pub ftl: Ftl,
    /// Scheduling.
    pub schedule: Schedule,
    /// Initial state.
    pub age: Age,
}

impl Config {
    /// The sections, in the order in which they are documented.
    pub fn sections(&self) -> [&dyn Section; 9] {
        [
            &self.geometry,
            &self.chip,
            &self.bus,
            &self.ecc,
            &self.host,
            &self.buffer,
            &self.ftl,
            &self.schedule,
            &self.age,
        ]
    }

    /// The sections, to be changed.
    pub fn sections_mut(&mut self) -> [&mut dyn Section; 9] {
        [
            &mut self.geometry,
            &mut self.chip,
            &mut self.bus,
            &mut self.ecc,
            &mut self.host,
            &mut self.buffer,
            &mut self.ftl,
            &mut self.schedule,
            &mut self.age,
        ]
    }

    /// Applies a TOML document.
    pub fn apply(&mut self, document: &Document, top_level: &[&str]) -> Result<(), ConfigError> {
        document.apply(&mut self.sections_mut(), top_level)
    }

    /// Sets one `section.key=value`.
    pub fn set(&mut self, word: &str) -> Result<(), ConfigError> {
        apply_word(word, &mut self.sections_mut())
    }

    /// The whole configuration as TOML that reads back.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for section in self.sections() {
            text.push_str(&format!("[{}]\n", section.name()));
            for key in section.keys() {
                let value = section.get(key.name).expect("Invariant: a section has every key that it lists");
                text.push_str(&format!("{} = {value}\n", key.name));
            }
            text.push('\n');
        }
        text
    }

    /// Checks everything together and works it out.
    pub fn plan(&self) -> Result<Plan, ConfigError> {
        let named = |section: &str| {
            let section = section.to_owned();
            move |(key, problem, remedy): (&str, String, String)| ConfigError {
                origin: "device".into(),
                line: None,
                key: Some(format!("{section}.{key}")),
                problem,
                remedy,
            }
        };
        let layout = self.geometry.layout().map_err(named("geometry"))?;
        let timings = self.chip.timings(layout.bits).map_err(named("chip"))?;
        let refuse = |section: &str, key: &str, problem: String, remedy: &str| {
            Err(named(section)((key, problem, remedy.into())))
        };

        if self.chip.program_unit == ProgramUnit::Wordline && layout.pages % layout.bits != 0 {
            let problem = format!("is {}, not a multiple of the {} pages of a wordline", layout.pages, layout.bits);
            return refuse("geometry", "pages", problem, "change it, or set chip.program_unit to \"page\"");
        }
        for (section, key, value) in [
            ("host", "queues", u64::from(self.host.queues)),
            ("host", "queue_depth", u64::from(self.host.queue_depth)),
            ("host", "commands", u64::from(self.host.commands)),
            ("host", "arbitration_burst", u64::from(self.host.arbitration_burst)),
            ("host", "link_bandwidth", self.host.link_bandwidth.0),
            ("buffer", "dram_bandwidth", self.buffer.dram_bandwidth.0),
            ("ecc", "decoders", u64::from(self.ecc.decoders)),
            ("ecc", "buffer", u64::from(self.ecc.buffer)),
        ] {
            if value == 0 {
                return refuse(section, key, "is 0".into(), "write a positive value");
            }
        }
        if self.host.queues > 256 {
            return refuse("host", "queues", format!("is {}", self.host.queues), "write at most 256");
        }
        if u64::from(self.host.queues) * u64::from(self.host.queue_depth) > 1 << 24 {
            let entries = u64::from(self.host.queues) * u64::from(self.host.queue_depth);
            let problem = format!("makes {entries} queue entries, {} of memory", Bytes(entries * 64));
            return refuse("host", "queue_depth", problem, "keep queues x depth within 16 million");
        }
        if self.ecc.decoders > 64 {
            return refuse("ecc", "decoders", format!("is {}", self.ecc.decoders), "write at most 64");
        }
        let page = layout.page_size;
        let codeword = self.ecc.codeword;
        if !codeword.0.is_power_of_two() || codeword > page || codeword.0 < 512 {
            return refuse(
                "ecc",
                "codeword",
                format!("is {codeword}"),
                "write a power of two from 512 B up to the page size",
            );
        }
        let slots = self.buffer.size.0 / page.0;
        let unit_pages = if self.chip.program_unit == ProgramUnit::Wordline { layout.bits } else { 1 };
        if slots < u64::from(unit_pages) {
            let need = Bytes(page.0 * u64::from(unit_pages));
            return refuse(
                "buffer",
                "size",
                format!("is {}", self.buffer.size),
                &format!("it must hold one program unit: at least {need}"),
            );
        }
        if slots > 1 << 24 {
            let problem = format!("is {}, which takes {} of memory to track", self.buffer.size, Bytes(slots * 64));
            return refuse("buffer", "size", problem, "a buffer can have at most 16 million pages");
        }
        let page_time = match (self.bus.bandwidth, self.bus.t_dma) {
            (Some(bandwidth), None) if bandwidth.0 > 0 => PageTime::Rate(Rate::new(bandwidth, page)),
            (None, Some(t_dma)) => PageTime::Page(t_dma, page),
            (Some(_), None) => return refuse("bus", "bandwidth", "is 0".into(), "write a positive value"),
            (None, None) => return refuse("bus", "bandwidth", "is \"none\"".into(), "give bus.bandwidth or bus.t_dma"),
            (Some(_), Some(_)) => {
                return refuse(
                    "bus",
                    "t_dma",
                    "is given beside bandwidth".into(),
                    "set one of bus.bandwidth and bus.t_dma to \"none\"",
                );
            }
        };
        if !(0.0..=10.0).contains(&self.ftl.over_provisioning) {
            return refuse(
                "ftl",
                "over_provisioning",
                format!("is {}", self.ftl.over_provisioning),
                "write a number from 0 to 10, such as 0.07",
            );
        }
        let logical_pages = (layout.raw_pages() as f64 / (1.0 + self.ftl.over_provisioning)) as u64;
        if logical_pages == 0 {
            let problem = format!("is {}, which leaves no page to the host", self.ftl.over_provisioning);
            return refuse("ftl", "over_provisioning", problem, "lower it, or give the device more pages");
        }
        let (link, dram) = (Rate::new(self.host.link_bandwidth, page), Rate::new(self.buffer.dram_bandwidth, page));
        let page_key = if self.bus.t_dma.is_some() { "t_dma" } else { "bandwidth" };
        for (section, key, span) in [
            ("host", "t_submit", self.host.t_submit),
            ("host", "t_complete", self.host.t_complete),
            ("host", "link_bandwidth", link.time_for(page)),
            ("buffer", "dram_bandwidth", dram.time_for(page)),
            ("bus", "t_command", self.bus.t_command),
            ("bus", page_key, page_time.of(page.0 as u32)),
            ("ecc", "t_decode", self.ecc.t_decode),
        ] {
            if span > LONGEST {
                let problem = format!("makes {:.0} s a page", span.as_s());
                return refuse(section, key, problem, &format!("a page may take {:.0} s at most", LONGEST.as_s()));
            }
        }
        let plan = Plan {
            layout,
            logical_pages: logical_pages as u32,
            link,
            dram,
            page_time,
            t_command: self.bus.t_command,
            unit_pages,
            slots: slots as u32,
            reads: self.chip.plane_reads,
            programs: self.chip.plane_programs,
            timings,
            config: self.clone(),
        };
        let (data, room) = plan.pages_per_plane();
        if data > room {
            let problem = format!(
                "{} and age.invalid = {} need {data} pages a plane, and it has {room} beside the one free block that writing needs",
                self.age.fill.0, self.age.invalid.0
            );
            return refuse("age", "fill", problem, "lower age.fill or age.invalid, or raise ftl.over_provisioning");
        }
        Ok(plan)
    }
}

/// How long a transfer takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PageTime {
    Rate(Rate),
    /// A whole page takes this long, parts in proportion.
    Page(Span, Bytes),
}

impl PageTime {
    #[inline]
    fn of(&self, bytes: u32) -> Span {
        match self {
            PageTime::Rate(rate) => rate.time_for(Bytes(u64::from(bytes))),
            PageTime::Page(span, page) => Span((span.0.saturating_mul(u64::from(bytes))).div_ceil(page.0)),
        }
    }
}

/// A checked configuration with what follows from it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The geometry, worked out.
    pub layout: Layout,
    /// Logical capacity [pages].
    pub logical_pages: u32,
    /// Pages that one program command writes on a plane.
    pub unit_pages: u32,
    /// Pages that the write buffer holds.
    pub slots: u32,
    /// tR, tPROG, tBERS.
    pub timings: Timings,
    /// The configuration this comes from.
    pub config: Config,
    pub(crate) page_time: PageTime,
    pub(crate) link: Rate,
    pub(crate) dram: Rate,
    pub(crate) t_command: Span,
    pub(crate) reads: PlaneReads,
    pub(crate) programs: PlanePrograms,
}

impl Plan {
    /// Logical capacity.
    pub fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.logical_pages) * self.layout.page_size.0)
    }

    /// Time on the bus for `bytes`.
    #[inline]
    pub fn t_dma(&self, bytes: u32) -> Span {
        self.page_time.of(bytes)
    }

    /// Physical pages that the initial data takes on the fullest plane, and those that it may take.
    fn pages_per_plane(&self) -> (u64, u64) {
        let age = &self.config.age;
        let data = (f64::from(self.logical_pages) * age.fill.0) as u64;
        let per_plane = data.div_ceil(u64::from(self.layout.planes));
        let spread = (per_plane as f64 / (1.0 - age.invalid.0).max(1e-9)).ceil() as u64;
        (spread, u64::from(self.layout.blocks - 1) * u64::from(self.layout.pages))
    }
}
