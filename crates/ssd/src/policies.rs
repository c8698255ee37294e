//! Policies from outside: functions of the drive's caller that stand in for the built-in choice of an axis.
//!
//! A stand-in answers the axis' question under the axis' contract (`crates/schemes/src/*/contract.rs`). The built-in
//! choice stays configured: what it costs, and what the drive keeps for it, remain its own. An answer that makes no
//! sense is the run's end: the first mistake is kept, the built-in choice answers until the event is over, and the
//! device has failed.

mod blocks;
pub mod own_ftl;

use std::fmt;

use std::sync::{Arc, OnceLock};

use schemes::{
    Candidates, Class, Collection, Failed, FirstSense, InPhase, Next, Order, Pacing, Predictor, Price, ReadReference,
    ResumeMode, Start, SuspendErase, SuspendPoint, SuspendProgram, Victim,
};
use units::{ConfigError, Stream};

pub(crate) use self::blocks::lend;
pub use self::blocks::{Answer, BlockFacts, Blocks, Shown};
use self::own_ftl::{DriveLayout, NewFtl, OwnFtl};

/// Where a stand-in comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySource {
    /// The file that it is written in, where it was given so.
    pub file: Option<String>,
    /// Its name there.
    pub function: String,
    /// The fingerprint of what it is written in; of what only has a name, that.
    pub sha256: String,
    /// Where its text stands, for what is said of its mistakes: file and line.
    pub place: (String, Option<usize>),
}

/// A function that stands in for the built-in choice of an axis.
pub struct StandIn<F: ?Sized> {
    /// Where it comes from.
    pub source: PolicySource,
    /// The function. Invariant: it answers the same to the same question.
    pub ask: Arc<F>,
}

impl<F: ?Sized> Clone for StandIn<F> {
    fn clone(&self) -> StandIn<F> {
        StandIn { source: self.source.clone(), ask: Arc::clone(&self.ask) }
    }
}

impl<F: ?Sized> fmt::Debug for StandIn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl<F: ?Sized> PartialEq for StandIn<F> {
    fn eq(&self, other: &StandIn<F>) -> bool {
        self.source == other.source
    }
}

/// A function that picks a victim.
type VictimPolicy = dyn Fn(Blocks) -> Answer<Option<u32>> + Send + Sync;

/// Declares the axes that can be answered from outside.
macro_rules! axes {
    ($($(#[doc = $doc:literal])+ $axis:ident: fn($question:ty) -> $answer:ty,)+) => {
        /// The policies from outside, of every axis one or none.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Policies {
            $($(#[doc = $doc])+ pub $axis: Option<StandIn<dyn Fn($question) -> Answer<$answer> + Send + Sync>>,)+
            mistake: OnceLock<ConfigError>,
        }

        impl Policies {
            /// The axes, by the names of their policies.
            pub const AXES: &[&str] = &[$(stringify!($axis)),+];

            /// Where the policies come from, by their axes.
            pub fn sources(&self) -> Vec<(&'static str, &PolicySource)> {
                let all = [$((stringify!($axis), self.$axis.as_ref().map(|policy| &policy.source))),+];
                all.into_iter().filter_map(|(axis, source)| Some((axis, source?))).collect()
            }
        }
    };
}

axes! {
    /// Which block garbage collection reclaims next, in place of `gc.victim`.
    victim: fn(Blocks) -> Option<u32>,
    /// The rank of a class, in place of `schedule.order`; asked once a class.
    order: fn(Class) -> u8,
    /// At which step of the table a read begins, in place of `read.start`, of the tracking choices.
    start: fn(FirstSense) -> u8,
    /// With which references a read senses next, in place of `read.next`.
    next: fn(Failed<'_>) -> Option<ReadReference>,
    /// At which point a program is suspended, in place of `schedule.suspend_program`.
    suspend_program: fn(InPhase) -> SuspendPoint,
    /// At which point an erase is suspended, in place of `schedule.suspend_erase`.
    suspend_erase: fn(InPhase) -> SuspendPoint,
    /// What a page of host data costs, in place of `gc.pacing`.
    pacing: fn(Collection) -> Option<Price>,
    /// An FTL of one's own: where host data goes, what is collected, and a map ([`OwnFtl`]). Asked once, for a new one.
    ftl: fn(DriveLayout) -> Box<dyn OwnFtl>,
}

/// The most senses of a page: no table has as many steps.
const MOST_SENSES: u16 = 1000;

/// The most pages of a price.
const DEAREST: u64 = 1_000_000_000;

/// Why an answer makes no sense, and what would.
pub(crate) type Nonsense = (String, String);

impl Policies {
    /// The first mistake of a stand-in.
    #[inline]
    pub fn mistake(&self) -> Option<&ConfigError> {
        self.mistake.get()
    }

    /// What is wrong where nothing is going to happen although requests wait: what picks the blocks picks none.
    pub(crate) fn stands_still(&self) -> Option<ConfigError> {
        let problem = "answered None although requests wait for blocks that only collection frees".into();
        let remedy = "answer a block wherever it is given one; None leaves the plane as it is".into();
        Some(self.victim.as_ref()?.source.mistake("victim", problem, remedy))
    }

    /// The answer of a stand-in; none where one has made a mistake: the built-in choice answers.
    fn asked<F: ?Sized, T>(
        &self,
        axis: &'static str,
        stand_in: &StandIn<F>,
        ask: impl FnOnce(&F) -> Answer<T>,
        check: impl FnOnce(&T) -> Result<(), Nonsense>,
    ) -> Option<T> {
        if self.mistake.get().is_some() {
            return None;
        }
        let checked = ask(&stand_in.ask).and_then(|answer| match check(&answer) {
            Ok(()) => Ok(answer),
            Err((problem, remedy)) => Err(stand_in.source.mistake(axis, problem, remedy)),
        });
        match checked {
            Ok(answer) => Some(answer),
            Err(mistake) => {
                self.mistake.get_or_init(|| mistake);
                None
            }
        }
    }

    /// Whether one of them chooses what collection reclaims.
    pub(crate) fn pick_victims(&self) -> bool {
        self.victim.is_some()
    }

    /// The block that collection reclaims. `draws` and `drawn` give random bits.
    pub(crate) fn pick<C: Shown + Clone + Default + Send + Sync + 'static>(
        &self,
        built_in: Victim,
        blocks: &mut C,
        draws: Stream,
        drawn: &mut u64,
    ) -> Option<u32> {
        let asked = self.victim.as_ref().and_then(|stand_in| {
            let ask = |policy: &VictimPolicy| {
                lend(built_in, blocks, draws, drawn, |lent| {
                    let shown = Arc::clone(&lent.candidates);
                    let picked = policy(lent)?;
                    let checks = |block| reclaims_something(built_in.asks_for_valid(), &*shown, block);
                    Ok((picked, picked.map_or(Ok(()), checks)))
                })
            };
            self.asked("victim", stand_in, ask, |(_, checked)| checked.clone())
        });
        asked.map(|(picked, _)| picked).unwrap_or_else(|| {
            built_in.pick(&*blocks, || {
                *drawn += 1;
                draws.bits(*drawn)
            })
        })
    }

    /// The rank of each class.
    pub(crate) fn ranks(&self, built_in: Order) -> Answer<[u8; Class::COUNT]> {
        let Some(order) = &self.order else { return Ok(built_in.ranks()) };
        let ranks = Class::ALL.into_iter().map(|class| (order.ask)(class)).collect::<Answer<Vec<u8>>>()?;
        Ok(Class::ALL.map(|class| ranks[class as usize]))
    }

    /// The step of the table at which a read begins.
    pub(crate) fn begins(
        &self,
        built_in: Start,
        sense: impl FnOnce() -> FirstSense,
        last: Option<u8>,
        walks: bool,
    ) -> u8 {
        let Some(stand_in) = &self.start else { return built_in.step(last, walks) };
        let sense = sense();
        let check = |step: &u8| step_exists(*step, sense.table);
        self.asked("start", stand_in, |policy| policy(sense), check).unwrap_or_else(|| built_in.step(last, walks))
    }

    /// The references that a read senses with next, after this many senses.
    pub(crate) fn after(
        &self,
        built_in: Next,
        predictor: Predictor,
        failed: Failed<'_>,
        senses: u16,
    ) -> Option<ReadReference> {
        let Some(stand_in) = &self.next else { return built_in.after(failed) };
        let check = |answer: &Option<ReadReference>| references_exist(*answer, predictor, failed.last, senses);
        self.asked("next", stand_in, |policy| policy(failed), check).unwrap_or_else(|| built_in.after(failed))
    }

    /// At which point a program is suspended.
    pub(crate) fn suspend_program(&self, built_in: SuspendProgram, at: InPhase) -> SuspendPoint {
        let Some(stand_in) = &self.suspend_program else { return built_in.suspend_point(at) };
        let check = |answer: &SuspendPoint| suspends_sensibly(at, *answer);
        let asked = self.asked("suspend_program", stand_in, |policy| policy(at), check);
        asked.unwrap_or_else(|| built_in.suspend_point(at))
    }

    /// At which point an erase is suspended.
    pub(crate) fn suspend_erase(&self, built_in: SuspendErase, at: InPhase) -> SuspendPoint {
        let Some(stand_in) = &self.suspend_erase else { return built_in.suspend_point(at) };
        let check = |answer: &SuspendPoint| suspends_sensibly(at, *answer);
        let asked = self.asked("suspend_erase", stand_in, |policy| policy(at), check);
        asked.unwrap_or_else(|| built_in.suspend_point(at))
    }

    /// What a page of host data costs.
    pub(crate) fn price(&self, built_in: Pacing, collection: Collection) -> Option<Price> {
        let Some(stand_in) = &self.pacing else { return built_in.price(collection) };
        let check = |answer: &Option<Price>| answer.map_or(Ok(()), can_be_paid);
        let asked = self.asked("pacing", stand_in, |policy| policy(collection), check);
        asked.unwrap_or_else(|| built_in.price(collection))
    }
}

/// Refuses a victim that cannot be reclaimed, or, where it must gain something, whose reclaiming gains nothing.
pub(crate) fn reclaims_something(
    must_gain: bool,
    blocks: &(impl Candidates + ?Sized),
    block: u32,
) -> Result<(), Nonsense> {
    if blocks.block(block).0 > blocks.pages() {
        let problem = format!("answered block {block}, which cannot be reclaimed");
        return Err((problem, "answer a block that it was given, or none".into()));
    }
    let (valid, limit) = (blocks.block(block).0, blocks.victim_valid_limit());
    if must_gain && valid >= limit {
        let problem = format!("answered block {block} with {valid} valid pages: reclaiming it gains nothing");
        return Err((problem, format!("answer a block with fewer than {limit} valid pages, or none")));
    }
    Ok(())
}

/// Refuses a step that a table with this last one does not have.
fn step_exists(step: u8, last: u8) -> Result<(), Nonsense> {
    if step <= last {
        return Ok(());
    }
    Err((format!("answered step {step}"), format!("answer a step of the table, 0 to {last}")))
}

/// Refuses references that there are not, and a read without an end.
fn references_exist(
    answer: Option<ReadReference>,
    predictor: Predictor,
    last: u8,
    senses: u16,
) -> Result<(), Nonsense> {
    let (problem, remedy) = match answer {
        Some(_) if senses >= MOST_SENSES => (
            format!("has had a page sensed {MOST_SENSES} times"),
            "answer none when all has been tried that it would".into(),
        ),
        Some(ReadReference::Step(step)) => return step_exists(step, last),
        Some(ReadReference::Sentinel) if predictor.is_on_die() => (
            "answered the sentinel's boundary, and the die predicts failures by itself".into(),
            "answer other references, or set read.predictor to another choice".into(),
        ),
        Some(ReadReference::Soft(_)) => {
            ("answered references for soft decoding".into(), "leave those to ecc.soft".into())
        }
        _ => return Ok(()),
    };
    Err((problem, remedy))
}

/// Refuses a price that nobody can pay.
fn can_be_paid(Price { relocated, host }: Price) -> Result<(), Nonsense> {
    if host > 0 && host.max(relocated) <= DEAREST {
        return Ok(());
    }
    let problem = format!("answered {relocated} relocated pages for {host} pages of host data");
    Err((problem, format!("answer whole numbers up to {DEAREST}, and 1 page of host data or more")))
}

/// Refuses a point at which no array can be suspended.
fn suspends_sensibly(at: InPhase, answer: SuspendPoint) -> Result<(), Nonsense> {
    let Some((after, goes)) = answer else { return Ok(()) };
    let (least, most, why) = match goes {
        ResumeMode::NextPhase => (at.left, at.left, "the phase ends"),
        _ => (at.reset, at.left.max(at.reset), "the voltages are reset, and the phase has not ended by itself"),
    };
    if (least..=most).contains(&after) {
        return Ok(());
    }
    let range = if least == most { format!("{} ns", least.0) } else { format!("{} to {} ns", least.0, most.0) };
    Err((format!("answered {} ns and {}", after.0, goes.word()), format!("answer {range}: until {why}")))
}

impl StandIn<NewFtl> {
    /// An FTL that a program has compiled into it. Its name, with its version, tells it from others in manifests and
    /// checkpoints.
    pub fn named(name: &str, new: impl Fn(DriveLayout) -> Answer<Box<dyn OwnFtl>> + Send + Sync + 'static) -> Self {
        StandIn { source: PolicySource::named(name), ask: Arc::new(new) }
    }
}

impl PolicySource {
    /// Of what a program has compiled into it: its name alone tells it from others.
    pub fn named(name: &str) -> PolicySource {
        let place = (name.to_owned(), None);
        PolicySource { file: None, function: name.into(), sha256: format!("named {name}"), place }
    }

    /// The error for a mistake of the policy.
    pub fn mistake(&self, axis: &str, problem: String, remedy: String) -> ConfigError {
        let (origin, line) = self.place.clone();
        ConfigError { origin, line, key: Some(format!("policies.{axis}")), problem, remedy }
    }
}
