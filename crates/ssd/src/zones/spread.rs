//! The zones of an array of drives: each is made of a zone of every drive, which is written as the array's is. Their
//! states are those of a drive's zones; what the drives are asked for is the array's.

use units::Bytes;
use workload::{Op, Request};

use super::{Zones, ZonesSeen};
use crate::config::{Plan, ZonePlan};
use crate::persist::state;
use crate::status::Status;

/// The zones of an array of drives, each of which is made of a zone of every drive.
pub struct SpreadZones {
    zones: Zones,
    plan: ZonePlan,
    /// Zones of drives whose data differs in each of these.
    width: u64,
}

/// What becomes of a request that zones allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// What would without zones: nothing of it is written in order.
    Anywhere,
    /// It is written there, in order, to that zone.
    InOrder {
        /// The zone.
        zone: u32,
        /// Its first byte.
        offset: Bytes,
    },
    /// It is done to these zones.
    Action(Vec<u32>),
    /// It waits until the writes before it have ended: it is to be asked again then.
    Later,
}

impl SpreadZones {
    /// The zones of an array of drives with these plans, each of which has the data of `width` zones of drives; none
    /// where the drives have none.
    ///
    /// # Errors
    /// The drives do not have the same zones: in what they differ.
    pub fn new<'a>(plans: impl Iterator<Item = &'a Plan>, width: u64) -> Result<Option<SpreadZones>, &'static str> {
        let zones = |plan: &'a Plan| plan.zones.as_ref().map(|zones| (zones, plan.config.age.fill.0));
        let all: Vec<Option<(&ZonePlan, f64)>> = plans.map(zones).collect();
        let zoned: Vec<(&ZonePlan, f64)> = all.iter().copied().flatten().collect();
        let Some((first, fill)) = zoned.first().copied() else { return Ok(None) };
        if zoned.len() < all.len() {
            return Err("has drives with zones and drives without any");
        }
        let sizes = |zones: &ZonePlan| (zones.size_bytes(), zones.capacity_bytes());
        if zoned.iter().any(|(zones, _)| sizes(zones) != sizes(first)) {
            return Err("has drives whose zones differ in their size, or their capacity");
        }
        let counts = |zones: &ZonePlan, fill: f64| [zones.zones, zones.conventional, zones.filled(fill)];
        if zoned.iter().any(|(zones, of)| counts(zones, *of) != counts(first, fill)) {
            return Err("has drives that differ in how many zones there are, are conventional or start full");
        }
        let least = |of: fn(&ZonePlan) -> u32| zoned.iter().map(|(zones, _)| of(zones)).min().unwrap_or(0);
        let mut plan = first.clone();
        (plan.size, plan.capacity) = (plan.size * width, plan.capacity * width);
        (plan.max_open, plan.max_active) = (least(|zones| zones.max_open), least(|zones| zones.max_active));
        plan.append_limit = zoned.iter().filter_map(|(zones, _)| zones.append_limit).min();
        plan.read_across = zoned.iter().all(|(zones, _)| zones.read_across);
        // A random area of drives is behind the write pointer of each.
        plan.random_area = Bytes(0);
        Ok(Some(SpreadZones { zones: Zones::new(&plan, fill), plan, width }))
    }

    /// Bytes from the beginning of a drive's zone to that of the next one, and those of them that can be written.
    #[must_use]
    pub fn of_drive(&self) -> (Bytes, Bytes) {
        (Bytes(self.plan.size_bytes() / self.width), Bytes(self.plan.capacity_bytes() / self.width))
    }

    /// Whether a byte lies in a zone that is written in order.
    #[must_use]
    pub fn is_in_order(&self, offset: Bytes) -> bool {
        offset.0 >= self.plan.start(self.plan.conventional)
    }

    /// What becomes of a request; the states of its zones are from now on those that it leaves.
    ///
    /// # Errors
    /// The status with which it is refused.
    pub fn allow(&mut self, request: &Request) -> Result<Allowed, Status> {
        let SpreadZones { zones, plan, .. } = self;
        let (offset, bytes) = (request.offset.0, request.bytes.0);
        match request.op {
            Op::Read => zones.reads(offset, bytes, plan).map(|()| Allowed::Anywhere),
            Op::Write | Op::Append => {
                let admitted = zones.writes(offset, bytes, request.op == Op::Append, plan)?;
                let in_order = |zone| Allowed::InOrder { zone, offset: Bytes(admitted.offset) };
                Ok(admitted.zone.map_or(Allowed::Anywhere, in_order))
            }
            Op::Trim if plan.touches_sequential(offset, bytes) => Err(Status::InvalidField),
            Op::Trim | Op::Flush | Op::ZoneReport => Ok(Allowed::Anywhere),
            Op::HandleUpdate => Err(Status::InvalidOpcode),
            Op::Zone(action) if zones.is_under_way(action, offset, bytes, plan) => Ok(Allowed::Later),
            Op::Zone(action) => {
                let effects = zones.act(action, offset, bytes, plan)?;
                Ok(Allowed::Action(effects.into_iter().map(|(zone, _)| zone).collect()))
            }
        }
    }

    /// A write in order of this many bytes has ended.
    pub fn ended(&mut self, zone: u32, bytes: Bytes) {
        self.zones.arrives(zone, bytes.0);
    }

    /// A drive has not done what was asked for in a zone, which can be written no further.
    pub fn fails(&mut self, zone: u32) {
        self.zones.fails(zone);
    }

    /// The zones, to be looked at.
    #[must_use]
    pub fn seen(&self) -> ZonesSeen<'_> {
        ZonesSeen { zones: &self.zones, plan: &self.plan }
    }

    /// Checks that as many zones are open and active as are counted, and no more than may be.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check(&self) -> Result<(), String> {
        self.zones.check(&self.plan)
    }
}

state! {
    SpreadZones { stored {} parts { zones } rebuilt { plan, width } }
}
