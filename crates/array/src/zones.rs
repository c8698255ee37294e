//! Arrays of drives with zones: a zone of the array is one of every drive, since stripes lie at the same row of all of them. The array admits what its
//! host asks for by the states of its own zones, and its drives are asked in the same order, all in one queue, so that each of them meets its
//! write pointer.

use ssd::persist::state;
use ssd::zones::{Allowed, SpreadZones, ZonesSeen};
use ssd::{Drive, Plan, Status};
use units::{Bytes, ConfigError};
use workload::{Op, Request, ZoneAction};

use crate::array::{Array, SeatState, Step};
use crate::config::{ArrayConfig, refusal};
use crate::layout::{Layout, Placement};
use crate::ops::{OnDrive, Open, Reply, Sub};
use crate::slab::Key;

/// The queue of drives in which zones are written.
const QUEUE: u16 = 0;

/// The zones of an array.
pub(crate) struct ArrayZones {
    spread: SpreadZones,
    /// Requests that wait for the writes to their zones that came before them.
    waiting: Vec<Key>,
}

state! {
    ArrayZones { stored { waiting } parts { spread } }
}

impl ArrayZones {
    /// The zones of an array of drives with these plans; none where the drives have none.
    pub fn new<'a>(
        config: &ArrayConfig,
        layout: &Layout,
        plans: impl Iterator<Item = &'a Plan> + Clone,
        has_spares: bool,
    ) -> Result<Option<Box<ArrayZones>>, ConfigError> {
        let code = layout.code;
        let width = code.data * (layout.drives / code.width()).max(1);
        let different =
            |problem: &str| refusal("layout", problem, "give all drives the same zones, or none of them any");
        let Some(spread) = SpreadZones::new(plans.clone(), width as u64).map_err(different)? else { return Ok(None) };
        if plans.clone().any(|plan| !plan.config.power.cut_at.is_empty()) {
            let problem =
                "cuts the power of a drive whose zones are an array's, which would know another write pointer";
            let error = refusal("", problem, "leave it out, or cut the power of one drive alone");
            return Err(ConfigError { key: Some("power.cut_at".into()), ..error });
        }
        for (is_so, key, problem, remedy) in [
            (
                code.parity > 0 && !code.copies(),
                "layout",
                "writes the parity of a stripe before that is full, and a zone takes nothing twice",
                "write \"stripe\" or \"mirror\"; ftl.raid protects zones within each drive",
            ),
            (
                config.placement != Placement::Rotated,
                "placement",
                "puts the chunks of a zone at other rows of each drive, and zones are written in order",
                "write \"rotated\"",
            ),
            (
                has_spares,
                "layout",
                "has a spare drive, and its rebuild would write zones while the host does",
                "leave [drive.NAME] spare out",
            ),
            (
                config.scrub_rate.is_some(),
                "scrub_rate",
                "writes again what cannot be read, and a zone takes nothing twice",
                "leave it out",
            ),
        ] {
            if is_so {
                return Err(refusal(key, problem, remedy));
            }
        }
        let (size, capacity) = spread.of_drive();
        if !(size.0.is_multiple_of(layout.chunk) && capacity.0.is_multiple_of(layout.chunk)) {
            let problem = format!(
                "is {}, and a zone of a drive, of {size} with {capacity} that can be written, has no whole number of them",
                Bytes(layout.chunk)
            );
            return Err(refusal("chunk", problem, "write one that divides both"));
        }
        Ok(Some(Box::new(ArrayZones { spread, waiting: Vec::new() })))
    }

    /// To be looked at.
    pub fn seen(&self) -> ZonesSeen<'_> {
        self.spread.seen()
    }

    /// Checks what must hold at any time.
    pub fn check(&self) -> Result<(), String> {
        self.spread.check()
    }
}

impl<D: Drive> Array<D> {
    /// A request to an array with zones, which may refuse it.
    pub(crate) fn begin_zoned(&mut self, key: Key, request: Request) {
        let Some(zones) = &mut self.zones else { return };
        match zones.spread.allow(&request) {
            Err(status) => self.mark(key, |open| open.status = status),
            Ok(Allowed::Anywhere) => self.begin_anywhere(key, request),
            Ok(Allowed::InOrder { zone, offset }) => {
                self.mark(key, |open| open.in_order = Some((zone, offset)));
                self.begin_plain(key, Request { op: Op::Write, offset, ..request.on(QUEUE) });
            }
            Ok(Allowed::Action(chosen)) => {
                let (size, _) = zones.spread.of_drive();
                let there = |zone: u32| {
                    let there = self.seats.iter().filter(|seat| !matches!(seat.state, SeatState::Missing));
                    there.map(move |seat| OnDrive {
                        drive: seat.drive,
                        offset: Bytes(u64::from(zone) * size.0),
                        bytes: size,
                    })
                };
                let to_drives: Vec<OnDrive> = chosen.into_iter().flat_map(there).collect();
                self.plain(key, request.on(QUEUE), &to_drives);
            }
            Ok(Allowed::Later) => {
                zones.waiting.push(key);
                self.add_part(key);
            }
        }
    }

    /// A report of zones, which all drives have alike, is moved from one of them.
    pub(crate) fn begin_report(&mut self, key: Key, request: Request) {
        let there = self.seats.iter().find(|seat| !matches!(seat.state, SeatState::Missing));
        let Some(drive) = there.map(|seat| seat.drive) else {
            return self.mark(key, |open| open.refused = true);
        };
        let bytes = request.bytes.min(self.members[drive].drive.capacity());
        self.plain(key, request, &[OnDrive { drive, offset: Bytes(0), bytes }]);
    }

    /// A request has ended: of a write in order the zone is known to have come so far, and what has waited for that goes on.
    pub(crate) fn zone_goes_on(&mut self, open: &Open) {
        let (Some(zones), Some((zone, _))) = (&mut self.zones, open.in_order) else { return };
        zones.spread.ended(zone, open.request.bytes);
        if open.refused || open.aborted || !open.status.is_success() {
            zones.spread.fails(zone);
        }
        for key in std::mem::take(&mut zones.waiting) {
            let Some(request) = self.open.get(key).map(|open| open.request) else { continue };
            self.begin_zoned(key, request);
            self.steps.push_back(Step::Part(key));
        }
    }

    /// Whether a drive has done what it was asked for, where it is an action on a zone that it may be without: of a zone that the array has opened and
    /// that holds nothing of the drive's yet there is nothing to be closed, and only those that can be read alone go offline.
    fn is_needless(&self, op: Op, reply: &Reply) -> bool {
        let may_be_without = matches!(op, Op::Zone(ZoneAction::Close | ZoneAction::Offline));
        may_be_without && reply.status == Status::InvalidTransition
    }

    /// A drive has answered what zones are asked for: whether others make good for it. One of several with the same data is left out if it has not done
    /// it; of one without others the zone can be written no further.
    pub(crate) fn zone_replied(&mut self, op: Op, sub: &Sub, reply: &mut Reply) -> bool {
        if self.is_needless(op, reply) {
            reply.status = Status::Success;
        }
        let is_change = !matches!(op, Op::Read | Op::Flush | Op::ZoneReport);
        let Some(zones) = self.zones.as_mut().filter(|_| is_change && !reply.is_done()) else { return false };
        if self.layout.code.parity > 0 {
            self.refuses(sub.drive);
            return true;
        }
        if let (Op::Zone(_), (size, _)) = (op, zones.spread.of_drive()) {
            zones.spread.fails((sub.piece.start / size.0) as u32);
        }
        false
    }

    /// Whether a stripe lies in a zone that is written in order, so that nothing of it is written again.
    pub(crate) fn is_in_order(&self, stripe: u64) -> bool {
        let offset = Bytes(stripe * self.layout.code.data as u64 * self.layout.chunk);
        self.zones.as_ref().is_some_and(|zones| zones.spread.is_in_order(offset))
    }
}
