//! The virtual chip: its analytic error counts against cells sampled one by one, the tables against direct computation,
//! what physics makes monotone, and bad chip files.

use std::time::Instant;

use nand::VirtualChip;
use nand::characterize::{Condition, Factors, Population, erase_lives, retry_steps};
use nand::model::cells::Cells;
use nand::model::ladder::Ladder;
use nand::model::measured::MeasuredSteps;
use nand::model::names;
use nand::model::normal::quantile;
use nand::model::outcomes::{OutcomeSource, Outcomes, PageState, Sensed, UNCORRECTABLE};
use nand::model::sensing::Cuts;
use nand::model::variation::{Draws, Place};
use proptest::prelude::*;
use units::{Span, Stream};

/// Pages of completely erased blocks.
fn state(pec: u32, retention: Span) -> PageState {
    PageState { pec, retention, reads: 0, warmer: 0, programmed: Some(0), extra: 0.0 }
}

const SMALL: Population = Population { chips: 3, blocks: 2, seed: 1 };

fn chip(name: &str) -> VirtualChip {
    VirtualChip::preset(name).unwrap()
}

#[test]
fn error_counts_agree_with_cells_sampled_one_by_one() {
    const CELLS: u64 = 400_000;
    for name in names() {
        let chip = chip(name);
        let cells = &chip.cells;
        let (states, places) = (Stream::new(1, "states"), Stream::new(1, "places"));
        let mut counter = 0;
        for page in 0..cells.bits {
            for (x, months, reads, offset) in
                [(0.0, 0.0, 0.0, 0.0), (1.0, 3.0, 0.0, 0.0), (2.0, 12.0, 5e5, 6.0), (2.0, 12.0, 0.0, 16.0)]
            {
                let shape = cells.shape(x, months, reads, 1.03);
                let offset = offset * cells.retry_step;
                let mut wrong = 0u64;
                for _ in 0..CELLS {
                    let normal = quantile(places.uniform(counter).max(1e-300));
                    wrong += u64::from(cells.is_wrong(shape, page, offset, states.uniform(counter), normal));
                    counter += 1;
                }
                let expected = cells.error_rate(shape, page, offset) * CELLS as f64;
                let deviation = expected.sqrt().max(1.0);
                assert!(
                    (wrong as f64 - expected).abs() < 4.0 * deviation,
                    "{name} page {page}: {wrong} for {expected}"
                );
            }
        }
    }
}

#[test]
fn the_ladder_gives_what_direct_computation_gives() {
    let chip = chip("tlc48");
    let limit = f64::from(chip.cells.capability) + 0.5;
    let draws = Draws::new(3);
    let mut compared = 0;
    for (x, months) in [(0.0, 3.0), (0.7, 5.0), (2.0, 12.0)] {
        for page in 0..3 {
            let ladder = Ladder::new(&chip, page, x, months, 0.0, 40.0);
            for wordline in 0..192 {
                let place = Place { chip: 5, block: 7, wordline };
                let (log_factor, worst) = (chip.variation.log_factor(&draws, place), draws.worst(place, page, 16.0));
                let shape = chip.cells.shape(x, months, 0.0, log_factor.exp());
                let errors = |step: u32| {
                    chip.cells.errors(shape, page, f64::from(step) * chip.cells.retry_step) + chip.cells.cold(40.0)
                };
                let passes = |step: &u32| errors(*step) + worst * errors(*step).sqrt() <= limit;
                let direct = (0..=chip.cells.retry_steps).find(passes);
                let near = direct.is_some_and(|step| {
                    let rim = |step: u32| (errors(step) + worst * errors(step).sqrt() - limit).abs() < 0.3;
                    rim(step) || (step > 0 && rim(step - 1))
                });
                assert!(
                    ladder.steps(log_factor, worst) == direct || near,
                    "{:?} {direct:?}",
                    ladder.steps(log_factor, worst)
                );
                assert!(
                    (ladder.least(log_factor) - chip.cells.least_errors(shape, page) - chip.cells.cold(40.0)).abs()
                        < 0.01
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 3 * 3 * 192);
}

#[test]
fn a_population_is_the_same_on_any_number_of_threads_and_another_for_another_seed() {
    let chip = chip("tlc48");
    let conditions =
        [Condition { x: 1.0, months: 3.0, celsius: 85.0 }, Condition { x: 2.0, months: 12.0, celsius: 30.0 }];
    let one = retry_steps(&chip, SMALL, &conditions, 1, &|_| ());
    assert_eq!(one, retry_steps(&chip, SMALL, &conditions, 3, &|_| ()));
    assert_ne!(one, retry_steps(&chip, Population { seed: 2, ..SMALL }, &conditions, 1, &|_| ()));
    assert_eq!(one[0].pages.iter().sum::<u64>(), 3 * 2 * 576);
}

#[test]
fn extremes_are_those_of_the_whole_population() {
    // The expected number of codewords beyond M_ERR is below one, beyond M_ERR - 1 it is not: sampled maxima of
    // populations lie around it.
    let chip = chip("tlc48");
    let factors = Factors::new(&chip, SMALL);
    let condition = Condition { x: 2.0, months: 12.0, celsius: 85.0 };
    let m_err = factors.m_err(&chip, condition, Cuts::default());
    let larger = Factors::new(&chip, Population { chips: 30, blocks: 20, seed: 1 });
    assert!(larger.m_err(&chip, condition, Cuts::default()) > m_err, "more codewords, further extremes");
    let draws = Stream::new(9, "poisson");
    let mut exceeded = 0;
    for trial in 0..20 {
        let mut most = 0;
        for index in 0..3 * 2 * 192u64 {
            let place = Place { chip: index / 384, block: index / 192 % 2, wordline: (index % 192) as u32 };
            let log_factor = chip.variation.log_factor(&Draws::new(1), place);
            let shape = chip.cells.shape(2.0, 12.0, 0.0, log_factor.exp());
            for page in 0..3 {
                let mean = chip.cells.least_errors(shape, page);
                for codeword in 0..16 {
                    // A Poisson draw by inversion.
                    let u = draws.uniform(((trial * 3 * 384 + index) * 3 + u64::from(page)) * 16 + codeword);
                    let (mut term, mut sum, mut count) = ((-mean).exp(), (-mean).exp(), 0);
                    while sum < u && count < 200 {
                        count += 1;
                        term *= mean / f64::from(count);
                        sum += term;
                    }
                    most = most.max(count);
                }
            }
        }
        exceeded += u32::from(most > m_err);
        assert!(most + 8 > m_err);
    }
    assert!((1..20).contains(&exceeded), "{exceeded} of 20 maxima beyond {m_err}");
}

proptest! {
    #[test]
    fn wear_age_cold_reads_and_cuts_never_lower_errors(
        (x, more_x) in (0.0..3.0f64, 0.0..1.0f64),
        (months, more_months) in (0.0..12.0f64, 0.0..6.0f64),
        (celsius, colder) in (0.0..85.0f64, 0.0..40.0f64),
        (cut, more_cut) in ((0.0..0.6f64, 0.0..0.4f64, 0.0..0.4f64), (0.0..0.2f64, 0.0..0.2f64, 0.0..0.2f64)),
        log_factor in -0.08..0.08f64,
        page in 0..3u32,
    ) {
        let chip = chip("tlc48");
        let least = |x: f64, months: f64, celsius: f64, cuts: Cuts| {
            let shape = chip.cells.shape(x, months, 0.0, log_factor.exp());
            let relative = chip.relative_shift(x, months);
            chip.cells.least_errors(shape, page) + chip.cells.cold(celsius) + chip.sensing.added(cuts, chip.senses(page), x, relative, celsius)
        };
        let cuts = Cuts { pre: cut.0, eval: cut.1, disch: cut.2 };
        let deeper = Cuts { pre: cut.0 + more_cut.0, eval: cut.1 + more_cut.1, disch: cut.2 + more_cut.2 };
        let base = least(x, months, celsius, cuts);
        prop_assert!(base >= 0.0);
        for more in [
            least(x + more_x, months, celsius, cuts),
            least(x, months + more_months, celsius, cuts),
            least(x, months, celsius - colder, cuts),
            least(x, months, celsius, deeper),
        ] {
            prop_assert!(more >= base - 1e-9, "{more} < {base}");
        }
        // The default read: age and reads of the block.
        let default = |months: f64, reads: f64| chip.cells.errors(chip.cells.shape(x, months, reads, log_factor.exp()), page, 0.0);
        // Beyond a pitch cells are read two states off, whose bit may be right again.
        let within_a_pitch = chip.cells.shape(x, months + more_months, 0.0, log_factor.exp()).shift < 1.5;
        prop_assert!(!within_a_pitch || default(months + more_months, 0.0) >= default(months, 0.0) - 1e-9);
        prop_assert!(default(0.0, 2e6) >= default(0.0, 1e6) - 1e-9);
        let erasing = &chip.erasing;
        let block = erasing.block(1, 3, 5);
        prop_assert!(erasing.needed(&block, 100.0 * (x + more_x)) >= erasing.needed(&block, 100.0 * x));
        prop_assert!(erasing.fail_bits(7.0 * more_x) <= erasing.fail_bits(7.0 * (more_x + 0.01)));
    }

    #[test]
    fn a_changed_chip_file_is_read_or_refused_but_never_breaks(key in 0..60usize, value in prop::sample::select(vec!["-1.0", "0", "0.0", "1e9", "\"x\"", "[]", "[1.0, 0.0]", "7"])) {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../presets/chips/tlc48.toml")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let keys: Vec<usize> = lines.iter().enumerate().take_while(|(_, line)| !line.starts_with("[source"))
            .filter(|(_, line)| line.contains(" = ") && !line.starts_with("about")).map(|(index, _)| index).collect();
        let at = keys[key % keys.len()];
        let name = lines[at].split(" = ").next().unwrap();
        let changed: Vec<String> = lines.iter().enumerate().map(|(index, line)| if index == at { format!("{name} = {value}") } else { (*line).to_owned() }).collect();
        match VirtualChip::parse(&changed.join("\n"), "chip.toml") {
            Err(error) => prop_assert!(error.key.is_some() && !error.remedy.is_empty(), "{error}"),
            Ok(chip) => {
                let condition = Condition { x: 2.0, months: 12.0, celsius: 30.0 };
                let population = Population { chips: 1, blocks: 1, seed: 1 };
                prop_assert_eq!(retry_steps(&chip, population, &[condition], 1, &|_| ())[0].pages.iter().sum::<u64>() % u64::from(chip.cells.bits), 0);
                erase_lives(&chip, population, &[500], 50);
            }
        }
    }
}

#[test]
fn bad_chip_files_are_refused_with_key_and_reason() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../presets/chips/tlc48.toml")).unwrap();
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        VirtualChip::parse(&text.replacen(from, to, 1), "chip.toml").unwrap_err().to_string()
    };
    let width = text.lines().find(|line| line.starts_with("width = ")).unwrap();
    let shift = text.lines().find(|line| line.starts_with("shift = ")).unwrap();
    let knots = text.lines().find(|line| line.starts_with("knots_grains = ")).unwrap();
    for (from, to, parts) in [
        (width, "width = -0.3", ["cells.width", "write a positive number"]),
        (shift, "shift = 20.0", ["cells.shift", "change places"]),
        ("bits = 3", "bits = 6", ["cells.bits", "TLC"]),
        (width, "", ["cells.width: is missing", "Standard deviation"]),
        (knots, "knots_grains = [0.0, 2.0, 1.0]", ["erasing.knots_wear", "as many of both"]),
        ("wordlines = 4", "wordlines = 400", ["variation.layers", "1,023"]),
        ("loops = 5", "loops = 0", ["erasing.grains", "1 to 1,000"]),
        (
            "[source.cells]\nbits = \"asplos21 section 2.2\"",
            "[source.cells]",
            ["cells.bits: has no source", "[source.cells]"],
        ),
        (
            "bits = \"asplos21 section 2.2\"",
            "bits = \"fitted\"",
            ["cells.bits: has no source", "fitted (to which claims)"],
        ),
        ("[cells]\n", "[cells]\nwdith = 1\n", ["cells.wdith", "did you mean `width`?"]),
    ] {
        let error = refused(from, to);
        assert!(error.starts_with("chip.toml"), "{error}");
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
    }
    assert!(VirtualChip::preset("tlc47").unwrap_err().remedy.contains("tlc48"));
}

#[test]
fn chips_of_fast12_program_and_erase_as_its_table_says() {
    // fast12 Table 1: T_w_total 140 and 660 us; one erase pulse of 1.5 and 3.3 ms and a verify of 8 and 24 us.
    for (name, total, erase) in [("slc", 140_000, 1_508_000), ("mlc", 660_000, 3_324_000)] {
        let chip = chip(name);
        assert_eq!(chip.programming.total(), Span(total), "{name}");
        let erasing = &chip.erasing;
        let loops = u64::from(erasing.loops);
        assert_eq!((erasing.t_grain.0 * u64::from(erasing.grains) + erasing.t_verify.0) * loops, erase, "{name}");
    }
}

/// `make bench`: pages read under one condition each a second, and one lookup.
#[test]
#[ignore = "a measurement"]
fn bench_characterization() {
    let chip = chip("tlc48");
    let conditions: Vec<Condition> = (0..16)
        .map(|i| Condition { x: f64::from(i / 4) * 0.6, months: f64::from(i % 4) * 4.0, celsius: 85.0 })
        .collect();
    let population = Population { chips: 16, ..Population::PAPERS };
    let start = Instant::now();
    let steps = retry_steps(&chip, population, &conditions, 2, &|_| ());
    let (pages, took) = (steps.iter().map(|s| s.pages.iter().sum::<u64>()).sum::<u64>(), start.elapsed().as_secs_f64());
    println!("characterization: {:.1} million page-conditions a second on 2 threads", pages as f64 / took / 1e6);
    let mut outcomes = Outcomes::new(OutcomeSource::Virtual(Box::new(chip)), None, 3, 192, 30.0, 1);
    let stream = Stream::new(1, "bench");
    let month = 30 * 86_400_000_000_000u64;
    let mut read = |i: u64| {
        let bits = stream.bits(i);
        u64::from(outcomes.read(bits >> 40, (bits & 511) as u32, state(1500, Span(6 * month))).first)
    };
    let warm: u64 = (0..1_000_000).map(&mut read).sum();
    assert!(warm > 0);
    let start = Instant::now();
    let sum: u64 = (0..20_000_000).map(read).sum();
    println!("outcome of a read: {:.1} ns ({:.1} steps)", start.elapsed().as_secs_f64() * 50.0, sum as f64 / 2e7);
}

#[test]
fn a_drives_reads_come_to_what_the_population_says() {
    let chip = chip("tlc48");
    let mut outcomes = Outcomes::new(OutcomeSource::Virtual(Box::new(chip.clone())), None, 3, 192, 85.0, 1);
    for (pec, months, x) in [(0u32, 6.0, 0.0), (1010, 3.0, 1.025), (2000, 12.0, 2.025)] {
        let retention = Span((months * 30.0 * 86_400e9) as u64);
        let (mut sum, mut count) = (0.0, 0.0);
        for block in 0..400u64 {
            for page in 0..576 {
                sum += f64::from(outcomes.read(block, page, state(pec, retention)).first);
                count += 1.0;
            }
        }
        let population = Population { chips: 40, blocks: 3, seed: 1 };
        let expected = retry_steps(&chip, population, &[Condition { x, months, celsius: 85.0 }], 1, &|_| ())[0].mean();
        assert!((sum / count - expected).abs() < 0.25, "{pec} cycles, {months} months: {} for {expected}", sum / count);
    }
    assert_eq!(outcomes.read(7, 3, state(0, Span(0))).first, 0);
    // 256 archetypes, three conditions and the last: however many blocks the drive has.
    assert!(outcomes.memory() <= 3 * 256 * 4 * 576, "{}", outcomes.memory());
    let again = Outcomes::new(OutcomeSource::Virtual(Box::new(chip)), None, 3, 192, 85.0, 1).read(
        99,
        100,
        state(2000, Span::from_ms(1 << 40)),
    );
    assert_eq!(
        outcomes.read(99, 100, state(2000, Span::from_ms(1 << 40))),
        again,
        "the order of reads changes nothing"
    );
}

#[test]
fn the_errors_found_in_the_worst_codeword_say_how_many_more_are_corrected() {
    let chip = chip("plc");
    let limit = f64::from(chip.cells.capability) + 0.5;
    let mut outcomes = Outcomes::new(OutcomeSource::Virtual(Box::new(chip)), None, 5, 16, 30.0, 1);
    let at = state(340, Span::from_ms(30 * 86_400_000));
    for block in 0..50 {
        let mut worst: (u32, f64) = (0, 0.0);
        for page in 0..80 {
            let best = Sensed::NearOptimal;
            let found = outcomes.found(block, page, at, best, false).unwrap();
            worst = if found > worst.1 { (page, found) } else { worst };
            for (extra, corrected) in [(limit - found - 1e-6, true), (limit - found + 1e-6, false)] {
                let more = PageState { extra, ..at };
                assert_eq!(
                    outcomes.read(block, page, more).first != UNCORRECTABLE,
                    corrected,
                    "{block} {page} {found}"
                );
                let with = outcomes.found(block, page, more, best, false).unwrap();
                assert!((with - found - extra).abs() < 1e-9, "those of an erase add up with the cells' own");
            }
        }
        assert_eq!(outcomes.worst_page(block, 0..80, at), Some(worst));
        assert_eq!(outcomes.worst_page(block, 7..8, at).unwrap().0, 7);
    }
}

#[test]
fn reads_lift_the_states_as_the_closed_form_says() {
    let mut cells = chip("tlc48").cells;
    let lift = |cells: &Cells, reads: f64, state: u32| cells.lift(cells.shape(1.0, 0.0, reads, 1.0), state);
    // Without a scale: the erased state alone, in proportion to reads and growing with wear.
    assert!((lift(&cells, 3e6, 0) - 0.1 * 1.5 * 3.0).abs() < 1e-12);
    assert_eq!(lift(&cells, 3e6, 1), 0.0);
    cells.disturb_scale = 0.5;
    for reads in [1e5, 1e6, 1e7] {
        let dose = 0.1 * 1.5 * reads / 1e6;
        for state in 0..8 {
            let up = lift(&cells, reads, state);
            // dV/dD = e^(-V / a) step by step.
            let (steps, mut voltage) = (20_000, 2.0 * f64::from(state));
            for _ in 0..steps {
                let rate = |at: f64| (-at / 0.5).exp();
                let half = voltage + rate(voltage) * dose / f64::from(steps) / 2.0;
                voltage += rate(half) * dose / f64::from(steps);
            }
            assert!((voltage - 2.0 * f64::from(state) - up).abs() < 1e-6, "{reads} {state}: {up}");
            assert!(up <= dose && lift(&cells, 2.0 * reads, state) > up, "it grows, ever more slowly");
            assert!(lift(&cells, reads, state + 1) < up + 2.0, "states stay in order");
            assert!(lift(&cells, reads, state + 1) < up, "lower states are lifted more");
        }
    }
}

#[test]
fn reads_of_a_block_cost_its_pages_one_after_another() {
    let chip = chip("tlc48");
    let mut outcomes = Outcomes::new(OutcomeSource::Virtual(Box::new(chip)), None, 3, 192, 30.0, 1);
    let mut readable = |reads: u32| {
        let at = PageState { reads, ..state(1_000, Span(30 * 86_400_000_000_000)) };
        (0..576).filter(|page| outcomes.read(3, *page, at).first != UNCORRECTABLE).count()
    };
    let counts: Vec<usize> = (0..=20).map(|step| readable(step * 300_000)).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
    assert_eq!((counts[0], counts[20]), (576, 384), "lost are the pages that are read at the erased state's boundary");
    assert_eq!(readable(5_000), 576, "so few are as good as none");
}

/// The slopes of Cai et al., DSN'15, Fig. 3, within a sixth, with constants that were fitted to them.
#[test]
fn errors_by_reads_grow_as_they_were_measured_on_planar_mlc() {
    let mut cells = chip("mlc").cells;
    (cells.width, cells.width_wear) = (0.332, 0.0);
    (cells.disturb, cells.disturb_wear, cells.disturb_scale) = (0.0263, 10.0, 0.5);
    for (x, measured) in [
        (2.0, 1.00e-9),
        (3.0, 1.63e-9),
        (4.0, 2.37e-9),
        (5.0, 3.74e-9),
        (8.0, 7.50e-9),
        (10.0, 9.10e-9),
        (15.0, 1.90e-8),
    ] {
        let rber = |reads: f64| {
            let shape = cells.shape(x, 0.0, reads, 1.0);
            (cells.error_rate(shape, 0, 0.0) + cells.error_rate(shape, 1, 0.0)) / 2.0
        };
        // Least squares through eleven points up to 100,000 reads.
        let slope = (0..=10).map(|k| f64::from(k - 5) * rber(f64::from(k) * 1e4)).sum::<f64>() / 110.0 / 1e4;
        println!("{x} thousand cycles: {slope:.2e} per read, {measured:.2e} measured");
        assert!((slope / measured - 1.0).abs() < 1.0 / 6.0, "{x}: {slope} for {measured}");
    }
}

/// The table of docs/chips.md.
#[test]
fn worn_blocks_stand_fewer_reads() {
    let mut outcomes = Outcomes::new(OutcomeSource::Virtual(Box::new(chip("tlc48"))), None, 3, 192, 30.0, 1);
    let mut last = [u32::MAX; 3];
    for pec in [0, 1_000, 2_000, 3_000] {
        let firsts = [0, 30, 360].map(|days| {
            let mut lost = |reads: u32| {
                let at = PageState { reads, ..state(pec, Span(days * 86_400_000_000_000)) };
                (0..20).any(|block| (0..576).any(|page| outcomes.read(block, page, at).first == UNCORRECTABLE))
            };
            (0..100).map(|step| step * 100_000).find(|reads| lost(*reads)).unwrap_or(u32::MAX)
        });
        println!("{pec} cycles: first page lost after {firsts:?} reads, of data 0, 30 and 360 days old");
        assert!(firsts.iter().zip(last).all(|(now, before)| *now < before), "{pec}: {firsts:?} after {last:?}");
        last = firsts;
    }
}

#[test]
fn measured_steps_take_the_place_of_the_model() {
    let text = "months,pec,steps,pages\n0,0,0,1000\n6,0,5,250\n6,0,7,750\n12,2000,20,1000\n";
    let steps = MeasuredSteps::parse(text, "steps.csv").unwrap();
    assert_eq!(steps.rows().count(), 4);
    let mut outcomes = Outcomes::new(OutcomeSource::Measured(steps), None, 3, 192, 85.0, 1);
    let month = 30 * 86_400_000_000_000u64;
    let mut mean = |pec: u32, months: u64| {
        let all = (0..40).flat_map(|block| (0..576).map(move |page| (block, page)));
        let steps: Vec<u8> =
            all.map(|(block, page)| outcomes.read(block, page, state(pec, Span(months * month))).first).collect();
        (steps.iter().map(|steps| f64::from(*steps)).sum::<f64>() / steps.len() as f64, *steps.iter().max().unwrap())
    };
    assert_eq!(mean(0, 0), (0.0, 0));
    let (six, most) = mean(100, 6);
    assert!((six - 6.5).abs() < 0.05 && most == 7, "{six}");
    assert_eq!(mean(1900, 11), (20.0, 20));
    for (text, part) in [
        ("", "steps.csv:1: pec: there is no such column"),
        ("pec,months,steps\n", "pages: there is no such column"),
        ("pec,months,steps,pages\n", "holds no measurement"),
        ("pec,months,steps,pages\n0,0,x,1\n", "steps.csv:2: steps: \"x\" is not accepted"),
        ("pec,months,steps,pages\n0,-1,1,1\n", "steps.csv:2: months: "),
        ("pec,months,steps,pages\n0,0,1,1\n0,0,1,2\n", "steps.csv:3: steps: 1 steps stand twice"),
        ("pec,months,steps,pages\n0,0,1,0\n", "no page was measured"),
        ("pec,months,steps,pages\n0,0,1\n", "steps.csv:2: pages: \"\" is not accepted"),
    ] {
        let error = MeasuredSteps::parse(text, "steps.csv").unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("help: "), "{error}");
    }
}

/// Pages that `characterize` could not read are written with no steps, and are not read in a drive either.
#[test]
fn measured_pages_that_no_step_reads_are_not_read() {
    let text = "pec,months,steps,pages\n2000,12,78,600\n2000,12,,400\n0,0,0,1\n";
    let steps = MeasuredSteps::parse(text, "steps.csv").unwrap();
    assert_eq!(steps.rows().map(|row| row.steps).collect::<Vec<_>>(), [Some(78), None, Some(0)]);
    let mut outcomes = Outcomes::new(OutcomeSource::Measured(steps), None, 3, 192, 85.0, 1);
    assert_eq!(outcomes.last_step(), 78, "reads try no more steps than read any page");
    let year = Span(360 * 86_400_000_000_000);
    let all = (0..40).flat_map(|block| (0..576).map(move |page| (block, page)));
    let reads: Vec<_> = all.map(|(block, page)| outcomes.read(block, page, state(2000, year))).collect();
    let lost = reads.iter().filter(|read| (0..=250).all(|step| !read.by(step, false))).count();
    let share = lost as f64 / reads.len() as f64;
    assert!((share - 0.4).abs() < 0.02, "{share}");
    assert!(reads.iter().all(|read| read.by(78, false) == (read.first != UNCORRECTABLE)));
    for (text, part) in [
        ("pec,months,steps,pages\n0,0,,1\n0,0,,2\n", "steps.csv:3: steps: no steps stand twice"),
        ("pec,months,pages,steps\n0,0,1\n", "steps.csv:2: steps: \"\" is not accepted"),
        ("pec,months,steps,pages\n0,0,251,1\n", "steps.csv:2: steps: \"251\" is not accepted"),
    ] {
        let error = MeasuredSteps::parse(text, "steps.csv").unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// A drive that begins fresh does not ask its chip (`chip.model = "auto"`).
#[test]
fn young_data_of_a_fresh_chip_needs_no_retry() {
    for name in ["slc", "mlc", "tlc48", "qlc", "plc"] {
        let chip = VirtualChip::preset(name).unwrap();
        let conditions = [(0.0, 7.0), (0.3, 1.0)].map(|(x, days)| Condition { x, months: days / 30.4, celsius: 30.0 });
        for population in retry_steps(&chip, Population { chips: 20, blocks: 20, seed: 7 }, &conditions, 1, &|_| ()) {
            assert_eq!(population.pages.iter().skip(1).sum::<u64>(), 0, "{name}");
        }
    }
}

#[test]
fn weak_wordlines_need_more_steps_and_leave_the_fewest() {
    let with = chip("tlc48");
    let mut without = with.clone();
    without.variation.tail = 0.0;
    let conditions = [(0.0, 3.0), (1.0, 3.0), (2.0, 12.0)].map(|(x, months)| Condition { x, months, celsius: 85.0 });
    let population = Population { chips: 20, blocks: 10, seed: 1 };
    let (tailed, plain) = (
        retry_steps(&with, population, &conditions, 1, &|_| ()),
        retry_steps(&without, population, &conditions, 1, &|_| ()),
    );
    for (tailed, plain) in tailed.iter().zip(&plain) {
        assert_eq!(tailed.fewest(), plain.fewest());
        assert!(tailed.most() > plain.most() && tailed.mean() > plain.mean());
    }
    // Where the axis of asplos21 Fig. 5 ends.
    assert!(tailed[2].most() < 25, "{}", tailed[2].most());
}

#[test]
fn worn_pages_are_retried_at_age_0_and_fresh_ones_are_not() {
    // asplos21 sections 3.1 and 9.
    let at = |x: f64| Condition { x, months: 0.0, celsius: 85.0 };
    let population = Population { chips: 20, blocks: 10, seed: 1 };
    let steps = retry_steps(&chip("tlc48"), population, &[at(0.0), at(1.0), at(2.0), at(3.0)], 1, &|_| ());
    assert_eq!((steps[0].most(), steps[1].most()), (0, 0));
    assert!((0.3..1.0).contains(&steps[2].share_from(1)) && steps[3].fewest() >= 1, "{}", steps[2].share_from(1));
    // No claim of the other chips' papers is on it.
    let reo = retry_steps(&chip("tlc48-reo"), population, &[at(3.0)], 1, &|_| ());
    assert_eq!(reo[0].most(), 0);
}

#[test]
fn pages_are_coded_so_that_neighbouring_states_differ_in_one_bit_and_none_are_the_same() {
    for bits in 1..=5u32 {
        let cells = Cells { bits, ..Cells::default() };
        let pages: Vec<&[u32]> = (0..bits).map(|page| cells.boundaries(page)).collect();
        let mut all: Vec<u32> = pages.concat();
        all.sort_unstable();
        assert_eq!(all, (0..cells.states() - 1).collect::<Vec<_>>(), "each boundary is of one page");
        let code = |state: u32| -> Vec<usize> {
            pages.iter().map(|page| page.iter().filter(|boundary| **boundary < state).count() % 2).collect()
        };
        let codes: std::collections::HashSet<_> = (0..cells.states()).map(code).collect();
        assert_eq!(codes.len() as u32, cells.states(), "{bits}");
    }
}

#[test]
fn cells_of_sixteen_and_more_states_wear_age_and_are_read_again() {
    // Fresh cells make some 0.0006 and 0.001 errors a bit (assumed: an order above TLC's, and twice as many again).
    for (name, fresh, worn) in [("qlc", 5e-4..1e-3, 1.0), ("plc", 8e-4..2e-3, 0.5)] {
        let chip = chip(name);
        let cells = &chip.cells;
        let rber = |x: f64, months: f64| {
            let pages = (0..cells.bits).map(|page| cells.error_rate(cells.shape(x, months, 0.0, 1.0), page, 0.0));
            pages.sum::<f64>() / f64::from(cells.bits)
        };
        assert!(fresh.contains(&rber(0.0, 0.0)), "{name}: {}", rber(0.0, 0.0));
        let (wears, ages) = ([0.0, 0.2, 0.5, 1.0, 1.5].map(|x| x * worn), [0.0, 0.1, 1.0, 3.0, 12.0]);
        for x in wears {
            assert!(ages.windows(2).all(|pair| rber(x, pair[0]) < rber(x, pair[1])), "{name} {x}");
        }
        for months in ages {
            assert!(wears.windows(2).all(|pair| rber(pair[0], months) <= rber(pair[1], months)), "{name} {months}");
        }
        let at = [(0.0, 3.0), (0.5, 3.0), (1.0, 3.0), (1.0, 12.0)];
        let at = at.map(|(x, months)| Condition { x: x * worn, months, celsius: 30.0 });
        let steps = retry_steps(&chip, Population { chips: 20, blocks: 10, seed: 1 }, &at, 1, &|_| ());
        assert!(steps.windows(2).all(|pair| pair[0].mean() < pair[1].mean()), "{name}");
        // Worn out, a year later, the longest read still ends before the table does.
        let (mean, most) = (steps[3].mean(), steps[3].most());
        assert!(steps[0].fewest() >= 1 && most < cells.retry_steps as usize, "{name}: {mean} {most}");
    }
}

#[test]
fn what_is_read_at_the_temperature_of_its_program_is_not_shifted_and_hotter_or_colder_is_read_worse() {
    for name in ["tlc48", "qlc", "plc"] {
        let chip = chip(name);
        let errors = |celsius: f64, programmed_at: f64, page: u32| {
            Ladder::crossed(&chip, page, [0.0, 0.0, 0.0], celsius, programmed_at).default(0.0)
        };
        for page in 0..chip.cells.bits {
            let same = Ladder::new(&chip, page, 0.0, 0.0, 0.0, 85.0).default(0.0);
            assert_eq!(errors(85.0, 85.0, page), same);
            let hotter = [60.0, 40.0, 0.0].map(|programmed_at| errors(85.0, programmed_at, page));
            assert!(hotter.is_sorted() && hotter[0] > same, "{name} {page}");
            let colder = [95.0, 105.0, 125.0].map(|programmed_at| errors(85.0, programmed_at, page));
            assert!(colder.is_sorted() && colder[0] > same, "{name} {page}");
        }
        // The references that follow the voltages leave nearly as many errors as without: higher states shift a little
        // more.
        let least = |programmed_at: f64| Ladder::crossed(&chip, 0, [0.0, 0.0, 0.0], 85.0, programmed_at).least(0.0);
        assert!((1.0..1.1).contains(&(least(0.0) / least(85.0))));
    }
}
