//! When a drive is in a steady state: after SNIA's "Solid State Storage Performance Test Specification" (PTS 2.0.1,
//! section 2.1.24). Over the last five rounds the tracked number stays within 20 % of its mean, and the line fitted
//! to it within 10 %.
//!
//! Tracked are the requests completed a second and, where there are writes, the write amplification: a workload
//! with given arrival times would otherwise be steady at once.
//!
//! A round lasts at least as long as was asked for, and until requests have completed and every plane that the host
//! writes to has been programmed over by several blocks' worth: before collection has come round on every plane, a
//! drive only looks steady. After each 25 rounds in vain rounds become twice as long, since few requests differ by
//! chance.
//!
//! A drive that starts in the middle of its life (`age.precondition = "closed-form"`), full, and is overwritten evenly
//! has nothing to come round to: its planes are spread over their cycles, and any stretch is one of the long run. There
//! only chance tells rounds apart. Where pacing mixes host data and relocated data program by program, a round is as
//! long as that takes: some thousand programs and some collections of all planes together. Without pacing a plane does
//! one after the other, each for a block's length, and a round has to see several of every plane as before.

use std::collections::VecDeque;

use schemes::Pacing;
use units::value::{Scalar, Value};
use units::{Span, Time};

use crate::config::Plan;
use crate::drive::Drive;
use crate::observe::stats::latency::ByQueue;
use crate::observe::stats::{SteadyState, Totals, Trend};

/// Rounds of the measurement window.
pub const WINDOW: usize = 5;
/// How far the rounds of the window may lie apart, and the line through them may rise, over their mean (PTS).
pub const MOST_SPREAD: f64 = 0.2;
/// See [`MOST_SPREAD`].
pub const MOST_RISE: f64 = 0.1;
/// Rounds after which rounds become twice as long (assumed: PTS gives up after as many). Short rounds differ by chance.
const ROUNDS: u64 = 25;
/// Rounds after which rounds become longer, where they are short because the drive is stationary from its start: twice
/// the window (assumed). Its load may leave dies idle, whose planes then collect for a block's length and rest, and
/// only rounds of some blocks of each are alike.
const SHORT_ROUNDS: u64 = 10;
/// Blocks' worth of pages that a round programs on every plane that the host writes to (assumed: several).
pub const TURNOVERS: u64 = 3;
/// Programs of a round of a drive that is stationary from its start (assumed). Of n programs, of which each is of host
/// data with a probability of 1 / A, the amplification A scatters by sqrt((A - 1) / n): 2.4 % for A = 6. Five rounds
/// then lie within 20 % of their mean, by more than three deviations.
const PROGRAMS: u64 = 1 << 13;
/// Blocks' worth of pages that such a round programs at least, so that as many are collected (assumed): a program is
/// none by itself, since those of a block's relocation follow one another.
const COLLECTIONS: u64 = 8;
/// Planes that the host hardly writes to are waited for until the drive has been programmed over this many times as
/// often (assumed).
const PATIENCE: u64 = 4;
/// A round that is not full is looked at again after this share of its length (assumed: a quarter more is little).
const AGAIN: u64 = 4;

/// How long a round lasts at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// As long as the device takes to program several blocks on every plane, or some thousand times where it is
    /// stationary from its start.
    Auto,
    /// So long.
    Of(Span),
}

impl Value for Round {
    fn expects() -> String {
        format!(
            "\"auto\" (what the device takes to program {TURNOVERS} blocks of every plane, or {PROGRAMS} times where it starts steady), \
             or {}",
            Span::expects()
        )
    }
    fn read(scalar: &Scalar) -> Option<Round> {
        match scalar {
            Scalar::Text(text) if text == "auto" => Some(Round::Auto),
            other => Span::read(other).filter(|span| *span > Span::ZERO).map(Round::Of),
        }
    }
    fn write(&self) -> Scalar {
        match self {
            Round::Auto => Scalar::Text("auto".into()),
            Round::Of(span) => span.write(),
        }
    }
}

/// What a round programs at least, in pages.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Least {
    /// On every plane that the host writes to.
    OfEachPlane(u64),
    /// On all planes together.
    OfDrive(u64),
}

impl Least {
    fn new(plan: &Plan, stationary: bool) -> Least {
        let block = u64::from(plan.layout.pages);
        if stationary && plan.config.gc.pacing != Pacing::None {
            let programs = (PROGRAMS * u64::from(plan.unit_pages)).max(COLLECTIONS * block);
            Least::OfDrive(programs.min(TURNOVERS * block * u64::from(plan.layout.planes)))
        } else {
            Least::OfEachPlane(TURNOVERS * block)
        }
    }

    /// Its share of the pages that `auto` gives a drive time for which is not stationary.
    fn share(self, plan: &Plan) -> f64 {
        match self {
            Least::OfEachPlane(_) => 1.0,
            Least::OfDrive(pages) => {
                pages as f64 / (TURNOVERS * u64::from(plan.layout.pages) * u64::from(plan.layout.planes)) as f64
            }
        }
    }

    /// Rounds after which they become twice as long.
    fn tries(self) -> u64 {
        match self {
            Least::OfEachPlane(_) => ROUNDS,
            Least::OfDrive(_) => SHORT_ROUNDS,
        }
    }

    fn doubled(self) -> Least {
        match self {
            Least::OfEachPlane(pages) => Least::OfEachPlane(2 * pages),
            Least::OfDrive(pages) => Least::OfDrive(2 * pages),
        }
    }

    /// Whether that was programmed on planes, of which each has programmed this many pages, and this many of the host's
    /// among them.
    fn is_met(self, done: &[(u64, u64)]) -> bool {
        let all: u64 = done.iter().map(|(pages, _)| pages).sum();
        match self {
            Least::OfEachPlane(wanted) => {
                let each = done.iter().all(|(pages, host)| *host == 0 || *pages >= wanted);
                each || all >= PATIENCE * wanted * done.len() as u64
            }
            Least::OfDrive(wanted) => all >= wanted,
        }
    }
}

impl Round {
    fn span(self, plan: &Plan) -> Span {
        match self {
            Round::Of(span) => span,
            Round::Auto => {
                let layout = &plan.layout;
                let alone = match plan.config.chip.plane_programs {
                    nand::PlanePrograms::Single => u64::from(layout.planes_per_die),
                    nand::PlanePrograms::Lockstep => 1,
                };
                let units = u64::from(layout.pages / plan.unit_pages);
                let block = plan.timings.slowest_program() * units + plan.timings.erase;
                block * (TURNOVERS * alone)
            }
        }
    }
}

struct Played {
    start: Totals,
    began: Time,
    /// Pages programmed on each plane until the round's beginning, and pages of host data among them.
    pages: Vec<(u64, u64)>,
    latencies: ByQueue,
    took: Span,
    iops: f64,
    waf: f64,
}

/// Looks for a steady state.
pub(super) struct Steady {
    asked: Round,
    round: Span,
    least: Least,
    queues: usize,
    end: Time,
    rounds: VecDeque<Played>,
    played: u64,
    /// Rounds since they became longer.
    tried: u64,
    /// What had been counted when a steady state was found, and when that was.
    reached: Option<(Totals, Time)>,
}

impl Steady {
    pub fn new(round: Round, queues: usize, drive: &impl Drive) -> Steady {
        let mut steady = Steady {
            asked: round,
            round: round.span(drive.plan()),
            least: Least::new(drive.plan(), false),
            queues,
            end: Time::NEVER,
            rounds: VecDeque::new(),
            played: 0,
            tried: 0,
            reached: None,
        };
        steady.begin(Totals::default(), drive);
        steady
    }

    /// The first round starts now, on a drive that is `stationary` or has to come to its steady state.
    pub fn start(&mut self, drive: &impl Drive, stationary: bool) {
        let plan = drive.plan();
        self.least = Least::new(plan, stationary);
        if self.asked == Round::Auto {
            self.round = Span(((self.asked.span(plan).0 as f64 * self.least.share(plan)) as u64).max(1));
        }
        self.rounds.clear();
        self.end = drive.now() + self.round;
        self.begin(drive.totals(), drive);
    }

    /// No round starts before [`Steady::start`].
    pub fn wait(&mut self) {
        self.end = Time::NEVER;
    }

    fn begin(&mut self, start: Totals, drive: &impl Drive) {
        self.rounds.push_back(Played {
            start,
            began: drive.now(),
            pages: drive.pages_of_planes(),
            latencies: ByQueue::new(self.queues),
            took: Span::ZERO,
            iops: 0.0,
            waf: 0.0,
        });
    }

    /// When the present round is looked at next; never once a steady state was found.
    pub fn round_end(&self) -> Time {
        if self.reached.is_some() { Time::NEVER } else { self.end }
    }

    /// Where the present round's latencies go.
    pub fn latencies(&mut self) -> &mut ByQueue {
        &mut self.rounds.back_mut().expect("Invariant: there is a present round").latencies
    }

    /// Whether enough has happened in the present round.
    fn is_full(&self, drive: &impl Drive) -> bool {
        let round = self.rounds.back().expect("Invariant: there is a present round");
        if drive.counters().requests_completed == round.start.counters.requests_completed {
            return false;
        }
        let now = drive.pages_of_planes();
        let done: Vec<(u64, u64)> =
            now.iter().zip(&round.pages).map(|(now, then)| (now.0 - then.0, now.1 - then.1)).collect();
        self.least.is_met(&done)
    }

    /// Ends the present round, if enough has happened in it; whether the state is steady.
    pub fn close(&mut self, drive: &impl Drive) -> bool {
        if !self.is_full(drive) {
            self.end = self.end + Span((self.round.0 / AGAIN).max(1));
            return false;
        }
        let now = drive.totals();
        let round = self.rounds.back_mut().expect("Invariant: there is a present round");
        let done = now.counters.since(&round.start.counters);
        round.took = drive.now().since(round.began);
        round.iops = done.requests_completed as f64 / round.took.as_s();
        let pages = done.bytes_settled as f64 / drive.plan().layout.page_size.0 as f64;
        round.waf = if pages > 0.0 { done.pages_programmed as f64 / pages } else { 0.0 };
        self.played += 1;
        self.end = drive.now() + self.round;
        let of = |value: fn(&Played) -> f64| -> Vec<f64> { self.rounds.iter().map(value).collect() };
        if self.rounds.len() == WINDOW && is_steady(&of(|round| round.iops)) && is_steady(&of(|round| round.waf)) {
            self.reached = Some((now, drive.now()));
            // What still completes belongs to nothing.
            self.begin(Totals::default(), drive);
            return true;
        }
        if self.rounds.len() == WINDOW {
            self.rounds.pop_front();
        }
        self.tried += 1;
        if self.tried == self.least.tries() {
            self.tried = 0;
            (self.round, self.least) = (self.round * 2, self.least.doubled());
            self.rounds.clear();
            self.end = drive.now() + self.round;
        }
        self.begin(now, drive);
        false
    }

    /// What was found, and the window in which it was.
    pub fn finish(mut self) -> (SteadyState, Option<SteadyWindow>) {
        let state = self.state();
        let window = self.reached.take().map(|(end, _)| {
            let mut latencies = ByQueue::new(self.queues);
            self.rounds.iter().take(WINDOW).for_each(|round| latencies.add(&round.latencies));
            SteadyWindow { start: self.rounds[0].start.clone(), end, latencies }
        });
        (state, window)
    }

    /// How far the search has come.
    pub fn state(&self) -> SteadyState {
        let lengths: Vec<u64> = self.rounds.iter().map(|round| round.took.0).filter(|took| *took > 0).collect();
        let round = lengths.iter().sum::<u64>().checked_div(lengths.len() as u64).map_or(self.round, Span);
        let window = self.reached.as_ref().map(|(_, ended)| (self.rounds[0].began, *ended));
        SteadyState { reached: window.is_some(), rounds: self.played, round, trend: self.trend(), window }
    }

    fn trend(&self) -> Option<Trend> {
        let done: Vec<&Played> = self.rounds.iter().filter(|round| round.took > Span::ZERO).collect();
        let of = |value: fn(&Played) -> f64| Window::of(&done.iter().map(|round| value(round)).collect::<Vec<_>>());
        let (iops, waf) = (of(|round| round.iops), of(|round| round.waf));
        let slopes = [iops.relative(iops.rise), waf.relative(waf.rise)];
        (done.len() > 1).then(|| Trend {
            iops: iops.mean,
            waf: waf.mean,
            spread: iops.relative(iops.range).max(waf.relative(waf.range)),
            slope: if slopes[0].abs() > slopes[1].abs() { slopes[0] } else { slopes[1] },
        })
    }
}

/// The rounds that are the steady state.
pub(super) struct SteadyWindow {
    /// What had been counted when they began.
    pub start: Totals,
    /// What had been counted when they ended.
    pub end: Totals,
    /// Of the requests in between.
    pub latencies: ByQueue,
}

/// One number over some rounds.
struct Window {
    mean: f64,
    /// The largest less the smallest.
    range: f64,
    /// How far the line fitted to them rises from the first round to the last.
    rise: f64,
}

impl Window {
    fn of(values: &[f64]) -> Window {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
        let middle = (n - 1.0) / 2.0;
        let (mut above, mut below) = (0.0, 0.0);
        for (x, value) in values.iter().enumerate() {
            above += (x as f64 - middle) * (value - mean);
            below += (x as f64 - middle).powi(2);
        }
        Window { mean, range: high - low, rise: above / below * (n - 1.0) }
    }

    /// A number over the mean. Rounds without a write have no amplification, and no trend.
    fn relative(&self, number: f64) -> f64 {
        if self.mean > 0.0 { number / self.mean } else { 0.0 }
    }
}

/// The rule, for one number over the window's rounds.
fn is_steady(values: &[f64]) -> bool {
    let Window { mean, range, rise } = Window::of(values);
    range <= MOST_SPREAD * mean && rise.abs() <= MOST_RISE * mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_round_needs_programs_of_the_drive_where_that_is_stationary_and_paced_and_of_every_plane_else() {
        let plan = |pacing: &str| {
            let mut config = Config::default();
            config.set(pacing).unwrap();
            config.plan().unwrap()
        };
        let paced = plan("gc.pacing=token");
        let block = u64::from(paced.layout.pages);
        let programs = (PROGRAMS * u64::from(paced.unit_pages)).max(COLLECTIONS * block);
        let least = Least::new(&paced, true);
        assert_eq!(least, Least::OfDrive(programs));
        assert!(least.share(&paced) < 1.0);
        assert!(!least.is_met(&[(programs / 2, 1), (programs / 2 - 1, 0)]));
        assert!(least.is_met(&[(programs - 1, 1), (1, 0)]));
        for least in [Least::new(&paced, false), Least::new(&plan("gc.pacing=none"), true)] {
            assert_eq!(least, Least::OfEachPlane(TURNOVERS * block));
            assert!(!least.is_met(&[(TURNOVERS * block, 1), (TURNOVERS * block - 1, 1)]));
            assert!(least.is_met(&[(TURNOVERS * block, 1), (0, 0)]), "the host writes to one plane");
        }
    }

    #[test]
    fn steady_is_within_20_percent_and_without_a_trend_above_10() {
        assert!(is_steady(&[100.0, 95.0, 105.0, 99.0, 101.0]));
        assert!(!is_steady(&[100.0, 79.0, 100.0, 100.0, 100.0]), "one round is too far off");
        assert!(!is_steady(&[94.0, 97.0, 100.0, 103.0, 106.0]), "it rises by 12 %");
        assert!(is_steady(&[96.0, 98.0, 100.0, 102.0, 104.0]));
        assert!(is_steady(&[0.0; 5]), "no writes, no amplification");
    }
}
