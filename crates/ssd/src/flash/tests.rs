//! The flash played by itself, below a layer that answers a [`Placement`]'s questions and does nothing else.

use nand::{DieId, FlashPlaneId, PlaneId};
use schemes::{Class, ReadReference};
use units::{Conditions, Id, Lpn, PeCycles, Ppn, Span, Temperature, Time};

use super::attempt::Attempt;
use super::op::{Owner, PageData, PageOp};
use super::queues::QueueId;
use super::state::{Active, Passed, Program};
use super::{AgeClock, Flash, FlashAt, PageConditions, Placement};
use crate::arena::OpId;
use crate::config::{Config, Plan};
use crate::core::{Core, Resource};
use crate::lifetime::Erase;
use crate::observe::probe::Unwatched;
use crate::streams::StreamId;

/// Pages that are read only, all of the same wear and age.
struct Written {
    pec: u32,
    retention: Span,
}

const NO_WRITES: &str = "nothing is programmed or erased here";

impl Placement for Written {
    fn has_room(&self, _: PlaneId, _: StreamId, _: bool) -> bool {
        unreachable!("{NO_WRITES}")
    }
    fn pays(&self, _: PlaneId, _: u32, _: &Plan) -> bool {
        unreachable!("{NO_WRITES}")
    }
    fn spend(&mut self, _: PlaneId, _: u32) {
        unreachable!("{NO_WRITES}")
    }
    fn needs_erase(&self, _: PlaneId, _: StreamId) -> bool {
        false
    }
    fn erase_barrier(&self, _: PlaneId, _: StreamId) -> u64 {
        unreachable!("{NO_WRITES}")
    }
    fn next_place(&self, _: PlaneId, _: StreamId) -> u32 {
        unreachable!("{NO_WRITES}")
    }
    fn open_block(&self, _: PlaneId, _: StreamId) -> u32 {
        unreachable!("{NO_WRITES}")
    }
    fn take_page(&mut self, _: PlaneId, _: StreamId, _: Option<Lpn>, _: AgeClock) -> Ppn {
        unreachable!("{NO_WRITES}")
    }
    fn in_slc(&self, _: PlaneId, _: u32) -> bool {
        false
    }
    fn page_in_slc(&self, _: Ppn) -> bool {
        false
    }
    fn cycles(&self, _: PlaneId, _: u32, _: &Plan) -> u32 {
        self.pec
    }
    fn aged(&self, _: AgeClock) -> Span {
        Span::ZERO
    }
    fn conditions(&self, _: Ppn, _: AgeClock, _: &Plan) -> PageConditions {
        let (pec, retention) = (PeCycles(self.pec), self.retention);
        let conditions = Conditions { pec, retention, temperature: Temperature(30.0), reads: 0 };
        PageConditions { conditions, programmed: None, added_errors: 0.0 }
    }
    fn wants_background(&self, _: DieId, _: &Plan) -> bool {
        false
    }
    fn host_is_next(&self, _: DieId) -> bool {
        false
    }
    fn erase(&mut self, _: FlashPlaneId, _: u32, _: u32) -> Erase {
        unreachable!("{NO_WRITES}")
    }
    fn wears_by(&mut self, _: FlashPlaneId, _: u32, _: f64) {
        unreachable!("{NO_WRITES}")
    }
    fn read_with(&mut self, _: Ppn, _: f64) {}
    fn program_suspended(&mut self, _: Ppn, _: u32) {
        unreachable!("{NO_WRITES}")
    }
}

fn plan(settings: &[&str]) -> Plan {
    let mut config = Config::default();
    settings.iter().for_each(|word| config.set(word).unwrap());
    config.plan().unwrap()
}

/// Reads the first page of dies, all at once; when each read ends, with which retries.
fn read(plan: Plan, mut above: Written, dies: &[u16]) -> Vec<(Time, u16)> {
    let mut flash = Flash::new(&plan, 1);
    let mut core = Core::new(plan, 1, Unwatched);
    let mut ends = vec![(Time::NEVER, 0); dies.len()];
    for (number, die) in dies.iter().enumerate() {
        let ppn =
            core.plan.layout.pack(nand::Address { plane: core.plan.layout.plane(DieId(*die), 0), block: 0, page: 0 });
        let bytes = core.plan.layout.page_size.0 as u32;
        let mut at = FlashAt { flash: &mut flash, core: &mut core, placement: &mut above };
        at.queue_read(Class::UserRead, Owner::Recovery, Lpn(number as u64), ppn, (bytes, bytes));
    }
    loop {
        let mut at = FlashAt { flash: &mut flash, core: &mut core, placement: &mut above };
        assert!(at.settle().is_none(), "nobody above waits for reads");
        let Some((time, slot)) = at.core.agenda.peek() else { return ends };
        at.core.now = time;
        let ended = match at.core.slots.resource(slot) {
            Resource::Decoder(channel) => at.decoded(channel),
            Resource::Bus(channel) => {
                at.bus_event(channel);
                None
            }
            Resource::Die(die) => {
                assert!(matches!(at.array_event(die), super::Ended::Nothing));
                None
            }
            other => unreachable!("{other:?} is not the flash's"),
        };
        if let Some((id, data)) = ended {
            assert_eq!(data, PageData::Right);
            let op = flash.ops[id];
            ends[op.lpn.get().0 as usize] = (time, op.read.retries);
            flash.ops.release(id);
        }
    }
}

#[test]
fn reads_take_what_array_bus_and_decoder_take_and_wait_for_the_bus_alone() {
    let plan = || plan(&["geometry.channels=2", "geometry.chips=2", "geometry.dies=1"]);
    let new = || Written { pec: 0, retention: Span::ZERO };
    let (t_command, t_read, t_dma, t_ecc) = {
        let plan = plan();
        let bytes = plan.layout.page_size.0 as u32;
        (plan.config.bus.t_command, plan.t_read(Ppn(0), false), plan.t_dma(bytes), plan.config.ecc.t_decode)
    };
    let alone = Time::ZERO + t_command + t_read + t_dma + t_ecc;
    assert!(t_dma > t_command && t_ecc > Span::ZERO);
    assert_eq!(read(plan(), new(), &[0]), [(alone, 0)]);
    // Dies 0 and 1 share a channel, on which round robin begins behind die 0; die 2 has the other channel for itself.
    let behind = alone + t_dma;
    assert_eq!(read(plan(), new(), &[0, 1, 2]), [(behind, 0), (alone, 0), (alone, 0)]);
}

#[test]
fn a_page_is_retried_as_its_wear_and_age_say() {
    let retries = |pec, months: u64| {
        let retention = Span(months * 30 * 24 * 3_600_000_000_000);
        read(plan(&["chip.model=tlc48", "read.next=table"]), Written { pec, retention }, &[0])[0].1
    };
    assert_eq!(retries(0, 0), 0);
    let (young, old) = (retries(1000, 1), retries(2000, 12));
    assert!(0 < young && young < old, "{young} {old}");
}

#[test]
fn planes_retry_together_with_the_same_references_and_timing_alone() {
    let attempt = |number, step, t_pre_fallback| Attempt {
        number,
        v_ref: ReadReference::Step(step),
        t_pre_fallback,
        ..Attempt::first(OpId::new(0), DieId(0), QueueId::of_reads(Class::UserRead, 0))
    };
    // Two attempts: which of their read each is, at which step, with which timing; whether one command senses both.
    for (one, other, together) in [
        ((0, 0, false), (0, 0, false), true),
        ((0, 0, false), (0, 3, false), true),
        ((0, 2, false), (1, 2, false), false),
        ((1, 2, false), (0, 2, false), false),
        ((1, 2, false), (1, 2, false), true),
        ((1, 2, false), (4, 2, false), true),
        ((1, 2, false), (1, 3, false), false),
        ((1, 2, true), (1, 2, false), false),
        ((1, 2, true), (1, 2, true), true),
    ] {
        let attempts = [one, other].map(|(number, step, fallback)| attempt(number, step, fallback));
        assert_eq!(attempts[0].goes_with(&attempts[1]), together, "{one:?} and {other:?}");
    }
}

#[test]
fn a_program_waits_in_its_queue_until_it_is_taken_out() {
    // A page of parity that is less than a program: nothing else is asked of the layer above.
    let plan = plan(&["chip.program_unit=wordline", "ftl.raid=parity:4", "ftl.over_provisioning=0.5"]);
    let (mut flash, mut above) = (Flash::new(&plan, 1), Written { pec: 0, retention: Span::ZERO });
    let mut core = Core::new(plan, 1, Unwatched);
    let (die, [queue, other]) = (DieId(1), [0, 1].map(|plane| QueueId::of_programs(StreamId::PARITY, plane)));
    assert!(!flash.waits_in(die, queue));
    let op = flash.ops.insert(PageOp::new(Owner::Recovery, Lpn(0), Ppn(0), (die, queue), 0));
    let mut at = FlashAt { flash: &mut flash, core: &mut core, placement: &mut above };
    at.queue_program(op);
    assert_eq!(
        [(die, queue), (die, other), (DieId(0), queue)].map(|(die, of)| at.flash.waits_in(die, of)),
        [true, false, false]
    );
    assert_eq!(at.empty_queue(die, queue).len(), 1);
    assert!(!flash.waits_in(die, queue));
}

#[test]
fn an_erase_is_suspended_for_a_program_that_the_registers_have_room_for() {
    let plan = plan(&[
        "schedule.suspend_erase=reset-and-resume",
        "schedule.suspend_erase_for=reads-and-writes",
        "chip.erase_loops=1",
        "chip.t_bers=none",
        "chip.t_erase_pulse=3ms",
        "chip.t_erase_verify=100us",
        "chip.cache_program=true",
    ]);
    let (mut flash, mut above) = (Flash::new(&plan, 1), Written { pec: 0, retention: Span::ZERO });
    let mut core = Core::new(plan, 1, Unwatched);
    let (die, of_host) = (DieId(0), StreamId::new(0));
    let [waiting, relocated, loaded] = [of_host, StreamId::RELOCATED, of_host].map(|writes| {
        let queue = QueueId::of_programs(writes, 0);
        flash.ops.insert(PageOp::new(Owner::Recovery, Lpn(0), Ppn(0), (die, queue), 0))
    });
    let queue = flash.ops[waiting].queue;
    let state = &mut flash.dies[die];
    state.queues[queue].push(&mut flash.ops, waiting);
    state.ready.set(queue, true);
    state.active = Some((Active::EraseOpened(of_host, 1), Time(1_000_000)));
    for (ops, suspends) in [(None, true), (Some(relocated), false), (Some(loaded), true)] {
        let program = |ops| Program {
            ops,
            planes: 1,
            ready: Time::ZERO,
            sensing: Span::ZERO,
            pass: 0,
            passed: Passed::default(),
        };
        flash.dies[die].loaded = ops.map(program);
        let at = FlashAt { flash: &mut flash, core: &mut core, placement: &mut above };
        assert_eq!(at.view().is_waited_for(die, Class::Erase), suspends, "{ops:?} in the registers");
    }
}
