//! The back end: all that lies behind the host's interface. The write buffer, the map, the FTL and the flash, and what
//! crosses them.
//!
//! It knows the host by its commands alone ([`Commands`]): it begins what is taken up, moves the data, and says when it
//! is done. Arrivals, submission queues, arbitration and firmware are in front of it (`crate::device`).
//!
//! Each component has its own state (`crate::writes`, `crate::translation`, `crate::ftl`, `crate::flash`, ...) and
//! names no other one; here is what crosses them:
//!
//! | file | what |
//! |---|---|
//! | `parts.rs` | views of some components |
//! | `check.rs` | what an event has touched, compared with the ledger of a probe that checks |
//! | `dispatch.rs` | pages that wait for their program find their dies |
//! | `read.rs` | where a read finds its data |
//! | `learned.rs` | the learned map: what it leads to, and what a wrong answer costs |
//! | `zone_programs.rs` | the programs of zones |
//! | `kept.rs` | what is kept of the flash for power cuts |
//! | `map_pages.rs` | the map's pages, from flash and to it |
//! | `collect.rs` | relocating a block's data, for whatever cause; what is stale |
//! | `placed.rs` | data changes its place: who is told, in which order |
//! | `journaling.rs` | the map's journal and its checkpoints |
//! | `mapping.rs` | misses of the cached map: what waits for an entry |
//! | `write.rs`, `discard.rs` | host data into the buffer and on to flash; trims and flushes |
//! | `moved.rs` | who has read a page goes on; relocated data, programs that fail |
//! | `raid.rs` | parity over dies |
//! | `faults.rs` | parts that break, and data that is lost with them |
//! | `zones.rs` | what zones allow |
//! | `commands.rs` | commands are begun, and the data of writes arrives |
//! | `power.rs` | power cuts and recovery |
//! | `health.rs` | whether the drive gets on, and the end of its life |
//! | `events.rs` | what an event tells the owner of what has ended or begun |
//! | `mod.rs` | what events have marked goes on |
//!
//! Each file calls those before it alone (`crates/tidy/tests/tidy.rs`), so they can be read in this order.
//!
//! What crosses some components alone sees these alone: `FlashAt`, `Seen`, `dispatch::Dispatch`, `read::ReadsAt`,
//! `learned::Learning`, `zone_programs::Zoning`, `kept::PowerAt`, `map_pages::MapAt`.
//!
//! An event changes its own object and the owner of what has ended with it, and marks what may go on; `BackEnd::settle`
//! asks what was marked in a fixed order (docs/decisions/0025-one-settle.md). There is no recursion between handlers:
//! where one thing makes way for the next of its kind, as an empty block does for the next block to collect, a loop
//! takes them one after another. One is left, within `collect.rs`: a block that is erased may end a stripe, whose
//! parity is stale then, and its plane is collected at once.

mod check;
mod collect;
mod commands;
mod discard;
mod dispatch;
mod events;
mod faults;
mod health;
mod journaling;
mod kept;
mod learned;
mod map_pages;
mod mapping;
mod moved;
mod parts;
mod placed;
mod power;
mod raid;
mod read;
mod write;
mod zone_programs;
mod zones;

use dispatch::Standstill;
use nand::PlaneId;
use units::{ConfigError, Time};

use crate::commands::Commands;
use crate::config::Plan;
use crate::core::{Core, Marks};
use crate::fdp::Fdp;
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::ftl::moves::Resumes;
use crate::observe::probe::Probe;
use crate::persist::state;
use crate::power::Power;
use crate::read_cache::ReadCache;
use crate::translation::TranslationPages;
use crate::window::Window;
use crate::writes::Writes;
use crate::zones::Zones;

/// What lies behind the host's interface. See the [module documentation](self).
pub(crate) struct BackEnd<P: Probe> {
    pub core: Core<P>,
    pub commands: Commands,
    pub writes: Writes,
    read_cache: Option<ReadCache>,
    pub ftl: Ftl,
    pub map: TranslationPages,
    pub flash: Flash,
    /// Where the power is cut, or the map is kept for the case.
    pub power: Option<Box<Power>>,
    /// The zones, where the drive has any.
    pub zones: Option<Box<Zones>>,
    /// Reclaim units, where the drive takes placement hints.
    pub fdp: Option<Box<Fdp>>,
}

impl<P: Probe> BackEnd<P> {
    /// In its initial state. Errors name the key at fault.
    pub fn new(plan: Plan, seed: u64, probe: P) -> Result<BackEnd<P>, ConfigError> {
        let ftl = Ftl::new(&plan, seed)?;
        Ok(BackEnd {
            commands: Commands::new(),
            writes: Writes::new(&plan),
            read_cache: ReadCache::new(&plan),
            map: TranslationPages::new(&plan, ftl.map_pages_of_planes(&plan)),
            power: Power::new(&plan, &ftl),
            zones: plan.zones.as_ref().map(|zones| Box::new(Zones::new(zones, plan.config.age.fill.0))),
            fdp: Fdp::new(&plan),
            ftl,
            flash: Flash::new(&plan, seed),
            core: Core::new(plan, seed, probe),
        })
    }

    /// This back end, watched by a probe from now on.
    pub fn watched_by<Q: Probe>(self, probe: Q) -> BackEnd<Q> {
        let BackEnd { core, commands, writes, read_cache, ftl, map, flash, power, zones, fdp } = self;
        let core = core.watched_by(probe);
        BackEnd { core, commands, writes, read_cache, ftl, map, flash, power, zones, fdp }
    }

    /// Tells the probe how the drive stands, of which it is told from now on.
    pub fn begin_watch(&mut self) {
        self.flash.tell_meters(self.core.now, &mut self.core.probe);
        self.begin_ledger();
    }

    /// Goes on from a state that was saved and has been loaded.
    pub fn after_load(&mut self) {
        self.flash.loaded(&mut self.core.plan);
        if self.core.life.becomes_read_only {
            self.core.marks.set |= Marks::LIFE;
        }
        self.begin_watch();
    }

    /// Sets whether partly filled program units are programmed as they are, for good and not for a flush; how it was
    /// set before.
    pub fn set_draining(&mut self, draining: bool) -> bool {
        let before = std::mem::replace(&mut self.writes.draining, draining);
        self.flash.flush_units(self.writes.draining());
        before
    }

    /// Asks what was marked whether it goes on, until nothing is: once an event, in the order of
    /// docs/decisions/0025-one-settle.md.
    #[inline(always)] // Many events mark nothing.
    pub fn settle(&mut self) {
        while self.core.marks.set != 0 {
            if self.core.marks.set & Marks::WAITING != 0 {
                self.waiting_go_on();
            }
            if let Some(begun) = self.flash().settle() {
                self.layers_above(begun);
            } else if self.core.marks.set & Marks::LIFE != 0 {
                self.life_ends();
            }
        }
    }

    /// Parity, pages and written data that wait, as far as they are marked.
    #[inline(never)]
    fn waiting_go_on(&mut self) {
        let marked = self.core.marks.set;
        self.core.marks.set = marked & !Marks::WAITING;
        if marked & Marks::PARITY != 0 {
            self.dispatch().parity();
        }
        if marked & Marks::POOLS != 0 {
            self.dispatch().pools();
        }
        if marked & Marks::WRITES != 0 {
            self.fetch_writes();
        }
    }

    /// Collections that were under way before the run go on; a learned table knows what is before it.
    #[cold]
    pub fn begin_life(&mut self) {
        self.learning().learns_again();
        self.resume_collection(None);
    }

    /// A window has opened or closed: each plane collects ahead of need from now on, or does so no more.
    #[cold]
    pub fn window_changes(&mut self, window: Window) {
        self.resume_collection(Some(window));
    }

    /// Collections go on that were under way before the run; or, where a window has opened or closed, as it says.
    #[cold]
    fn resume_collection(&mut self, window: Option<Window>) {
        for plane in (0..self.core.plan.layout.planes).map(PlaneId) {
            match self.moving(plane).resumes(window) {
                Resumes::Move => {
                    let die = self.core.plan.layout.die_of(plane).0;
                    if !self.core.plan.config.gc.preemptible {
                        self.flash.begin_exclusive(die);
                    }
                    self.continue_relocation(plane);
                    self.flash().mark_dirty(die);
                }
                Resumes::Collection => self.collect(plane),
                Resumes::Nothing => {}
            }
        }
        self.settle();
    }

    /// Nothing is going to happen: ends the drive's life, if that has come, or lets what has waited in vain for the SLC
    /// cache go past it. Whether something waited.
    #[cold]
    pub fn ends_standstill(&mut self) -> bool {
        match self.standstill() {
            None => return false,
            Some(Standstill::EndsLife) => self.core.wear_out(),
            Some(Standstill::HasWay(past)) => self.dispatch().go_past_the_cache(past),
        }
        self.settle();
        true
    }

    /// Whether a part breaks before anything else happens, until then. Without a time that was asked for, parts that
    /// break later than everything else do not.
    #[cold]
    pub fn fault_comes(&self, until: Time) -> bool {
        let due = self.flash.fault_due;
        if self.power.as_ref().is_some_and(|power| power.recovering.is_some()) {
            // The drive finds it out when it is ready.
            return false;
        }
        due <= self.core.now || (due < until && until != Time::NEVER)
    }
}

state! {
    [P: Probe] BackEnd<P> {
        stored {}
        parts { core, commands, writes, read_cache, ftl, map, flash, power, zones, fdp }
    }
}
