//! A controller: what one host has of a drive. Its commands come by its admin queue.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::command::{Answer, Command, CommandId, ControllerId, Outcome, QueueId, Refused, admin, fabrics};
use crate::directives;
use crate::fdp;
use crate::features::{Features, NAMESPACES, WARNINGS, ZONES, feature};
use crate::health::{Health, Snapshot};
use crate::identify::{MOST_ERRORS, MOST_EVENTS, Own, VERSION, identify};
use crate::io::{self, Io, Planned, Rules};
use crate::limits::QUEUE_ENTRIES;
use crate::log_pages::{self, Asked, Failed, page};
use crate::namespace::{Management, Namespace};
use crate::sanitize::{Shared, wanted_format};
use crate::status::Status;
use crate::subsystem::Subsystem;

/// Who a host is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name (NQN).
    pub nqn: String,
    /// Its identifier.
    pub id: [u8; 16],
}

/// A controller.
pub struct Controller {
    /// Its number.
    pub id: ControllerId,
    /// The drive's number in the target; none of a discovery controller.
    pub drive: Option<usize>,
    /// Whose it is.
    pub host: Host,
    /// What the drive's controllers share.
    shared: Arc<Mutex<Shared>>,
    state: Mutex<State>,
}

struct State {
    /// Controller configuration, and status (Base 2.0, 3.1.3.5 and 3.1.3.6).
    configuration: u32,
    status: u32,
    features: Features,
    /// What features are after a reset: none is saved.
    defaults: Features,
    streams: directives::Streams,
    /// Async Event Requests that wait, by the commands' names.
    events: VecDeque<CommandId>,
    /// How many of them a reset has ended, which are answered no more and have not been counted off yet.
    ended_events: usize,
    /// Critical warnings that the host has been told of: it hears of them again when they have gone and come again.
    told: u8,
    /// Commands that failed, the newest first, and how many have.
    errors: VecDeque<Failed>,
    failed: u64,
    /// Sanitize operations that the host has been told of.
    sanitized: u64,
    /// Read-only and offline zones that the host knows of, by their first bytes; and namespaces of which it has been
    /// told that there are more.
    known_zones: BTreeSet<u64>,
    told_zones: BTreeSet<u32>,
    /// Its queues, by their numbers.
    queues: BTreeMap<QueueId, Joined>,
    /// Queues that have connected so far.
    joined: u64,
}

/// A queue that has connected.
struct Joined {
    /// The how-manieth of the controller.
    number: u64,
    /// Ends its connection.
    end: Box<dyn Fn() + Send>,
}

/// What an admin command needs to know.
pub struct Surroundings<'a> {
    /// The drive; none of a discovery controller.
    pub drive: Option<&'a Subsystem>,
    /// Controllers of the subsystem.
    pub controllers: &'a dyn Fn() -> Vec<ControllerId>,
    /// The drive as it is; none if it has ended.
    pub snapshot: &'a dyn Fn() -> Option<Snapshot>,
    /// Its zones that are read-only or offline.
    pub broken_zones: &'a dyn Fn() -> Option<Vec<u64>>,
    /// The discovery log.
    pub discovery: &'a dyn Fn() -> Vec<u8>,
}

/// What becomes of an admin command.
pub enum Does {
    /// It is answered.
    Answer(Outcome),
    /// It is answered later: a request for events.
    Waits,
    /// The drive does something, and then it is answered.
    Drive(Io),
    /// It is answered, and the drive does something afterwards.
    Sanitize(Io),
}

impl Does {
    /// What these namespaces hold is no more.
    fn empties(namespaces: Vec<Arc<Namespace>>) -> Does {
        match namespaces.is_empty() {
            true => Does::Answer(Ok(Answer::default())),
            false => Does::Drive(Io::empty(namespaces)),
        }
    }
}

impl From<Outcome> for Does {
    fn from(outcome: Outcome) -> Does {
        Does::Answer(outcome)
    }
}

/// The controller is enabled: CC.EN (Base 2.0, 3.1.3.5).
const ENABLED: u32 = 1;
/// A normal or an abrupt shutdown is asked for: CC.SHN.
const SHUTDOWN: u32 = 3 << 14;
/// It is ready: CSTS.RDY; its shutdown is complete: CSTS.SHST 10b (Base 2.0, 3.1.3.6).
const READY: u32 = 1;
/// All command sets that are supported: CC.CSS (Base 2.0, 3.1.3.5).
const ALL_SETS: u32 = 6;
/// The longest time until it is ready, in halves of a second: CAP.TO and CRTO.CRWMT.
const READY_WITHIN: u64 = 1;
const SHUTDOWN_COMPLETE: u32 = 2 << 2;

impl Controller {
    /// A controller of a host that has connected.
    pub(crate) fn new(
        id: ControllerId,
        drive: Option<usize>,
        host: Host,
        keep_alive: u32,
        of: Option<&Subsystem>,
        shared: Arc<Mutex<Shared>>,
    ) -> Controller {
        let sanitized = {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.namespaces.connects(id);
            shared.sanitize.ended
        };
        let defaults = Features::new(host.id, keep_alive, of);
        let state = State {
            configuration: 0,
            status: 0,
            features: defaults.clone(),
            defaults,
            streams: directives::Streams::default(),
            events: VecDeque::new(),
            ended_events: 0,
            told: 0,
            errors: VecDeque::new(),
            failed: 0,
            sanitized,
            known_zones: BTreeSet::new(),
            told_zones: BTreeSet::new(),
            queues: BTreeMap::new(),
            joined: 0,
        };
        Controller { id, drive, host, shared, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sanitize operation has ended.
    pub fn sanitized(&self, succeeded: bool) {
        self.shared().sanitize.ends(succeeded);
    }

    /// The drive begins with a command whose data has come, or with one that has none: one that `changes` what it
    /// holds, or one that does not. How many sanitize operations have begun until then; one may have since the command
    /// came.
    pub fn begins(&self, changes: bool) -> Result<u64, Status> {
        let sanitize = &mut self.shared().sanitize;
        if let Some(status) = sanitize.refusal() {
            return Err(status);
        }
        sanitize.erased &= !changes;
        Ok(sanitize.begun)
    }

    /// Refuses what a sanitize operation has overtaken: more than `begun` have begun.
    pub fn has_kept(&self, begun: u64) -> Result<(), Status> {
        if self.shared().sanitize.begun == begun { Ok(()) } else { Err(Status::SANITIZE_IN_PROGRESS) }
    }

    /// Whether the host has enabled it.
    pub fn is_enabled(&self) -> bool {
        self.lock().status & READY != 0
    }

    /// How long the host may be silent \[ms]; 0 for ever.
    pub fn keep_alive(&self) -> u32 {
        self.lock().features.keep_alive
    }

    /// Zones that were broken when the host came: it sees them in its first report.
    pub fn begins_with(&self, broken: Vec<u64>) {
        self.lock().known_zones.extend(broken);
    }

    /// Checks a command of an I/O queue.
    pub fn plan(&self, command: &Command) -> Result<Planned, Status> {
        let shared = self.shared();
        let namespace = match io::flushes_all(command) {
            true => None,
            false => Some(shared.namespaces.active(command.namespace(), self.id)?),
        };
        if let Some(status) = shared.sanitize.refusal() {
            return Err(status);
        }
        let state = self.lock();
        let rules = Rules {
            deallocated_is_error: state.features.deallocated_is_error.contains(&command.namespace()),
            writes_through: !state.features.caches,
            streams: state.streams.enabled,
        };
        namespace.map_or_else(|| Ok(io::flush_all(rules)), |namespace| io::plan(command, namespace, rules))
    }

    /// A queue has connected, which `end` ends; none of that number may be there, nor may it be beyond what the host
    /// was given. Gives its number among all that have connected.
    pub fn join(&self, queue: QueueId, end: Box<dyn Fn() + Send>) -> Result<u64, Status> {
        let mut state = self.lock();
        if queue.0 > state.features.queues {
            return Err(Status::CONNECT_INVALID_PARAMETERS);
        }
        if (!queue.is_admin() && state.status & READY == 0) || state.queues.contains_key(&queue) {
            return Err(Status::COMMAND_SEQUENCE_ERROR);
        }
        state.joined += 1;
        let number = state.joined;
        state.queues.insert(queue, Joined { number, end });
        Ok(number)
    }

    /// The connection of a queue has ended that [`Controller::join`] gave a number. With the admin queue all end. After
    /// a reset another one may have its place.
    pub fn leave(&self, queue: QueueId, number: u64) {
        let mut state = self.lock();
        if state.queues.get(&queue).is_some_and(|joined| joined.number == number) {
            state.queues.remove(&queue);
        }
        if queue.is_admin() {
            state.end_queues();
        }
    }

    /// It is no more: no namespace is attached to it.
    pub fn ends(&self) {
        self.shared().namespaces.leaves(self.id);
    }

    /// A command has failed; the status is the field of its completion.
    pub(crate) fn failed(&self, failed: Failed) {
        let mut state = self.lock();
        state.errors.truncate(MOST_ERRORS - 1);
        state.errors.push_front(failed);
        state.failed += 1;
    }

    /// A property is asked for or set (Base 2.0, 6.5 "Property Get" and 6.6 "Property Set").
    pub fn property(&self, command: &Command) -> Outcome {
        let (offset, long) = (command.dword(11), command.dword(10) & 7 == 1);
        if command.dword(10) & 7 > 1 {
            return Err(Status::INVALID_FIELD.into());
        }
        if command.fabrics_type() == fabrics::PROPERTY_SET {
            return match (offset, long) {
                (0x14, false) => self.configure(command.dword(12)),
                _ => Err(Status::INVALID_FIELD.into()),
            };
        }
        let state = self.lock();
        let value = match (offset, long) {
            (0x00, true) => capabilities(self.drive.is_none()),
            (0x08, false) => VERSION.into(),
            (0x14, false) => state.configuration.into(),
            (0x1c, false) => state.status.into(),
            // Half a second until it is ready, with its medium (CRTO: Base 2.0, 3.1.3).
            (0x68, false) => READY_WITHIN,
            _ => return Err(Status::INVALID_FIELD.into()),
        };
        Ok(Answer::result(value))
    }

    /// Sets the controller configuration. With the NVM command set alone no namespaces of others are active.
    fn configure(&self, value: u32) -> Outcome {
        let (mut shared, mut state) = (self.shared(), self.lock());
        let was_enabled = state.configuration & ENABLED != 0;
        let outcome = state.configure(value, self.drive.is_none())?;
        if !was_enabled && value & ENABLED != 0 {
            shared.namespaces.enables(self.id, value >> 4 & 7 == ALL_SETS);
        }
        Ok(outcome)
    }

    /// Takes an admin command with its data.
    pub fn admin(&self, command: &Command, data: &[u8], around: &Surroundings) -> Does {
        if !self.is_enabled() {
            return Does::Answer(Err(Status::COMMAND_SEQUENCE_ERROR.into()));
        }
        let drive = around.drive;
        let outcome = match command.opcode() {
            admin::IDENTIFY => {
                let (controllers, shared) = ((around.controllers)(), self.shared());
                identify(
                    command,
                    &Own { id: self.id, controllers: &controllers, drive, namespaces: &shared.namespaces },
                )
            }
            admin::GET_LOG_PAGE => self.log_page(command, around),
            admin::GET_FEATURES | admin::SET_FEATURES if command.dword(10) as u8 == feature::PLACEMENT_EVENTS => {
                self.placement_events(command, data, drive)
            }
            admin::GET_FEATURES => self.lock().features.get(command, drive),
            admin::SET_FEATURES => {
                let named = self.shared().namespaces.named(command.namespace(), self.id);
                let named = named.map(|named| named.iter().map(|namespace| namespace.number).collect());
                let mut state = self.lock();
                let begun = state.queues.keys().any(|queue| !queue.is_admin());
                state.features.set(command, drive, begun, named)
            }
            admin::ASYNC_EVENT_REQUEST => {
                let mut state = self.lock();
                if state.events.len() < MOST_EVENTS {
                    state.events.push_back(command.id());
                    return Does::Waits;
                }
                Err(Status::AER_LIMIT_EXCEEDED.into())
            }
            admin::KEEP_ALIVE => Ok(Answer::default()),
            // Bit 0: it was not aborted. What a drive has begun with it ends (Base 2.0, 5.1).
            admin::ABORT if drive.is_some() => Ok(Answer::result(1u32)),
            _ => match drive {
                Some(drive) => return self.of_drive(command, data, drive, around),
                None => Err(Status::INVALID_OPCODE.into()),
            },
        };
        outcome.into()
    }

    /// An admin command that is about a drive or its namespaces.
    fn of_drive(&self, command: &Command, data: &[u8], drive: &Subsystem, around: &Surroundings) -> Does {
        let outcome = match command.opcode() {
            admin::DIRECTIVE_SEND | admin::DIRECTIVE_RECEIVE if drive.handles > 0 => {
                let named = self.shared().namespaces.named(command.namespace(), self.id);
                named.map_err(Into::into).and_then(|_| self.lock().streams.command(command, drive))
            }
            admin::SANITIZE => match self.shared().sanitize.begin(command) {
                Ok(true) => return Does::Sanitize(Io::erase(drive)),
                Ok(false) => Ok(Answer::default()),
                Err(status) => Err(status.into()),
            },
            admin::FORMAT | admin::NAMESPACE_MANAGEMENT => {
                return self.empties(command, data, drive).unwrap_or_else(|refused| Does::Answer(Err(refused)));
            }
            admin::NAMESPACE_ATTACHMENT => {
                let there = (around.controllers)();
                let attached = self.shared().namespaces.attach(command, data, &there);
                attached.map(|()| Answer::default()).map_err(Into::into)
            }
            _ => Err(Status::INVALID_OPCODE.into()),
        };
        outcome.into()
    }

    /// Format NVM and Namespace Management: what namespaces held is no more.
    fn empties(&self, command: &Command, data: &[u8], drive: &Subsystem) -> Result<Does, Refused> {
        let mut shared = self.shared();
        if let Some(status) = shared.sanitize.refusal() {
            return Err(status.into());
        }
        if command.opcode() == admin::FORMAT {
            let named = shared.namespaces.named(command.namespace(), self.id)?;
            let format = wanted_format(command)?;
            shared.namespaces.format(&named, format, drive);
            return Ok(Does::empties(named));
        }
        match Management::of(command)? {
            Management::Create => {
                let number = shared.namespaces.create(command, data, drive)?;
                Ok(Does::Answer(Ok(Answer::result(number))))
            }
            Management::Delete => Ok(Does::empties(shared.namespaces.delete(command.namespace())?)),
        }
    }

    /// The feature FDP Events, of a placement handle of a namespace, which all controllers of the drive share.
    fn placement_events(&self, command: &Command, data: &[u8], drive: Option<&Subsystem>) -> Outcome {
        if drive.is_none_or(|drive| drive.handles == 0) {
            return Err(Status::INVALID_FIELD.into());
        }
        let mut shared = self.shared();
        let of = shared.namespaces.active(command.namespace(), self.id)?.clone();
        match command.opcode() {
            admin::GET_FEATURES => shared.events.get(command, &of.handles),
            _ if command.dword(10) & 1 << 31 != 0 => Err(Status::FEATURE_NOT_SAVEABLE.into()),
            _ => shared.events.set(command, data, &of.handles),
        }
    }

    fn log_page(&self, command: &Command, around: &Surroundings) -> Outcome {
        let asked = Asked::of(command)?;
        match (asked.page, around.drive) {
            (page::SUPPORTED, drive) => asked.part(&log_pages::supported(drive)),
            (page::ERRORS, _) => {
                let state = self.lock();
                asked.part(&log_pages::errors(state.errors.iter(), state.failed, MOST_ERRORS))
            }
            (page::DISCOVERY, None) => asked.part(&(around.discovery)()),
            (page::HEALTH, Some(_)) if [0, u32::MAX].contains(&command.namespace()) => {
                let health = (around.snapshot)().ok_or(Status::INTERNAL_ERROR)?.health;
                let state = self.lock();
                asked.part(&log_pages::health(&health, state.warning(&health), state.failed))
            }
            // The log is of the controller (LPA bit 0).
            (page::HEALTH, Some(_)) => Err(Status::INVALID_FIELD.into()),
            (page::FIRMWARE, Some(drive)) => asked.part(&log_pages::firmware(drive)),
            (page::CHANGED_NAMESPACES, Some(_)) => {
                let namespaces = &mut self.shared().namespaces;
                let page = asked.part(&log_pages::changed_namespaces(&namespaces.changed(self.id)))?;
                if !asked.retains {
                    namespaces.has_read(self.id);
                }
                Ok(page)
            }
            (page::CHANGED_ZONES, Some(drive)) if drive.zones().is_some() => {
                self.changed_zones(command, &asked, around)
            }
            (page::COMMANDS, Some(drive)) => asked.part(&log_pages::commands(drive, asked.set)),
            (page::FEATURES, Some(drive)) => asked.part(&log_pages::features_supported(drive)),
            (page::SANITIZE, Some(_)) => asked.part(&self.shared().sanitize.log()),
            (_, Some(drive)) => self.group_log(&asked, drive, around),
            _ => Err(Status::INVALID_LOG_PAGE.into()),
        }
    }

    /// The Changed Zone List of a namespace: zones that have become read-only or offline since the host has read it.
    fn changed_zones(&self, command: &Command, asked: &Asked, around: &Surroundings) -> Outcome {
        let of = self.shared().namespaces.active(command.namespace(), self.id)?.clone();
        if of.kind.zones().is_none() {
            return Err(Status::INVALID_FIELD.into());
        }
        let broken = (around.broken_zones)().ok_or(Status::INTERNAL_ERROR)?;
        let mut state = self.lock();
        let news: Vec<u64> = state.news_of_zones(&broken, &of).collect();
        let blocks: Vec<u64> = news.iter().map(|begin| of.block(*begin)).collect();
        let page = asked.part(&log_pages::changed_zones(&blocks))?;
        if !asked.retains {
            state.known_zones.extend(news);
            state.told_zones.remove(&of.number);
        }
        Ok(page)
    }

    /// A log page of the drive's endurance group, if it is one.
    fn group_log(&self, asked: &Asked, drive: &Subsystem, around: &Surroundings) -> Outcome {
        let of_placement = page::PLACEMENT_CONFIGURATIONS..=page::PLACEMENT_EVENTS;
        let is_there = asked.page == page::ENDURANCE_GROUP || (drive.handles > 0 && of_placement.contains(&asked.page));
        if !is_there {
            return Err(Status::INVALID_LOG_PAGE.into());
        }
        if asked.specific != fdp::GROUP {
            return Err(Status::INVALID_FIELD.into());
        }
        let Snapshot { health, placement } = (around.snapshot)().ok_or(Status::INTERNAL_ERROR)?;
        let placement = || placement.as_ref().ok_or(Status::INTERNAL_ERROR);
        let data = match asked.page {
            page::PLACEMENT_CONFIGURATIONS => placement()?.configurations(drive.volatile_cache),
            page::PLACEMENT_USAGE => placement()?.usage(),
            page::PLACEMENT_STATISTICS => placement()?.statistics(),
            // The events of hosts, or those of the controller: bit 0 of the parameter.
            page::PLACEMENT_EVENTS => {
                let shared = self.shared();
                let (all, mut namespaces) = (drive.areas.len(), shared.namespaces.all());
                let alone = namespaces.next().filter(|_| all == 1 && namespaces.next().is_none());
                let alone = alone.map(|namespace| namespace.number);
                placement()?.events(asked.parameter & 1 != 0, &shared.events, drive.preferred, alone)
            }
            _ => {
                let (unallocated, failed) = (self.shared().namespaces.unallocated(drive), self.lock().failed);
                log_pages::endurance_group(&health, drive.size(), unallocated, failed)
            }
        };
        asked.part(&data)
    }

    /// An event that the host is to be told of, if there is one and it waits for one: the name of its request, and the
    /// result. The type in bits 2:0; what it is in bits 15:8; the log page in bits 23:16; in the second dword what it
    /// is about (Base 2.0, 5.2 "Asynchronous Event Request").
    pub fn event(&self, health: &Health, broken_zones: &[u64]) -> Option<(CommandId, u64)> {
        let mut shared = self.shared();
        let ended = shared.sanitize.ended;
        let mut state = self.lock();
        if state.sanitized < ended {
            let command = state.events.pop_front()?;
            state.sanitized = ended;
            // Of the I/O command set (6h): a sanitize operation has ended (1).
            return Some((command, 6 | 1 << 8 | u64::from(page::SANITIZE) << 16));
        }
        let wants = |notice: u32| state.features.events & notice != 0;
        if wants(NAMESPACES) && shared.namespaces.has_news(self.id) {
            let command = state.events.pop_front()?;
            shared.namespaces.tells(self.id);
            // A notice (2h): namespaces have changed (0).
            return Some((command, 2 | u64::from(page::CHANGED_NAMESPACES) << 16));
        }
        if wants(ZONES) {
            let mut all = shared.namespaces.all_attached(self.id).filter(|of| !state.told_zones.contains(&of.number));
            if let Some(of) = all.find(|of| state.news_of_zones(broken_zones, of).next().is_some()) {
                let command = state.events.pop_front()?;
                state.told_zones.insert(of.number);
                // A notice: descriptors of zones have changed (EFh), of a namespace (ZNS 1.1, 3.1.1).
                return Some((
                    command,
                    2 | 0xef << 8 | u64::from(page::CHANGED_ZONES) << 16 | u64::from(of.number) << 32,
                ));
            }
        }
        let warning = state.warning(health);
        state.told &= warning;
        let news = warning & !state.told & (state.features.events & WARNINGS) as u8;
        if news == 0 {
            return None;
        }
        let command = state.events.pop_front()?;
        // Reliability is degraded (0), a threshold of temperature was crossed (1), little spare is left (2).
        let (what, bits) = match news {
            _ if news & 0x01 != 0 => (2, 0x01),
            _ if news & 0x02 != 0 => (1, 0x02),
            _ => (0, !0x03),
        };
        state.told |= news & bits;
        Some((command, 1 | what << 8 | u64::from(page::HEALTH) << 16))
    }

    /// How many requests for events a reset has ended, since this was asked for last.
    pub fn takes_ended_events(&self) -> usize {
        std::mem::take(&mut self.lock().ended_events)
    }

    /// Whether the host waits for events.
    pub fn awaits_events(&self) -> bool {
        !self.lock().events.is_empty()
    }
}

impl State {
    /// Takes a controller configuration. The command sets (6:4) may be the NVM command set, or all that are supported
    /// (110b); pages have 4 KiB (10:7); arbitration is round robin (13:11).
    fn configure(&mut self, value: u32, is_discovery: bool) -> Outcome {
        let sets = value >> 4 & 7;
        let begins = value & ENABLED != 0 && self.configuration & ENABLED == 0;
        let supported = [0, ALL_SETS].contains(&sets) || (is_discovery && sets == 7);
        if begins && (!supported || value >> 7 & 0xf != 0 || value >> 11 & 7 != 0) {
            return Err(Status::INVALID_FIELD.into());
        }
        let before = std::mem::replace(&mut self.configuration, value);
        if value & SHUTDOWN != 0 {
            self.status |= SHUTDOWN_COMPLETE;
        }
        match (before & ENABLED != 0, value & ENABLED != 0) {
            (false, true) => self.status = READY,
            (true, false) => {
                // A reset: I/O queues are gone, and requests for events, and what the host has set.
                self.status &= SHUTDOWN_COMPLETE;
                self.ended_events += self.events.drain(..).count();
                self.features = self.defaults.clone();
                self.streams = directives::Streams::default();
                self.end_queues();
            }
            _ => {}
        }
        Ok(Answer::default())
    }

    /// Ends the connections of all I/O queues, whose places are free at once.
    fn end_queues(&mut self) {
        self.queues.split_off(&QueueId(1)).values().for_each(|joined| (joined.end)());
    }

    /// Zones of a namespace that are broken and that the host does not know of.
    fn news_of_zones<'a>(&'a self, broken: &'a [u64], of: &'a Namespace) -> impl Iterator<Item = u64> + use<'a> {
        let of_it = broken.iter().copied().filter(|begin| of.kind.zones().is_some() && of.range.contains(begin));
        of_it.filter(|begin| !self.known_zones.contains(begin))
    }

    /// The critical warning, with the temperature in bit 1 (Base 2.0, 5.16.1.3).
    fn warning(&self, health: &Health) -> u8 {
        let kelvin = health.kelvin();
        let outside = kelvin >= self.features.too_warm || kelvin <= self.features.too_cold;
        health.critical_warning | u8::from(outside) << 1
    }
}

/// Controller capabilities (Base 2.0, 3.1.3.1): entries of a queue from 0; contiguous queues (16); half a second for a
/// reset (31:24); command sets (44:37): NVM (bit 0 of them) and those that Identify lists (6), or for discovery none
/// (7); it is ready with its medium (59).
fn capabilities(is_discovery: bool) -> u64 {
    let sets: u64 = if is_discovery { 1 | 1 << 7 } else { 1 | 1 << 6 };
    u64::from(QUEUE_ENTRIES - 1) | 1 << 16 | READY_WITHIN << 24 | sets << 37 | 1 << 59
}
