//! Whether a load leaves dies idle (`age.load`): a drive in the middle of its life then has other blocks free than one
//! that is written as fast as it takes data.
//!
//! The load is tried for some thousand requests on a drive of the same data and age that has nothing to collect. What
//! dies do for the host then, and what relocation for so much data will take of them by the theory of uniform
//! overwriting, is their use in the long run, where that is below one. What this theory takes for full is played
//! through the FTL alone, where it does not overwrite uniformly: its own write amplification counts. Of requests that
//! come from outside nothing is known: paced ones are taken to leave dies idle.

use std::borrow::Cow;

use nand::PlanePrograms;
use units::{Fraction, Span, Time};
use workload::{Beyond, Past, Request};

use super::host::{Host, Next, Standing, Supply, replaying};
use super::options::RunOptions;
use super::warming::{Played, Warming};
use crate::config::{Config, PastLoad, Plan, Precondition};
use crate::device::Device;
use crate::drive::Drive as _;
use crate::error::RunError;
use crate::ftl::warming;
use crate::observe::stats::{Counters, Usage, die};

/// Requests that are tried, and those before them that do not count (assumed: they cost what a part of any run does).
const TRIED: u64 = 4_096;
const BEFORE: u64 = 1_024;
/// Pages that are programmed at most, before and in the trial (assumed).
const PAGES: u64 = 1 << 15;
/// How often a closed loop is tried beside relocation (assumed: each halves what is wrong, as a ratio).
const ROUNDS: usize = 3;
/// From this use of dies on, collection never comes to rest (assumed: the theory knows neither waits nor skew).
const FULL: f64 = 0.9;
/// The part of the other planes' relocation that a plane waits for: the rest is programmed together with its own
/// (fitted to electronics25 at 3,000 and 7,000 requests a second of 32 KiB, half of them reads, and to its twin of
/// prxy_1).
const WAITED_FOR: f64 = 0.1;
/// Of what takes longer because a die is shared, at most four times as long (assumed).
const SLOWEST: f64 = 0.75;
/// Fewer reads than these do not tell how long one takes (assumed).
const FEW_READS: u64 = 64;
/// What is hardly written (assumed).
const LIGHT: PastLoad = PastLoad::Share(Fraction(0.01));

/// A configuration with `age.load` decided.
pub(super) struct Decided<'a> {
    pub config: Cow<'a, Config>,
    /// Nothing is known of the past of the load, so that another one was assumed.
    pub assumed: bool,
}

/// The configuration of a drive that meets a load, of which the past may be known, and whether requests are paced: with
/// `age.load` decided.
pub(super) fn decided<'a>(
    config: &'a Config,
    options: &RunOptions,
    past: Option<&dyn Past>,
    paced: bool,
) -> Decided<'a> {
    if config.age.load != PastLoad::Auto || !config.plays_past() || options.checkpoint.is_some() {
        return Decided { config: Cow::Borrowed(config), assumed: false };
    }
    let load = match past {
        // What cannot be tried is refused or fails when it is played.
        Some(past) => tried(config, options, past, paced).unwrap_or(PastLoad::Full),
        None if paced => LIGHT,
        None => PastLoad::Full,
    };
    let mut config = config.clone();
    config.age.load = load;
    Decided { config: Cow::Owned(config), assumed: past.is_none() }
}

fn tried(config: &Config, options: &RunOptions, past: &dyn Past, paced: bool) -> Result<PastLoad, RunError> {
    if past.written().is_empty() {
        return Ok(LIGHT);
    }
    let mut apart = config.clone();
    (apart.age.precondition, apart.age.staggered) = (Precondition::None, None);
    let (mut device, alone) = trial(&apart, options, past)?;
    let amplification = device.play_ftl(|ftl, plan| warming::amplification(ftl, plan));
    match paced {
        true => of_paced(config, options, past, (device.plan(), &alone), amplification),
        false => of_closed_loop(config, options, past, (device.plan(), &alone), amplification),
    }
}

/// How much of a plane's time the programs of a load take, whose relocation keeps up at this amplification.
fn share(programs: f64, amplification: f64) -> f64 {
    programs.clamp(1e-6, FULL / (amplification - 1.0).max(FULL))
}

/// Of requests with times of their own, which come as often whatever the drive relocates.
fn of_paced(
    config: &Config,
    options: &RunOptions,
    past: &dyn Past,
    (plan, alone): (&Plan, &Trial),
    mut amplification: f64,
) -> Result<PastLoad, RunError> {
    let mut used = UseOfDies::of(plan, alone, amplification);
    if used.host < FULL
        && used.least() >= FULL
        && let Some(own) = played(config, options, past)?
    {
        amplification = own;
        used = UseOfDies::of(plan, alone, amplification);
    }
    if used.least() >= FULL {
        return Ok(PastLoad::Full);
    }
    // What is relocated on a plane is read first, waits for what the die does for the host and for its other planes,
    // and takes as much longer.
    let planes = f64::from(plan.layout.planes_per_die);
    let others = used.host + WAITED_FOR * used.relocation * (planes - 1.0) / planes;
    let slower = (1.0 + used.reading) / (1.0 - others.min(SLOWEST));
    Ok(PastLoad::Share(Fraction(preferred(share(used.programs * slower, amplification)))))
}

/// Of requests that wait for others: they come less often where relocation delays these, with the load that came
/// before, which is looked for.
fn of_closed_loop(
    config: &Config,
    options: &RunOptions,
    past: &dyn Past,
    (plan, alone): (&Plan, &Trial),
    amplification: f64,
) -> Result<PastLoad, RunError> {
    let used = UseOfDies::of(plan, alone, amplification);
    if used.host >= FULL {
        return Ok(PastLoad::Full);
    }
    let load = |programs: f64| PastLoad::Share(Fraction(share(programs, amplification)));
    let mut programs = used.programs / (used.host + used.relocation).max(1.0);
    for _ in 0..ROUNDS {
        let mut apart = config.clone();
        apart.age.load = load(programs);
        let (_, beside) = trial(&apart, options, past)?;
        programs = (programs * used.programs * beside.rate() / alone.rate()).sqrt();
    }
    Ok(load(programs))
}

/// The nearest of five steps a decade (1, 1.6, 2.5, 4, 6.3): schemes under which nearly as much is left idle then begin
/// on the same drive, and differ by what they do. A step changes the write amplification of the first requests by some
/// percent.
fn preferred(share: f64) -> f64 {
    // A share is below one.
    libm::pow(10.0, (5.0 * libm::log10(share)).round().min(-1.0) / 5.0)
}

/// The write amplification of the load itself, played through the FTL alone, where that can be: by the theory of
/// uniform overwriting a load that writes to some pages more than to others would be taken for full though it leaves
/// dies idle.
fn played(config: &Config, options: &RunOptions, past: &dyn Past) -> Result<Option<f64>, RunError> {
    let mut config = config.clone();
    config.age.load = PastLoad::Full;
    let mut device = Device::new(&config, options.seed)?;
    let Played::Load(mut load) = Warming::of(past, true, &mut device)? else { return Ok(None) };
    while !load.play(&mut device, TRIED)? {}
    let warmed = load.warmed();
    Ok(warmed.filter(|warmed| warmed.reached).map(|warmed| warmed.waf))
}

/// What happened in the part of a trial that counts.
struct Trial {
    usage: Usage,
    counters: Counters,
    requests: u64,
}

impl Trial {
    /// Requests a second.
    fn rate(&self) -> f64 {
        self.requests as f64 / self.usage.elapsed.as_s().max(1e-9)
    }
}

/// Plays the load for a while.
fn trial(config: &Config, options: &RunOptions, past: &dyn Past) -> Result<(Device, Trial), RunError> {
    let mut device = Device::new(config, options.seed)?;
    let mut host = replaying(Supply::new(past.source(true)?, device.capacity(), Beyond::Wrap), options.replay);
    play(host.as_mut(), &mut device, BEFORE)?;
    let (usage, counters, submitted) = (device.usage(), device.counters(), device.submitted());
    play(host.as_mut(), &mut device, BEFORE + TRIED)?;
    let (usage, counters) = (device.usage().since(&usage), device.counters().since(&counters));
    let requests = device.submitted() - submitted;
    Ok((device, Trial { usage, counters, requests }))
}

/// Plays until this many requests have been submitted, or as many pages as may be have been programmed.
fn play(host: &mut dyn Host, device: &mut Device, requests: u64) -> Result<(), RunError> {
    let most = device.counters().pages_programmed + PAGES;
    while device.submitted() < requests && device.counters().pages_programmed < most {
        let standing = Standing {
            now: device.now(),
            origin: Time::ZERO,
            latest: Time::NEVER,
            enough: false,
            outstanding: device.outstanding(),
            arrivals: device.pending_arrivals(),
        };
        match host.next(&standing)? {
            Next::Submit(request, time) => {
                device.submit(Request { time, ..request })?;
            }
            Next::Completion(time) => {
                if !device.advance_to_completion(time)? {
                    if time == Time::NEVER {
                        break;
                    }
                    device.advance(time)?;
                }
            }
            Next::Arrivals(few) => {
                device.advance_to_arrivals(few, Time::NEVER)?;
            }
            Next::Over => break,
        }
        device.take_completions().for_each(|completion| host.completed(&completion));
    }
    Ok(())
}

/// Shares of the dies' time: for the host, and for the relocation that goes with so much host data; and of a plane's
/// time for programs of host data, if planes were programmed one by one. Then the time in which what a program takes is
/// read, in programs.
///
/// Relocation takes as much of a die as programs of the host do, or less: the busier a die is, the more of its planes
/// relocate at once, and are programmed together (`chip.plane_programs = "lockstep"`).
struct UseOfDies {
    host: f64,
    relocation: f64,
    least_relocation: f64,
    programs: f64,
    reading: f64,
}

impl UseOfDies {
    /// Of all dies at least.
    fn least(&self) -> f64 {
        self.host + self.least_relocation
    }

    fn of(plan: &Plan, trial: &Trial, amplification: f64) -> UseOfDies {
        let Trial { usage, counters, .. } = trial;
        let of_dies = (usage.elapsed.as_s() * usage.dies.len() as f64).max(1e-9);
        let spent = |counts: &dyn Fn(usize) -> bool| -> f64 {
            let of_die = |times: &[Span; die::CAUSES.len()]| -> f64 {
                times.iter().enumerate().filter(|(cause, _)| counts(*cause)).map(|(_, time)| time.as_s()).sum()
            };
            usage.dies.iter().map(of_die).sum::<f64>() / of_dies
        };
        let host = spent(&|cause| cause != die::IDLE);
        let programs = spent(&|cause| cause == die::PROGRAM || cause == die::LOAD);
        let pages = counters.pages_programmed as f64;
        // Data that is relocated is as old as what the host reads, and is retried as often.
        let sensed = spent(&|cause| cause == die::READ || cause == die::HOLD) * of_dies;
        let read = match counters.pages_read {
            few if few < FEW_READS => plan.timings.slowest_read().as_s(),
            pages => sensed / pages as f64,
        };
        let reads = pages / f64::from(plan.layout.shared()) * plan.timings.slowest_read().as_s() / of_dies;
        let erases = pages / f64::from(plan.layout.pages) * plan.timings.erase.as_s() / of_dies;
        let units = pages / f64::from(plan.unit_pages) / f64::from(plan.layout.planes);
        let program = plan.timings.mean_program(plan.layout.bits).as_s();
        let of_plane = units * program / usage.elapsed.as_s().max(1e-9);
        let relocation = (amplification - 1.0) * (programs + reads) + amplification * erases;
        let together = match plan.config.chip.plane_programs {
            PlanePrograms::Lockstep => (of_plane / programs.max(1e-9)).min(1.0),
            _ => 1.0,
        };
        UseOfDies {
            host,
            relocation,
            least_relocation: relocation * together,
            programs: of_plane,
            reading: f64::from(plan.unit_pages) / f64::from(plan.layout.shared()) * read / program.max(1e-9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{preferred, share};

    /// A share of one is not one that `age.load` accepts, so that a checkpoint of such a drive could not be read.
    #[test]
    fn shares_are_steps_below_one() {
        assert!((preferred(share(0.95, 1.2)) - 0.631).abs() < 1e-3);
        assert!((preferred(0.15) - 0.158).abs() < 1e-3);
    }
}
