//! Probes of many kinds behind one type. A device is compiled again for each type of probe that watches it, and that is
//! most of what building these tests costs; so a test implements [`Watcher`], and its device comes from
//! [`crate::watched`].

use nand::{DieId, PlaneId};
use ssd::{DataFrom, Event, Probe, SlotId};
use units::{Lpn, Ppn, Time};

macro_rules! watcher {
    ($($name:ident($($word:ident: $of:ty),*))*) => {
        /// [`Probe`], for what watches one thing.
        pub trait Watcher {
            /// Whether [`Watcher::explain`] is to be told what dies wait for while they are idle.
            fn notes_waits(&self) -> bool {
                false
            }
            /// [`Probe::explain`].
            fn explain(&mut self, _time: Time, _event: Event) {}
            $(
                #[doc = concat!("[`Probe::", stringify!($name), "`].")]
                fn $name(&mut self, $($word: $of),*) {}
            )*
        }

        /// The one probe that devices have here.
        pub struct Watched(Box<dyn Watcher>);

        impl Probe for Watched {
            const EXPLAINS: bool = true;
            fn notes_waits(&self) -> bool {
                self.0.notes_waits()
            }
            fn explain(&mut self, time: Time, event: Event) {
                self.0.explain(time, event);
            }
            $(fn $name(&mut self, $($word: $of),*) {
                self.0.$name($($word),*);
            })*
        }
    };
}

watcher! {
    read(_time: Time, _request: u64, _lpn: Lpn, _from: DataFrom)
    cached(_time: Time, _request: u64, _lpn: Lpn, _sectors: u64)
    buffered(_time: Time, _request: u64, _lpn: Lpn, _slot: SlotId, _over: Option<SlotId>)
    joined(_time: Time, _lpn: Lpn, _slot: SlotId, _from: DataFrom)
    programmed(_time: Time, _lpn: Lpn, _slot: SlotId, _ppn: Ppn)
    moved(_time: Time, _lpn: Lpn, _from: Ppn, _to: Ppn)
    rescued(_time: Time, _lpn: Lpn, _slot: SlotId, _from: Ppn)
    mapped(_time: Time, _lpn: Lpn, _ppn: Ppn)
    trimmed(_time: Time, _request: u64, _lpn: Lpn)
    erased(_time: Time, _plane: PlaneId, _block: u32)
    sense(_start: Time, _end: Time, _die: DieId, _ppn: Ppn)
    program(_start: Time, _end: Time, _die: DieId, _planes: u8)
    erase(_start: Time, _end: Time, _die: DieId, _planes: u8)
    cut(_time: Time)
    reset(_now: Time, _end: Time, _die: DieId)
    suspend(_now: Time, _die: DieId)
    resume(_now: Time, _end: Time, _die: DieId)
}

/// The probe that is `watcher`.
pub fn probe(watcher: impl Watcher + 'static) -> Watched {
    Watched(Box::new(watcher))
}
