//! An FTL of one's own (`policies.ftl`): it says where host data goes and which blocks are reclaimed, and its map is
//! tried at each read.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use nand::{Address, PlaneId};
use units::{ConfigError, Lpn, Ppn};

use crate::config::{Config, Plan};
use crate::persist::{Reader, State, Stored as _, Writer};
use crate::policies::own_ftl::{DriveLayout, NewFtl, OwnFtl, Place};
use crate::policies::{Answer, Blocks, PolicySource, Shown, StandIn, reclaims_something};

/// Streams of host data that an FTL may choose from: `ftl.hints`, or two where `ftl.streams` is 3 or 4.
fn host_streams(config: &Config) -> u16 {
    match &config.ftl {
        ftl if ftl.hints > 0 => ftl.hints,
        ftl if ftl.streams > 2 => 2,
        _ => 1,
    }
}

/// An FTL of one's own, and what its answers are held against.
pub(crate) struct Own {
    ftl: Box<dyn OwnFtl>,
    new: Arc<NewFtl>,
    source: PolicySource,
    drive: DriveLayout,
    /// Pages on their way to a plane that has no data of theirs, and how many these are by plane.
    coming: HashMap<Lpn, PlaneId>,
    coming_to: Vec<u32>,
    /// It has sent pages elsewhere than static placement deals them.
    strays: bool,
    /// What it has done first that ends the run; it is asked nothing more.
    mistake: Option<ConfigError>,
    /// A state was loaded that it has not saved: it is to be told where each page is.
    is_new: bool,
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Own {
    /// The FTL that stands in for the drive's, if one does.
    pub fn new(plan: &Plan) -> Answer<Option<Box<Own>>> {
        let Some(StandIn { source, ask }) = &plan.config.policies.ftl else { return Ok(None) };
        let drive = DriveLayout::new(plan.layout, plan.logical_pages, host_streams(&plan.config));
        let own = Own {
            ftl: ask(drive.clone())?,
            new: Arc::clone(ask),
            source: source.clone(),
            coming: HashMap::new(),
            coming_to: vec![0; drive.planes() as usize],
            strays: false,
            drive,
            mistake: None,
            is_new: false,
        };
        Ok(Some(Box::new(own)))
    }

    /// What ends the run.
    pub fn mistake(&self) -> Option<&ConfigError> {
        self.mistake.as_ref()
    }

    /// Asks it, unless it has made a mistake before.
    fn ask<T>(&mut self, ask: impl FnOnce(&mut dyn OwnFtl) -> Answer<T>) -> Option<T> {
        if self.mistake.is_some() {
            return None;
        }
        ask(self.ftl.as_mut()).map_err(|mistake| self.mistake = Some(mistake)).ok()
    }

    /// An answer makes no sense.
    fn refuse(&mut self, problem: String, remedy: String) {
        self.mistake.get_or_insert_with(|| self.source.mistake("ftl", problem, remedy));
    }

    /// Whether it has sent pages elsewhere than static placement deals them.
    pub fn strays(&self) -> bool {
        self.strays
    }

    /// Pages on their way to a plane that has no data of theirs.
    pub fn coming(&self, plane: PlaneId) -> u32 {
        self.coming_to[plane.0 as usize]
    }

    /// Where a page of host data goes, with its placement handle: to a plane, of which `takes` says whether it can hold
    /// one page more, and a stream. It is dealt to a plane, and may be on one.
    pub fn write(
        &mut self,
        (lpn, hint): (Lpn, u16),
        (dealt, before): (PlaneId, Option<PlaneId>),
        takes: impl Fn(&Own, PlaneId) -> bool,
    ) -> Option<Place> {
        let place = self.ask(|ftl| ftl.write(lpn, hint, dealt))?;
        let (plane, stream) = (place.plane.0, place.stream);
        let (planes, streams) = (self.drive.planes(), self.drive.streams);
        let call = || format!("write({}, {hint}, {}) answered plane {plane}", lpn.0, dealt.0);
        if plane >= planes || stream >= streams {
            let (planes, streams) = (planes - 1, streams - 1);
            let remedy = format!("answer a plane from 0 to {planes} and a stream from 0 to {streams}");
            self.refuse(format!("{} and stream {stream}", call()), remedy);
            return None;
        }
        self.strays |= place.plane != dealt;
        if !takes(self, place.plane) {
            let remedy = "give each plane its share of the data: a page stays in its plane until it is written again; the planes that pages are \
                          dealt to can hold them";
            self.refuse(format!("{}, which could not be collected with more data", call()), remedy.into());
            return None;
        }
        self.leaves(lpn);
        if before != Some(place.plane) {
            self.coming.insert(lpn, place.plane);
            self.coming_to[plane as usize] += 1;
        }
        Some(place)
    }

    /// A page of host data is on its way no longer: it has its place on a plane.
    pub fn leaves(&mut self, lpn: Lpn) {
        if let Some(plane) = self.coming.remove(&lpn) {
            self.coming_to[plane.0 as usize] -= 1;
        }
    }

    /// See [`OwnFtl::placed`]. Pages of the drive's own are not its concern.
    pub fn placed(&mut self, lpn: Lpn, ppn: Ppn, moved: bool) {
        if lpn.0 < self.drive.logical_pages {
            self.ask(|ftl| ftl.placed(lpn, ppn, moved));
        }
    }

    /// See [`OwnFtl::trimmed`].
    pub fn trimmed(&mut self, lpn: Lpn) {
        if lpn.0 < self.drive.logical_pages {
            self.ask(|ftl| ftl.trimmed(lpn));
        }
    }

    /// See [`OwnFtl::erased`].
    pub fn erased(&mut self, plane: PlaneId, block: u32) {
        self.ask(|ftl| ftl.erased(plane, block));
    }

    /// A request reads a page whose newest data is there, or the run has ended; since the run began it has not moved,
    /// or has.
    pub fn reads(&mut self, request: Option<u64>, lpn: Lpn, ppn: Ppn, is_initial: bool) {
        if lpn.0 >= self.drive.logical_pages {
            return;
        }
        let Some(answer) = self.ask(|ftl| ftl.locate(lpn)) else { return };
        if answer == Some(ppn) || answer.is_none() && is_initial {
            return;
        }
        let shown = |ppn: Ppn| {
            let Address { plane, block, page } = self.drive.address(ppn);
            format!("{} (plane {}, block {block}, page {page})", ppn.0, plane.0)
        };
        let end = self.drive.page(Address { plane: PlaneId(self.drive.planes()), block: 0, page: 0 });
        let answered = match answer {
            Some(ppn) if ppn < end => shown(ppn),
            Some(ppn) => ppn.0.to_string(),
            None => "None".into(),
        };
        let why = request.map_or("at the end of the run".into(), |request| format!("for request {request}"));
        let problem = format!("locate({}) answered {answered} {why}, and its newest data is at {}", lpn.0, shown(ppn));
        self.refuse(problem, "answer the place that placed() told last; None before it has told one".into());
    }

    /// The block of a plane that is reclaimed next. A plane that `takes_data` of the host's may wait; in another one a
    /// block must be reclaimed if any gains something.
    pub fn reclaim(&mut self, plane: PlaneId, blocks: Blocks, takes_data: bool) -> Option<u32> {
        let shown = Arc::clone(&blocks.candidates);
        let limit = shown.victim_valid_limit();
        let by_valid = blocks.by_valid;
        let block = self.ask(|ftl| ftl.reclaim(plane, blocks))?;
        let mistake = match block {
            Some(block) => reclaims_something(true, &*shown, block).err(),
            None if !takes_data && gains(&*shown, by_valid) => Some((
                "answered None, and the plane takes no more data".into(),
                format!("answer a full block with fewer than {limit} valid pages"),
            )),
            None => None,
        };
        if let Some((problem, remedy)) = mistake {
            self.refuse(format!("reclaim({}) {problem}", plane.0), remedy);
            return None;
        }
        block
    }

    /// A new one takes its place, as after a power cut: it is told where the pages are that are not where they were
    /// before the run.
    pub fn begins_again(&mut self, pages: impl Iterator<Item = (Lpn, Option<Ppn>)>) {
        self.coming.clear();
        self.coming_to.fill(0);
        self.is_new = false;
        match (self.new)(self.drive.clone()) {
            Ok(ftl) => self.ftl = ftl,
            Err(mistake) => self.mistake = self.mistake.take().or(Some(mistake)),
        }
        for (lpn, ppn) in pages {
            match ppn {
                Some(ppn) => self.placed(lpn, ppn, false),
                None => self.trimmed(lpn),
            }
        }
    }

    /// Whether it has been loaded without a state of its own.
    pub fn is_new(&self) -> bool {
        self.is_new
    }
}

/// Whether reclaiming any of the full blocks of a plane gains something. Where they are listed in the order in which
/// they were filled, all are looked at.
fn gains(blocks: &dyn Shown, by_valid: bool) -> bool {
    let limit = blocks.victim_valid_limit();
    if by_valid {
        blocks.least_valid().is_some_and(|least| least < limit)
    } else {
        (0..blocks.blocks()).any(|block| blocks.block(block).0 < limit)
    }
}

/// The place of an FTL of one's own, if there is one. A checkpoint that had another one, or none, goes on with a new
/// one.
pub(crate) struct OwnPlace(pub Option<Box<Own>>);

impl State for OwnPlace {
    fn save(&self, to: &mut Writer) {
        self.0.is_some().write(to);
        let Some(own) = &self.0 else { return };
        own.source.sha256.clone().into_bytes().write(to);
        match own.ftl.save() {
            Ok(state) => state.write(to),
            Err(error) => to.fail(std::io::Error::other(error.to_string())),
        }
        let mut coming: Vec<(Lpn, PlaneId)> = own.coming.iter().map(|(lpn, plane)| (*lpn, *plane)).collect();
        coming.sort_unstable();
        coming.write(to);
        own.strays.write(to);
    }
    fn load(&mut self, from: &mut Reader) -> std::io::Result<()> {
        if let Some(own) = &mut self.0 {
            own.is_new = true;
        }
        if !bool::read(from)? {
            return Ok(());
        }
        let text = Vec::<u8>::read(from)?;
        let state = Option::<Vec<u8>>::read(from)?;
        let (coming, strays) = (Vec::<(Lpn, PlaneId)>::read(from)?, bool::read(from)?);
        let Some(own) = self.0.as_mut().filter(|own| own.source.sha256.as_bytes() == text) else { return Ok(()) };
        own.strays = strays;
        own.coming_to.fill(0);
        coming.iter().for_each(|(_, plane)| own.coming_to[plane.0 as usize] += 1);
        own.coming = coming.into_iter().collect();
        let Some(state) = state else { return Ok(()) };
        own.is_new = false;
        own.ftl.load(&state).map_err(|error| std::io::Error::other(error.to_string()))
    }
}
