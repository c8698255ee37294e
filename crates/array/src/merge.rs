//! What the drives of an array have counted, taken together. Of one drive it is what that drive has counted.

use ssd::stats::energy::Energy;
use ssd::stats::series::Sample;
use ssd::stats::smart::Smart;
use ssd::stats::throttling::Throttling;
use ssd::stats::{Counters, DriveState, Steps, Totals, Usage, Victims};
use ssd::{Drive, Plan};
use units::Span;

/// Counts are added.
pub(crate) fn counters<'a, D: Drive + ?Sized + 'a>(drives: impl Iterator<Item = &'a D>) -> Counters {
    drives.fold(Counters::default(), |sum, drive| sum.plus(&drive.counters()))
}

/// Counts are added, parts stand one behind another, and of what a drive has one the mean is taken.
pub(crate) fn totals<'a, D: Drive + ?Sized + 'a>(drives: impl Iterator<Item = &'a D>) -> Totals {
    let each: Vec<(Totals, &Plan)> = drives.map(|drive| (drive.totals(), drive.plan())).collect();
    let mut sum = Totals::default();
    for (totals, _) in &each {
        sum.counters = sum.counters.plus(&totals.counters);
        add_steps(&mut sum.steps, &totals.steps);
        add_victims(&mut sum.victims, &totals.victims);
        add_usage(&mut sum.usage, &totals.usage);
        sum.throttling = throttling(sum.throttling, totals.throttling);
    }
    sum.energy = (each.len() > 1).then(|| energy(&each, &sum));
    let count = each.len().max(1) as u64;
    let usage = &mut sum.usage;
    for span in [&mut usage.host, &mut usage.firmware, &mut usage.link_in, &mut usage.link_out, &mut usage.dram] {
        span.0 /= count;
    }
    sum
}

/// What they have used, each by its own plan and for as long as it has gone on; `sum` is what they have counted.
fn energy(each: &[(Totals, &Plan)], sum: &Totals) -> Energy {
    let of = |(totals, plan): &(Totals, &Plan)| Energy::of(plan, &totals.counters, &totals.usage);
    let costs = |plan: &Plan| (plan.config.energy.clone(), plan.layout.page_size);
    match each {
        // What drives of one kind have counted is taken together.
        [(_, first), ..] if each.iter().all(|(_, plan)| costs(plan) == costs(first)) => {
            let idle = each.iter().map(|one| of(one).idle).sum();
            Energy { idle, ..Energy::of(first, &sum.counters, &sum.usage) }
        }
        _ => each.iter().map(of).fold(Energy::default(), |all, one| all.plus(&one)),
    }
}

fn add_steps(sum: &mut Steps, other: &Steps) {
    sum.pages.resize(sum.pages.len().max(other.pages.len()), 0);
    sum.pages.iter_mut().zip(&other.pages).for_each(|(sum, pages)| *sum += pages);
}

fn add_victims(sum: &mut Victims, other: &Victims) {
    sum.blocks.iter_mut().zip(&other.blocks).for_each(|(sum, blocks)| *sum += blocks);
    sum.valid += other.valid;
    sum.pages += other.pages;
}

fn add_usage(sum: &mut Usage, other: &Usage) {
    sum.elapsed = sum.elapsed.max(other.elapsed);
    sum.dies.extend(&other.dies);
    sum.channels.extend(&other.channels);
    sum.decoders.extend(&other.decoders);
    sum.host += other.host;
    sum.firmware += other.firmware;
    sum.link_in += other.link_in;
    sum.link_out += other.link_out;
    sum.dram += other.dram;
}

/// Energies are added; times are those of the drive that was throttled for longest, temperatures those of the hottest.
fn throttling(one: Option<Throttling>, other: Option<Throttling>) -> Option<Throttling> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    let longer = |one: Span, other: Span| one.max(other);
    let celsius = match (one.celsius, other.celsius) {
        (Some(one), Some(other)) => Some((one.0.max(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    };
    Some(Throttling {
        used: one.used + other.used,
        held: longer(one.held, other.held),
        light: longer(one.light, other.light),
        heavy: longer(one.heavy, other.heavy),
        celsius,
    })
}

/// The health of the worst of them.
fn smart(one: Smart, other: Smart) -> Smart {
    Smart {
        available_spare: one.available_spare.min(other.available_spare),
        available_spare_threshold: one.available_spare_threshold.max(other.available_spare_threshold),
        percentage_used: [one.percentage_used, other.percentage_used].into_iter().flatten().reduce(f64::max),
        media_errors: one.media_errors + other.media_errors,
        read_only: one.read_only || other.read_only,
    }
}

/// How they stand. What is outstanding are the requests to drives that these work on.
pub(crate) fn sample<'a, D: Drive + ?Sized + 'a>(drives: impl Iterator<Item = &'a D>) -> Sample {
    let together = |sum: Sample, next: Sample| Sample {
        outstanding: sum.outstanding + next.outstanding,
        buffered_pages: sum.buffered_pages + next.buffered_pages,
        free_blocks: (sum.free_blocks.0 + next.free_blocks.0, sum.free_blocks.1.min(next.free_blocks.1)),
        smart: smart(sum.smart, next.smart),
        throttling: throttling(sum.throttling, next.throttling),
        idle: sum.idle.plus(next.idle),
    };
    drives.map(Drive::sample).reduce(together).expect("Invariant: an array has a drive")
}

/// How they stand at the end; their plan is that of the first.
pub(crate) fn state<'a, D: Drive + ?Sized + 'a>(drives: impl Iterator<Item = &'a D>) -> DriveState {
    let together = |mut sum: DriveState, next: DriveState| {
        sum.written += next.written;
        sum.waf_before = sum.waf_before.zip(next.waf_before).map(|(one, other)| one + other);
        sum.erases.add(&next.erases);
        sum.effective_pec = sum.effective_pec.zip(next.effective_pec).map(|(all, more)| [all, more].concat());
        sum.end_of_life = [sum.end_of_life, next.end_of_life].into_iter().flatten().min();
        sum.smart = smart(sum.smart, next.smart);
        sum.free_blocks = (sum.free_blocks.0 + next.free_blocks.0, sum.free_blocks.1.min(next.free_blocks.1));
        sum.learned = sum.learned.zip(next.learned).map(|(one, other)| one.plus(other));
        sum.slc_blocks = sum.slc_blocks.zip(next.slc_blocks).map(|(one, other)| one + other);
        sum.tracked_bytes += next.tracked_bytes;
        sum.recoveries.extend(next.recoveries);
        sum
    };
    let states: Vec<DriveState> = drives.map(Drive::state).collect();
    let count = states.len() as u64;
    let mut state = states.into_iter().reduce(together).expect("Invariant: an array has a drive");
    // Of the mean drive, since the plan is that of one.
    state.written /= count;
    state.waf_before = state.waf_before.map(|sum| sum / count as f64);
    state
}
