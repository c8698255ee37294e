//! The learned mapping table (Sun et al., "LeaFTL: A Learning-Based Flash Translation Layer for Solid-State Drives",
//! ASPLOS'23): in place of an entry for each page, segments of straight lines over logical pages, which say where a
//! page is to within a bound.
//!
//! Logical pages are kept in groups of 256, those of a group in levels of segments: the newest on top, and none that
//! overlap in one level. The pages that a program brings are sorted by their logical numbers and cut into segments,
//! greedily. Where a segment's logical pages stand at equal distances on consecutive pages of the flash, it is exact;
//! any others are approximate: no page is further from the line than `mapping.error`, and which pages the segment has
//! is kept beside it (LeaFTL's conflict resolution buffer, CRB). A new segment takes its pages out of older ones; what
//! is left of one that still overlaps it goes a level down.
//!
//! A segment takes 8 bytes, and an approximate one a byte for each of its pages and one more in the CRB. Of groups,
//! levels and trimmed pages nothing is counted. Lines end in their last page, so that every page which one leads to was
//! programmed with it (our choice: LeaFTL fits lines that end anywhere within the bound).
//!
//! What stands where the initial state has it is in no group here: its segments are worked out where they are asked
//! for.

use std::collections::BTreeMap;

use units::{Lpn, Ppn};

use crate::config::{MapTable, Plan};
use crate::observe::stats::LearnedSize;
use crate::persist::{state, stored, stored_enum};

/// Logical pages of a group, whose place in it takes a byte (LeaFTL).
pub(crate) const GROUP: u64 = 256;

/// Bytes of a segment: where it begins, how long it is, its slope and its first page (LeaFTL).
const SEGMENT_BYTES: u64 = 8;

/// Pages placed after which all groups are compacted (assumed: LeaFTL does so every million writes).
const COMPACT_EVERY: u64 = 1_000_000;

/// Segments of a group beyond which it is compacted at once, twice what its pages can need (assumed).
const MOST_SEGMENTS: usize = 2 * GROUP as usize;

/// Bits of a slope's mantissa that are kept: a half float, of which one bit says which kind of segment it is.
const SLOPE_BITS: u32 = 9;

/// A set of places in a group.
type Places = [u64; 4];

/// A page of a group and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub place: u8,
    pub ppn: Ppn,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    /// Every so manyth logical page, on consecutive pages of the flash.
    Exact(u8),
    /// Pages of the flash for a logical page, and the logical pages that the segment has.
    Approximate { slope: f32, holds: Box<Places> },
}

#[derive(Clone, Debug, PartialEq)]
struct Segment {
    /// The first and the last logical page that it has.
    first: u8,
    last: u8,
    /// Where its line begins.
    begins: u8,
    base: Ppn,
    shape: Shape,
}

impl Segment {
    fn holds(&self, place: u8) -> bool {
        (self.first..=self.last).contains(&place)
            && match &self.shape {
                Shape::Exact(step) => (place - self.begins).is_multiple_of(*step),
                Shape::Approximate { holds, .. } => has(holds, place),
            }
    }

    /// Where it has a page, to within the bound.
    fn at(&self, place: u8) -> Ppn {
        let along = place - self.begins;
        Ppn(self.base.0
            + match self.shape {
                Shape::Exact(step) => u64::from(along / step),
                Shape::Approximate { slope, .. } => rounded(slope, along),
            })
    }

    fn places(&self) -> Places {
        let mut places = [0; 4];
        (self.first..=self.last).filter(|place| self.holds(*place)).for_each(|place| add(&mut places, place));
        places
    }

    fn overlaps(&self, other: &Segment) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Without these pages; nothing where it has no other ones. An exact one has the pages between its ends still: who
    /// is above has them too.
    fn without(mut self, taken: &Places) -> Option<Segment> {
        let mut left = self.places();
        left.iter_mut().zip(taken).for_each(|(left, taken)| *left &= !taken);
        let mut all = (0..=u8::MAX).filter(|place| has(&left, *place));
        self.first = all.next()?;
        self.last = all.next_back().unwrap_or(self.first);
        if let Shape::Approximate { holds, .. } = &mut self.shape {
            **holds = left;
        }
        Some(self)
    }

    fn bytes(&self) -> u64 {
        SEGMENT_BYTES
            + match &self.shape {
                Shape::Exact(_) => 0,
                Shape::Approximate { holds, .. } => {
                    1 + holds.iter().map(|word| u64::from(word.count_ones())).sum::<u64>()
                }
            }
    }
}

fn has(places: &Places, place: u8) -> bool {
    places[usize::from(place / 64)] >> (place % 64) & 1 != 0
}

fn add(places: &mut Places, place: u8) {
    places[usize::from(place / 64)] |= 1 << (place % 64);
}

/// Pages of the flash along a line.
fn rounded(slope: f32, along: u8) -> u64 {
    (f64::from(slope) * f64::from(along)).round() as u64
}

/// A slope as a segment keeps it: never steeper.
fn kept(slope: f64) -> f32 {
    f32::from_bits((slope as f32).to_bits() & (u32::MAX << (23 - SLOPE_BITS)))
}

/// Cuts points into segments, each as long as it can be from where the last one ended. Both numbers of the points rise.
fn fit(points: &[Point], error: u32) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut rest = points;
    while let [first, ..] = rest {
        let (exact, steps) = exact_run(rest);
        let near = near_run(rest, error).filter(|(pages, _)| *pages > exact);
        let (pages, shape) = match near {
            None => (exact, Shape::Exact(steps)),
            Some((pages, slope)) => {
                let mut holds = [0; 4];
                rest[..pages].iter().for_each(|point| add(&mut holds, point.place));
                (pages, Shape::Approximate { slope, holds: Box::new(holds) })
            }
        };
        let last = rest[pages - 1].place;
        segments.push(Segment { first: first.place, last, begins: first.place, base: first.ppn, shape });
        rest = &rest[pages..];
    }
    segments
}

/// How many points, from the first one on, are equally far apart on consecutive pages, and how far.
fn exact_run(points: &[Point]) -> (usize, u8) {
    let [first, second, ..] = points else { return (1, 1) };
    let step = second.place - first.place;
    let follows = |pair: &[Point]| pair[1].ppn.0 == pair[0].ppn.0 + 1 && pair[1].place - pair[0].place == step;
    let pairs = points.windows(2).take_while(|pair| follows(pair)).count();
    (1 + pairs, if pairs == 0 { 1 } else { step })
}

/// How many points, three at least, are within the bound of the line from the first to the last of them, as its slope
/// is kept; and that slope.
fn near_run(points: &[Point], error: u32) -> Option<(usize, f32)> {
    let first = points.first()?;
    let far = |point: &Point| (f64::from(point.place - first.place), (point.ppn.0 - first.ppn.0) as f64);
    // Lines from the first point that miss none so far by more than the bound, which is rounded.
    let (mut least, mut most, bound) = (0.0f64, 1.0f64, f64::from(error) + 0.5);
    let mut pages = 1;
    for point in &points[1..] {
        let (along, up) = far(point);
        if !(least..=most).contains(&(up / along)) {
            break;
        }
        (least, most) = (least.max((up - bound) / along), most.min((up + bound) / along));
        pages += 1;
    }
    while pages > 2 {
        let (along, up) = far(&points[pages - 1]);
        let slope = kept(up / along);
        let misses = |point: &Point| rounded(slope, point.place - first.place).abs_diff(point.ppn.0 - first.ppn.0);
        if points[..pages].iter().all(|point| misses(point) <= error.into()) {
            return Some((pages, slope));
        }
        pages -= 1;
    }
    None
}

/// The segments of a group of logical pages.
#[derive(Clone, Debug, Default, PartialEq)]
struct Group {
    levels: Vec<Vec<Segment>>,
}

impl Group {
    fn find(&self, place: u8) -> Option<Ppn> {
        self.segments().find(|segment| segment.holds(place)).map(|segment| segment.at(place))
    }

    /// From the newest level down.
    fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.levels.iter().flatten()
    }

    /// A segment that is newer than all.
    fn insert(&mut self, new: Segment) {
        let taken = new.places();
        if self.levels.is_empty() {
            self.levels.push(Vec::new());
        }
        let mut lowered = Vec::new();
        for (depth, level) in self.levels.iter_mut().enumerate() {
            for segment in std::mem::take(level) {
                let is_met = depth == 0 && segment.overlaps(&new);
                // What an approximate one has is kept in one place for all levels.
                let loses = is_met || matches!(segment.shape, Shape::Approximate { .. });
                let Some(left) = (if loses { segment.without(&taken) } else { Some(segment) }) else { continue };
                if is_met && left.overlaps(&new) {
                    lowered.push(left);
                } else {
                    level.push(left);
                }
            }
        }
        self.levels[0].push(new);
        self.levels.retain(|level| !level.is_empty());
        if lowered.is_empty() {
            return;
        }
        let fits = |level: &Vec<Segment>| !level.iter().any(|old| lowered.iter().any(|new| new.overlaps(old)));
        if self.levels.get(1).is_some_and(fits) {
            self.levels[1].append(&mut lowered);
        } else {
            self.levels.insert(1, lowered);
        }
    }

    /// Segments without the pages that newer ones have, each as high as these let it.
    fn compact(&mut self) {
        let mut newer = [0; 4];
        let mut levels: Vec<Vec<Segment>> = Vec::new();
        for segment in std::mem::take(&mut self.levels).into_iter().flatten() {
            let Some(left) = segment.without(&newer) else { continue };
            newer.iter_mut().zip(left.places()).for_each(|(newer, has)| *newer |= has);
            let above = levels.iter().rposition(|level| level.iter().any(|other| other.overlaps(&left)));
            let depth = above.map_or(0, |above| above + 1);
            if depth == levels.len() {
                levels.push(Vec::new());
            }
            levels[depth].push(left);
        }
        self.levels = levels;
    }
}

/// The learned table.
pub(crate) struct LearnedTable {
    /// Pages by which an approximate segment may be off.
    error: u32,
    /// Bits of a page's number that are its place in its block.
    pages_of_block: u64,
    groups: BTreeMap<u64, Group>,
    /// What has been placed and not yet learned.
    batch: Vec<(Lpn, Ppn)>,
    /// Pages placed since the last compaction.
    placed: u64,
    /// The segments of the initial state of the group that was asked for last.
    initial: Option<(u64, Vec<Segment>)>,
}

impl LearnedTable {
    /// Of a drive whose table is learned.
    pub fn new(plan: &Plan) -> Option<LearnedTable> {
        let mapping = &plan.config.mapping;
        (mapping.table == MapTable::Learned).then(|| LearnedTable {
            error: mapping.error,
            pages_of_block: plan.layout.page(nand::BlockId(1), 0).0,
            groups: BTreeMap::new(),
            batch: Vec::new(),
            placed: 0,
            initial: None,
        })
    }

    /// The newest data of a page on flash is there now. It is learned with what else its program has brought.
    pub fn placed(&mut self, lpn: Lpn, ppn: Ppn) {
        self.batch.push((lpn, ppn));
        self.placed += 1;
    }

    /// All that a program has brought has been placed.
    pub fn learn(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        batch.sort_unstable_by_key(|(lpn, ppn)| (lpn.0 / GROUP, *ppn));
        for of_group in batch.chunk_by(|one, other| one.0.0 / GROUP == other.0.0 / GROUP) {
            let group = self.groups.entry(of_group[0].0.0 / GROUP).or_default();
            cut(of_group, self.pages_of_block, self.error).for_each(|segment| group.insert(segment));
            if group.segments().count() > MOST_SEGMENTS {
                group.compact();
            }
        }
        batch.clear();
        self.batch = batch;
        if self.placed >= COMPACT_EVERY {
            self.placed = 0;
            self.groups.values_mut().for_each(Group::compact);
        }
    }

    /// Where it has a page, to within the bound. `initially` has where a page of the initial state is.
    pub fn predict(&mut self, lpn: Lpn, initially: impl Fn(Lpn) -> Option<Ppn>) -> Option<Ppn> {
        self.learn();
        let (number, place) = (lpn.0 / GROUP, (lpn.0 % GROUP) as u8);
        if let Some(found) = self.groups.get(&number).and_then(|group| group.find(place)) {
            return Some(found);
        }
        if self.initial.as_ref().is_none_or(|(group, _)| *group != number) {
            self.initial = Some((number, self.initial_segments(number, initially)));
        }
        let segments = &self.initial.as_ref()?.1;
        segments.iter().find(|segment| segment.holds(place)).map(|segment| segment.at(place))
    }

    /// Checks that it leads to a page of the flash with a page's data, to within its bound. `initially` is where that
    /// was at the start.
    pub fn leads(&self, lpn: Lpn, ppn: Ppn, initially: Option<Ppn>) -> Result<(), String> {
        let found = self.groups.get(&(lpn.0 / GROUP)).and_then(|group| group.find((lpn.0 % GROUP) as u8));
        match found {
            Some(found) if found.0.abs_diff(ppn.0) <= u64::from(self.error) => Ok(()),
            None if initially == Some(ppn) => Ok(()),
            _ => Err(format!("the learned table leads to {found:?}, and page {} is in {ppn:?}", lpn.0)),
        }
    }

    /// Whether it can be wrong.
    pub fn errs(&self) -> bool {
        self.error > 0
    }

    /// The segments of what the initial state has of a group. No page is in two of them.
    fn initial_segments(&self, group: u64, initially: impl Fn(Lpn) -> Option<Ppn>) -> Vec<Segment> {
        let lpns = (group * GROUP..(group + 1) * GROUP).map(Lpn);
        let mut found: Vec<(Lpn, Ppn)> = lpns.filter_map(|lpn| Some((lpn, initially(lpn)?))).collect();
        found.sort_unstable_by_key(|(_, ppn)| *ppn);
        cut(&found, self.pages_of_block, self.error).collect()
    }

    /// What the table of this many logical pages takes: of the groups that are as at the start, and of the pages of
    /// others that are, `SAMPLE` groups are worked out. `initially` has where a page was at the start, if it still is
    /// there.
    pub fn size(
        &self,
        pages: u64,
        initially: impl Fn(Lpn) -> Option<Ppn>,
        is_initial: impl Fn(Lpn) -> bool,
    ) -> LearnedSize {
        let mut size = LearnedSize::default();
        for group in self.groups.values() {
            group.segments().for_each(|segment| count(&mut size, segment));
            size.levels = size.levels.max(group.levels.len() as u64);
        }
        let groups = pages.div_ceil(GROUP);
        let looked_at = groups.min(SAMPLE);
        let mut of_start = LearnedSize::default();
        for group in (0..looked_at).map(|number| number * groups / looked_at) {
            let mut gone = [0; 4];
            let changed = |place: &u8| !is_initial(Lpn(group * GROUP + u64::from(*place)));
            (0..=u8::MAX).filter(changed).for_each(|place| add(&mut gone, place));
            let within = |lpn: Lpn| if lpn.0 < pages { initially(lpn) } else { None };
            let segments = self.initial_segments(group, within);
            segments
                .into_iter()
                .filter_map(|segment| segment.without(&gone))
                .for_each(|segment| count(&mut of_start, &segment));
        }
        let all = |sampled: u64| (u128::from(sampled) * u128::from(groups) / u128::from(looked_at.max(1))) as u64;
        size.segments += all(of_start.segments);
        size.approximate += all(of_start.approximate);
        size.bytes += all(of_start.bytes);
        size.levels = size.levels.max(u64::from(of_start.segments > 0));
        size
    }

    /// Each group's segments are in levels in which they do not overlap, and each approximate one has what it says.
    pub fn check(&self) -> Result<(), String> {
        for (number, group) in &self.groups {
            if group.levels.iter().any(Vec::is_empty) {
                return Err(format!("group {number} of the learned table has a level without segments"));
            }
            for level in &group.levels {
                let overlapping =
                    level.iter().enumerate().any(|(at, one)| level[..at].iter().any(|two| one.overlaps(two)));
                if overlapping {
                    return Err(format!("group {number} of the learned table has segments that overlap in a level"));
                }
            }
        }
        Ok(())
    }
}

/// Adds a segment to what a table takes.
fn count(size: &mut LearnedSize, segment: &Segment) {
    size.segments += 1;
    size.approximate += u64::from(matches!(segment.shape, Shape::Approximate { .. }));
    size.bytes += segment.bytes();
}

/// Groups of the initial state that a table's size is extrapolated from (assumed).
const SAMPLE: u64 = 1024;

/// Cuts pages of a group, in the order of the flash, into segments: each of one block, in which logical pages rise too.
fn cut(pages: &[(Lpn, Ppn)], pages_of_block: u64, error: u32) -> impl Iterator<Item = Segment> {
    let goes_on = move |one: &(Lpn, Ppn), next: &(Lpn, Ppn)| {
        one.1.0 / pages_of_block == next.1.0 / pages_of_block && one.0 < next.0
    };
    pages.chunk_by(goes_on).flat_map(move |run| {
        let points: Vec<Point> =
            run.iter().map(|(lpn, ppn)| Point { place: (lpn.0 % GROUP) as u8, ppn: *ppn }).collect();
        fit(&points, error)
    })
}

state! {
    LearnedTable { stored { groups, batch, placed } rebuilt { error, pages_of_block, initial } }
}

stored! {
    Group { levels }
    Segment { first, last, begins, base, shape }
}

stored_enum! {
    Shape { 0 = Exact(step), 1 = Approximate { slope, holds }, }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(error: u32) -> LearnedTable {
        LearnedTable {
            error,
            pages_of_block: 1 << 10,
            groups: BTreeMap::new(),
            batch: Vec::new(),
            placed: 0,
            initial: None,
        }
    }

    fn bring(table: &mut LearnedTable, pages: &[(u64, u64)]) {
        pages.iter().for_each(|(lpn, ppn)| table.placed(Lpn(*lpn), Ppn(*ppn)));
        table.learn();
    }

    fn size(table: &LearnedTable) -> (u64, u64, u64, u64) {
        let LearnedSize { segments, approximate, bytes, levels } = table.size(GROUP, |_| None, |_| true);
        (segments, approximate, bytes, levels)
    }

    #[test]
    fn pages_at_equal_distances_on_consecutive_pages_are_one_exact_segment() {
        let mut table = table(0);
        // A program of a die: every fourth page; then one that lies in two groups.
        bring(&mut table, &(0..48).map(|page| (4 * page, 100 + page)).collect::<Vec<_>>());
        assert_eq!(size(&table), (1, 0, 8, 1));
        assert_eq!(table.predict(Lpn(8), |_| None), Some(Ppn(102)));
        assert_eq!((table.predict(Lpn(9), |_| None), table.predict(Lpn(192), |_| None)), (None, None));
        bring(&mut table, &(0..48).map(|page| (240 + page, 200 + page)).collect::<Vec<_>>());
        assert_eq!(table.groups.len(), 2);
        assert_eq!(
            [240, 255, 256, 287].map(|lpn| table.predict(Lpn(lpn), |_| None)),
            [200, 215, 216, 247].map(|ppn| Some(Ppn(ppn)))
        );
    }

    #[test]
    fn pages_that_are_near_a_line_are_one_approximate_segment_whose_pages_are_kept() {
        let pages: Vec<(u64, u64)> = [0, 1, 3, 4, 8, 9, 10, 12].into_iter().zip(50..).collect();
        let mut exact = table(0);
        bring(&mut exact, &pages);
        let mut near = table(4);
        bring(&mut near, &pages);
        // 8 bytes, a byte for each of eight pages, and one.
        assert_eq!(size(&near), (1, 1, 17, 1));
        assert!(size(&exact).0 > 1);
        for (lpn, ppn) in &pages {
            assert_eq!(exact.predict(Lpn(*lpn), |_| None), Some(Ppn(*ppn)), "a bound of 0 is never wrong");
            let found = near.predict(Lpn(*lpn), |_| None).unwrap();
            assert!(found.0.abs_diff(*ppn) <= 4 && (50..58).contains(&found.0));
        }
        assert_eq!([2, 5, 11, 13].map(|lpn| near.predict(Lpn(lpn), |_| None)), [None; 4]);
    }

    #[test]
    fn a_newer_segment_takes_the_ends_of_an_older_one_and_sends_what_it_lies_within_down() {
        let mut table = table(0);
        bring(&mut table, &(0..100).map(|page| (page, page)).collect::<Vec<_>>());
        bring(&mut table, &(90..110).map(|page| (page, 200 + page)).collect::<Vec<_>>());
        assert_eq!(size(&table), (2, 0, 16, 1), "cut off");
        bring(&mut table, &[(50, 400)]);
        assert_eq!(size(&table), (3, 0, 24, 2), "around the new one");
        assert_eq!(
            [49, 50, 51, 95].map(|lpn| table.predict(Lpn(lpn), |_| None)),
            [49, 400, 51, 295].map(|ppn| Some(Ppn(ppn)))
        );
        bring(&mut table, &(0..120).map(|page| (page, 500 + page)).collect::<Vec<_>>());
        table.groups.values_mut().for_each(Group::compact);
        assert_eq!(size(&table), (1, 0, 8, 1), "nothing of the others is left");
    }

    #[test]
    fn a_table_agrees_with_a_map_to_within_its_bound_whatever_is_written_and_compacted() {
        for error in [0, 1, 4, 16] {
            let (mut table, mut map) = (table(error), BTreeMap::new());
            let draws = units::Stream::new(error.into(), "learned");
            let (mut drawn, mut free) = (0, 0);
            let mut below = |bound: u64| {
                drawn += 1;
                draws.below(drawn, bound)
            };
            for round in 0..800 {
                let (begins, step, many) = (below(700), 1 + below(3), 1 + below(48));
                let mut lpns: Vec<u64> = match below(3) {
                    0 => (0..many).map(|page| begins + page * step).collect(),
                    1 => (0..many).map(|page| begins + page * step + below(step)).collect(),
                    _ => (0..many).map(|_| below(900)).collect(),
                };
                lpns.sort_unstable();
                lpns.dedup();
                for lpn in lpns {
                    map.insert(lpn, free);
                    table.placed(Lpn(lpn), Ppn(free));
                    free += 1;
                }
                table.learn();
                if round % 300 == 0 {
                    table.groups.values_mut().for_each(Group::compact);
                }
                table.check().unwrap();
                assert!(table.groups.values().all(|group| group.segments().count() <= MOST_SEGMENTS));
                for (lpn, ppn) in &map {
                    let found = table.predict(Lpn(*lpn), |_| None).unwrap();
                    assert!(found.0.abs_diff(*ppn) <= error.into(), "{found:?} of {ppn}, {error} allowed");
                    assert!(found.0 / 1024 == ppn / 1024, "the page is in the same block");
                }
            }
        }
    }

    #[test]
    fn what_the_run_has_not_written_is_where_the_start_has_it() {
        let mut table = table(0);
        let initially = |lpn: Lpn| Some(Ppn(5000 + lpn.0));
        bring(&mut table, &[(3, 7)]);
        assert_eq!(table.predict(Lpn(3), initially), Some(Ppn(7)));
        assert_eq!(table.predict(Lpn(4), initially), Some(Ppn(5004)));
        // Blocks have 1,024 pages, and 5000 is in the middle of one: the second group of two lies in two.
        let found = table.size(2 * GROUP, initially, |lpn| lpn.0 != 3);
        assert_eq!((found.segments, found.bytes), (4, 32));
    }
}
