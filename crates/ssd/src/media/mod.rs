//! Flash without a drive: no host link, no buffer, no FTL. Its host names the pages that are read and programmed and
//! the blocks that are erased, and the flash does the rest: buses, registers, suspension, decoders, retries and what
//! predicts them on the die.
//!
//! | file | what |
//! |---|---|
//! | `command.rs` | what is asked, and what became of it |
//! | `order.rs` | commands of a block take effect in their order |
//! | `blocks.rs` | what the blocks hold, their wear and their ages: what the flash asks of the layer above |
//! | `faults.rs` | programs and erases that fail, and parts that break |
//!
//! [`Media`] is an owner of the flash as [`Device`](crate::Device) is: what a [`Device`](crate::Device) finds out by
//! its map, its host says.

mod blocks;
mod command;
mod faults;
mod order;

use std::collections::VecDeque;
use std::ops::Range;
use std::vec::Drain;

use foldhash::{HashMap, HashMapExt as _};
use nand::{ChannelId, DieId};
use schemes::Class;
use units::{Bytes, ConfigError, Lpn, Span, Temperature, Time};

pub use command::{MediaBatchError, MediaCommand, MediaCompletion, MediaOp, MediaStatus, PageAddress, Rule};

use crate::arena::{Arena, CommandId, OpId};
use crate::config::{AgeConfig, Config, PastLoad, Plan, Precondition};
use crate::core::{Core, Marks, Resource};
use crate::error::RunError;
use crate::flash::op::{Owner, PageData, PageOp};
use crate::flash::{Begun, Ended, Flash, FlashAt, FlashView, QueueId};
use crate::observe::probe::Unwatched;
use crate::observe::stats::{Counters, Steps, die};
use crate::persist::{Reader, State as _, Writer, state, stored};
use crate::streams::StreamId;
use blocks::MediaBlocks;
use order::BlockOrder;

/// The sections of a configuration that flash without a drive has.
pub const SECTIONS: [&str; 12] =
    ["geometry", "chip", "bus", "ecc", "wear", "faults", "read", "schedule", "erase", "energy", "thermal", "age"];

/// What the flash is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaShape {
    /// Channels.
    pub channels: u32,
    /// Dies, over all channels.
    pub dies: u32,
    /// Planes of a die.
    pub planes: u32,
    /// Blocks of a plane.
    pub blocks: u32,
    /// Pages of a block.
    pub pages: u32,
    /// Data bytes of a page.
    pub page_size: Bytes,
    /// Pages that one program writes, neighbours in their block: 1, or those of a wordline (`chip.program_unit`).
    pub program_pages: u32,
}

/// A command that has been taken up, or that waits for another one of its block.
struct UnderWay {
    id: u64,
    command: MediaCommand,
    /// Pages whose program has not ended; and whether one has failed.
    left: u32,
    failed: bool,
}

/// Flash that its host manages. See the [module documentation](self).
pub struct Media {
    core: Core<Unwatched>,
    seed: u64,
    /// Number of the next command.
    next_id: u64,
    last_arrival: Time,
    arrivals: VecDeque<(u64, MediaCommand)>,
    commands: Arena<CommandId, UnderWay>,
    /// Of blocks of which something is under way, by their numbers.
    orders: HashMap<usize, BlockOrder>,
    completions: Vec<MediaCompletion>,
    blocks: MediaBlocks,
    flash: Flash,
}

impl Config {
    /// This configuration as flash without a drive: the sections of the layers above it have no meaning.
    pub fn of_media(&self) -> Config {
        let mut media = Config {
            geometry: self.geometry.clone(),
            chip: self.chip.clone(),
            bus: self.bus.clone(),
            ecc: self.ecc.clone(),
            wear: self.wear.clone(),
            faults: self.faults.clone(),
            read: self.read.clone(),
            schedule: self.schedule.clone(),
            erase: self.erase.clone(),
            energy: self.energy.clone(),
            thermal: self.thermal.clone(),
            // How the FTL has come into its state is no question.
            age: AgeConfig { load: PastLoad::Auto, precondition: Precondition::None, ..self.age.clone() },
            policies: self.policies.clone(),
            ..Config::default()
        };
        media.policies.ftl = None;
        media
    }
}

impl Media {
    /// Builds the flash of a configuration in the state that `age` describes: of each plane the first blocks, by
    /// `age.fill`, are full.
    ///
    /// # Errors
    /// The configuration is refused: the error names the key.
    pub fn new(config: &Config, seed: u64) -> Result<Media, ConfigError> {
        let plan = config.of_media().plan_of_media()?;
        let mut flash = Flash::new(&plan, seed);
        flash.faults_count_from(Time::ZERO);
        Ok(Media {
            seed,
            next_id: 0,
            last_arrival: Time::ZERO,
            arrivals: VecDeque::new(),
            commands: Arena::new(),
            orders: HashMap::new(),
            completions: Vec::new(),
            blocks: MediaBlocks::new(&plan, seed),
            flash,
            core: Core::new(plan, seed, Unwatched),
        })
    }

    /// What it is made of.
    pub fn shape(&self) -> MediaShape {
        let layout = &self.core.plan.layout;
        MediaShape {
            channels: layout.channels,
            dies: layout.dies,
            planes: layout.planes_per_die,
            blocks: layout.blocks,
            pages: layout.pages,
            page_size: layout.page_size,
            program_pages: self.core.plan.unit_pages,
        }
    }

    /// The worked-out configuration.
    pub fn plan(&self) -> &Plan {
        &self.core.plan
    }

    /// The seed of its random streams.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The present simulated time.
    pub fn now(&self) -> Time {
        self.core.now
    }

    /// The latest time for which a command can be submitted.
    pub fn latest(&self) -> Time {
        Time(self.core.agenda.horizon().0 / 2)
    }

    /// Commands that were submitted and have not ended.
    pub fn outstanding(&self) -> u64 {
        (self.arrivals.len() + self.commands.len()) as u64
    }

    /// Why it cannot go on, if it has failed.
    pub fn failure(&self) -> Option<&RunError> {
        self.core.life.failure.as_ref()
    }

    /// Whether nothing is under way.
    pub fn rests(&self) -> bool {
        self.outstanding() == 0 && self.core.agenda.peek().is_none()
    }

    /// Whether the factory found the block of an address bad (`wear.factory_bad`).
    ///
    /// # Errors
    /// There is no such page.
    pub fn is_bad(&self, at: PageAddress) -> Result<bool, RunError> {
        self.check_address(at)?;
        Ok(self.blocks.is_bad(at))
    }

    /// The page of an address's block that is programmed next; none where the block is full, not erased or bad.
    ///
    /// # Errors
    /// There is no such page.
    pub fn next_page(&self, at: PageAddress) -> Result<Option<u32>, RunError> {
        self.check_address(at)?;
        Ok(self.blocks.next_page(at))
    }

    /// Counts of what has happened since the start.
    pub fn counters(&self) -> &Counters {
        &self.core.counters
    }

    /// Retry steps of the pages read.
    pub fn steps(&self) -> &Steps {
        self.flash.steps()
    }

    /// Where the time of each die has gone.
    pub fn die_times(&self) -> Vec<[Span; die::CAUSES.len()]> {
        self.flash.die_times(self.core.now).collect()
    }

    /// Submits a command; returns its number, which counts from 0. Commands of one block take effect in the order in
    /// which they are submitted, others as the flash gets to them.
    ///
    /// # Errors
    /// There is no such page, or it comes too late: before the present, or before an earlier command. Then nothing has
    /// changed. What breaks a rule of the chip is no error here, but the status of the command.
    pub fn submit(&mut self, command: MediaCommand) -> Result<u64, RunError> {
        self.check(&command)?;
        if self.arrivals.is_empty() {
            self.core.agenda.set(self.core.slots.arrival, command.time);
        }
        let id = self.next_id;
        (self.next_id, self.last_arrival) = (id + 1, command.time);
        self.arrivals.push_back((id, command));
        Ok(id)
    }

    /// Submits commands, as [`Media::submit`] does one by one; returns their numbers.
    ///
    /// # Errors
    /// One is refused: its index, and why. Those before it have been submitted, it and those after it have not.
    pub fn submit_all(&mut self, commands: &[MediaCommand]) -> Result<Range<u64>, MediaBatchError> {
        let first = self.next_id;
        for (index, command) in commands.iter().enumerate() {
            self.submit(*command).map_err(|error| MediaBatchError { index, error })?;
        }
        Ok(first..self.next_id)
    }

    fn check(&self, command: &MediaCommand) -> Result<(), RunError> {
        let (earliest, latest) = (self.last_arrival.max(self.core.now), self.latest());
        if command.time < earliest {
            return Err(RunError::BackInTime { time: command.time, earliest });
        }
        if command.time > latest {
            return Err(RunError::BeyondHorizon { time: command.time, latest });
        }
        self.check_address(command.at)?;
        let shape = self.shape();
        if command.op == MediaOp::Erase && command.at.page != 0 {
            return Err(refuse(format!("an erase names {}", command.at), "erases are of blocks: name page 0"));
        }
        if u64::from(command.bytes) > shape.page_size.0 {
            let problem = format!("a read asks for {} B of a page", command.bytes);
            return Err(refuse(problem, &format!("a page has {} B; 0 is all", shape.page_size.0)));
        }
        Ok(())
    }

    fn check_address(&self, at: PageAddress) -> Result<(), RunError> {
        let shape = self.shape();
        for (what, number, count) in [
            ("die", at.die, shape.dies),
            ("plane", at.plane, shape.planes),
            ("block", at.block, shape.blocks),
            ("page", at.page, shape.pages),
        ] {
            if number >= count {
                return Err(refuse(format!("there is no {at}"), &format!("write a {what} from 0 to {}", count - 1)));
            }
        }
        Ok(())
    }

    /// Plays everything that happens up to and including `time`.
    ///
    /// # Errors
    /// It cannot go on: what has ended until then can be taken.
    pub fn advance(&mut self, time: Time) -> Result<(), RunError> {
        self.play(time, false)?;
        self.core.now = self.core.now.max(time);
        Ok(())
    }

    /// Plays until commands end, or until nothing happens up to `limit`; returns whether completions can be taken.
    ///
    /// # Errors
    /// See [`Media::advance`].
    pub fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError> {
        if self.completions.is_empty() {
            self.play(limit, true)?;
        }
        Ok(!self.completions.is_empty())
    }

    /// Takes the commands that have ended, in the order in which they did.
    pub fn take_completions(&mut self) -> Drain<'_, MediaCompletion> {
        self.completions.drain(..)
    }

    /// Takes the first of them, this many at most.
    pub fn take_first(&mut self, most: usize) -> Drain<'_, MediaCompletion> {
        let end = most.min(self.completions.len());
        self.completions.drain(..end)
    }

    /// When something happens next, if nothing is submitted before. Nothing ends earlier.
    pub fn next_event(&self) -> Option<Time> {
        self.upcoming(Time::NEVER).map(|(time, _)| time).filter(|_| self.failure().is_none())
    }

    /// What is under way is played; then all data grows older by `span`, at a temperature or at that of its rest.
    ///
    /// # Errors
    /// See [`Media::advance`].
    pub fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError> {
        self.play(Time::NEVER, false)?;
        if span > Span::ZERO {
            let faster = at.unwrap_or(self.core.plan.at_rest).acceleration();
            let now = self.flash.age_clock(self.core.now);
            let age = Span((span.0 as f64 * faster) as u64);
            self.blocks.rest(now, age);
            self.flash.rest(self.core.now, span, age);
        }
        Ok(())
    }

    fn play(&mut self, limit: Time, stop_at_completion: bool) -> Result<(), RunError> {
        let horizon = self.core.agenda.horizon();
        while self.core.life.failure.is_none()
            && let Some((time, resource)) = self.upcoming(limit)
            && time <= limit
        {
            if time == horizon {
                self.core.life.failure = Some(RunError::BeyondHorizon { time, latest: horizon });
                break;
            }
            self.core.now = time;
            self.core.counters.events += 1;
            self.on_event(resource);
            self.settle();
            if self.core.plan.asks
                && let Some(mistake) = self.core.plan.config.policies.mistake()
            {
                self.core.life.failure = Some(RunError::Config(mistake.clone()));
            }
            if stop_at_completion && !self.completions.is_empty() {
                break;
            }
        }
        self.core.life.failure.clone().map_or(Ok(()), Err)
    }

    fn upcoming(&self, limit: Time) -> Option<(Time, Resource)> {
        let next = self.core.agenda.peek().map(|(time, slot)| (time, self.core.slots.resource(slot)));
        let (due, until) = (self.flash.fault_due, next.map_or(limit, |(time, _)| time));
        if due <= self.core.now || (due < until && until != Time::NEVER) {
            return Some((due.max(self.core.now), Resource::Fault));
        }
        next
    }

    fn on_event(&mut self, resource: Resource) {
        match resource {
            Resource::Decoder(channel) => self.on_decoded(channel),
            Resource::Bus(channel) => self.flash().bus_event(channel),
            Resource::Die(die) => self.on_die(die),
            Resource::Energy => self.flash().energy_is_paid(),
            Resource::Arrival => self.on_arrival(),
            Resource::Fault => self.on_fault(),
            Resource::Firmware
            | Resource::WriteData
            | Resource::ReadCompletion
            | Resource::WriteCompletion
            | Resource::HostIdle
            | Resource::Patrol
            | Resource::Cut => unreachable!("Invariant: these are a drive's"),
        }
    }

    fn flash(&mut self) -> FlashAt<'_, Unwatched, MediaBlocks> {
        FlashAt { flash: &mut self.flash, core: &mut self.core, placement: &mut self.blocks }
    }

    fn view(&self) -> FlashView<'_, MediaBlocks> {
        FlashView { flash: &self.flash, plan: &self.core.plan, placement: &self.blocks, read_only: false }
    }

    /// What was marked goes on.
    fn settle(&mut self) {
        // What a drive's other layers wait for is nobody's here.
        while self.core.marks.set & !Marks::WAITING != 0 {
            match self.flash().settle() {
                Some(Begun::Program { die, lead, writes }) => {
                    let set = self.view().plane_group(die, lead, writes, false);
                    self.flash().load_program(die, lead, writes, set);
                    self.flash().has_started(die);
                }
                Some(Begun::HostRead(_) | Begun::Erase { .. }) => {
                    unreachable!("Invariant: nothing waits for a read, and no stream opens a block")
                }
                None => {}
            }
        }
    }

    /// The commands of a moment arrive together: planes that are addressed at once go together.
    fn on_arrival(&mut self) {
        while let Some((id, command)) = self.arrivals.front().copied().filter(|(_, next)| next.time <= self.core.now) {
            self.arrivals.pop_front();
            let command = self.commands.insert(UnderWay { id, command, left: 0, failed: false });
            self.take_up(command);
        }
        let next = self.arrivals.front().map_or(Time::NEVER, |(_, next)| next.time);
        self.core.agenda.set(self.core.slots.arrival, next);
    }

    /// A command begins, or waits for another one of its block.
    fn take_up(&mut self, command: CommandId) {
        let MediaCommand { op, at, .. } = self.commands[command].command;
        let (block, programming) = (self.blocks.index_of(at), self.blocks.is_being_programmed(at));
        let order = self.orders.entry(block).or_default();
        if !order.waiting.is_empty() || !order.lets(op, programming) {
            return order.waiting.push_back(command);
        }
        self.begin(command);
        self.leave(block);
    }

    /// Commands of a block have ended: those that waited for them go on.
    fn go_on(&mut self, block: usize) {
        while let Some(command) = self.orders.get(&block).and_then(|order| order.waiting.front().copied()) {
            let MediaCommand { op, at, .. } = self.commands[command].command;
            let programming = self.blocks.is_being_programmed(at);
            let order = self.orders.get_mut(&block).expect("Invariant: something waits");
            if !order.lets(op, programming) {
                break;
            }
            order.waiting.pop_front();
            self.begin(command);
        }
        self.leave(block);
    }

    /// Of a block of which nothing is under way nothing is kept.
    fn leave(&mut self, block: usize) {
        if self.orders.get(&block).is_some_and(BlockOrder::is_over) {
            self.orders.remove(&block);
        }
    }

    /// A command that depends on no other one begins, unless a rule of the chip is against it.
    fn begin(&mut self, command: CommandId) {
        let MediaCommand { op, at, .. } = self.commands[command].command;
        if let Some(rule) = self.blocks.rule_against(op, at) {
            return self.complete(command, MediaStatus::Refused(rule), 0, false);
        }
        let block = self.blocks.index_of(at);
        self.orders.get_mut(&block).expect("Invariant: its block has an order").begins(op);
        match op {
            MediaOp::Read => self.read(command),
            MediaOp::Program => self.program(command),
            MediaOp::Erase => self.erase(command),
        }
    }

    fn read(&mut self, command: CommandId) {
        let MediaCommand { at, bytes, .. } = self.commands[command].command;
        let page = self.core.plan.layout.page_size.0 as u32;
        let bytes = if bytes == 0 { page } else { bytes };
        let moved = self.core.plan.read_transfer(0, bytes);
        let (lpn, ppn) = (self.blocks.lpn(at), self.blocks.ppn(at));
        self.flash().queue_read(Class::UserRead, Owner::Host(command), lpn, ppn, (moved, bytes));
    }

    fn program(&mut self, command: CommandId) {
        let MediaCommand { at, .. } = self.commands[command].command;
        let (pages, size) = (self.core.plan.unit_pages, self.core.plan.layout.page_size.0 as u32);
        self.commands[command].left = pages;
        self.blocks.queue(at, pages);
        let queue = QueueId::of_programs(StreamId::new(0), at.plane as usize);
        let (Lpn(first), ppn) = (self.blocks.lpn(at), self.blocks.ppn(at));
        for page in 0..u64::from(pages) {
            let (seq, place) = (self.flash.number(), (DieId(at.die as u16), queue));
            let op = PageOp { seq, ..PageOp::new(Owner::Host(command), Lpn(first + page), ppn, place, size) };
            let op = self.flash.ops.insert(op);
            self.flash().one_more_waits();
            self.flash().queue_program(op);
        }
    }

    fn erase(&mut self, command: CommandId) {
        let MediaCommand { at, .. } = self.commands[command].command;
        self.blocks.erase_begins(at);
        let (seq, place) = (self.flash.number(), (DieId(at.die as u16), QueueId::of_erases(at.plane as usize)));
        let op = PageOp { seq, ..PageOp::new(Owner::Host(command), Lpn(0), self.blocks.ppn(at), place, 0) };
        let op = self.flash.ops.insert(op);
        self.flash().queue_erase(op);
    }

    /// A page is decoded.
    fn on_decoded(&mut self, channel: ChannelId) {
        let Some((id, data)) = self.flash().decoded(channel) else { return };
        let PageOp { ppn, read, .. } = self.flash.ops[id];
        let command = self.owner(id);
        self.flash.ops.release(id);
        self.core.counters.pages_read += 1;
        self.blocks.count_read(ppn.get(), read.retries.into(), &self.core.plan);
        let is_lost = matches!(data, PageData::Lost | PageData::GivenUp);
        self.core.counters.media_errors += u64::from(is_lost);
        let status = if is_lost { MediaStatus::Uncorrectable } else { MediaStatus::Success };
        self.end(command, status, read.retries, data == PageData::Wrong);
    }

    /// Something in the array of a die has ended.
    fn on_die(&mut self, die: DieId) {
        let mut ended = self.flash().array_event(die);
        loop {
            match ended {
                Ended::Program { first, planes } => self.program_ended(die, first, planes),
                Ended::Erase(first) => self.erase_ended(first),
                Ended::Nothing => break,
                Ended::EraseOpened { .. } | Ended::Idleness => {
                    unreachable!("Invariant: no stream opens a block, and nothing is collected")
                }
            }
            ended = self.flash().after_array_event(die);
        }
    }

    /// The command that a page operation is of.
    fn owner(&self, op: OpId) -> CommandId {
        match self.flash.ops[op].owner {
            Owner::Host(command) => command,
            _ => unreachable!("Invariant: everything is the host's"),
        }
    }

    /// A command that had been begun ends.
    fn end(&mut self, command: CommandId, status: MediaStatus, retries: u16, miscorrected: bool) {
        let MediaCommand { op, at, .. } = self.commands[command].command;
        let block = self.blocks.index_of(at);
        self.orders.get_mut(&block).expect("Invariant: its block has an order").ends(op);
        self.complete(command, status, retries, miscorrected);
        self.go_on(block);
    }

    fn complete(&mut self, id: CommandId, status: MediaStatus, retries: u16, miscorrected: bool) {
        let UnderWay { id: number, command, .. } = self.commands[id];
        self.commands.release(id);
        self.core.counters.requests_completed += 1;
        let finish = self.core.now;
        self.completions.push(MediaCompletion { id: number, command, finish, status, retries, miscorrected });
    }

    /// Checks the conservation laws that hold at every moment between events.
    ///
    /// # Errors
    /// What does not hold: a defect.
    pub fn check_laws(&self) -> Result<(), String> {
        let elapsed = self.core.now.since(Time::ZERO);
        for (die, times) in self.die_times().iter().enumerate() {
            let sum: u64 = times.iter().map(|span| span.0).sum();
            if sum != elapsed.0 {
                return Err(format!("die {die} accounts for {sum} ns of {} ns", elapsed.0));
            }
        }
        let (done, ops) = (self.core.counters.requests_completed, self.flash.ops.len());
        if done + self.outstanding() != self.next_id {
            return Err(format!(
                "{} commands came in, {done} ended, {} are outstanding",
                self.next_id,
                self.outstanding()
            ));
        }
        if self.rests() && (ops > 0 || self.flash.attempts_under_way() > 0 || !self.orders.is_empty()) {
            return Err(format!("{ops} page operations and {} orders of blocks are left over", self.orders.len()));
        }
        self.view().check_schedule(0, self.core.agenda.peek().is_none())
    }

    /// Writes its whole state.
    pub(crate) fn write_state(&self, to: &mut Writer) {
        self.save(to);
    }

    /// Takes a state that was written, where it was built from the same.
    pub(crate) fn read_state(&mut self, from: &mut Reader) -> std::io::Result<()> {
        self.load(from)?;
        self.flash.loaded(&mut self.core.plan);
        Ok(())
    }
}

/// The error of a command that cannot be one.
fn refuse(problem: String, remedy: &str) -> RunError {
    let origin = "media".into();
    RunError::Config(ConfigError { origin, line: None, key: None, problem, remedy: remedy.into() })
}

state! {
    Media {
        stored { next_id, last_arrival, arrivals, commands, orders, completions }
        parts { core, blocks, flash }
        rebuilt { seed }
    }
}

stored! {
    UnderWay { id, command, left, failed }
}
