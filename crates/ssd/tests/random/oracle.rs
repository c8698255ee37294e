//! A slow, plain device that handles one request at a time, and a property test that drives it beside the
//! real one: every completion must agree to the nanosecond.
//!
//! The oracle keeps a list of page parts and nothing else: at every moment it looks at all of them to find
//! what happens next and who may use a bus. It covers reads of any size and alignment and whole-page
//! write-through writes under static placement. Partly written pages and dynamic placement are left out; what needs
//! overlapping requests is in `random_devices.rs`, `data.rs` and `resources.rs`.

use std::collections::HashMap;

use nand::{PlanePrograms, PlaneReads, ProgramUnit};
use proptest::prelude::*;
use ssd::config::{EraseWhen, Transfer};
use ssd::{Config, Device, Drive};
use testing::cases;
use units::{Bytes, Time};
use workload::{Op, Request};

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// In its die's queue.
    Waiting,
    /// The plane senses it until then.
    Sensing(u64),
    /// In the page register, in the cache register.
    InPage,
    InCache,
    /// On the bus until then.
    Leaving(u64),
    /// Before or in the ECC engine.
    Arrived,
    Decoding(u64),
    /// Its program ends then.
    Programming(u64),
    /// Its plane's block is erased until then; afterwards it waits again.
    Erasing(u64),
    Done,
}

/// One page of the request.
struct Part {
    channel: usize,
    die: usize,
    plane: usize,
    /// Place of the page in its block.
    place: u64,
    bus_bytes: u64,
    host_bytes: u64,
    /// When it came into its present state: what came first is served first.
    order: u64,
    state: State,
}

struct Oracle {
    config: Config,
    dies_per_channel: usize,
    planes: u64,
    bus_free: Vec<u64>,
    last_die: Vec<usize>,
    link_in: u64,
    link_out: u64,
    dram: u64,
    /// Pages programmed on each plane, and whether its next block has been erased.
    programmed: Vec<u64>,
    erased: Vec<bool>,
    written: HashMap<u64, u64>,
    steps: u64,
}

impl Oracle {
    fn new(config: &Config) -> Oracle {
        let geometry = &config.geometry;
        let dies_per_channel = (geometry.chips * geometry.dies) as usize;
        let channels = geometry.channels as usize;
        let planes = channels as u64 * dies_per_channel as u64 * u64::from(geometry.planes);
        Oracle {
            config: config.clone(),
            dies_per_channel,
            planes,
            bus_free: vec![0; channels],
            last_die: vec![0; channels],
            link_in: 0,
            link_out: 0,
            dram: 0,
            programmed: vec![0; planes as usize],
            erased: vec![false; planes as usize],
            written: HashMap::new(),
            steps: 0,
        }
    }

    /// Channel, die in the channel, plane in the die of a logical page, by the page allocation order.
    fn place_of(&self, lpn: u64) -> (usize, usize, usize) {
        let geometry = &self.config.geometry;
        let mut rest = lpn % self.planes;
        let (mut channel, mut chip, mut die, mut plane) = (0, 0, 0, 0);
        for letter in self.config.ftl.page_order.0 {
            let (slot, size) = match letter {
                b'C' => (&mut channel, geometry.channels),
                b'W' => (&mut chip, geometry.chips),
                b'D' => (&mut die, geometry.dies),
                _ => (&mut plane, geometry.planes),
            };
            *slot = (rest % u64::from(size)) as usize;
            rest /= u64::from(size);
        }
        (channel, chip * geometry.dies as usize + die, plane)
    }

    fn t_dma(&self, bytes: u64) -> u64 {
        (bytes * 1_000_000_000).div_ceil(self.config.bus.bandwidth.unwrap().0)
    }

    fn sense(&self, place: u64) -> u64 {
        let times = self.config.chip.t_read.as_ref().unwrap();
        times[place as usize % times.len()].0
    }

    fn program(&self, place: u64) -> u64 {
        let times = self.config.chip.t_prog.as_ref().unwrap();
        times[place as usize % times.len()].0
    }

    /// Plays one request that arrives at `time` when everything is quiet; returns its completion.
    fn play(&mut self, request: Request) -> u64 {
        let page = self.config.geometry.page_size.0;
        let (first, last) = (request.offset.0 / page, (request.offset.0 + request.bytes.0 - 1) / page);
        let mut now = request.time.0 + self.config.host.t_submit.0;
        let rate = |bytes: u64, bandwidth: u64| (bytes * 1_000_000_000).div_ceil(bandwidth);
        if request.op == Op::Write {
            self.link_in = self.link_in.max(now) + rate(request.bytes.0, self.config.host.link_bandwidth.0);
            now = self.link_in;
            self.dram = self.dram.max(now) + rate(request.bytes.0, self.config.buffer.dram_bandwidth.0);
        }
        let mut parts = Vec::new();
        for lpn in first..=last {
            let (channel, die, plane) = self.place_of(lpn);
            let from = request.offset.0.max(lpn * page) - lpn * page;
            let to = (request.offset.0 + request.bytes.0).min((lpn + 1) * page) - lpn * page;
            let codeword = self.config.ecc.codeword.0;
            let part = match self.config.bus.transfer {
                Transfer::Page => page,
                Transfer::Codeword | Transfer::Uncorrected => {
                    to.div_ceil(codeword) * codeword - from / codeword * codeword
                }
            };
            let initial = lpn / self.planes % u64::from(self.config.geometry.pages);
            parts.push(Part {
                channel,
                die,
                plane,
                place: self.written.get(&lpn).copied().unwrap_or(initial),
                bus_bytes: if request.op == Op::Read { part } else { page },
                host_bytes: to - from,
                order: self.steps,
                state: State::Waiting,
            });
            self.steps += 1;
        }
        let mut finish = now;
        loop {
            self.grant(&mut parts, now, request.op, first);
            let next = parts.iter().filter_map(|part| match part.state {
                State::Sensing(t) | State::Leaving(t) | State::Decoding(t) => Some(t),
                State::Programming(t) | State::Erasing(t) => Some(t),
                _ => None,
            });
            // A bus that is held by a command alone makes others wait as well.
            let buses = self.bus_free.iter().copied().filter(|free| *free > now);
            let Some(time) = next.chain(buses).min() else { break };
            now = time;
            finish = finish.max(self.end_all(&mut parts, now, request.op, first));
        }
        assert!(parts.iter().all(|part| part.state == State::Done), "the oracle is stuck");
        finish + self.config.host.t_complete.0
    }

    /// Everything that ends at `now`, one after the other: ECC engines, buses, dies; grants follow each.
    fn end_all(&mut self, parts: &mut [Part], now: u64, op: Op, first: u64) -> u64 {
        let mut finish = 0;
        let rank = |part: &Part| match part.state {
            State::Decoding(t) if t == now => Some((0, part.channel, 0)),
            State::Leaving(t) if t == now => Some((1, part.channel, 0)),
            State::Sensing(t) | State::Programming(t) | State::Erasing(t) if t == now => {
                Some((2, part.channel, part.die))
            }
            _ => None,
        };
        while let Some(event) = parts.iter().filter_map(rank).min() {
            if event.0 == 2 {
                // A bus whose command ends now is an event of its own, and comes before the dies.
                self.grant(parts, now, op, first);
            }
            let mut ending: Vec<usize> = (0..parts.len()).filter(|i| rank(&parts[*i]) == Some(event)).collect();
            // Engines and buses end one page at a time, the oldest first; planes of a die end together.
            ending.sort_by_key(|i| if event.0 == 2 { parts[*i].plane as u64 } else { parts[*i].order });
            if event.0 < 2 {
                ending.truncate(1);
            }
            for i in ending {
                self.steps += 1;
                match parts[i].state {
                    State::Decoding(_) => {
                        let rate = |bytes: u64, bandwidth: u64| (bytes * 1_000_000_000).div_ceil(bandwidth);
                        let bytes = parts[i].host_bytes;
                        self.dram = self.dram.max(now) + rate(bytes, self.config.buffer.dram_bandwidth.0);
                        let link = rate(bytes, self.config.host.link_bandwidth.0);
                        self.link_out = self.link_out.max(self.dram) + link;
                        finish = finish.max(self.link_out);
                        parts[i].state = State::Done;
                    }
                    State::Leaving(_) => {
                        (parts[i].state, parts[i].order) = (State::Arrived, self.steps);
                        self.move_up(parts);
                    }
                    State::Sensing(_) => {
                        (parts[i].state, parts[i].order) = (State::InPage, self.steps);
                        self.move_up(parts);
                    }
                    State::Erasing(_) => {
                        let plane = self.plane(parts[i].channel, parts[i].die, parts[i].plane);
                        self.erased[plane] = true;
                        parts[i].state = State::Waiting;
                    }
                    _ => {
                        parts[i].state = State::Done;
                        finish = finish.max(now);
                    }
                }
            }
            self.start_decoding(parts, now);
            self.grant(parts, now, op, first);
        }
        finish
    }

    /// Sensed pages move into empty cache registers.
    fn move_up(&mut self, parts: &mut [Part]) {
        if !self.config.chip.cache_read {
            return;
        }
        for i in 0..parts.len() {
            let here = |p: &Part| (p.channel, p.die, p.plane) == (parts[i].channel, parts[i].die, parts[i].plane);
            let taken = parts.iter().any(|p| here(p) && matches!(p.state, State::InCache | State::Leaving(_)));
            if parts[i].state == State::InPage && !taken {
                self.steps += 1;
                (parts[i].state, parts[i].order) = (State::InCache, self.steps);
            }
        }
    }

    fn start_decoding(&mut self, parts: &mut [Part], now: u64) {
        for channel in 0..self.bus_free.len() {
            loop {
                let decoding =
                    parts.iter().filter(|p| p.channel == channel && matches!(p.state, State::Decoding(_))).count();
                let waiting = (0..parts.len())
                    .filter(|i| parts[*i].channel == channel && parts[*i].state == State::Arrived)
                    .min_by_key(|i| parts[*i].order);
                let Some(i) = waiting.filter(|_| decoding < self.config.ecc.decoders as usize) else { break };
                self.steps += 1;
                (parts[i].state, parts[i].order) = (State::Decoding(now + self.config.ecc.t_decode.0), self.steps);
            }
        }
    }

    /// Gives every free bus to whoever may have it.
    fn grant(&mut self, parts: &mut [Part], now: u64, op: Op, first: u64) {
        for channel in 0..self.bus_free.len() {
            loop {
                let under_way = parts.iter().any(|p| p.channel == channel && matches!(p.state, State::Leaving(_)));
                if self.bus_free[channel] > now || under_way || !self.grant_one(parts, channel, now, op, first) {
                    break;
                }
            }
        }
    }

    fn grant_one(&mut self, parts: &mut [Part], channel: usize, now: u64, op: Op, first: u64) -> bool {
        let command = self.config.bus.t_command.0;
        let count = self.dies_per_channel;
        let turn: Vec<usize> = (1..=count).map(|step| (self.last_die[channel] + step) % count).collect();
        let start = |parts: &[Part], die: usize| {
            (0..parts.len())
                .filter(|i| parts[*i].channel == channel && parts[*i].die == die && self.may_start(parts, *i, op))
                .min_by_key(|i| parts[*i].order)
        };
        let needs_erase = |oracle: &Oracle, part: &Part| op == Op::Write && oracle.needs_erase(part);
        let mut starts = turn.iter().filter_map(|die| start(parts, *die).map(|lead| (*die, lead)));
        // Erases are commands, and commands go before data.
        let first_start = starts.clone().find(|(_, lead)| needs_erase(self, &parts[*lead])).or_else(|| starts.next());
        if let Some((die, lead)) = first_start {
            self.last_die[channel] = die;
            let erase = needs_erase(self, &parts[lead]);
            let joint = match op {
                Op::Read => self.config.chip.plane_reads == PlaneReads::Lockstep,
                _ => self.config.chip.plane_programs == PlanePrograms::Lockstep,
            };
            let place = |oracle: &Oracle, part: &Part| match op {
                Op::Read => (part.place, false),
                _ => (oracle.next_place(channel, die, part.plane), oracle.needs_erase(part)),
            };
            let mut chosen = vec![lead];
            for plane in (0..self.config.geometry.planes as usize).filter(|p| joint && *p != parts[lead].plane) {
                let head = (0..parts.len())
                    .filter(|i| (parts[*i].channel, parts[*i].die, parts[*i].plane) == (channel, die, plane))
                    .filter(|i| parts[*i].state == State::Waiting)
                    .min_by_key(|i| parts[*i].order);
                if let Some(head) = head.filter(|i| self.may_start(parts, *i, op))
                    && place(self, &parts[head]) == place(self, &parts[lead])
                {
                    chosen.push(head);
                }
            }
            let unit = if self.config.chip.program_unit == ProgramUnit::Wordline { 3 } else { 1 };
            let page = self.config.geometry.page_size.0;
            let data = if op == Op::Write && !erase { self.t_dma(page) * unit * chosen.len() as u64 } else { 0 };
            self.bus_free[channel] = now + command * chosen.len() as u64 + data;
            let array = match op {
                Op::Read => chosen.iter().map(|i| self.sense(parts[*i].place)).max().unwrap(),
                Op::Write if erase => self.config.chip.t_bers.unwrap().0,
                _ => self.program(self.next_place(channel, die, parts[lead].plane)),
            };
            let end = self.bus_free[channel] + array;
            for i in chosen {
                if op == Op::Read {
                    parts[i].state = State::Sensing(end);
                } else if erase {
                    parts[i].state = State::Erasing(end);
                } else {
                    self.program_unit(parts, i, unit, end, first);
                }
            }
            return true;
        }
        let held = parts
            .iter()
            .filter(|p| p.channel == channel)
            .filter(|p| matches!(p.state, State::Leaving(_) | State::Arrived | State::Decoding(_)))
            .count();
        let ready = if self.config.chip.cache_read { State::InCache } else { State::InPage };
        let leaving = (0..parts.len())
            .filter(|i| parts[*i].channel == channel && parts[*i].state == ready)
            .min_by_key(|i| parts[*i].order)
            .filter(|_| held < self.config.ecc.buffer as usize);
        if let Some(i) = leaving {
            self.bus_free[channel] = now + self.t_dma(parts[i].bus_bytes);
            parts[i].state = State::Leaving(self.bus_free[channel]);
        }
        leaving.is_some()
    }

    /// Programs up to a unit of the pages that wait for the plane of part `head`; the rest of the unit is padding.
    fn program_unit(&mut self, parts: &mut [Part], head: usize, unit: u64, end: u64, first: u64) {
        let (channel, die, place) = (parts[head].channel, parts[head].die, parts[head].plane);
        let plane = self.plane(channel, die, place);
        self.erased[plane] = false;
        let here = |p: &Part| (p.channel, p.die, p.plane) == (channel, die, place) && p.state == State::Waiting;
        let mut queue: Vec<usize> = (0..parts.len()).filter(|i| here(&parts[*i])).collect();
        queue.sort_by_key(|i| parts[*i].order);
        for (index, i) in queue.into_iter().take(unit as usize).enumerate() {
            parts[i].state = State::Programming(end);
            self.written.insert(first + i as u64, self.next_place(channel, die, place) + index as u64);
        }
        self.programmed[plane] += unit;
    }

    fn needs_erase(&self, part: &Part) -> bool {
        self.config.ftl.erase_when == EraseWhen::Opened
            && self.next_place(part.channel, part.die, part.plane) == 0
            && !self.erased[self.plane(part.channel, part.die, part.plane)]
    }

    /// Whether a waiting part could start now, if the bus were free.
    fn may_start(&self, parts: &[Part], i: usize, op: Op) -> bool {
        let part = &parts[i];
        let die = || parts.iter().filter(|p| (p.channel, p.die) == (part.channel, part.die));
        let plane_taken = die().any(|p| {
            let register = match p.state {
                State::Sensing(_) | State::InPage => true,
                State::Leaving(_) => !self.config.chip.cache_read,
                _ => false,
            };
            p.plane == part.plane && register
        });
        let sensing = die().any(|p| matches!(p.state, State::Sensing(_)));
        let programming = die().any(|p| matches!(p.state, State::Programming(_) | State::Erasing(_)));
        let dies_per_chip = self.config.geometry.dies as usize;
        let chip_taken = !self.config.bus.die_interleaving
            && parts.iter().any(|p| {
                let same_chip = p.channel == part.channel && p.die / dies_per_chip == part.die / dies_per_chip;
                let works = matches!(p.state, State::Sensing(_) | State::Programming(_) | State::Erasing(_));
                same_chip && p.die != part.die && works
            });
        part.state == State::Waiting
            && !programming
            && !chip_taken
            && match op {
                Op::Read => !plane_taken && (self.config.chip.plane_reads == PlaneReads::Independent || !sensing),
                _ => true,
            }
    }

    fn plane(&self, channel: usize, die: usize, plane: usize) -> usize {
        (channel * self.dies_per_channel + die) * self.config.geometry.planes as usize + plane
    }

    fn next_place(&self, channel: usize, die: usize, plane: usize) -> u64 {
        self.programmed[self.plane(channel, die, plane)] % u64::from(self.config.geometry.pages)
    }
}

fn configs() -> impl Strategy<Value = Config> {
    let geometry = (1..3u32, 1..3u32, 1..3u32, 1..5u32);
    let policies = (
        prop::sample::select(vec!["independent", "lockstep", "single"]),
        prop::sample::select(vec!["single", "lockstep"]),
        prop::sample::select(vec!["CWDP", "PDWC", "DPCW", "WCPD"]),
        prop::sample::select(vec!["page", "codeword"]),
        (any::<bool>(), any::<bool>()),
        prop::sample::select(vec!["reclaimed", "opened"]),
        prop::sample::select(vec!["page", "wordline"]),
    );
    let times = (0..3_000u64, 1..200u64, 0..60_000u64, 1..4u32, 1..6u32, 1..20u64);
    (geometry, policies, times).prop_map(|((channels, chips, dies, planes), policies, times)| {
        let (reads, programs, page_order, transfer, (cache_read, interleave), erase, unit) = policies;
        let (command, sense, decode, decoders, buffer, bus) = times;
        let mut config = Config::default();
        for word in [
            format!("geometry.channels={channels}"),
            format!("geometry.chips={chips}"),
            format!("geometry.dies={dies}"),
            format!("geometry.planes={planes}"),
            "geometry.blocks=40".into(),
            "geometry.pages=30".into(),
            "ftl.over_provisioning=1.0".into(),
            "ftl.placement=static".into(),
            format!("ftl.erase_when={erase}"),
            "buffer.mode=write-through".into(),
            format!("chip.program_unit={unit}"),
            format!("bus.die_interleaving={interleave}"),
            "chip.cache_program=false".into(),
            format!("chip.t_prog={}", if unit == "page" { "[300us,450us,900us]" } else { "300us" }),
            format!("chip.t_read=[{sense}us,{}us,{}us]", sense + 7, sense + 3),
            format!("chip.plane_reads={reads}"),
            format!("chip.plane_programs={programs}"),
            format!("chip.cache_read={cache_read}"),
            format!("ftl.page_order={page_order}"),
            format!("bus.transfer={transfer}"),
            format!("bus.t_command={command}ns"),
            format!("bus.bandwidth={bus}00MB/s"),
            format!("ecc.t_decode={decode}ns"),
            format!("ecc.decoders={decoders}"),
            format!("ecc.buffer={buffer}"),
        ] {
            config.set(&word).unwrap();
        }
        config
    })
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn one_request_at_a_time_takes_what_the_oracle_says(
        config in configs(),
        load in prop::collection::vec((any::<bool>(), 0..600u64, 0..32u64, 1..400u64, 0..1_000_000u64), 1..25),
    ) {
        let mut device = Device::new(&config, 1).unwrap();
        let mut oracle = Oracle::new(&config);
        let pages = device.plan().logical_pages;
        for (write, page, sector, sectors, gap) in load {
            let time = Time(device.now().0 + gap);
            let request = if write {
                let count = 1 + sectors / 40;
                let (offset, bytes) = (Bytes(page.min(pages - count) * 16_384), Bytes(count * 16_384));
                Request::new(time, Op::Write, offset, bytes)
            } else {
                let offset = (page * 32 + sector).min(pages * 32 - sectors) * 512;
                Request::new(time, Op::Read, Bytes(offset), Bytes(sectors * 512))
            };
            device.submit(request).unwrap();
            prop_assert!(device.advance_to_completion(Time::NEVER).unwrap());
            let finish = device.take_completions().next().unwrap().finish;
            prop_assert_eq!(finish.0, oracle.play(request), "{:?}", request);
        }
    }
}
