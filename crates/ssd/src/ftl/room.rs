//! Which planes take what: host data, pages of the map, data of the SLC cache. A plane takes what it has room for and
//! can still be collected with.

use nand::{DieId, PlaneId};

use super::Ftl;
use super::zones::IN_ORDER;
use crate::config::{Full, Placement, Plan};
use crate::streams::StreamId;

impl Ftl {
    /// The planes of a die that take programs of host data now, as a set: they have a free block for it, which is paid
    /// for, and few enough valid pages that they can still be collected.
    pub fn planes_for_host(&self, die: DieId, writes: StreamId, plan: &Plan) -> u8 {
        let (stream, price) = (plan.streams.opened_by(writes), plan.streams.paced(writes));
        let takes = |place: &u8| {
            let plane = plan.layout.plane(die, *place);
            self.blocks.room(plane, stream, false)
                && self.pays(plane, price, plan)
                && self.stays_collectable(plane, plan)
        };
        (0..plan.layout.planes_per_die as u8).filter(takes).fold(0, |set, place| set | 1 << place)
    }

    /// Of these planes those that have been programmed least in a stream, by the place in its block: they catch up
    /// alone, so that afterwards all of them go together again.
    pub fn lagging(&self, die: DieId, writes: StreamId, plan: &Plan) -> u8 {
        let stream = plan.streams.opened_by(writes);
        let of_block = u64::from(plan.streams.pages_of(stream));
        let open = self.planes_for_host(die, writes, plan);
        let places = || (0..plan.layout.planes_per_die as u8).filter(|place| open >> place & 1 != 0);
        let taken = |place: u8| self.blocks.taken(plan.layout.plane(die, place), stream);
        let most = places().map(taken).max().unwrap_or(0);
        let behind = |place: u8| (most - taken(place)) % of_block;
        let furthest = places().map(behind).max();
        places().filter(|place| Some(behind(*place)) == furthest).fold(0, |set, place| set | 1 << place)
    }

    /// Whether no plane of a stream's reclaim group can take more and still be collected: what the host writes goes to
    /// other groups then.
    #[inline]
    pub fn group_is_full(&self, writes: StreamId, plan: &Plan) -> bool {
        plan.groups.count > 1 && self.is_full_group(writes, plan)
    }

    /// The planes to which a stream is written: those of its reclaim group, or of all if that is full.
    pub(super) fn planes_that_take<'a>(
        &self,
        writes: StreamId,
        plan: &'a Plan,
    ) -> impl Iterator<Item = PlaneId> + use<'a> {
        let all = self.group_is_full(writes, plan);
        let planes = (0..plan.layout.planes).map(PlaneId);
        planes.filter(move |plane| all || plan.groups.takes(writes, plan.layout.die_of(*plane).0))
    }

    fn is_full_group(&self, writes: StreamId, plan: &Plan) -> bool {
        let full = |plane: PlaneId| self.is_broken(plane) || !self.stays_collectable(plane, plan);
        let planes = (0..plan.layout.planes).map(PlaneId);
        let mut of_group = planes.filter(|plane| plan.groups.takes(writes, plan.layout.die_of(*plane).0));
        of_group.all(full)
    }

    /// Dynamic placement: whether a plane has so few valid pages that it can take more and still be collected. Planes
    /// that are left when others have broken take all that can still be collected.
    pub(super) fn stays_collectable(&self, plane: PlaneId, plan: &Plan) -> bool {
        self.stays_collectable_with(plane, 0, plan)
    }

    /// [`stays_collectable`](Self::stays_collectable) where `more` pages are on their way to the plane.
    pub(super) fn stays_collectable_with(&self, plane: PlaneId, more: u32, plan: &Plan) -> bool {
        let space = &plan.space;
        let retired = self.blocks.in_service(plane).1 * plan.layout.pages;
        // Halfway between its share of the data and all that can be collected, also where blocks have gone.
        let limit = match self.relocator.broken_planes {
            0 => (space.live_limit + retired / 2).min(space.live_limit_of_rest),
            _ => space.live_limit_of_rest,
        };
        self.blocks.live(plane) + more + retired < limit
    }

    /// The plane that takes pages of the map after the plane `last`, where planes hold this many of them: round robin
    /// over the planes that can take data and stay collectable (see `config::space`), those with room first.
    pub fn next_map_plane(&self, last: u32, held: &[u32], plan: &Plan) -> PlaneId {
        let planes = plan.layout.planes;
        let next = |step: u32| PlaneId((last + step) % planes);
        let stream = plan.streams.opened_by(StreamId::MAP);
        let works = |plane: &PlaneId| !self.is_broken(*plane);
        let collectable = |plane: &PlaneId| match plan.config.ftl.placement {
            Placement::Static => held[plane.0 as usize] < plan.space.map_limit,
            Placement::Dynamic => self.stays_collectable(*plane, plan),
        };
        let room = |plane: &PlaneId| self.blocks.room(*plane, stream, false);
        let working = (1..=planes).map(next).filter(works);
        let mut planes = working.clone().filter(collectable);
        let first = planes.clone().next();
        planes.find(room).or(first).or(working.clone().next()).unwrap_or_else(|| next(1))
    }

    /// Whether a plane's part of the SLC cache takes data of a stream, now or when a block of it has been folded.
    pub(super) fn cache_takes(&self, plane: PlaneId, stream: StreamId, plan: &Plan) -> bool {
        let waits = plan.config.slc.full == Full::Wait;
        let folds = || self.blocks.folds_for(plane, stream);
        !self.is_broken(plane) && (self.blocks.room(plane, stream, false) || waits && folds())
    }

    /// The stream that takes what waits for the SLC cache in one of a plane, where the cache takes no more of it; of no
    /// plane, where no plane takes any to which it is written.
    pub fn diverts(&self, plane: Option<PlaneId>, stream: StreamId, plan: &Plan) -> Option<StreamId> {
        let Some(plane) = plane else { return self.diverts_all(stream, plan) };
        if stream == StreamId::CONVERTED {
            return (!self.converts_more(plane)).then_some(StreamId::RELOCATED);
        }
        // A zone's data leaves the cache in its order: nothing of it goes past.
        let waits = plan.zones.is_some() && stream == IN_ORDER;
        plan.streams.past(stream).filter(|_| !waits && !self.cache_takes(plane, stream, plan))
    }

    fn diverts_all(&self, stream: StreamId, plan: &Plan) -> Option<StreamId> {
        let mut planes = self.planes_that_take(stream, plan);
        let diverts = |plane| self.diverts(Some(plane), stream, plan);
        let past = planes.next().and_then(diverts)?;
        planes.all(|plane| diverts(plane).is_some()).then_some(past)
    }

    /// Whether the SLC cache has room for more data of a plane that is converted into it.
    pub(super) fn converts_more(&self, plane: PlaneId) -> bool {
        self.blocks.room(plane, StreamId::CONVERTED, true)
    }
}

#[cfg(test)]
mod tests {
    use units::{Lpn, Span};

    use super::*;
    use crate::config::Config;
    use crate::flash::{AgeClock, Placement as _};

    fn drive() -> (Ftl, Plan) {
        let mut config = Config::default();
        for setting in [
            "mapping.table=cached",
            "geometry.channels=1",
            "geometry.chips=1",
            "geometry.dies=2",
            "geometry.planes=4",
            "geometry.blocks=200",
        ] {
            config.set(setting).unwrap();
        }
        let plan = config.plan().unwrap();
        (Ftl::new(&plan, 1).unwrap(), plan)
    }

    #[test]
    fn planes_that_have_been_programmed_least_in_a_stream_catch_up() {
        let (mut ftl, plan) = drive();
        let (die, stream) = (DieId(1), StreamId::new(0));
        let all = ftl.planes_for_host(die, stream, &plan);
        assert_eq!(all, 0b1111);
        assert_eq!(ftl.lagging(die, stream, &plan), all);
        for (place, left) in [(2, 0b1011), (0, 0b1010), (1, 0b1000), (3, 0b1111)] {
            let plane = plan.layout.plane(die, place);
            if ftl.blocks.make_room(plane, stream) {
                ftl.blocks.open_erased(plane, stream);
            }
            ftl.take_page(plane, stream, Some(Lpn(0)), AgeClock::warmer_by(Span::ZERO, 0.0));
            assert_eq!(ftl.lagging(die, stream, &plan), left);
        }
    }

    /// A drive whose planes can hold each other's data goes on until its blocks are too few for the data.
    #[test]
    fn a_plane_takes_data_as_long_as_it_has_spare_blocks() {
        let mut config = Config::default();
        ["ftl.over_provisioning=2", "age.fill=1"].iter().for_each(|word| config.set(word).unwrap());
        let plan = config.plan().unwrap();
        let (mut ftl, plane, mut left) = (Ftl::new(&plan, 1).unwrap(), PlaneId(0), plan.layout.blocks);
        while left > plan.space.needed + 1 {
            assert!(ftl.stays_collectable(plane, &plan), "{left} blocks are left, and {} needed", plan.space.needed);
            ftl.blocks.retire(plane, left);
            left -= 1;
        }
        assert!(left < plan.layout.blocks / 2);
    }

    #[test]
    fn a_plane_that_has_broken_takes_nothing_and_its_die_works_with_the_rest() {
        let (mut ftl, plan) = drive();
        let held = vec![0; plan.layout.planes as usize];
        assert_eq!((ftl.working_dies(&plan), ftl.next_map_plane(3, &held, &plan)), (2, PlaneId(4)));
        for place in 0..4 {
            assert_eq!(ftl.working_dies(&plan), 2);
            let plane = plan.layout.plane(DieId(1), place);
            ftl.relocator.breaks(plane);
            ftl.blocks.retire_all(plane);
        }
        assert_eq!((ftl.working_dies(&plan), ftl.planes_for_host(DieId(1), StreamId::new(0), &plan)), (1, 0));
        assert_eq!(ftl.next_map_plane(3, &held, &plan), PlaneId(0));
    }
}
