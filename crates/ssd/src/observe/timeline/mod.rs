//! A timeline of a run for the Perfetto UI: what every die, plane, channel, decoder, link and host queue did.
//!
//! A track a resource. Those of dies, channels, decoders, link and DRAM are what the usage statistics sum up, to the
//! nanosecond; planes show each sense, retry, program and erase by itself, with its pulses and suspensions; host queues
//! show each request with the stages of its time ([`crate::observe::explain`]). Arrows lead from a request to the
//! operations on its pages.

pub mod perfetto;
mod tracks;
mod writer;

use std::collections::HashMap;
use std::io;

use nand::{DieId, Layout};
use units::{Lpn, Ppn, Time};
use workload::Op;

use crate::arena::SlotId;
use crate::config::Plan;
use crate::observe::explain::{Completing, Explainer};
use crate::observe::probe::{Event, Probe, Server};
use crate::observe::stats::{channel, die};
use tracks::{Counter, Die, DieOperation, Lanes, Open, Plane, Track};
use writer::{Slice, Writer};

/// A probe that writes a timeline.
pub struct Timeline {
    out: Writer,
    layout: Layout,
    explainer: Explainer,
    requests: Counter,
    buffered: Counter,
    queues: Vec<Lanes>,
    servers: [u64; 3],
    buses: Vec<Track>,
    decoders: Vec<Lanes>,
    dies: Vec<Die>,
    planes: Vec<Plane>,
    /// Of each part that is under way: its request, and its plane.
    parts: HashMap<u64, (u64, usize)>,
    /// The requests whose data is in each slot of the write buffer.
    written: HashMap<SlotId, Vec<u64>>,
    /// What the next program is: pages, and what for.
    programs: (u32, &'static str),
    /// The latest arrival, and requests that have arrived before the end of the last window and have not completed.
    arrived: Time,
    outstanding: u64,
}

impl Timeline {
    /// Writes to `out` what the windows show of a device, in time from the beginning of the workload on; an operation
    /// or request that a window shows a part of is shown whole.
    pub fn new(plan: &Plan, windows: Vec<(Time, Time)>, out: Box<dyn io::Write + Send>) -> Timeline {
        Timeline::of_drive("drive", 0, plan, windows, out)
    }

    /// A timeline of one of several drives that share a file, by its name and number.
    pub fn of_drive(
        name: &str,
        number: u32,
        plan: &Plan,
        windows: Vec<(Time, Time)>,
        out: Box<dyn io::Write + Send>,
    ) -> Timeline {
        let mut out = Writer::new(out, windows, number);
        let layout = plan.layout;
        let drive = out.track(None, name);
        let counter = |track| Counter { track, value: 0, shown: false };
        let requests = counter(out.counter(drive, "requests in the device", "requests"));
        let buffered = counter(out.counter(drive, "write buffer", "logical pages"));
        let lanes = |parent, name| Lanes { parent, name, lanes: Vec::new() };
        let queues = (0..plan.config.host.queues)
            .map(|queue| lanes(out.track(Some(drive), &format!("queue {queue}")), "requests"))
            .collect();
        let servers = ["link in", "link out", "DRAM"].map(|name| out.track(Some(drive), name));
        let (mut buses, mut decoders, mut dies, mut planes) = (vec![], vec![], vec![], vec![]);
        for channel in 0..layout.channels {
            let id = out.track(Some(drive), &format!("channel {channel}"));
            buses.push(Track::new(id, &channel::CAUSES, false));
            let engine = out.track(Some(id), &format!("ECC engine {channel}"));
            decoders.push(lanes(engine, "decoder"));
            let per_channel = layout.chips * layout.dies_per_chip;
            for die in channel * per_channel..(channel + 1) * per_channel {
                let track = out.track(Some(id), &format!("die {die}"));
                let suspensions = out.track(Some(track), "suspended");
                dies.push(Die {
                    track: Track::new(track, &die::CAUSES, true),
                    suspensions,
                    operation: DieOperation::default(),
                    paused: None,
                });
                for plane in 0..layout.flash_planes_per_die() {
                    planes.push(Plane { track: out.track(Some(track), &format!("plane {plane}")), open: None });
                }
            }
        }
        Timeline {
            out,
            layout,
            explainer: Explainer::new(0, Vec::new(), 0),
            requests,
            buffered,
            queues,
            servers,
            buses,
            decoders,
            dies,
            planes,
            parts: HashMap::new(),
            written: HashMap::new(),
            programs: (0, ""),
            arrived: Time::ZERO,
            outstanding: 0,
        }
    }

    /// Whether nothing that is still to come is shown.
    pub fn done(&self) -> bool {
        self.out.has_begun() && self.outstanding == 0 && self.since(self.arrived) >= self.out.end()
    }

    /// Ends the file; returns its size \[B].
    pub fn finish(&mut self, now: Time) -> io::Result<u64> {
        for track in self.buses.iter_mut().chain(self.dies.iter_mut().map(|die| &mut die.track)) {
            track.settle(now, &mut self.out);
            track.flush(&mut self.out);
        }
        self.planes.iter_mut().for_each(|plane| plane.end(Time::NEVER, &mut self.out));
        for die in &mut self.dies {
            for operation in die.paused.iter().chain([&die.operation]) {
                if let Some(since) = operation.suspended {
                    let slice = Slice::new(since, now, format!("{} suspended", operation.name));
                    self.out.slice(die.suspensions, &slice);
                }
            }
        }
        self.out.finish()
    }

    fn since(&self, time: Time) -> Time {
        Time(time.0.saturating_sub(self.explainer.origin().1.0))
    }

    fn place(&self, ppn: Ppn) -> usize {
        self.layout.flash_plane_of(ppn).0 as usize
    }

    /// A request's number in the workload.
    fn number(&self, request: u64) -> Option<u64> {
        request.checked_sub(self.explainer.origin().0)
    }

    /// What every slice of a part's sense says.
    fn of_part(&self, part: u64, attempt: u16) -> Slice {
        let mut slice = Slice { flows: vec![flow_of_part(part)], ..Slice::default() };
        if let Some(number) = self.parts.get(&part).and_then(|(request, _)| self.number(*request)) {
            slice.request = Some(number);
            slice = slice.note("request", number);
        }
        slice.note("step", u64::from(attempt))
    }

    /// A plane senses a page.
    fn senses(&mut self, slice: Slice, part: u64, attempt: u16, ppn: Ppn) {
        let place = self.place(ppn);
        if let Some(of) = self.parts.get_mut(&part) {
            of.1 = place;
        }
        let address = self.layout.unpack(ppn);
        let slice =
            slice.note("block", u64::from(address.block)).note("page", u64::from(self.layout.flash_page(address.page)));
        self.planes[place].begin(slice, Some((part, attempt)), &mut self.out);
    }

    /// A program or erase of planes begins, or goes on.
    fn operates(&mut self, start: Time, end: Time, die: usize, name: &str, pages: Option<u64>) {
        for plane in &self.dies[die].operation.planes {
            let slice = Slice::new(start, end, name);
            let slice = pages.map_or(slice.clone(), |pages| slice.note("pages", pages));
            self.planes[*plane].begin(slice, None, &mut self.out);
        }
    }

    fn new_operation(&mut self, die: DieId, planes: u8, name: String) -> usize {
        let index = usize::from(die.0);
        let places = (0..self.layout.flash_planes_per_die() as u8).filter(|plane| planes >> plane & 1 != 0);
        let planes = places.map(|plane| self.layout.flash_plane(die, plane).0 as usize).collect();
        let Die { operation, paused, .. } = &mut self.dies[index];
        let before = std::mem::replace(operation, DieOperation { planes, name, suspended: None });
        if before.suspended.is_some() {
            *paused = Some(before);
        }
        index
    }

    /// What happens to a page that is read.
    fn page(&mut self, now: Time, event: Event) {
        match event {
            Event::Senses { part, attempt, begins, ends, ppn, what, speculative, .. } => {
                let name = match attempt {
                    0 => "sense".to_owned(),
                    _ if speculative => format!("speculative retry {attempt}"),
                    _ => format!("retry {attempt}"),
                };
                let slice = Slice { from: begins, to: ends, name: suffixed(name, what), ..self.of_part(part, attempt) };
                self.senses(slice, part, attempt, ppn);
            }
            Event::OnDieRetry { part, attempt, ends, ppn } => {
                let slice = Slice { from: now, to: ends, name: "retry in flash".into(), ..self.of_part(part, attempt) };
                self.senses(slice, part, attempt, ppn);
            }
            Event::Sent { part: Some((part, attempt)), .. } => {
                let plane = self.parts.get(&part).map(|(_, plane)| *plane);
                if let Some(Open { slice, part: Some((other, after)) }) =
                    plane.and_then(|plane| self.planes[plane].open.as_mut())
                    && *other == part
                    && *after > attempt
                {
                    slice.name += ", in vain";
                }
            }
            Event::Resets { die, plane, reset, end } => {
                let plane = &mut self.planes[self.layout.flash_plane(die, plane).0 as usize];
                if let Some(Open { slice, part: Some(_) }) = &mut plane.open
                    && slice.to > now
                {
                    slice.name += ", in vain";
                }
                plane.end(now, &mut self.out);
                if now < reset {
                    plane.begin(Slice::new(now, reset, "RESET"), None, &mut self.out);
                }
                if reset < end {
                    plane.begin(Slice::new(reset, end, "SET FEATURE"), None, &mut self.out);
                }
            }
            Event::Leaves { part, attempt, channel, .. } => {
                self.buses[usize::from(channel.0)].detail = Some(self.of_part(part, attempt));
            }
            Event::Decodes { part, attempt, end, channel, .. } => {
                let slice = Slice { from: now, to: end, name: "decode".into(), ..self.of_part(part, attempt) };
                self.decoders[usize::from(channel.0)].slice(&slice, &mut self.out);
            }
            _ => {}
        }
    }

    /// What a resource does.
    fn resource(&mut self, now: Time, event: Event) {
        match event {
            Event::Die { die, cause, until } => {
                self.dies[usize::from(die.0)].track.enter(now, cause, until, &mut self.out);
            }
            Event::Bus { channel, cause, until } => {
                self.buses[usize::from(channel.0)].enter(now, cause, until, &mut self.out);
            }
            Event::Serves { server, from, to } => {
                let track = self.servers[match server {
                    Server::LinkIn => 0,
                    Server::LinkOut => 1,
                    Server::Dram => 2,
                }];
                self.out.slice(track, &Slice::new(from, to, "transfer"));
            }
            Event::Programs { pages, what } => self.programs = (pages, what),
            Event::Phase { die, pulse, number, from, to } => {
                let what = if pulse { "pulse" } else { "verify" };
                for plane in &self.dies[usize::from(die.0)].operation.planes {
                    if let Some(Open { slice, .. }) = &mut self.planes[*plane].open {
                        slice.inner.push(Slice::new(from, to, format!("{what} {number}")));
                    }
                }
            }
            Event::State { requests, buffered } => {
                self.requests.set(now, requests, &mut self.out);
                self.buffered.set(now, buffered, &mut self.out);
            }
            _ => {}
        }
    }

    fn completed(&mut self, now: Time, request: u64) {
        let Some(completing) = self.explainer.completing(now, request) else { return };
        let Completing { explanation, queue, parts } = completing;
        let origin = self.explainer.origin().1;
        let absolute = |time: Time| Time(time.0 + origin.0);
        self.outstanding = self.outstanding.saturating_sub(u64::from(explanation.arrival < self.out.end()));
        let mut flows: Vec<u64> = parts.iter().map(|part| flow_of_part(*part)).collect();
        for part in parts {
            self.parts.remove(part);
        }
        if explanation.op == Op::Write {
            flows.push(flow_of_write(explanation.request));
        }
        let name = format!("{} {}", format!("{:?}", explanation.op).to_lowercase(), units::Bytes(explanation.bytes));
        let inner = explanation.stages.iter().map(|stage| {
            let name =
                if stage.step == 0 { stage.what.into() } else { format!("{}, retry {}", stage.what, stage.step) };
            Slice::new(absolute(stage.from), absolute(stage.to), name)
        });
        let slice = Slice {
            inner: inner.collect(),
            flows,
            request: Some(explanation.request),
            ..Slice::new(absolute(explanation.arrival), now, name)
        };
        let slice = slice.note("request", explanation.request).note("latency_ns", explanation.latency().0);
        self.queues[usize::from(queue)].slice(&slice, &mut self.out);
    }
}

/// The arrows of a read's page and of a written request.
fn flow_of_part(part: u64) -> u64 {
    part * 2
}

fn flow_of_write(request: u64) -> u64 {
    request * 2 + 1
}

fn suffixed(name: String, what: &str) -> String {
    if what.is_empty() { name } else { format!("{name} ({what})") }
}

impl Probe for Timeline {
    const EXPLAINS: bool = true;

    fn explain(&mut self, now: Time, event: Event) {
        if let Event::Completed { request } = event {
            self.completed(now, request);
        }
        self.explainer.explain(now, event);
        match event {
            Event::Begins { .. } => {
                self.out.begin(now);
                (self.arrived, self.outstanding) = (now, 0);
            }
            Event::Arrives { arrival } => {
                self.arrived = arrival;
                self.outstanding += u64::from(self.since(arrival) < self.out.end());
            }
            Event::Reads { request, part } => {
                self.parts.entry(part).or_insert((request, 0));
            }
            Event::Senses { .. }
            | Event::OnDieRetry { .. }
            | Event::Sent { .. }
            | Event::Resets { .. }
            | Event::Leaves { .. }
            | Event::Decodes { .. } => self.page(now, event),
            Event::Die { .. }
            | Event::Bus { .. }
            | Event::Serves { .. }
            | Event::Programs { .. }
            | Event::Phase { .. }
            | Event::State { .. } => self.resource(now, event),
            Event::Started { .. }
            | Event::Foresees { .. }
            | Event::FirstSense { .. }
            | Event::ReadBy { .. }
            | Event::Processed { .. }
            | Event::Waits { .. }
            | Event::Received { .. }
            | Event::Stored { .. }
            | Event::Counts { .. }
            | Event::Completed { .. } => {}
        }
    }

    fn buffered(&mut self, _: Time, request: u64, _: Lpn, slot: SlotId, _: Option<SlotId>) {
        if let Some(number) = self.number(request) {
            self.written.entry(slot).or_default().push(number);
        }
    }

    fn programmed(&mut self, _: Time, _: Lpn, slot: SlotId, ppn: Ppn) {
        let requests = self.written.remove(&slot).unwrap_or_default();
        let place = self.place(ppn);
        if let Some(Open { slice, .. }) = &mut self.planes[place].open {
            slice.flows.extend(requests.into_iter().map(flow_of_write));
        }
    }

    fn program(&mut self, start: Time, end: Time, die: DieId, planes: u8) {
        let (pages, what) = self.programs;
        let name = suffixed("program".into(), what);
        let die = self.new_operation(die, planes, name.clone());
        self.operates(start, end, die, &name, Some(pages.into()));
    }

    fn erase(&mut self, start: Time, end: Time, die: DieId, planes: u8) {
        let die = self.new_operation(die, planes, "erase".into());
        self.operates(start, end, die, "erase", None);
    }

    fn suspend(&mut self, now: Time, die: DieId) {
        let operation = &mut self.dies[usize::from(die.0)].operation;
        operation.suspended = Some(now);
        for plane in &operation.planes {
            self.planes[*plane].end(now, &mut self.out);
        }
    }

    fn resume(&mut self, now: Time, end: Time, die: DieId) {
        let die = usize::from(die.0);
        let Die { suspensions, operation, paused, .. } = &mut self.dies[die];
        if let Some(before) = paused.take() {
            *operation = before;
        }
        let name = operation.name.clone();
        if let Some(since) = operation.suspended.take() {
            self.out.slice(*suspensions, &Slice::new(since, now, format!("{name} suspended")));
        }
        self.operates(now, end, die, &format!("{name}, resumed"), None);
    }
}
