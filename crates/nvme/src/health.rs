//! How a drive says that it is.

use ssd::run::Attended;
use ssd::stats::series::Sample;
use ssd::zones::ZoneState;
use units::Time;

use crate::fdp::Placement;

/// A drive as its log pages show it.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// How it is.
    pub health: Health,
    /// Its placement handles, if it has some.
    pub placement: Option<Placement>,
}

impl Snapshot {
    /// That of a drive now.
    pub fn of(live: &dyn Attended) -> Snapshot {
        Snapshot { health: Health::of(live), placement: Placement::of(live) }
    }
}

/// The part of a drive's state that is in its health log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Health {
    /// Bits of the critical warning: 0, little spare is left; 2, its reliability is degraded; 3, it is in read-only
    /// mode.
    pub critical_warning: u8,
    /// Its temperature \[C].
    pub celsius: f64,
    /// Spare blocks that are left \[%].
    pub available_spare: f64,
    /// Below which it warns \[%].
    pub available_spare_threshold: f64,
    /// How much of its life is used \[%].
    pub percentage_used: f64,
    /// Bytes that the host has read and written.
    pub read_bytes: u64,
    /// Bytes that the host has written.
    pub write_bytes: u64,
    /// Bytes that were programmed.
    pub media_bytes: u64,
    /// Reads of the host.
    pub reads: u64,
    /// Its writes.
    pub writes: u64,
    /// Times that the power was cut.
    pub power_cuts: u64,
    /// Pages that could not be read.
    pub media_errors: u64,
    /// Simulated time.
    pub now: Time,
}

impl Health {
    /// That of a drive now. An array has the spare, the wear and the temperature of the worst of its drives, and the
    /// counts of all of them together.
    pub fn of(live: &dyn Attended) -> Health {
        let drive = live.drive();
        let (Sample { smart, throttling, .. }, counters) = (drive.sample(), drive.counters());
        let followed = throttling.and_then(|throttling| throttling.celsius);
        Health {
            critical_warning: smart.critical_warning() as u8,
            celsius: followed.map_or(drive.plan().config.age.temperature.0, |(now, _)| now),
            available_spare: smart.available_spare,
            available_spare_threshold: smart.available_spare_threshold,
            percentage_used: smart.percentage_used.unwrap_or(0.0),
            read_bytes: counters.read_bytes,
            write_bytes: counters.write_bytes,
            media_bytes: counters.pages_programmed * drive.plan().layout.page_size.0,
            reads: counters.read_requests,
            writes: counters.write_requests,
            power_cuts: counters.cuts,
            media_errors: smart.media_errors,
            now: drive.now(),
        }
    }

    /// Its temperature \[K].
    pub fn kelvin(&self) -> u16 {
        (self.celsius + 273.15).round() as u16
    }
}

/// The zones of a drive that are read-only or offline: their first bytes, in order.
pub fn broken_zones(live: &dyn Attended) -> Vec<u64> {
    let zones = live.drive().zones();
    let all = zones.iter().flat_map(|zones| (0..zones.count()).filter_map(|zone| zones.zone(zone)));
    all.filter(|zone| matches!(zone.state, ZoneState::ReadOnly | ZoneState::Offline)).map(|zone| zone.start).collect()
}
