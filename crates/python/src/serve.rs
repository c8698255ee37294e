//! Drives served to real programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use array::PreparedLiveArray;
use nbd::Offer;
use nvme::{Access, Area, Hash, Health, Kind, Secret, Secrets, Subsystem};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};
use served::{Clock, Exported, Finished, Listener, MOST_REQUESTS, NotDone, Pace, Recorded, Store, Think, Watched};
use ssd::run::findings;
use ssd::run::{Attended, DeviceWord, DriveInputs, Prepared, PreparedLive, parse, prepare_live, refused, result};
use ssd::stats::Finding;
use ssd::{RequestLog, RunError};
use units::{Bytes, Span, Temperature};
use workload::Source;

use crate::error::{SimulationError, raise, refuse};
use crate::policies::{GivenPolicy, policies_of};
use crate::simulation::{FinishedRun, OnWhat, Options, Simulation, content_hash, finished_run, request_log};

/// How long a look for clients takes at most: signals wait for it.
const LOOK: Duration = Duration::from_millis(50);

/// A server of simulated drives for clients of the NBD protocol, or for hosts of NVMe/TCP.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct Server {
    clock: Clock,
    lag_bound: Span,
    protocol: Protocol,
    state: Mutex<State>,
}

/// A secret: the identifier of its hash function, 0 for none, and the key.
type Given = (u8, Vec<u8>);

/// Who may connect: hosts by their names, and with their secrets and those of the drives for them.
fn access_of(hosts: Option<BTreeSet<String>>, secrets: BTreeMap<String, Vec<Given>>) -> Access {
    let secret = |(hash, key): Given| Secret { hash: Hash::of(hash), key };
    let secrets = secrets.into_iter().filter_map(|(host, given)| {
        let mut given = given.into_iter().map(secret);
        Some((host, Secrets { host: given.next()?, controller: given.next() }))
    });
    Access { hosts, secrets: secrets.collect() }
}

/// How clients ask.
enum Protocol {
    Nbd,
    /// Who may connect.
    Nvme(Box<Access>),
}

impl Protocol {
    /// Who asks, as the manifest says it.
    fn driver(&self) -> &'static str {
        match self {
            Protocol::Nbd => "NBD clients",
            Protocol::Nvme(_) => "NVMe hosts",
        }
    }

    fn start(&self, exported: Vec<(Seen, Exported)>, clock: Clock) -> served::Server {
        match self {
            Protocol::Nbd => {
                nbd::serve(exported.into_iter().map(|(seen, exported)| (seen.offer, exported)).collect(), clock)
            }
            Protocol::Nvme(access) => {
                let exported = exported.into_iter().map(|(seen, exported)| (seen.subsystem, exported)).collect();
                nvme::tcp::serve(exported, (**access).clone(), clock)
            }
        }
    }

    /// Where clients find a drive.
    fn uri(&self, listener: &Listener, drive: &Drive) -> String {
        match self {
            Protocol::Nbd => nbd::uri(&listener.place(), &drive.name),
            Protocol::Nvme(_) => nvme::tcp::uri(&listener.place(), &drive.nqn),
        }
    }
}

/// The least limit of appends that ZASL can hold: twice the least page of memory (NVMe ZNS Command Set, Identify
/// Controller; 0 stands for no limit beside MDTS).
const LEAST_APPEND: Bytes = Bytes(8192);

/// A drive as clients see it, by each protocol.
struct Seen {
    offer: Offer,
    subsystem: Subsystem,
}

/// The parts of a drive that are namespaces of their own: conventional zones, which are written anywhere, and those
/// that are written in order.
fn areas_of(drive: &dyn ssd::Drive) -> Vec<Area> {
    let (size, plan) = (drive.capacity().0, drive.plan());
    let Some(zones) = drive.zones() else { return vec![Area { range: 0..size, kind: Kind::Nvm }] };
    let (config, (max_open, max_active)) = (&plan.config.zones, zones.limits());
    let conventional = u64::from(config.conventional) * zones.size();
    let kind = Kind::Zoned(nvme::Zones {
        count: zones.count() - config.conventional,
        size: zones.size(),
        max_open,
        max_active,
        append_limit: config.append_limit.map(|limit| limit.0),
        read_across: config.read_across,
        random_area: config.random_area.0,
        commit_unit: plan.layout.page_size.0,
    });
    let end = u64::from(zones.count()) * zones.size();
    let anywhere = (conventional > 0).then_some(Area { range: 0..conventional, kind: Kind::Nvm });
    anywhere.into_iter().chain([Area { range: conventional..end, kind }]).collect()
}

impl Seen {
    /// A drive of a name: the device that it is, with its scheme.
    fn new(name: &str, device: &str, scheme: Option<&str>, drive: &dyn ssd::Drive) -> Seen {
        let what = scheme.map_or_else(|| device.to_owned(), |scheme| format!("{device}, {scheme}"));
        let (plan, size) = (drive.plan(), drive.capacity());
        let page = plan.layout.page_size;
        let subsystem = Subsystem {
            areas: areas_of(drive),
            preferred: page,
            queues: plan.config.host.queues,
            handles: plan.config.ftl.hints,
            group_bits: drive.fdp().map_or(0, |fdp| fdp.group_bits()),
            volatile_cache: !plan.config.power.plp,
            ..Subsystem::new(name, &format!("ssdlab {what}"), env!("CARGO_PKG_VERSION"), size)
        };
        let about = format!("simulated drive {what}");
        Seen { offer: Offer { name: name.to_owned(), about, size, preferred: page.0 as u32 }, subsystem }
    }
}

/// A drive whose input has been read and checked: a device, or an array of them.
enum LiveOn {
    Device(Box<PreparedLive>),
    Array(Box<PreparedLiveArray>),
}

impl LiveOn {
    fn prepare(inputs: &DriveInputs, array: Option<&str>, driver: &str) -> Result<LiveOn, RunError> {
        Ok(match array {
            None => LiveOn::Device(Box::new(prepare_live(inputs, driver)?)),
            Some(path) => LiveOn::Array(Box::new(array::prepare_live(inputs, path, driver)?)),
        })
    }

    /// What is prepared of either.
    fn common(&self) -> &PreparedLive {
        match self {
            LiveOn::Device(prepared) => prepared,
            LiveOn::Array(array) => &array.prepared,
        }
    }

    /// How its input was understood.
    fn note(&self) -> Option<&str> {
        match self {
            LiveOn::Device(_) => None,
            LiveOn::Array(array) => array.note.as_deref(),
        }
    }

    fn open(&self, log: Option<Box<dyn RequestLog>>) -> Result<Box<dyn Attended>, RunError> {
        match self {
            LiveOn::Device(prepared) => prepared.open(log),
            LiveOn::Array(array) => array.open(log),
        }
    }
}

enum State {
    Preparing { listener: Listener, drives: Vec<((Seen, Exported), Drive)> },
    Serving { server: served::Server, listener: Listener, drives: Vec<Drive> },
    Stopped,
}

/// What is known of a drive before it is served.
struct Drive {
    name: String,
    /// Its subsystem's.
    nqn: String,
    prepared: LiveOn,
}

impl Server {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the drive of a name, which the only one need not be called by.
    fn of_drive<T>(
        &self,
        name: Option<&str>,
        what: impl FnOnce(&served::Server, usize) -> Result<T, NotDone>,
    ) -> PyResult<T> {
        let state = self.lock();
        let State::Serving { server, drives, .. } = &*state else {
            return Err(SimulationError::new_err("nothing is served"));
        };
        let found = match name {
            None if drives.len() == 1 => Some(0),
            name => drives.iter().position(|drive| Some(drive.name.as_str()) == name),
        };
        let Some(export) = found else {
            let names: Vec<&str> = drives.iter().map(|drive| drive.name.as_str()).collect();
            let remedy = format!("give --drive with one of {}", names.join(", "));
            return Err(refuse(refused(&format!("--drive {}", name.unwrap_or("")), "names no drive", &remedy)));
        };
        what(server, export).map_err(|error| match error {
            NotDone::Busy => {
                let remedy = "wait until the clients have their replies, or end them";
                refuse(refused("the drive", "has requests under way", remedy))
            }
            NotDone::Off => refuse(refused("the drive", "has no power", "restore it first (`ssdlab tell restore`)")),
            NotDone::On => refuse(refused("the drive", "has power", "cut it first (`ssdlab tell cut --stay-off`)")),
            NotDone::Ended => SimulationError::new_err("the drive is served no more"),
            NotDone::Failed(error) => raise(error),
        })
    }

    /// The section `serve` of a result.
    fn section(&self, finished: &Finished) -> Value {
        let of_clients = json!({ "connections": finished.connections, "errors": finished.errors });
        let of_clock = match self.clock {
            Clock::Real => json!({ "clock": "real", "lag_bound_ns": self.lag_bound.0, "lag_ns": finished.lag.json() }),
            Clock::Virtual(Pace { think, grace, depth }) => json!({
                "clock": "virtual",
                "think": text(&think),
                "grace": text(&grace),
                "depth": depth,
                "grace_expired": finished.watched.silences,
                "watched": finished.watched.connections,
                "not_watched": finished.watched.others,
                "unprompted": finished.watched.unprompted,
            }),
        };
        let parts = [of_clock, of_clients].into_iter().filter_map(|part| part.as_object().cloned());
        Value::Object(parts.flatten().collect::<Map<_, _>>())
    }

    /// What the clock has left to the machine.
    fn of_clock(&self, finished: &Finished) -> Option<Finding> {
        match &self.clock {
            Clock::Real => late_replies(finished.lag.quantile(0.99)?, self.lag_bound.0),
            Clock::Virtual(pace) => machine_dependent(&finished.watched, &text(&pace.grace)),
        }
    }
}

/// Replies of the real clock that left late: 1 % by `p99` or more, where `bound` is allowed [ns].
fn late_replies(p99: u64, bound: u64) -> Option<Finding> {
    (p99 > bound).then(|| {
        let us = |span: u64| span as f64 / 1e3;
        let text = format!(
            "1 % of the replies left {} us or more after the drive had done, later than --lag-bound {} us",
            us(p99),
            us(bound)
        );
        let numbers = [("lag_p99_ns", p99 as f64), ("lag_bound_ns", bound as f64)];
        findings::finding("late-replies", text, &numbers, "give it two idle cores, or use --clock virtual")
    })
}

/// A virtual clock that went on before its clients had asked for more: they were silent for longer than `grace`, or
/// asked unprompted.
fn machine_dependent(watched: &Watched, grace: &str) -> Option<Finding> {
    let (silences, unprompted) = (watched.silences, watched.unprompted);
    let of = |count: u64, text: String, remedy: &str| (count > 0).then(|| (text, remedy.to_owned()));
    let silent = of(
        silences,
        format!("--grace {grace} ran out {silences} times while clients that cannot be watched were silent"),
        "give a longer --grace, or --depth as the program's, or use a client that can be watched (docs/serve.md)",
    );
    let timers = of(
        unprompted,
        format!("{unprompted} requests came while others were under way and no reply had caused them"),
        "--clock real plays programs with timers of their own",
    );
    let (said, remedies): (Vec<_>, Vec<_>) = silent.into_iter().chain(timers).unzip();
    (!said.is_empty()).then(|| {
        let text = format!("{}: times depend on the machine's load", said.join("; "));
        let numbers = [("silences", silences as f64), ("unprompted_requests", unprompted as f64)];
        findings::finding("machine-dependent-clock", text, &numbers, remedies.join("; "))
    })
}

#[pymethods]
impl Server {
    /// Clients of NBD come to a socket in the file system or to a TCP address, hosts of NVMe to a TCP address: those of
    /// the names `hosts`, or all; with `secrets` those that prove by them who they are (names, with one secret or that
    /// of the drives too: the identifier of a hash function and the key). The clock is "real" or "virtual"; the bound
    /// is of the real one, the others are of the virtual one.
    #[new]
    #[pyo3(signature = (*, socket, address, nvme, hosts, secrets, clock, think, grace, depth, lag_bound))]
    fn new(
        socket: Option<&str>,
        address: Option<&str>,
        nvme: Option<&str>,
        hosts: Option<BTreeSet<String>>,
        secrets: BTreeMap<String, Vec<Given>>,
        clock: &str,
        think: &str,
        grace: &str,
        depth: u64,
        lag_bound: &str,
    ) -> PyResult<Server> {
        let clock = match clock {
            "real" => Clock::Real,
            _ => Clock::Virtual(Pace {
                think: parse::<Think>("--think", think).map_err(refuse)?,
                grace: parse::<Option<Span>>("--grace", grace).map_err(refuse)?,
                depth: u32::try_from(depth).ok().filter(|depth| *depth <= MOST_REQUESTS).ok_or_else(|| {
                    let remedy = format!("write {} at most, as many as are worked on of a client", MOST_REQUESTS);
                    refuse(refused(&format!("--depth {depth}"), "is too many", &remedy))
                })?,
            }),
        };
        let lag_bound = parse("--lag-bound", lag_bound).map_err(refuse)?;
        let (listener, protocol) = match (socket, address, nvme) {
            (Some(path), ..) => (Listener::unix(Path::new(path)), Protocol::Nbd),
            (_, Some(address), _) => (Listener::tcp("--listen", address, "127.0.0.1:10809"), Protocol::Nbd),
            (.., Some(address)) => (
                Listener::tcp("--nvme", address, "127.0.0.1:4420"),
                Protocol::Nvme(Box::new(access_of(hosts, secrets))),
            ),
            _ => {
                let remedy = "give --socket PATH, --listen HOST:PORT or --nvme HOST:PORT";
                (Err(refused("--socket", "is missing", remedy)), Protocol::Nbd)
            }
        };
        let listener = listener.map_err(refuse)?;
        Ok(Server { clock, lag_bound, protocol, state: Mutex::new(State::Preparing { listener, drives: Vec::new() }) })
    }

    /// Opens a drive, to be served under a name. Its data is kept in the file `data`, or in `memory`, such as "4GiB".
    /// With `records` its requests can be played again. Returns what the user should know of how the input was
    /// understood.
    #[pyo3(signature = (name, device, *, memory, data = None, records = false, after_load = None, scheme = None, age = None, settings = Vec::new(), policies = Vec::new(), **options))]
    fn export(
        &self,
        py: Python<'_>,
        name: String,
        device: &str,
        memory: &str,
        data: Option<PathBuf>,
        records: bool,
        after_load: Option<&str>,
        scheme: Option<&str>,
        age: Option<&str>,
        settings: Vec<String>,
        policies: Vec<GivenPolicy>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Option<String>> {
        let Options { run, output, array, .. } = Options::of(options)?;
        let (policies, raised) = policies_of(policies)?;
        let inputs = DriveInputs {
            version: env!("CARGO_PKG_VERSION"),
            device: DeviceWord::Named(device),
            scheme,
            age,
            settings: &settings,
            policies: &policies,
            options: &run,
            fingerprint: content_hash,
        };
        let prepared = LiveOn::prepare(&inputs, array.as_deref(), self.protocol.driver());
        let prepared = prepared.map_err(|error| raised.raise(error))?;
        let memory = parse::<Bytes>("--memory", memory).map_err(refuse)?;
        let after_load = after_load.map(|span| parse::<Span>("--age-after-load", span)).transpose().map_err(refuse)?;
        let log = request_log(&output, &prepared.common().config)?;
        let live = py.detach(|| prepared.open(log)).map_err(|error| raised.raise(error))?;
        let size = live.drive().capacity();
        let store = match data {
            Some(path) => Store::in_file(&path, size).map_err(refuse)?,
            None => Store::in_memory(memory),
        };
        let file = array.as_deref().and_then(|path| Path::new(path).file_name()?.to_str());
        let seen = Seen::new(&name, file.unwrap_or(device), scheme, live.drive());
        let nqn = seen.subsystem.nqn.clone();
        if nqn.len() > nvme::LONGEST_NAME && matches!(self.protocol, Protocol::Nvme(_)) {
            let problem = format!("is too long: {nqn} has more than {} bytes", nvme::LONGEST_NAME);
            return Err(refuse(refused(&name, &problem, "give the drive a shorter name")));
        }
        let limit = live.drive().plan().config.zones.append_limit;
        if matches!(self.protocol, Protocol::Nvme(_)) && limit.is_some_and(|limit| limit < LEAST_APPEND) {
            let problem = "cannot be told to a host over NVMe, whose limit of appends (ZASL) is 8 KiB at least";
            return Err(refuse(refused("zones.append_limit", problem, "set 8KiB or more, or none")));
        }
        let exported = (seen, Exported { live, store, records, after_load });
        let texts = prepared.common().findings.iter().map(|finding| finding.text.as_str());
        let known: Vec<&str> = prepared.note().into_iter().chain(texts).collect();
        let note = (!known.is_empty()).then(|| {
            known.join(
                "
",
            )
        });
        match &mut *self.lock() {
            State::Preparing { drives, .. } => drives.push((exported, Drive { name, nqn, prepared })),
            State::Serving { .. } | State::Stopped => return Err(SimulationError::new_err("the server has begun")),
        }
        Ok(note)
    }

    /// Begins to serve; returns the URI of each drive.
    fn start(&self) -> PyResult<Vec<String>> {
        let mut state = self.lock();
        let State::Preparing { listener, drives } = std::mem::replace(&mut *state, State::Stopped) else {
            return Err(SimulationError::new_err("the server has begun"));
        };
        let (exported, drives): (Vec<(Seen, Exported)>, Vec<Drive>) = drives.into_iter().unzip();
        let server = self.protocol.start(exported, self.clock);
        let uris = drives.iter().map(|drive| self.protocol.uri(&listener, drive)).collect();
        *state = State::Serving { server, listener, drives };
        Ok(uris)
    }

    /// Looks after clients for a moment; returns whether some have asked for something and all have left.
    fn attend(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| match &mut *self.lock() {
            State::Serving { server, listener, .. } => {
                server
                    .attend(listener, LOOK)
                    .map_err(|error| SimulationError::new_err(format!("the socket: {error}")))?;
                Ok(server.abandoned())
            }
            State::Preparing { .. } | State::Stopped => Ok(true),
        })
    }

    /// Lets time pass for a drive that has nothing to do, at a temperature or at that of its rest; what is measured
    /// begins then. A server of one drive needs no name.
    #[pyo3(signature = (drive, span, at))]
    fn rest(&self, py: Python<'_>, drive: Option<&str>, span: &str, at: Option<&str>) -> PyResult<()> {
        let span = parse::<Span>("--for", span).map_err(refuse)?;
        let at = at.map(|at| parse::<Temperature>("--at", at)).transpose().map_err(refuse)?;
        py.detach(|| self.of_drive(drive, |server, export| server.rest(export, span, at)))
    }

    /// Writes a checkpoint of a drive that has nothing to do.
    fn save(&self, py: Python<'_>, drive: Option<&str>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.of_drive(drive, |server, export| server.save(export, path)))
    }

    /// Cuts the power of a drive: what is under way is aborted, and what was not durable is gone. It comes back at
    /// once, or stays off until it is restored.
    fn cut(&self, py: Python<'_>, drive: Option<&str>, stays_off: bool) -> PyResult<()> {
        py.detach(|| self.of_drive(drive, |server, export| server.cut(export, stays_off)))
    }

    /// The power of a drive comes back.
    fn restore(&self, py: Python<'_>, drive: Option<&str>) -> PyResult<()> {
        py.detach(|| self.of_drive(drive, served::Server::restore))
    }

    /// How a drive is now: what its SMART log has, as JSON.
    fn health(&self, py: Python<'_>, drive: Option<&str>) -> PyResult<String> {
        let health = |server: &served::Server, export| server.look(export, Health::of).ok_or(NotDone::Ended);
        let health = py.detach(|| self.of_drive(drive, health))?;
        let found = json!({
            "critical_warning": health.critical_warning,
            "celsius": health.celsius,
            "available_spare": health.available_spare,
            "available_spare_threshold": health.available_spare_threshold,
            "percentage_used": health.percentage_used,
            "read_bytes": health.read_bytes,
            "write_bytes": health.write_bytes,
            "reads": health.reads,
            "writes": health.writes,
            "power_cuts": health.power_cuts,
            "media_errors": health.media_errors,
            "now_ns": health.now.0,
        });
        Ok(found.to_string())
    }

    /// What users should be told of what goes on, since this was asked last.
    fn notes(&self) -> Vec<String> {
        match &*self.lock() {
            State::Serving { server, .. } => server.notes(),
            State::Preparing { .. } | State::Stopped => Vec::new(),
        }
    }

    /// Ends: what clients have asked for is done. Gives each drive's session.
    fn stop(&self, py: Python<'_>) -> Vec<Session> {
        let State::Serving { server, drives, listener } = std::mem::replace(&mut *self.lock(), State::Stopped) else {
            return Vec::new();
        };
        drop(listener);
        let finished = py.detach(|| server.stop());
        let session = |(Drive { name, prepared, .. }, finished): (Drive, Finished)| {
            let serve = self.section(&finished);
            let findings = prepared.common().findings.iter().cloned().chain(self.of_clock(&finished)).collect();
            let Finished { live, failure, record, .. } = finished;
            let ended = failure.map(|error| error.to_string());
            Session {
                name,
                prepared,
                record,
                serve,
                findings,
                ended,
                live: Mutex::new(Some(live)),
                device: Mutex::default(),
            }
        };
        drives.into_iter().zip(finished).map(session).collect()
    }
}

/// A value as its user writes it.
fn text(value: &impl units::value::Value) -> String {
    value.write().to_string().trim_matches('"').to_owned()
}

/// What has come of a drive that was served.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct Session {
    /// The export's name.
    #[pyo3(get)]
    name: String,
    prepared: LiveOn,
    record: Option<Vec<workload::Request>>,
    serve: Value,
    /// What is known of the result that the run does not know.
    findings: Vec<Finding>,
    /// Why the drive could not go on, if it could not.
    #[pyo3(get)]
    ended: Option<String>,
    live: Mutex<Option<Box<dyn Attended>>>,
    /// The drive, once the session has been finished.
    device: Mutex<Option<Box<ssd::AnyDrive>>>,
}

#[pymethods]
impl Session {
    /// The result, as `Simulation.finish` gives it.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<FinishedRun<'py>> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(live) = live else { return Err(SimulationError::new_err("the session has been finished already")) };
        let mut outcome = py.detach(|| live.finish()).map_err(raise)?;
        findings::add(&mut outcome.measured.findings, self.findings.clone());
        let report = outcome.report();
        let mut root = result(&self.prepared.common().manifest, &outcome.measured, &report);
        if let Value::Object(root) = &mut root {
            root.extend(outcome.device.sections());
            root.insert("serve".into(), self.serve.clone());
        }
        let finished = finished_run(py, &mut outcome, report, &root, true)?;
        *self.device.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome.device);
        Ok(finished)
    }

    /// Writes a checkpoint of the drive at rest, once the session has been finished.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let device = self.device.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut device) = device else { return Err(SimulationError::new_err("there is no drive to be saved")) };
        py.detach(|| device.flush().and_then(|()| device.save_as(&path))).map_err(raise)
    }

    /// A run that replays the session: its requests at their times, if they were recorded.
    fn replay(&self) -> PyResult<Simulation> {
        let Some(record) = self.record.clone() else {
            return Err(SimulationError::new_err("the requests of the session were not recorded"));
        };
        let source: Box<dyn Source> = Box::new(Recorded::new(record));
        Ok(Simulation::on(match &self.prepared {
            LiveOn::Device(prepared) => {
                let PreparedLive { config, options, manifest, findings } = (**prepared).clone();
                OnWhat::Device(Box::new(Prepared { config, source, options, manifest, note: None, findings }))
            }
            LiveOn::Array(array) => OnWhat::Array(Box::new(array.replay(source))),
        }))
    }
}
