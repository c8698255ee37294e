//! Who watches the drive of a run: one probe for all of them, so that a drive that is watched is compiled once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nand::{DieId, PlaneId};
use units::{Lpn, Ppn, Time};

use crate::arena::SlotId;
use crate::observe::check::Checker;
use crate::observe::explain::Explainer;
use crate::observe::ledger::Ledger;
use crate::observe::probe::{DataFrom, Event, Probe};
use crate::observe::timeline::Timeline;

/// What watches a drive, together with whoever has asked for it.
pub type Shared<T> = Arc<Mutex<T>>;

/// A probe that a run shares with whoever has asked for it: there it is read once the run is over.
pub fn shared<T>(probe: T) -> Shared<T> {
    Arc::new(Mutex::new(probe))
}

/// What such a probe has seen.
pub fn seen_by<T>(probe: &Shared<T>) -> MutexGuard<'_, T> {
    probe.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who watches a drive: any of these, together.
#[derive(Default)]
pub struct Watch {
    /// The drive is compared with what it has promised, after every event.
    pub checker: Option<Box<Checker>>,
    /// Where the time of requests goes.
    pub explainer: Option<Shared<Explainer>>,
    /// What every resource does.
    pub timeline: Option<Shared<Timeline>>,
}

impl Watch {
    /// Checks the drive.
    pub fn checking(checker: Checker) -> Watch {
        Watch { checker: Some(Box::new(checker)), ..Watch::default() }
    }

    /// Explains its requests.
    pub fn explaining(explainer: &Shared<Explainer>) -> Watch {
        Watch { explainer: Some(explainer.clone()), ..Watch::default() }
    }

    /// Draws what it does.
    pub fn drawing(timeline: &Shared<Timeline>) -> Watch {
        Watch { timeline: Some(timeline.clone()), ..Watch::default() }
    }
}

/// Each event goes to all who watch.
macro_rules! tells_all {
    ($($event:ident($($name:ident: $type:ty),*);)*) => {
        $(fn $event(&mut self, $($name: $type),*) {
            if let Some(checker) = &mut self.checker {
                checker.$event($($name),*);
            }
            if let Some(explainer) = &self.explainer {
                seen_by(explainer).$event($($name),*);
            }
            if let Some(timeline) = &self.timeline {
                seen_by(timeline).$event($($name),*);
            }
        })*
    };
}

impl Probe for Watch {
    const EXPLAINS: bool = true;

    fn notes_waits(&self) -> bool {
        self.explainer.is_some() || self.timeline.is_some()
    }

    fn ledger(&mut self) -> Option<&mut Ledger> {
        self.checker.as_mut().and_then(|checker| checker.ledger())
    }

    tells_all! {
        explain(now: Time, event: Event);
        read(time: Time, request: u64, lpn: Lpn, from: DataFrom);
        cached(time: Time, request: u64, lpn: Lpn, sectors: u64);
        buffered(time: Time, request: u64, lpn: Lpn, slot: SlotId, over: Option<SlotId>);
        joined(time: Time, lpn: Lpn, slot: SlotId, from: DataFrom);
        programmed(time: Time, lpn: Lpn, slot: SlotId, ppn: Ppn);
        moved(time: Time, lpn: Lpn, from: Ppn, to: Ppn);
        rescued(time: Time, lpn: Lpn, slot: SlotId, from: Ppn);
        mapped(time: Time, lpn: Lpn, ppn: Ppn);
        dropped(time: Time, lpn: Lpn);
        trimmed(time: Time, request: u64, lpn: Lpn);
        erased(time: Time, plane: PlaneId, block: u32);
        sense(start: Time, end: Time, die: DieId, ppn: Ppn);
        program(start: Time, end: Time, die: DieId, planes: u8);
        erase(start: Time, end: Time, die: DieId, planes: u8);
        reset(now: Time, end: Time, die: DieId);
        suspend(now: Time, die: DieId);
        cut(time: Time);
        resume(now: Time, end: Time, die: DieId);
    }
}
