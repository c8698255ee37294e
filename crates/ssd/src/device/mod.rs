//! The device: submit requests, advance the time, take completions.
//!
//! In front is the host's interface: arrivals, submission queues, arbitration, firmware, completions (`crate::host`).
//! Behind it is the back end, which knows its host by commands alone (`crate::back_end`). Here the agenda's events go
//! to one or the other; what they have marked goes on (`BackEnd::settle`).
//!
//! | file | what |
//! |---|---|
//! | `seen.rs` | what is seen of a drive |
//! | `check.rs` | the whole compared with the ledger of a probe that checks |
//! | `arrivals.rs` | requests arrive and are taken up; their completions reach the host |
//! | `power.rs` | the power is cut |
//! | `mod.rs` | events are played |
//! | `rest.rs` | the drive is left alone for months |
//! | `drive.rs` | what it is to those who play requests on it ([`Drive`](crate::Drive)) |
//!
//! Each file calls those before it, and what every drive is asked (`drive.rs`), alone (`crates/tidy/tests/tidy.rs`), so
//! they can be read in this order.

mod arrivals;
mod check;
mod drive;
mod power;
mod rest;
mod seen;

use units::Time;

use crate::back_end::BackEnd;
use crate::config::{Config, Plan, Precondition};
use crate::core::{Alone, Resource};
use crate::drive::Drive as _;
use crate::error::RunError;
use crate::flash::op::PageOp;
use crate::ftl::Ftl;
pub use crate::host::Completion;
use crate::host::HostSide;
use crate::observe::probe::{Event, Probe, Unwatched};
use crate::persist::state;

/// A simulated SSD. See the [module documentation](self).
pub struct Device<P: Probe = Unwatched> {
    /// Number of the next request.
    next_id: u64,
    /// What was under way before the run goes on.
    resumed: bool,
    host: HostSide,
    back: BackEnd<P>,
}

impl Device<Unwatched> {
    /// Builds a device in its initial state. Errors name the key at fault.
    pub fn new(config: &Config, seed: u64) -> Result<Device, units::ConfigError> {
        Device::watched(config, seed, Unwatched)
    }
}

/// When playing ends before its time.
#[derive(Clone, Copy, PartialEq)]
enum Stop {
    Never,
    /// When the drive has failed because it does not come to rest.
    AtRest,
    /// As soon as a request has completed.
    Completion,
    /// As soon as fewer arrivals wait.
    Arrivals(usize),
}

impl<P: Probe> Device<P> {
    /// Builds a device that a probe watches.
    pub fn watched(config: &Config, seed: u64, probe: P) -> Result<Device<P>, units::ConfigError> {
        let back = BackEnd::new(config.plan()?, seed, probe)?;
        let mut device = Device { next_id: 0, resumed: false, host: HostSide::new(&config.host), back };
        if device.back.zones.is_some() {
            // Zones that are full at the start have been written as in a run.
            device.back.begin_ledger();
        }
        // What is written before the workload is written in peace.
        if !matches!(config.age.precondition, Precondition::Write(_)) {
            device.back.core.arm_cuts();
        }
        Ok(device)
    }

    /// Something is played with the FTL alone, before time begins.
    pub(crate) fn play_ftl<T>(&mut self, play: impl FnOnce(&mut Ftl, &Plan) -> T) -> T {
        play(&mut self.back.ftl, &self.back.core.plan)
    }

    /// The FTL has come into another state: the ledger of a probe that keeps one begins with that.
    pub(crate) fn begin_ledger(&mut self) {
        self.back.begin_ledger();
    }

    /// This device, watched by a probe from now on, which is told what dies and buses do.
    pub fn watched_by<Q: Probe>(self, probe: Q) -> Device<Q> {
        let Device { next_id, resumed, host, back } = self;
        let mut back = back.watched_by(probe);
        back.begin_watch();
        Device { next_id, resumed, host, back }
    }

    /// Gives the probe back.
    pub fn into_probe(self) -> P {
        self.back.core.probe
    }

    #[inline]
    fn stops(&self, stop: Stop) -> bool {
        self.back.core.life.failure.is_some()
            || match stop {
                Stop::Never | Stop::AtRest => false,
                Stop::Completion => !self.host.completions.is_empty(),
                Stop::Arrivals(pending) => self.host.arrivals.len() < pending,
            }
    }

    fn play(&mut self, limit: Time, stop: Stop) -> Result<(), RunError> {
        self.begin_life();
        if self.back.core.life.stranded {
            self.back.settle();
        }
        if self.stops(stop) {
            return self.back.core.life.failure.clone().map_or(Ok(()), Err);
        }
        let horizon = self.back.core.agenda.horizon();
        let mut alone = Alone::default();
        while let Some((time, resource)) = self.upcoming(limit).or_else(|| self.event_after_standstill(limit))
            && time <= limit
        {
            if time == horizon {
                // Work takes so long that time runs out.
                self.back.core.life.failure = Some(RunError::BeyondHorizon { time, latest: horizon });
                break;
            }
            self.back.core.now = time;
            self.back.core.counters.events += 1;
            if time >= self.back.core.life.progress_due
                && !self.back.progresses(Some(&mut alone).filter(|_| stop == Stop::AtRest))
            {
                break;
            }
            match resource {
                Resource::Decoder(channel) => {
                    if self.back.on_decoded(channel) {
                        self.become_ready();
                    }
                }
                Resource::Bus(channel) => self.back.flash().bus_event(channel),
                Resource::Die(die) => self.back.on_die(die),
                Resource::Energy => self.back.flash().energy_is_paid(),
                Resource::Firmware => self.on_firmware(),
                Resource::WriteData => self.back.on_write_data(),
                Resource::ReadCompletion => self.on_read_completion(),
                Resource::WriteCompletion => self.on_write_completion(),
                Resource::Arrival => self.on_arrival(),
                Resource::HostIdle => self.back.host_is_idle(),
                Resource::Patrol => self.back.on_patrol(),
                Resource::Cut => self.on_cut(),
                Resource::Fault => self.back.on_fault(),
            }
            self.back.settle();
            if self.back.core.plan.asks
                && let Some(mistake) = self.back.core.plan.config.policies.mistake().or(self.back.seen().mistake())
            {
                self.back.core.life.failure = Some(RunError::Config(mistake.clone()));
            }
            if P::EXPLAINS {
                let (requests, buffered) = (self.back.commands.len() as u32, self.back.writes.buffer.in_use());
                self.back.core.probe.explain(time, Event::State { requests, buffered });
                self.check_event(resource);
            }
            if self.stops(stop) {
                break;
            }
        }
        self.back.core.life.failure.clone().map_or(Ok(()), Err)
    }

    /// Nothing is going to happen: the next event after the end of the drive's life, if that has come and the drive
    /// goes on as a read-only one; or after what has waited in vain for the SLC cache has gone past it.
    #[cold]
    fn event_after_standstill(&mut self, limit: Time) -> Option<(Time, Resource)> {
        self.back.ends_standstill().then(|| self.upcoming(limit)).flatten()
    }

    /// The next event, parts that break, power cuts and visits for refresh included: visits go on for ever, so they
    /// come only up to a time that was asked for, or while something happens to requests.
    #[inline(always)]
    fn upcoming(&self, limit: Time) -> Option<(Time, Resource)> {
        let next = self.back.core.agenda.peek().map(|(time, slot)| (time, self.back.core.slots.resource(slot)));
        let standing = self.back.ftl.visits.next.min(self.back.core.cuts.next);
        if standing == Time::NEVER && self.back.flash.fault_due == Time::NEVER {
            return next;
        }
        // A standstill ends now, up to whatever time the drive is played.
        let limit = if next.is_none() && self.back.stands_still() { Time::NEVER } else { limit };
        let next = self.or_standing(next, standing, limit);
        if self.back.fault_comes(next.map_or(limit, |(time, _)| time)) {
            return Some((self.back.flash.fault_due.max(self.back.core.now), Resource::Fault));
        }
        next
    }

    /// The next visit for refresh or power cut, if it comes before what is next.
    #[inline]
    fn or_standing(&self, next: Option<(Time, Resource)>, standing: Time, limit: Time) -> Option<(Time, Resource)> {
        let endless = limit == Time::NEVER && (next.is_none() || self.outstanding() == 0);
        let until = next.map_or(limit, |(time, _)| time);
        if standing < until && !endless {
            let what = if standing == self.back.core.cuts.next { Resource::Cut } else { Resource::Patrol };
            Some((standing.max(self.back.core.now), what))
        } else {
            next
        }
    }

    /// Collections that were under way before the run go on, as soon as time does; a learned table knows what is before
    /// it.
    #[inline]
    fn begin_life(&mut self) {
        if !std::mem::replace(&mut self.resumed, true) {
            self.back.begin_life();
        }
    }
}

state! {
    [P: Probe] Device<P> { stored { next_id, resumed } parts { host, back } }
}

const _: () = assert!(size_of::<PageOp>() <= 64, "a page operation fits a cache line");
