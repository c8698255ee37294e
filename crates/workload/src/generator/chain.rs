//! Requests drawn from a Markov chain of phases.

use units::Stream;

use super::options::Generator;
use super::phases::{
    AccessPattern, Action, Burst, Count, Gap, HEADS, Kind, MixItem, PastRequest, Phase, PhaseName, Phases, REMEMBERED,
    RequestTemplate, StreamOffset,
};
use super::shares::Shares;
use super::sizes::SizeOf;
use crate::request::Op;

/// From here on that many requests are searched for one of the operation that is meant.
const SEARCHED: usize = 64;

/// Items by the upper ends of their shares.
struct WeightedChoice<T>(Vec<(f64, T)>);

impl<T: Copy> WeightedChoice<T> {
    fn new(shares: impl Iterator<Item = (T, f64)> + Clone) -> WeightedChoice<T> {
        let total: f64 = shares.clone().map(|(_, share)| share).sum();
        let mut sum = 0.0;
        let ends = shares.map(|(item, share)| {
            sum += share / total;
            (sum, item)
        });
        WeightedChoice(ends.collect())
    }

    /// The item of a uniform draw. Invariant: there are items.
    #[inline]
    fn at(&self, u: f64) -> T {
        let index = self.0.partition_point(|(end, _)| *end <= u);
        self.0[index.min(self.0.len() - 1)].1
    }
}

/// A request class, ready to draw from.
struct KindDraws {
    op: Op,
    size: SizeOf,
    zones: Vec<u64>,
    /// For each zone how many new requests it has had, from a start of its own.
    visits: Vec<u64>,
    align: SizeOf,
    streams: WeightedChoice<u32>,
    skip_streams: WeightedChoice<u32>,
    skips: WeightedChoice<i64>,
    skip_align: SizeOf,
    recent: WeightedChoice<(Op, u32)>,
    earlier: WeightedChoice<(Op, u32)>,
}

/// The point on the circle of 2^64 of a visit, such that the visits one after the other spread evenly over it at every
/// scale and in no pattern: a van der Corput sequence with its digits scrambled, each by those before it (S. Laine, T.
/// Karras, "Stratified sampling for stochastic transparency", Computer Graphics Forum 30(4), 2011; the constants are
/// any even ones).
fn scattered(visit: u64) -> u64 {
    // A digit depends on those below it only, so that turned around it depends on those before it.
    let scramble = |x: u64, even: u64| x ^ x.wrapping_mul(even);
    [0x9E37_79B9_7F4A_7C14, 0xBF58_476D_1CE4_E5B8, 0x94D0_49BB_1331_11EA, 0xD6E8_FEB8_6659_FD92]
        .into_iter()
        .fold(visit, scramble)
        .reverse_bits()
}

impl KindDraws {
    fn new(kind: &Kind, generator: &Generator, starts: Stream) -> KindDraws {
        let ago = |shares: &Shares<PastRequest>| {
            let table: Vec<((Op, u32), f64)> =
                shares.0.iter().map(|(PastRequest(action, least), share)| ((op_of(*action), *least), *share)).collect();
            WeightedChoice::new(table.into_iter())
        };
        let zones: Vec<u64> = kind.zones.0.iter().map(|edge| edge.0).collect();
        KindDraws {
            op: op_of(kind.rw),
            size: SizeOf::new(&kind.bs, generator.alignment()),
            visits: (0..zones.len() as u64 - 1).map(|zone| starts.bits(zone)).collect(),
            zones,
            align: SizeOf::new(&kind.align, generator.alignment()),
            streams: WeightedChoice::new(kind.streams.0.iter().copied()),
            skip_streams: WeightedChoice::new(kind.skip_streams.0.iter().copied()),
            skips: WeightedChoice::new(kind.skips.0.iter().map(|(StreamOffset(bytes), share)| (*bytes, *share))),
            skip_align: SizeOf::new(&kind.skip_align, generator.alignment()),
            recent: ago(&kind.recent),
            earlier: ago(&kind.earlier),
        }
    }
}

fn op_of(action: Action) -> Op {
    match action {
        Action::Read => Op::Read,
        Action::Write => Op::Write,
        Action::Trim => Op::Trim,
    }
}

/// A request to come.
#[derive(Clone, Copy)]
struct PlannedRequest {
    /// The number of its request class.
    kind: u32,
    /// The number of the class of the gap behind it.
    gap: u32,
    pattern: AccessPattern,
}

/// What a request does, and where.
pub(super) struct DrawnRequest {
    pub op: Op,
    /// Where it begins \[B].
    pub offset: u64,
    /// Its size \[B].
    pub bytes: u64,
}

/// What a phase draws: a request, or a burst's number and the number of the gap behind it.
#[derive(Clone, Copy)]
enum PhaseDraw {
    Request(PlannedRequest),
    Burst(u32, u32),
}

/// A phase, ready to draw from.
struct PhaseDraws {
    mix: WeightedChoice<PhaseDraw>,
    stay: WeightedChoice<u32>,
    next: WeightedChoice<u32>,
    /// Dwell times, and draws, of one round of sampling without replacement.
    stays_per_deck: u64,
    draws_per_deck: u64,
    stays: u64,
    draws: u64,
}

/// The number of the part called `name`. Invariant: there is one.
fn number<T>(parts: &[(String, T)], name: &str) -> u32 {
    parts.iter().position(|(known, _)| known == name).unwrap_or(0) as u32
}

fn planned(phases: &Phases, request: &RequestTemplate) -> PlannedRequest {
    let (kind, gap) = (number(&phases.kinds, &request.kind), number(&phases.gaps, &request.gap));
    PlannedRequest { kind, gap, pattern: request.pattern }
}

impl PhaseDraws {
    fn new(phase: &Phase, phases: &Phases) -> PhaseDraws {
        let item = |item: &MixItem| match item {
            MixItem::Request(request) => PhaseDraw::Request(planned(phases, request)),
            MixItem::Burst(burst, gap) => PhaseDraw::Burst(number(&phases.bursts, burst), number(&phases.gaps, gap)),
        };
        let mix: Vec<(PhaseDraw, f64)> = phase.mix.0.iter().map(|(word, share)| (item(word), *share)).collect();
        let step = |(PhaseName(name), share): &(PhaseName, f64)| (number(&phases.phases, name), *share);
        let next: Vec<(u32, f64)> = phase.next.0.iter().map(step).collect();
        let stay: Vec<(u32, f64)> = phase.stay.0.iter().map(|(Count(draws), share)| (*draws, *share)).collect();
        let (total, weight) =
            (stay.iter()).fold((0.0, 0.0), |(sum, all), (draws, share)| (sum + f64::from(*draws) * share, all + share));
        let stays_per_deck = u64::from(phase.deck);
        let draws_per_deck = match stays_per_deck {
            0 | 1 => 1,
            _ => (phase.deck as f64 * total / weight).round() as u64,
        };
        PhaseDraws {
            mix: WeightedChoice::new(mix.into_iter()),
            stay: WeightedChoice::new(stay.into_iter()),
            next: WeightedChoice::new(next.into_iter()),
            stays_per_deck,
            draws_per_deck,
            stays: 0,
            draws: 0,
        }
    }

    /// A new dwell time in draws, and the phase after it.
    fn stay(&mut self, stays: Stream, phases: Stream) -> (u32, u32) {
        let stay = self.stays;
        self.stays += 1;
        (
            self.stay.at(sample_without_replacement(stays, stay, self.stays_per_deck)),
            self.next.at(sample_without_replacement(phases, stay, self.stays_per_deck)),
        )
    }

    /// What the phase draws next.
    fn draw(&mut self, kinds: Stream) -> PhaseDraw {
        let draw = self.draws;
        self.draws += 1;
        self.mix.at(sample_without_replacement(kinds, draw, self.draws_per_deck))
    }
}

/// The uniform draw of a visit, stratified: the interval is cut into `deck` parts, and each of `deck` visits draws from
/// another part, in the order of a keyed permutation (a Feistel network, walked until it stays within 0..deck).
fn sample_without_replacement(stream: Stream, visit: u64, deck: u64) -> f64 {
    let fresh = stream.uniform(visit);
    if deck <= 1 {
        return fresh;
    }
    let order = stream.entity(1 + visit / deck);
    let half = (u64::BITS - (deck - 1).leading_zeros()).div_ceil(2);
    let mask = (1 << half) - 1;
    let mut card = visit % deck;
    loop {
        let (mut left, mut right) = (card >> half, card & mask);
        for round in 0..4 {
            (left, right) = (right, left ^ order.bits(round << 32 | right) & mask);
        }
        card = left << half | right;
        if card < deck {
            return (card as f64 + fresh) / deck as f64;
        }
    }
}

/// The burst that is under way.
#[derive(Clone, Copy)]
struct BurstProgress {
    burst: u32,
    /// Requests of it that have been planned.
    issued: u32,
    /// The class of the gap behind it.
    gap_behind: u32,
}

/// The requests of a workload of phases.
pub(super) struct Chain {
    gaps: Vec<Vec<f64>>,
    kinds: Vec<KindDraws>,
    bursts: Vec<Vec<PlannedRequest>>,
    phases: Vec<PhaseDraws>,
    burst: BurstProgress,
    phase: u32,
    /// Draws until the phase is left.
    draws_left: u32,
    next_phase: u32,
    planned: PlannedRequest,
    offset: u64,
    /// Where the last streams of reads, writes and trims ended, the one that went on last in front.
    stream_ends: [Vec<u64>; 3],
    /// Where the last requests began, and what they did.
    past_requests: Vec<(u64, Op)>,
    streams: Streams,
}

struct Streams {
    phases: Stream,
    stays: Stream,
    kinds: Stream,
    arrivals: Stream,
    sizes: Stream,
    places: Stream,
    addresses: Stream,
}

impl Chain {
    /// Invariant: the phases have been checked.
    pub fn new(phases: &Phases, generator: &Generator, stream: impl Fn(&str) -> Stream) -> Chain {
        let burst = |(_, burst): &(String, Burst)| -> Vec<PlannedRequest> {
            let requests = burst.requests.0.iter();
            requests
                .flat_map(|(request, times)| std::iter::repeat_n(planned(phases, request), *times as usize))
                .collect()
        };
        let starts = stream("scatter");
        let gap = |(_, gap): &(String, Gap)| gap.quantiles.0.iter().map(|gap| gap.0 as f64).collect();
        let mut chain = Chain {
            gaps: phases.gaps.iter().map(gap).collect(),
            kinds: (0..)
                .zip(&phases.kinds)
                .map(|(i, (_, kind))| KindDraws::new(kind, generator, starts.entity(i)))
                .collect(),
            bursts: phases.bursts.iter().map(burst).collect(),
            phases: phases.phases.iter().map(|(_, phase)| PhaseDraws::new(phase, phases)).collect(),
            burst: BurstProgress { burst: 0, issued: u32::MAX, gap_behind: 0 },
            phase: 0,
            draws_left: 0,
            next_phase: 0,
            planned: PlannedRequest { kind: 0, gap: 0, pattern: AccessPattern::New },
            offset: generator.offset.0,
            stream_ends: [const { Vec::new() }; 3],
            past_requests: Vec::new(),
            streams: Streams {
                phases: stream("phases"),
                stays: stream("stays"),
                kinds: stream("kinds"),
                arrivals: stream("arrivals"),
                sizes: stream("sizes"),
                places: stream("places"),
                addresses: stream("addresses"),
            },
        };
        chain.plan();
        chain
    }

    /// Steps to request number `i`, above 0, and gives the gap before it \[ns], which the request before has drawn.
    pub fn step(&mut self, i: u64) -> f64 {
        let gap = self.gap(self.planned.gap as usize, self.streams.arrivals.uniform(i));
        self.plan();
        gap
    }

    /// Plans the next request: of the burst, of the phase, or of the next phase.
    fn plan(&mut self) {
        let BurstProgress { burst, issued, gap_behind } = self.burst;
        let requests = self.bursts.get(burst as usize);
        if let Some(&next) = requests.and_then(|requests| requests.get(issued as usize)) {
            let last = issued as usize + 1 == self.bursts[burst as usize].len();
            self.burst.issued += 1;
            self.planned = PlannedRequest { gap: if last { gap_behind } else { next.gap }, ..next };
            return;
        }
        let draws = &self.streams;
        if self.draws_left == 0 {
            self.phase = self.next_phase;
            let own = u64::from(self.phase);
            (self.draws_left, self.next_phase) =
                self.phases[self.phase as usize].stay(draws.stays.entity(own), draws.phases.entity(own));
        }
        self.draws_left -= 1;
        match self.phases[self.phase as usize].draw(draws.kinds.entity(u64::from(self.phase))) {
            PhaseDraw::Request(next) => self.planned = next,
            PhaseDraw::Burst(burst, gap_behind) => {
                self.burst = BurstProgress { burst, issued: 0, gap_behind };
                self.plan();
            }
        }
    }

    /// The gap at the share `u` of a class.
    fn gap(&self, class: usize, u: f64) -> f64 {
        let quantiles = &self.gaps[class];
        let at = u * (quantiles.len() - 1) as f64;
        let part = (at as usize).min(quantiles.len().saturating_sub(2));
        let low = quantiles[part];
        let Some(high) = quantiles.get(part + 1) else { return low };
        let at = at - part as f64;
        if low > 0.0 { low * libm::pow(high / low, at) } else { high * at }
    }

    /// Request number `i`.
    pub fn request(&mut self, i: u64) -> DrawnRequest {
        let PlannedRequest { kind, pattern, .. } = self.planned;
        let kind = &mut self.kinds[kind as usize];
        let draws = &self.streams;
        let bytes = kind.size.draw(draws.sizes, i);
        let ends = &mut self.stream_ends[kind.op.number()];
        let known = match pattern {
            AccessPattern::New => None,
            AccessPattern::Next | AccessPattern::Skip if ends.is_empty() => None,
            AccessPattern::Next => {
                let depth = kind.streams.at(draws.places.uniform(i)) as usize;
                Some(ends.remove(depth.min(ends.len() - 1)))
            }
            AccessPattern::Skip => {
                let depth = kind.skip_streams.at(draws.places.uniform(i)) as usize;
                let end = ends.remove(depth.min(ends.len() - 1));
                let step = kind.skips.at(draws.places.entity(1).uniform(i));
                let align = kind.skip_align.draw(draws.places.entity(2), i);
                let at = end.saturating_add_signed(step).saturating_sub(self.offset);
                Some(self.offset + (at + align / 2) / align * align)
            }
            AccessPattern::Recent | AccessPattern::Earlier => {
                let shares = if pattern == AccessPattern::Recent { &kind.recent } else { &kind.earlier };
                let (op, least) = shares.at(draws.places.uniform(i));
                let least = u64::from(least);
                // Log-uniform between `least` and twice as many.
                let ago = (least as f64 * libm::exp2(draws.places.entity(1).uniform(i))) as u64;
                let reach = (ago + SEARCHED as u64).min(i + 1).min(REMEMBERED as u64);
                let then = (ago..reach).map(|ago| self.past_requests[((i - ago) % REMEMBERED as u64) as usize]);
                then.into_iter().find(|(_, did)| *did == op).map(|(began, _)| began)
            }
        };
        let began = known.filter(|at| *at < 1 << 62).unwrap_or_else(|| {
            let zone = draws.addresses.below(i, kind.visits.len() as u64) as usize;
            let point = scattered(kind.visits[zone]);
            kind.visits[zone] = kind.visits[zone].wrapping_add(1);
            let (start, end) = (kind.zones[zone], kind.zones[zone + 1]);
            let at = start + ((u128::from(point) * u128::from(end - start)) >> 64) as u64;
            let align = kind.align.draw(draws.addresses.entity(1), i);
            self.offset + at / align * align
        });
        ends.insert(0, began + bytes);
        ends.truncate(HEADS);
        let did = (began, kind.op);
        match self.past_requests.get_mut((i % REMEMBERED as u64) as usize) {
            Some(slot) => *slot = did,
            None => self.past_requests.push(did),
        }
        DrawnRequest { op: kind.op, offset: began, bytes }
    }
}
