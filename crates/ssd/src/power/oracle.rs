//! The host's side: a log of its own of what was written, and which part of it the drive has promised to keep. It knows
//! nothing of the drive's map, and numbers what the host writes by itself.
//!
//! Promised is, with capacitors or write-through, what was acknowledged; otherwise what was acknowledged before a flush
//! was begun that has completed. Trims are promised alike, where the map has a journal; where it has none, a page that
//! was trimmed may read as anything that it ever was. Without capacitors, cells whose wordlines are programmed page by
//! page give no promise: an interrupted program destroys the pages before it.
//!
//! After a cut each page that was written must read as its last promised state or as any later one, whole; never as an
//! older one, as another page, or as what an interrupted program has left. What it reads as then must stay from there
//! on.

use std::collections::{BTreeMap, HashMap, VecDeque};

use units::Lpn;

use super::media::{Data, keeps_what_is_programmed};
use crate::config::{BufferMode, Plan};
use crate::persist::{state, stored};

/// What a page reads as after a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Zeros: it is mapped to nothing, or to a page of zeros.
    Zeros,
    /// What the host's side has numbered so.
    Data(Data),
    /// What the host has written to another page.
    Another(Lpn),
    /// What no program has finished.
    Damaged,
    /// An error: the drive says that it is lost.
    Lost,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default)]
struct History {
    /// The oldest state that it may read as, the newest one, and the newest that was acknowledged.
    oldest: u64,
    newest: u64,
    acknowledged: u64,
    /// The last trim.
    trimmed: u64,
}

impl History {
    /// A state is promised. Without promises of trims, what a trim has followed is not.
    fn promise(&mut self, number: u64, trims: bool) {
        if trims || number > self.trimmed {
            self.oldest = self.oldest.max(number);
        }
    }
}

/// A change that was acknowledged and is not promised.
#[derive(Clone, Copy, Debug)]
struct Pending {
    lpn: Lpn,
    number: u64,
    request: u64,
}

/// A change that was acknowledged and that a power cut has undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The request.
    pub request: u64,
    /// Its page.
    pub lpn: Lpn,
}

/// What has come of a check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    pub checked: u64,
    /// Pages whose newest acknowledged state is gone, as the configuration allows.
    pub lost: u64,
    /// Of these, those that the drive reports as lost when they are read.
    pub reported: u64,
    pub violation: Option<String>,
}

/// The log.
pub(crate) struct Oracle {
    /// Whether acknowledged writes are promised at once, and trims; whether a flush promises them.
    writes_at_once: bool,
    trims_at_once: bool,
    writes_with_flush: bool,
    trims_with_flush: bool,
    numbers: u64,
    pages: BTreeMap<Lpn, History>,
    /// What each request that has not completed has changed: pages and states.
    under_way: HashMap<u64, Vec<(Lpn, u64)>>,
    /// Acknowledged and not promised, in order; how many have been before these.
    pending: VecDeque<Pending>,
    settled: u64,
    /// What the last cut has undone, in the order in which it was acknowledged.
    undone: Vec<Undone>,
    /// Cuts since this was made.
    cuts: u64,
    /// For flushes that have not completed how many had been acknowledged when they began.
    flushes: HashMap<u64, u64>,
}

impl Oracle {
    pub fn new(plan: &Plan) -> Oracle {
        let config = &plan.config;
        let (plp, journal) = (config.power.plp, config.mapping.journal);
        let promises = keeps_what_is_programmed(plan);
        Oracle {
            writes_at_once: plp || (promises && config.buffer.mode == BufferMode::WriteThrough),
            trims_at_once: plp && journal,
            writes_with_flush: promises,
            trims_with_flush: promises && journal,
            numbers: 0,
            pages: BTreeMap::new(),
            under_way: HashMap::new(),
            pending: VecDeque::new(),
            settled: 0,
            undone: Vec::new(),
            cuts: 0,
            flushes: HashMap::new(),
        }
    }

    /// A page of a request's data has reached the drive; returns its number.
    pub fn writes(&mut self, request: u64, lpn: Lpn) -> Data {
        Data { number: self.changes(request, lpn) }
    }

    /// A page has been trimmed.
    pub fn trims(&mut self, request: u64, lpn: Lpn) {
        let number = self.changes(request, lpn);
        let page = self.pages.entry(lpn).or_default();
        page.trimmed = number;
        if !self.trims_with_flush {
            page.oldest = 0;
        }
    }

    fn changes(&mut self, request: u64, lpn: Lpn) -> u64 {
        self.numbers += 1;
        let number = self.numbers;
        self.pages.entry(lpn).or_default().newest = number;
        self.under_way.entry(request).or_default().push((lpn, number));
        number
    }

    /// Cuts since this was made.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// What the last cut has undone.
    pub fn undone(&self) -> &[Undone] {
        &self.undone
    }

    /// The first request of which something was acknowledged and is not promised.
    pub fn first_pending(&self) -> Option<u64> {
        self.pending.iter().map(|of| of.request).min()
    }

    /// A flush is begun.
    pub fn flush_begins(&mut self, request: u64) {
        self.flushes.insert(request, self.settled + self.pending.len() as u64);
    }

    /// The host has seen a request complete.
    pub fn completed(&mut self, request: u64) {
        for (lpn, number) in self.under_way.remove(&request).unwrap_or_default() {
            let page = self.pages.entry(lpn).or_default();
            page.acknowledged = page.acknowledged.max(number);
            let at_once = if page.trimmed == number { self.trims_at_once } else { self.writes_at_once };
            if at_once {
                page.promise(number, self.trims_with_flush);
            } else {
                self.pending.push_back(Pending { lpn, number, request });
            }
        }
        let until = self.flushes.remove(&request).unwrap_or(0);
        while self.settled < until
            && let Some(Pending { lpn, number, .. }) = self.pending.pop_front()
        {
            self.settled += 1;
            let page = self.pages.entry(lpn).or_default();
            let promised = if page.trimmed == number { self.trims_with_flush } else { self.writes_with_flush };
            if promised {
                page.promise(number, self.trims_with_flush);
            }
        }
    }

    /// The power has been cut: checks what each page reads as, with whether it held nothing at the start. What it reads
    /// as is its only state from now on. Where the flash has lost data (`broken`) nothing that was acknowledged is
    /// promised: a page may read as an error, or as it was before; never as another page, or as what no program has
    /// finished.
    pub fn check(&mut self, broken: bool, reads: impl Fn(Lpn) -> (Reads, bool)) -> Verdict {
        self.cuts += 1;
        self.under_way.clear();
        self.flushes.clear();
        self.settled += self.pending.len() as u64;
        let pending = std::mem::take(&mut self.pending);
        let mut verdict = Verdict::default();
        for (lpn, page) in &mut self.pages {
            let (found, empty) = reads(*lpn);
            verdict.checked += 1;
            let (allowed, state) = match found {
                Reads::Zeros => {
                    let trimmed = page.trimmed > 0 && page.trimmed >= page.oldest;
                    (trimmed || broken || !self.writes_with_flush || (empty && page.oldest == 0), page.trimmed)
                }
                Reads::Data(Data { number }) => {
                    let oldest = if broken { 0 } else { page.oldest };
                    ((oldest..=page.newest).contains(&number), number)
                }
                Reads::Lost => (broken || !self.writes_with_flush, 0),
                Reads::Another(_) | Reads::Damaged => (false, 0),
            };
            if !allowed {
                let text = format!("{lpn:?} reads as {found:?} after a power cut, and the drive has promised {page:?}");
                verdict.violation.get_or_insert(text);
            }
            verdict.lost += u64::from(state < page.acknowledged);
            verdict.reported += u64::from(found == Reads::Lost);
            let oldest = if self.writes_with_flush && found != Reads::Lost { state } else { 0 };
            let trimmed = if found == Reads::Zeros { state } else { 0 };
            // What is lost now may have been an older state. Where pages of the map are destroyed, any state may come
            // back.
            let stays = found != Reads::Lost && self.writes_with_flush && !broken;
            let newest = if stays { state } else { page.newest };
            *page = History { oldest, newest, acknowledged: state, trimmed };
        }
        let is_undone = |of: &Pending| self.pages.get(&of.lpn).is_some_and(|page| page.acknowledged < of.number);
        let undone = |of: Pending| Undone { request: of.request, lpn: of.lpn };
        self.undone = pending.into_iter().filter(is_undone).map(undone).collect();
        verdict
    }
}

state! {
    Oracle {
        stored { numbers, pages, under_way, pending, settled, flushes }
        rebuilt { undone, cuts, writes_at_once, trims_at_once, writes_with_flush, trims_with_flush }
    }
}

stored! {
    Pending { lpn, number, request }
    History { oldest, newest, acknowledged, trimmed }
}
