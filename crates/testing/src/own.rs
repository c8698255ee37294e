//! FTLs of one's own, for tests.

use std::collections::HashMap;
use std::sync::Arc;

use nand::PlaneId;
use ssd::policies::own_ftl::{DriveLayout, NewFtl, OwnFtl, Place};
use ssd::policies::{Answer, Blocks, PolicySource, StandIn};
use units::{Lpn, Ppn, Stream};

/// How one chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chooses {
    /// The plane that static placement deals a page to, and of the blocks with the fewest valid pages the one that has
    /// lost none for longest: as the drive's FTL does by default.
    AsBuiltIn,
    /// Planes, streams and blocks at random, as far as planes stay evenly filled.
    AtRandom,
}

/// Maps page by page.
struct PageMapped {
    drive: DriveLayout,
    chooses: Chooses,
    draws: Stream,
    drawn: u64,
    places: HashMap<Lpn, Ppn>,
    /// Which plane the last version of a page went to, and by plane how many pages more than are dealt to it that
    /// makes.
    planes: HashMap<Lpn, PlaneId>,
    surplus: Vec<i64>,
    saves: bool,
}

/// Pages more than are dealt to it that a plane may get (assumed: few enough for small drives).
const SLACK: i64 = 4;

impl PageMapped {
    fn below(&mut self, n: u64) -> u64 {
        self.drawn += 1;
        self.draws.below(self.drawn, n)
    }
}

impl OwnFtl for PageMapped {
    fn write(&mut self, lpn: Lpn, hint: u16, dealt: PlaneId) -> Answer<Place> {
        if self.chooses == Chooses::AsBuiltIn {
            return Ok(Place { plane: dealt, stream: hint % self.drive.streams });
        }
        let before = *self.planes.entry(lpn).or_insert(dealt);
        let other = PlaneId(self.below(self.drive.planes().into()) as u32);
        let plane = if self.surplus[other.0 as usize] < SLACK { other } else { before };
        self.surplus[before.0 as usize] -= 1;
        self.surplus[plane.0 as usize] += 1;
        self.planes.insert(lpn, plane);
        Ok(Place { plane, stream: self.below(self.drive.streams.into()) as u16 })
    }

    fn placed(&mut self, lpn: Lpn, ppn: Ppn, _: bool) -> Answer<()> {
        self.places.insert(lpn, ppn);
        Ok(())
    }

    fn trimmed(&mut self, lpn: Lpn) -> Answer<()> {
        self.places.remove(&lpn);
        Ok(())
    }

    fn locate(&mut self, lpn: Lpn) -> Answer<Option<Ppn>> {
        Ok(self.places.get(&lpn).copied())
    }

    fn reclaim(&mut self, _: PlaneId, blocks: Blocks) -> Answer<Option<u32>> {
        let of = &blocks.candidates;
        let gains = |valid: &u32| *valid < of.victim_valid_limit();
        if !blocks.by_valid {
            let gained = |block: &u32| gains(&of.block(*block).0);
            return Ok(of.first_filled().filter(gained).or_else(|| (0..of.blocks()).find(gained)));
        }
        let best = of.least_valid().filter(gains).and_then(|valid| of.oldest(valid));
        let random = of.random((blocks.draw)()).filter(|block| gains(&of.block(*block).0));
        Ok(if self.chooses == Chooses::AtRandom && self.below(4) == 0 { random.or(best) } else { best })
    }

    fn save(&self) -> Answer<Option<Vec<u8>>> {
        if !self.saves {
            return Ok(None);
        }
        let mut places: Vec<[u64; 2]> = self.places.iter().map(|(lpn, ppn)| [lpn.0, ppn.0]).collect();
        places.sort_unstable();
        let mut planes: Vec<[u64; 2]> = self.planes.iter().map(|(lpn, plane)| [lpn.0, plane.0.into()]).collect();
        planes.sort_unstable();
        let numbers = [self.drawn, places.len() as u64].into_iter();
        let numbers = numbers.chain(places.into_iter().chain(planes).flatten());
        let numbers = numbers.chain(self.surplus.iter().map(|surplus| *surplus as u64));
        Ok(Some(numbers.flat_map(u64::to_le_bytes).collect()))
    }

    fn load(&mut self, state: &[u8]) -> Answer<()> {
        let mut numbers = state.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        let mut next = || numbers.next().unwrap();
        self.drawn = next();
        self.places = (0..next()).map(|_| (Lpn(next()), Ppn(next()))).collect();
        let rest: Vec<u64> = numbers.collect();
        let (planes, surplus) = rest.split_at(rest.len() - self.drive.planes() as usize);
        self.planes = planes.chunks(2).map(|pair| (Lpn(pair[0]), PlaneId(pair[1] as u32))).collect();
        self.surplus = surplus.iter().map(|surplus| *surplus as i64).collect();
        Ok(())
    }
}

/// One that maps page by page, and saves its state in checkpoints or does not.
pub fn page_mapped(chooses: Chooses, seed: u64, saves: bool) -> StandIn<NewFtl> {
    let new = move |drive: DriveLayout| {
        let surplus = vec![0; drive.planes() as usize];
        let (draws, places, planes) = (Stream::new(seed, "an FTL of one's own"), HashMap::new(), HashMap::new());
        Ok(Box::new(PageMapped { drive, chooses, draws, drawn: 0, places, planes, surplus, saves }) as Box<dyn OwnFtl>)
    };
    let place = ("own.rs".into(), None);
    let source =
        PolicySource { file: None, function: "page_mapped".into(), sha256: format!("{chooses:?} {seed}"), place };
    StandIn { source, ask: Arc::new(new) }
}
