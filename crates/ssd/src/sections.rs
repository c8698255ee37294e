//! The sections of the configuration that belong to the drive: their keys, what they mean, their defaults.

use nand::Layout;
use schemes::{
    Margin, Next, Order, Pipeline, Predictor, Pulses, Sensing, Start, SuspendErase, SuspendProgram, Victim, Voltage,
};
use units::value::{Scalar, Value};
use units::{Bandwidth, Bytes, Fraction, PeCycles, Retention, Span, Temperature};

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
    /// Which free block is opened next.
    pub enum FreeBlock {
        /// The one with the fewest erases.
        LeastWorn = "least-worn",
        /// The one that has been free for longest.
        Oldest = "oldest",
    }
}

units::choices! {
    /// What a drive does that has too few good blocks left.
    pub enum EndOfLife {
        /// The run ends: what it has found out so far is its result.
        Stop = "stop",
        /// Reads go on; writes, trims and flushes are refused.
        ReadOnly = "read-only",
    }
}

units::choices! {
    /// Where the logical-to-physical map is.
    pub enum Table {
        /// All of it in memory.
        Ideal = "ideal",
        /// On flash, behind a cache.
        Cached = "cached",
    }
}

units::choices! {
    /// How submission queues use the mapping cache.
    pub enum Sharing {
        /// All of it together.
        Shared = "shared",
        /// In equal parts, and one more for the drive's own work.
        Partitioned = "partitioned",
    }
}

/// How a drive was brought into its initial state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precondition {
    /// Written once, in order.
    None,
    /// As after long uniform random overwriting, from the closed form.
    ClosedForm,
    /// Overwritten at random before the run, so many times its filled capacity.
    Write(f64),
}

impl Value for Precondition {
    fn expects() -> String {
        "\"none\", \"closed-form\" or \"write:N\" (N times the filled capacity, from 0.001 to 1000)".into()
    }
    fn read(scalar: &Scalar) -> Option<Precondition> {
        let Scalar::Text(text) = scalar else { return None };
        match text.as_str() {
            "none" => Some(Precondition::None),
            "closed-form" => Some(Precondition::ClosedForm),
            other => {
                let times: f64 = other.strip_prefix("write:")?.parse().ok()?;
                (0.001..=1000.0).contains(&times).then_some(Precondition::Write(times))
            }
        }
    }
    fn write(&self) -> Scalar {
        Scalar::Text(match self {
            Precondition::None => "none".into(),
            Precondition::ClosedForm => "closed-form".into(),
            Precondition::Write(times) => format!("write:{times}"),
        })
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
        /// Simulated time in which no command makes progress, after which the run ends with an error, as a host gives its drive
        /// up (Linux's nvme_core.io_timeout: 30 s); "none" waits for ever.
        timeout: Option<Span> = Some(Span(30_000_000_000)),
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
    /// The flash translation layer: where written pages go.
    pub struct Ftl in "ftl" {
        /// Raw capacity over logical capacity, minus 1.
        over_provisioning: f64 = 0.07,
        /// How a written page finds its plane: static or dynamic.
        placement: Placement = Placement::Dynamic,
        /// Page allocation order, fastest first: C channel, W chip, D die, P plane.
        page_order: PageOrder = PageOrder(*b"PCWD"),
        /// When a free block is erased: reclaimed or opened.
        erase_when: EraseWhen = EraseWhen::Opened,
        /// Write streams, each with an open block a plane. 1: everything together; 2: host data, relocated data; 3: host
        /// data whose last version was young, other host data, relocated data; 4: also data moved more than once.
        streams: u32 = 2,
    }
}

units::section! {
    /// Garbage collection, plane by plane.
    pub struct Gc in "gc" {
        /// Which block is reclaimed next: greedy, fifo, cost-benefit or d-choices.
        victim: Victim = Victim::Greedy,
        /// Blocks that d-choices looks at.
        choices: u32 = 10,
        /// Collection starts when a plane has fewer free blocks.
        start: u32 = 4,
        /// It goes on until the plane has so many.
        stop: u32 = 5,
        /// Pages of a plane that may be in relocation at once.
        relocations: u32 = 12,
        /// Pages move inside their plane, without bus and ECC; otherwise through the controller.
        copyback: bool = false,
        /// Host operations may go between a collection's; otherwise a collecting die does nothing else until the block is reclaimed.
        preemptible: bool = true,
        /// A die idle for so long collects in the background; "none" never does.
        idle: Option<Span> = None,
        /// Background collection keeps so many blocks of a plane free.
        idle_stop: u32 = 8,
    }
}

units::section! {
    /// Wear levelling and failing blocks.
    pub struct Wear in "wear" {
        /// Which free block is opened next: the least worn one (dynamic wear levelling) or the oldest.
        free_block: FreeBlock = FreeBlock::LeastWorn,
        /// Static wear levelling: when a block has been erased so many times more than the least worn one of its
        /// plane, that one's data moves; "none" never does.
        static_spread: Option<u32> = None,
        /// Share of bad blocks from the factory, drawn for each block.
        factory_bad: Fraction = Fraction(0.0),
        /// Probability that a program command fails on a plane; the block goes out of service.
        program_fail: Fraction = Fraction(0.0),
        /// Probability that an erase fails; the block goes out of service.
        erase_fail: Fraction = Fraction(0.0),
        /// P/E cycles after which a block's erase fails; "none" never does.
        endurance: Option<PeCycles> = None,
        /// What follows when too few good blocks are left: stop (the run ends with its result), or read-only (NVMe's critical
        /// warning "media placed in read only mode": reads go on, everything else is refused).
        end_of_life: EndOfLife = EndOfLife::Stop,
    }
}

units::section! {
    /// The logical-to-physical map: all in memory, or on flash behind a cache.
    pub struct Mapping in "mapping" {
        /// Ideal or cached.
        table: Table = Table::Ideal,
        /// Size of the cached mapping table.
        cache: Bytes = Bytes::from_mib(2),
        /// What a miss brings in and what is replaced at once.
        entry_group: Bytes = Bytes::from_kib(4),
        /// Size of one entry, on flash and in the cache.
        entry: Bytes = Bytes(4),
        /// Whether submission queues share the cache or have equal parts of it.
        sharing: Sharing = Sharing::Shared,
        /// Translation pages on their way to flash beyond which host requests wait for the map.
        writes: u32 = 64,
    }
}

units::section! {
    /// Moving data before it is lost: old data, and blocks that were read often.
    pub struct Refresh in "refresh" {
        /// Every block is visited once in so long, and data older than that (at 30 C) is moved; "none" never is.
        period: Option<Span> = None,
        /// Reads of a block after which its data is moved (read reclaim); "none" never is.
        reads: Option<u32> = None,
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
        /// The code whose decoder corrects what reads meet (chip.model): qc-ldpc (hpca24 section V-A), or a CSV file of
        /// `ssdlab ecc simulate`; "none" corrects up to the chip's capability, always in the same time.
        code: Option<String> = None,
        /// Errors that the code corrects, over those that it was profiled with.
        strength: f64 = 1.0,
        /// tECC: time to decode one page; with `code` one iteration of its decoder.
        t_decode: Span = Span(5_000),
        /// tECC of a page that cannot be corrected; "none" takes as long as any, with `code` all iterations.
        t_failed: Option<Span> = None,
        /// tECC of a retry that is corrected (hpca24 section VI-A sets 1 us); "none" takes as long as any other page.
        t_retried: Option<Span> = None,
        /// Pages that an engine decodes at once.
        decoders: u32 = 2,
        /// Pages that may be in an engine or on their way into it.
        buffer: u32 = 8,
        /// Data bytes of a codeword.
        codeword: Bytes = Bytes::from_kib(4),
    }
}

units::choices! {
    /// Which pages are taken to be similar where references are tracked.
    pub enum Tracking {
        /// Those of one die, layer, kind and age: few tables, learnt by any read.
        Age = "age",
        /// Those of one block, layer and kind: no block's age need be known, and every block must be learnt.
        Block = "block",
    }
}

units::section! {
    /// How a page is read whose data is not corrected at once (chip.model): the references, the order and the timing of senses.
    pub struct Read in "read" {
        /// The references of the first sense: default, or tracked (those that last read a similar page).
        start: Start = Start::Default,
        /// Which pages share tracked references: those of a die, layer, kind and age, or those of a block, layer and kind.
        tracking: Tracking = Tracking::Age,
        /// What follows a failure: table (the vendor's retry table, step by step), sentinel, swift, or oracle (ideal: the
        /// second sense is right).
        next: Next = Next::Table,
        /// Whether retry steps overlap: off, or cache-read (PR2).
        pipeline: Pipeline = Pipeline::Off,
        /// The timing of senses: default, or adaptive (AR2: retries with the tPRE of the RPT).
        sensing: Sensing = Sensing::Default,
        /// Who predicts that a page cannot be corrected: none, controller (RPSSD) or on-die (RiF).
        predictor: Predictor = Predictor::None,
        /// tPRED: time that a prediction takes (hpca24 Table I).
        t_pred: Span = Span(2_500),
        /// Share of the predictions that are right, whatever the page; "none" takes ecc.code's, by RBER.
        prediction_accuracy: Option<Fraction> = None,
        /// A read-timing parameter table of one's own: a CSV file with the columns pec, months, cut; "none" profiles chip.model.
        rpt: Option<String> = None,
        /// What is added to the RPT's tPRE [ns]: a table that is wrong.
        rpt_error: f64 = 0.0,
        /// The retention age that the controller has recorded, by which it asks the RPT, over the true one.
        age_error: f64 = 1.0,
    }
}

units::section! {
    /// The order in which dies and buses serve waiting operations.
    pub struct Schedule in "schedule" {
        /// Which waiting operation goes first: fifo, read-first or user-first.
        order: Order = Order::ReadFirst,
        /// Whether and where programs are suspended for user reads: none, inter-phase or intra-phase.
        suspend_program: SuspendProgram = SuspendProgram::None,
        /// Whether and where erases are suspended for user reads: none, reset-and-resume or pulse-boundary.
        suspend_erase: SuspendErase = SuspendErase::None,
        /// How often one operation may be suspended at most, so that none starves; "none" has no bound.
        suspensions: Option<u32> = None,
        /// Pages of host data that may wait to be programmed before everything goes first come, first served; "none" has
        /// no bound (fast12 section 5.3).
        write_queue: Option<u32> = None,
    }
}

units::section! {
    /// How blocks are erased: pulse by pulse, by what the chip model says of each block and of the stress that its erases have left.
    pub struct Erase in "erase" {
        /// The pulses of an erase: ispe, i-ispe or felp; "none" erases every block in chip.t_bers, or in chip.erase_loops.
        pulse: Option<Pulses> = None,
        /// What felp may leave to the ECC: none, or ecc where it has room.
        margin: Margin = Margin::None,
        /// The erase voltages: nominal, scaled (DPES) or per-wordline (SEVA).
        voltage: Voltage = Voltage::Nominal,
        /// Share of felp's pulses that prove too short and are followed by one more grain (electronics25 section 7.4).
        mispredictions: Fraction = Fraction(0.0),
        /// Errors per KiB up to which a block may be used, from which the ECC's margin follows; "none" takes the chip model's.
        requirement: Option<f64> = None,
        /// A block that all loops do not erase goes out of service; otherwise it is used as if they had, as electronics25 does at 4,500 P/E cycles.
        retire: bool = false,
    }
}

units::section! {
    /// What flash, buses and ECC engines use. The array draws its power for as long as a die senses, programs or erases.
    pub struct Energy in "energy" {
        /// Power of a die that senses [mW]: 25 mA at 3.3 V, a usual figure of datasheets (assumed).
        sense_mw: f64 = 82.5,
        /// Power of a die that programs [mW] (assumed: the same).
        program_mw: f64 = 82.5,
        /// Power of a die that erases [mW] (assumed: the same).
        erase_mw: f64 = 82.5,
        /// A KiB over a channel [nJ]: 907 nJ for 16 KiB (hpca24 section VI-C).
        transfer_nj: f64 = 56.69,
        /// Decoding a KiB [nJ] (assumed: 10 pJ a bit, of the order of published LDPC decoders).
        decode_nj: f64 = 81.9,
        /// A prediction [nJ]: 1.28 mW for 2.5 us (hpca24 section VI-C).
        prediction_nj: f64 = 3.2,
    }
}

units::choices! {
    /// How blocks were erased before the run.
    pub enum WornUnder {
        /// As in the run, from their first cycle on.
        Scheme = "scheme",
        /// Conventionally: the records of blocks that electronics25's simulations look up by P/E count are of such (sections 5.1 and 7.1).
        Ispe = "ispe",
    }
}

units::section! {
    /// The state that a run starts from: a drive that has been written and has aged.
    pub struct Age in "age" {
        /// Program/erase cycles of every block.
        pec: PeCycles = PeCycles(0),
        /// How blocks were erased in these cycles, where erases go pulse by pulse (erase.pulse): by the run's own scheme, or by ispe.
        worn_under: WornUnder = WornUnder::Scheme,
        /// Age of the data at 30 C, such as "3mo" or "uniform:0..30d".
        retention: Retention = Retention::Fixed(Span::ZERO),
        /// Age of the translation pages at 30 C: a page of the map is written again whenever one of its thousands of entries changes (assumed: young).
        map_retention: Span = Span::ZERO,
        /// Temperature of the drive during the run.
        temperature: Temperature = Temperature(30.0),
        /// Share of the logical capacity that holds data, from address 0 up.
        fill: Fraction = Fraction(1.0),
        /// Share of the pages of written blocks that hold stale data.
        invalid: Fraction = Fraction(0.0),
        /// How the drive was brought into its state: none (written once, in order, with `invalid` spread evenly),
        /// closed-form (as after long uniform overwriting) or write:N (really overwritten N times before the run).
        precondition: Precondition = Precondition::None,
        /// Every die starts at a place of its own in its open blocks, as in a drive that has been written for long; otherwise
        /// all planes open their first block at their first write. "none": where the precondition is closed-form.
        staggered: Option<bool> = None,
    }
}

impl Age {
    /// Whether dies start at places of their own.
    pub fn is_staggered(&self) -> bool {
        self.staggered.unwrap_or(self.precondition == Precondition::ClosedForm)
    }
}
