//! Policies from outside: functions of the drive's caller that stand in for the built-in choice of an axis.
//!
//! A stand-in answers the axis' question under the axis' contract (`crates/schemes/src/*/contract.rs`). The built-in choice stays
//! configured: what it costs, and what the drive keeps for it, remain its own. An answer that makes no sense is the run's end:
//! the first mistake is kept, the built-in choice answers until the event is over, and the device has failed.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use schemes::{Candidates, Class, Collection, Failed, InPhase, Price, ReadReference, ResumeMode, SuspendPoint, Victim};
use units::{ConfigError, Stream};

/// What a stand-in answers, or its mistake.
pub type Answer<T> = Result<T, ConfigError>;

/// Where a stand-in comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySource {
    /// The file that it is written in, where it was given so.
    pub file: Option<String>,
    /// Its name there.
    pub function: String,
    /// The fingerprint of what it is written in.
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

/// The full blocks of a plane, as they are when a stand-in is asked for a victim.
pub struct Blocks {
    /// They, as every policy of the axis sees them.
    pub candidates: Box<dyn Candidates + Send + Sync>,
    /// Whether they can be asked for by their valid pages; otherwise for the one that was filled first.
    pub by_valid: bool,
    /// Random bits.
    pub draw: Box<dyn Fn() -> u64 + Send + Sync>,
}

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
    /// With which references a read senses next, in place of `read.next`.
    next: fn(Failed<'_>) -> Option<ReadReference>,
    /// At which point a program is suspended, in place of `schedule.suspend_program`.
    suspend_program: fn(InPhase) -> SuspendPoint,
    /// At which point an erase is suspended, in place of `schedule.suspend_erase`.
    suspend_erase: fn(InPhase) -> SuspendPoint,
    /// What a page of host data costs, in place of `gc.pacing`.
    pacing: fn(Collection) -> Option<Price>,
}

/// The most senses of a page: no table has as many steps.
const MOST_SENSES: u16 = 1000;

/// The most pages of a price.
const DEAREST: u64 = 1_000_000_000;

/// Why an answer makes no sense, and what would.
type Nonsense = (String, String);

impl Policies {
    /// The first mistake of a stand-in.
    #[inline]
    pub fn mistake(&self) -> Option<&ConfigError> {
        self.mistake.get()
    }

    /// The answer of a stand-in. None where there is no such, or where one has made a mistake: the built-in choice answers.
    #[inline]
    fn answer<F: ?Sized, T>(
        &self,
        axis: &'static str,
        stand_in: &Option<StandIn<F>>,
        ask: impl FnOnce(&F) -> Answer<T>,
        check: impl FnOnce(&T) -> Result<(), Nonsense>,
    ) -> Option<T> {
        let stand_in = stand_in.as_ref().filter(|_| self.mistake.get().is_none())?;
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

    /// The block that collection reclaims. `draws` and `drawn` give random bits.
    #[inline]
    pub(crate) fn pick<C: Candidates + Clone + Send + Sync + 'static>(
        &self,
        built_in: Victim,
        blocks: &C,
        is_one: impl Fn(u32) -> bool,
        draws: Stream,
        drawn: &mut u64,
    ) -> Option<Option<u32>> {
        self.answer(
            "victim",
            &self.victim,
            |policy| {
                let counter = Arc::new(AtomicU64::new(*drawn));
                let counts = Arc::clone(&counter);
                let answer = policy(Blocks {
                    candidates: Box::new(blocks.clone()),
                    by_valid: built_in.asks_for_valid(),
                    draw: Box::new(move || draws.bits(counts.fetch_add(1, Ordering::Relaxed) + 1)),
                });
                *drawn = counter.load(Ordering::Relaxed);
                answer
            },
            |picked| picked.map_or(Ok(()), |block| gains(built_in, blocks, block, is_one(block))),
        )
    }

    /// The rank of each class.
    pub(crate) fn ranks(&self) -> Option<Answer<[u8; Class::COUNT]>> {
        let order = self.order.as_ref()?;
        let ranks: Result<Vec<u8>, ConfigError> = Class::ALL.into_iter().map(|class| (order.ask)(class)).collect();
        Some(ranks.map(|ranks| Class::ALL.map(|class| ranks[class as usize])))
    }

    /// The references that a read senses with next, after so many senses. `sentinel`: the controller evaluates what is sensed
    /// of the sentinel's boundary.
    #[inline]
    pub(crate) fn after(&self, failed: Failed<'_>, senses: u16, sentinel: bool) -> Option<Option<ReadReference>> {
        self.answer(
            "next",
            &self.next,
            |policy| policy(failed),
            |answer| match *answer {
                Some(_) if senses >= MOST_SENSES => Err((
                    format!("has had a page sensed {MOST_SENSES} times"),
                    "answer none when all has been tried that it would".into(),
                )),
                Some(ReadReference::Step(step)) if step > failed.last => {
                    Err((format!("answered step {step}"), format!("answer a step of the table, 0 to {}", failed.last)))
                }
                Some(ReadReference::Sentinel) if !sentinel => Err((
                    "answered the sentinel's boundary, and the die predicts failures by itself".into(),
                    "answer other references, or set read.predictor to another choice".into(),
                )),
                Some(ReadReference::Soft(_)) => {
                    Err(("answered references for soft decoding".into(), "leave those to ecc.soft".into()))
                }
                _ => Ok(()),
            },
        )
    }

    /// At which point a program or an erase is suspended.
    #[inline]
    pub(crate) fn suspend_point(&self, class: Class, at: InPhase) -> Option<SuspendPoint> {
        let (axis, stand_in) = if class == Class::Erase {
            ("suspend_erase", &self.suspend_erase)
        } else {
            ("suspend_program", &self.suspend_program)
        };
        self.answer(axis, stand_in, |policy| policy(at), |answer| suspends_sensibly(at, *answer))
    }

    /// What a page of host data costs.
    #[inline]
    pub(crate) fn price(&self, collection: Collection) -> Option<Option<Price>> {
        self.answer(
            "pacing",
            &self.pacing,
            |policy| policy(collection),
            |answer| match *answer {
                Some(Price { relocated, host }) if host == 0 || host.max(relocated) > DEAREST => Err((
                    format!("answered {relocated} relocated pages for {host} pages of host data"),
                    format!("answer whole numbers up to {DEAREST}, and 1 page of host data or more"),
                )),
                _ => Ok(()),
            },
        )
    }
}

/// Refuses a victim that cannot be reclaimed, or whose reclaiming gains nothing, except in the order of filling.
fn gains(built_in: Victim, blocks: &impl Candidates, block: u32, is_one: bool) -> Result<(), Nonsense> {
    if !is_one {
        let problem = format!("answered block {block}, which cannot be reclaimed");
        return Err((problem, "answer a block that it was given, or none".into()));
    }
    let (valid, limit) = (blocks.block(block).0, blocks.victim_valid_limit());
    if built_in.asks_for_valid() && valid >= limit {
        let problem = format!("answered block {block} with {valid} valid pages: reclaiming it gains nothing");
        return Err((problem, format!("answer a block with fewer than {limit} valid pages, or none")));
    }
    Ok(())
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
    Err((format!("answered {} ns and {goes:?}", after.0), format!("answer {range}: until {why}")))
}

impl PolicySource {
    /// The error for a mistake of the policy.
    pub fn mistake(&self, axis: &str, problem: String, remedy: String) -> ConfigError {
        let (origin, line) = self.place.clone();
        ConfigError { origin, line, key: Some(format!("policies.{axis}")), problem, remedy }
    }
}
