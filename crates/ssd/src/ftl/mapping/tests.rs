//! Each mapping against the plainest one: a second mapping, which has a place for every page.

use std::collections::HashMap;
use std::io;

use units::{Id as _, Span, Stream};

use super::*;
use crate::config::{Config, Plan};
use crate::flash::AgeClock;
use crate::persist::{Reader, Writer};
use crate::streams::StreamId;

/// What was told of each page, and the initial state.
struct Plain {
    told: HashMap<Lpn, Location>,
    aged: Aged,
}

impl State for Plain {
    fn save(&self, _: &mut Writer) {}
    fn load(&mut self, _: &mut Reader) -> io::Result<()> {
        Ok(())
    }
}

impl Mapping for Plain {
    fn locate(&self, lpn: Lpn, _: &Blocks) -> Location {
        let initially = || self.initially(lpn).map_or(Location::Unmapped, Location::Flash);
        self.told.get(&lpn).copied().unwrap_or_else(initially)
    }
    fn slot(&self, lpn: Lpn) -> Option<SlotId> {
        match self.told.get(&lpn) {
            Some(Location::Buffer(slot)) => Some(*slot),
            _ => None,
        }
    }
    fn buffer(&mut self, lpn: Lpn, slot: SlotId) {
        self.told.insert(lpn, Location::Buffer(slot));
    }
    fn place(&mut self, lpn: Lpn, ppn: Ppn, _: &Blocks) {
        self.told.insert(lpn, Location::Flash(ppn));
    }
    fn relocate(&mut self, lpn: Lpn, _: Ppn, to: Ppn, blocks: &Blocks) {
        self.place(lpn, to, blocks);
    }
    fn trim(&mut self, lpn: Lpn) {
        self.told.insert(lpn, Location::Unmapped);
    }
    fn prefetch(&self, _: Lpn) {}
    fn prefetch_further(&self, _: Lpn) {}
    fn forget(&mut self) {
        self.told.clear();
    }
    fn is_initial(&self, lpn: Lpn) -> bool {
        !self.told.contains_key(&lpn)
    }
    fn changed(&self) -> impl Iterator<Item = Lpn> {
        self.told.keys().copied()
    }
    fn initially(&self, lpn: Lpn) -> Option<Ppn> {
        self.aged.physical(lpn)
    }
    fn held_initially(&self, address: Address) -> Option<Lpn> {
        self.aged.logical(address)
    }
    fn plane_of(&self, lpn: Lpn) -> PlaneId {
        self.aged.plane_of(lpn)
    }
    fn start(&self) -> &Aged {
        &self.aged
    }
}

const PAGES: u64 = 5000;

fn plan() -> Plan {
    let mut config = Config::default();
    for setting in ["geometry.channels=1", "geometry.dies=2", "geometry.blocks=200", "age.fill=0.6"] {
        config.set(setting).unwrap();
    }
    config.plan().unwrap()
}

#[test]
fn a_mapping_says_what_the_plainest_one_says() {
    let plan = plan();
    let usable = vec![plan.layout.blocks; plan.layout.planes as usize];
    let aged = || Aged::new(&plan, &usable, 1);
    let mut blocks = Blocks::new(&plan, &aged(), &usable, 1);
    let (mut mapping, mut plain) = (Chosen::new(&plan, PAGES, aged()), Plain { told: HashMap::new(), aged: aged() });
    let (random, stream) = (Stream::new(5, "mapping"), StreamId::new(0));
    let page_of_flash = |blocks: &mut Blocks, lpn| {
        let plane = PlaneId(random.below(lpn, plan.layout.planes.into()) as u32);
        if blocks.make_room(plane, stream) {
            blocks.open_erased(plane, stream);
        }
        blocks.take_page(plane, stream, Some(Lpn(lpn)), AgeClock::warmer_by(Span::ZERO, 0.0))
    };
    for turn in 0..3000 {
        let lpn = Lpn(random.below(3 * turn, PAGES));
        let now = mapping.locate(lpn, &blocks);
        match (random.below(3 * turn + 1, 8), now) {
            (0, _) => {
                mapping.trim(lpn);
                plain.trim(lpn);
            }
            (1..4, _) => {
                let slot = SlotId::new(random.below(3 * turn + 2, 1000) as usize);
                mapping.buffer(lpn, slot);
                plain.buffer(lpn, slot);
            }
            (4..6, Location::Flash(from)) => {
                let to = page_of_flash(&mut blocks, lpn.0);
                mapping.relocate(lpn, from, to, &blocks);
                plain.relocate(lpn, from, to, &blocks);
            }
            _ => {
                let ppn = page_of_flash(&mut blocks, lpn.0);
                mapping.place(lpn, ppn, &blocks);
                plain.place(lpn, ppn, &blocks);
            }
        }
        assert_eq!(mapping.locate(lpn, &blocks), plain.locate(lpn, &blocks));
    }
    let agree = |mapping: &Chosen, plain: &Plain| {
        let all = || (0..PAGES).map(Lpn);
        assert!(all().all(|lpn| mapping.locate(lpn, &blocks) == plain.locate(lpn, &blocks)));
        let mut changed: Vec<Lpn> = plain.changed().collect();
        changed.sort_unstable();
        assert_eq!(mapping.changed().collect::<Vec<_>>(), changed);
        assert!(all().all(|lpn| mapping.is_initial(lpn) == plain.is_initial(lpn)));
    };
    agree(&mapping, &plain);
    mapping.forget();
    plain.forget();
    agree(&mapping, &plain);
    let at = |lpn| mapping.initially(lpn).map(|ppn| plan.layout.unpack(ppn));
    let held = (0..PAGES).map(Lpn).filter_map(|lpn| Some((lpn, at(lpn)?)));
    assert!(held.clone().count() > 100);
    assert!(held.clone().all(|(lpn, address)| mapping.held_initially(address) == Some(lpn)));
}
