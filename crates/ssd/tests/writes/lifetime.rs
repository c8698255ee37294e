//! Erases: what each scheme's pulses take and leave, and what must hold of any.

use nand::VirtualChip;
use nand::ept::{Ept, FIRST};
use nand::model::erasing::Erasing;
use schemes::{Margin, Pulse, Pulses, Voltage};
use ssd::lifetime::{Erase, EraseScheme, Eraser, WearState, cycle};
use units::Span;

fn chip() -> Erasing {
    VirtualChip::preset("tlc48-reo").unwrap().erasing
}

const ISPE: EraseScheme =
    EraseScheme { pulses: Pulses::Ispe, margin: Margin::None, voltage: Voltage::Nominal, mispredictions: 0.0 };
const I_ISPE: EraseScheme = EraseScheme { pulses: Pulses::IIspe, ..ISPE };
const DPES: EraseScheme = EraseScheme { voltage: Voltage::Scaled, ..ISPE };
const REO_MINUS: EraseScheme = EraseScheme { pulses: Pulses::Felp, ..ISPE };
const REO: EraseScheme = EraseScheme { margin: Margin::Ecc, ..REO_MINUS };

const TRACKED: EraseScheme = EraseScheme { margin: Margin::Tracked, ..REO_MINUS };

fn eraser(scheme: &EraseScheme) -> Eraser {
    Eraser::new(&chip(), *scheme, chip().requirement)
}

fn once(eraser: &Eraser, needed: f64) -> Erase {
    eraser.erase(needed, 500, 0, 1.0)
}

fn pulse(index: u32, grains: u32) -> Pulse {
    Pulse { index, grains, last: false }
}

/// Everything from a fresh block to one that five loops just erase, in fiftieths of a grain.
fn needs() -> impl Iterator<Item = f64> {
    (1..=35 * 50).map(|n| f64::from(n) / 50.0)
}

#[test]
fn what_a_blocks_reads_have_found_says_how_much_of_its_erase_may_be_left() {
    let (erasing, tracked, profiled) = (chip(), eraser(&TRACKED), eraser(&REO));
    let (ept, seed) = (Ept::profile(&erasing, erasing.requirement), 3);
    let (mut shorter, mut longer) = (0, 0);
    for number in 0..200 {
        let block = erasing.block(seed, number, 0);
        for wear in [0.5, 1.5, 2.5, 3.5] {
            let with = |scheme: &Eraser, found: Option<f64>| {
                let mut state = WearState::default();
                state.wear = wear;
                found.into_iter().for_each(|errors| state.track(errors));
                let erase = scheme.cycle(&block, &mut state, 1_000, 1, 1.0);
                (erase.time(&erasing), erase.left)
            };
            // Unread blocks are erased by the profiled table.
            assert_eq!(with(&tracked, None), with(&profiled, Some(10.0)));
            for errors in [0.0, 20.0, 45.0, 62.0, 63.0, 200.0] {
                let (time, left) = with(&tracked, Some(errors));
                // As many whole grains as the requirement leaves room for beside its errors, and the part of one that
                // the fail bits do not show.
                assert!(left <= f64::from(ept.spared(errors)) + 1e-9, "{errors}: {left}");
                assert!(errors + erasing.incomplete(left) <= erasing.requirement.max(errors) + 1e-9 || left == 0.0);
                shorter += u32::from(time < with(&profiled, None).0);
                longer += u32::from(time > with(&profiled, None).0);
            }
            assert_eq!(with(&tracked, Some(200.0)), with(&eraser(&REO_MINUS), None));
        }
    }
    assert!(shorter > 100 && longer > 100, "{shorter} {longer}");
}

#[test]
fn ispe_takes_equation_2() {
    let (erasing, ispe) = (chip(), eraser(&ISPE));
    for needed in needs() {
        let found = once(&ispe, needed);
        let loops = (needed / 7.0 - 1e-9).ceil() as u64;
        // electronics25 Eq. 2: tBERS = (tEP + tVR) x N_ISPE.
        assert_eq!(found.time(&erasing), Span::from_us(3_600) * loops, "{needed}");
        assert_eq!(u64::from(found.loops), loops);
        assert_eq!(found.left, 0.0);
        let stress: f64 = (0..loops as u32).map(|index| erasing.pulse_stress(index, 7.0)).sum();
        assert!((found.wear - (erasing.program_stress + stress) / 1e3).abs() < 1e-12, "stress adds up over pulses");
        // m-ISPE's formulas (section 5.1): n grains are ceil(n / 7) loops, the last of 0.5 (1 + (n - 1) mod 7) ms.
        let least = erasing.least_grains(needed);
        assert_eq!(u64::from(erasing.loops_for(least)), loops);
        assert_eq!(least, 7 * (loops as u32 - 1) + 1 + (least - 1) % 7);
    }
}

#[test]
fn felp_takes_equation_3_and_erases_as_completely() {
    let (erasing, ispe, reo_minus) = (chip(), eraser(&ISPE), eraser(&REO_MINUS));
    for needed in needs() {
        let (full, found) = (once(&ispe, needed), once(&reo_minus, needed));
        assert_eq!(found.left, 0.0, "{needed}: REO- leaves nothing that ISPE erases");
        assert!(found.wear <= full.wear + 1e-12, "{needed}");
        // Eq. 3: less what the last loop's pulse is shorter, more the verify read after the short first pulse.
        let spared = full.time(&erasing).0 as i64 - found.time(&erasing).0 as i64;
        let grains = |of: &Erase| of.pulses.iter().map(|pulse| i64::from(pulse.grains)).sum::<i64>();
        assert_eq!(spared, 500_000 * (grains(&full) - grains(&found)) - if needed > 2.0 { 100_000 } else { 0 });
        assert_eq!(found.pulses[0], pulse(0, FIRST));
        // Just long enough: a predicted pulse is less than two grains too long.
        let last = found.pulses.last().unwrap();
        assert!(!last.last || f64::from(grains(&found) as u32) - needed < 2.0, "{needed}: {:?}", found.pulses);
    }
}

#[test]
fn what_the_margin_leaves_the_ecc_has_room_for() {
    let erasing = chip();
    for requirement in [40.0, 50.0, 63.0] {
        let ept = Ept::profile(&erasing, requirement);
        let (with, without) = (Eraser::new(&erasing, REO, requirement), Eraser::new(&erasing, REO_MINUS, requirement));
        for needed in needs() {
            let found = with.erase(needed, 500, 0, 1.0);
            let full = without.erase(needed, 500, 0, 1.0);
            assert!(found.wear <= full.wear + 1e-12);
            if found.left > 0.0 {
                // F_PASS: the most fail bits for which the table has no further pulse, of the loop or of the next.
                let last = found.pulses.last().unwrap().index + 1;
                let passes = |loops: u32, grains: u32| (last..=last + 1).contains(&loops) && grains == 0;
                let most = ept.rows().filter(|entry| passes(entry.loops, entry.spared)).map(|entry| entry.range).max();
                let pass =
                    erasing.delta * most.map_or(0.0, |range| if range == 0 { erasing.gamma } else { range as f64 });
                assert!(erasing.fail_bits(found.left) <= pass + 1e-6, "{needed} {requirement}");
                // A block that just needs another loop is taken for one that does not.
                let errors = erasing.rber(needed - erasing.fresh) + erasing.incomplete(found.left);
                assert!(errors <= requirement + 1.5, "{needed} {requirement}: {errors}");
            }
        }
    }
    // C1 and C2 of section 5.3: the last loop is skipped.
    let (reo, reo_minus) = (eraser(&REO), eraser(&REO_MINUS));
    assert_eq!(once(&reo, 14.0 + 1.5).pulses.len(), once(&reo_minus, 14.0 + 1.5).pulses.len() - 1);
    assert_eq!(once(&reo, 21.0 + 0.5).loops, 3);
}

#[test]
fn i_ispe_begins_where_the_last_erase_ended() {
    let erasing = chip();
    let found = eraser(&I_ISPE).erase(8.0, 500, 1, 1.0);
    assert_eq!(found.pulses, [pulse(1, 7)]);
    // A skipped loop is made up for in part.
    let worth = 7.0 + (1.0 - erasing.skip_loss) * 7.0;
    let failed = eraser(&I_ISPE).erase(worth + 0.1, 500, 1, 1.0);
    assert_eq!(failed.pulses, [pulse(1, 7), pulse(2, 7)]);
    assert_eq!(failed.time(&erasing), Span::from_us(7_200));
}

/// One rule for all schemes: the last loop's voltage is the highest, and is repeated as often as there are loops
/// (decision 22).
#[test]
fn every_scheme_repeats_the_last_loop_and_gives_up_alike() {
    let erasing = chip();
    // What a scheme's pulses have done before the last loop's: all schemes but one go through all loops; what it skips
    // is made up for in part by the first.
    let skipped = (1.0 - erasing.skip_loss) * 28.0;
    for (scheme, before, done) in
        [(ISPE, 0, 28.0), (DPES, 0, 28.0), (REO_MINUS, 0, 28.0), (REO, 0, 28.0), (I_ISPE, 4, skipped)]
    {
        let erase = |needed: f64| eraser(&scheme).erase(needed, 500, before, 1.0);
        let highest = |of: &Erase| of.pulses.iter().filter(|pulse| pulse.index == 4).count();
        // The last loop suffices, is repeated once, and as often as it may be.
        for repeated in 1..=5 {
            let found = erase(done + 7.0 * f64::from(repeated) - 0.5);
            assert_eq!((highest(&found) as u32, found.exhausted, found.left), (repeated, false, 0.0), "{scheme:?}");
        }
        // What it leaves then is the same for the same fail bits, and costs what the margin may leave: errors by fail
        // bits (electronics25 Fig. 17b).
        let failed = erase(done + 36.5);
        assert_eq!((highest(&failed), failed.exhausted), (5, true), "{scheme:?}");
        assert!((failed.left - 1.5).abs() < 1e-9, "{scheme:?}");
        let scaled = if scheme == DPES { erasing.scaled_errors } else { 0.0 };
        assert_eq!(eraser(&scheme).added_errors(&failed, 500), erasing.incomplete(failed.left) + scaled);
        let loops = if scheme == I_ISPE { 5 } else { erasing.most_loops() };
        assert_eq!(failed.loops, loops, "{scheme:?}");
    }
}

#[test]
fn a_lower_voltage_stresses_less_until_it_no_longer_can() {
    let wear = |scheme: &EraseScheme, pec| eraser(scheme).erase(5.0, pec, 0, 1.0).wear * 1e3;
    assert!((wear(&DPES, 2_999) - (chip().program_stress + chip().scaled_stress)).abs() < 1e-12);
    assert_eq!(wear(&DPES, 3_000), wear(&ISPE, 3_000));
}

#[test]
fn a_misprediction_costs_one_more_grain() {
    let erasing = chip();
    let wrong = EraseScheme { mispredictions: 0.2, ..REO_MINUS };
    let time = |scheme, needed, draw| eraser(scheme).erase(needed, 500, 0, draw).time(&erasing);
    assert_eq!(time(&wrong, 12.0, 0.1), time(&REO_MINUS, 12.0, 0.1) + Span::from_us(600));
    assert_eq!(time(&wrong, 12.0, 0.3), time(&REO_MINUS, 12.0, 0.3));
    // Where nothing was predicted nothing was predicted wrongly: a first pulse that suffices, a whole last loop.
    for needed in [1.5, 13.9] {
        assert_eq!(time(&wrong, needed, 0.1), time(&REO_MINUS, needed, 0.1));
    }
}

#[test]
fn lives_depend_on_nothing_but_their_seed_and_wear_never_heals() {
    let erasing = chip();
    let blocks: Vec<_> = (0..60).map(|block| erasing.block(1, block, 0)).collect();
    for scheme in [ISPE, I_ISPE, DPES, REO_MINUS] {
        let found = cycle(&eraser(&scheme), &blocks, (100, 6_000), 1);
        assert_eq!(found, cycle(&eraser(&scheme), &blocks, (100, 6_000), 1));
        let scaled = |pec| if scheme.voltage.is_scaled(pec) { erasing.scaled_errors } else { 0.0 };
        let rising =
            found.windows(2).all(|pair| pair[0].mean - scaled(pair[0].pec) <= pair[1].mean - scaled(pair[1].pec));
        assert!(rising, "{scheme:?}");
    }
}

/// Chips of other kinds have erase models of their own: lives as their presets say (`assumed`), within a fifth.
#[test]
fn chips_live_as_long_as_their_presets_say() {
    for (name, endurance) in [("slc", 100_000), ("mlc", 10_000), ("tlc48-reo", 5_300), ("qlc", 1_500), ("plc", 500)] {
        let erasing = VirtualChip::preset(name).unwrap().erasing;
        let blocks: Vec<_> = (0..40).map(|block| erasing.block(1, block, 0)).collect();
        let life = |scheme: EraseScheme| {
            let eraser = Eraser::new(&erasing, scheme, erasing.requirement);
            let found = cycle(&eraser, &blocks, (endurance / 50, 2 * endurance), 1);
            found.iter().find(|at| at.mean >= erasing.requirement).map_or(2 * endurance, |at| at.pec)
        };
        let base = life(ISPE);
        assert!(base.abs_diff(endurance) <= endurance / 5, "{name}: {base}");
        assert!(life(REO_MINUS) >= base, "{name}");
    }
}

/// electronics25 Fig. 21: at 4,500 cycles all schemes but i-ISPE meet their requirement, and so can erase their blocks;
/// i-ISPE's are worn out.
#[test]
fn blocks_that_meet_their_requirement_at_4500_cycles_can_be_erased() {
    let erasing = chip();
    let blocks: Vec<_> = (0..60).map(|block| erasing.block(1, block, 0)).collect();
    for scheme in [ISPE, I_ISPE, DPES, REO_MINUS, REO] {
        let found = cycle(&eraser(&scheme), &blocks, (50, 4_500), 1);
        let last = found.last().unwrap();
        assert_eq!(last.mean < erasing.requirement, scheme != I_ISPE, "{scheme:?}: {last:?}");
        assert!(last.failed < 0.02 || scheme == I_ISPE, "{scheme:?}: {last:?}");
    }
}
