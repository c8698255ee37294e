//! Erases of a drive, to the nanosecond: electronics25 sections 3.2 and 4 with Table 1, and what its schemes leave for
//! reads.

use nand::model::outcomes::Archetypes;
use schemes::{Margin, Pulse, Pulses};
use ssd::lifetime::{EraseScheme, Eraser, WearState};
use ssd::{Config, Device, Drive};
use testing::{Entry, Watch, one_plane, watched};
use units::{Bytes, Lpn, Time};
use workload::{Op, Request};

/// A half-full drive of one plane, in which a write opens a block that is erased first, and nothing but the array takes
/// time.
fn config(settings: &[&str]) -> Config {
    let mut config = one_plane();
    for word in [
        "geometry.pages=192",
        "ftl.over_provisioning=1.0",
        "chip.model=tlc48-reo",
        "chip.program_unit=page",
        "bus.bandwidth=none",
        "bus.t_dma=0us",
        "bus.t_command=0us",
        "ecc.t_decode=0us",
        "host.t_submit=0us",
        "host.t_complete=0us",
        "host.link_bandwidth=1000GB/s",
        "buffer.dram_bandwidth=1000GB/s",
        "ftl.erase_when=opened",
        "age.fill=0.5",
    ]
    .iter()
    .chain(settings)
    {
        config.set(word).unwrap();
    }
    config
}

/// The choices of a named scheme, and more.
fn scheme(name: &str, settings: &[&str]) -> Config {
    let mut config = config(settings);
    schemes::presets::words(name).unwrap().iter().for_each(|word| config.set(word).unwrap());
    config
}

const PAGE: u64 = 16_384;

fn request(time: u64, page: u64, op: Op) -> Request {
    Request::new(Time(time), op, Bytes(page * PAGE), Bytes(PAGE))
}

/// Writes pages after 1 us, and reads others at the given times; what the die does.
fn play(config: &Config, seed: u64, writes: u64, reads: &[u64]) -> Vec<Entry> {
    let watch = Watch::default();
    let mut device = watched(config, seed, watch.clone());
    let writes = (0..writes).map(|page| request(1_000, page, Op::Write));
    let reads = reads.iter().enumerate().map(|(index, time)| request(*time, 20 + index as u64, Op::Read));
    let mut all: Vec<Request> = writes.chain(reads).collect();
    all.sort_by_key(|request| request.time);
    for request in all {
        device.submit(request).unwrap();
    }
    device.flush().unwrap();
    assert_eq!(device.outstanding(), 0);
    device.check().unwrap();
    watch.0.take()
}

/// When the first operation of a kind begins, and how long it takes.
fn first(all: &[Entry], kind: &str) -> (u64, u64) {
    let (_, start, end) = all.iter().find(|(what, ..)| *what == kind).unwrap();
    (*start, end - start)
}

fn erase_time(config: &Config, seed: u64) -> u64 {
    first(&play(config, seed, 1, &[]), "erase").1
}

/// What the erase of the first empty block of each plane should take after this many cycles, by the equations: pulses
/// side by side, each followed by a verify read.
fn expected(scheme: EraseScheme, planes: u64, block: u32, pec: u32, seed: u64) -> (u64, Vec<Vec<Pulse>>) {
    let chip = nand::VirtualChip::preset("tlc48-reo").unwrap().erasing;
    let (eraser, archetypes) = (Eraser::new(&chip, scheme, 63.0), Archetypes::new(seed));
    let pulses = |plane: u32| {
        let of = chip.block(seed, archetypes.of(plane, block) as u64, 0);
        let mut life = WearState::default();
        (0..pec).step_by(50).for_each(|at| drop(eraser.cycle(&of, &mut life, at, 50, 1.0)));
        let before = {
            eraser.cycle(&of, &mut life, pec, 0, 1.0);
            life.before
        };
        eraser.erase(chip.needed(&of, life.wear), pec, before, 1.0).pulses
    };
    let all: Vec<Vec<Pulse>> = (0..8).filter(|plane| planes >> plane & 1 != 0).map(pulses).collect();
    let longest = |index: usize| all.iter().filter_map(|of| of.get(index)).map(|of| u64::from(of.grains)).max();
    let time = (0..).map_while(longest).map(|grains| 500_000 * grains + 100_000).sum();
    (time, all)
}

const FELP: EraseScheme = EraseScheme { pulses: Pulses::Felp, ..EraseScheme::ISPE };
const SPARED: EraseScheme = EraseScheme { margin: Margin::Ecc, ..FELP };

#[test]
fn an_idle_erase_takes_equations_2_and_3() {
    for seed in 1..6 {
        // Fresh blocks need 3.5 to 3.7 grains of 0.5 ms: one loop of 3.5 ms and a verify read.
        assert_eq!(erase_time(&scheme("ispe", &[]), seed), 3_600_000);
        assert_eq!(erase_time(&scheme("i-ispe", &[]), seed), 3_600_000);
        // After the first 1 ms they have 1.5 to 1.7 grains to go, less than delta fail bits: Table 1's 1 ms, or
        // nothing.
        assert_eq!(erase_time(&scheme("reo-minus", &[]), seed), 1_100_000 + 1_100_000);
        assert_eq!(erase_time(&scheme("reo", &[]), seed), 1_100_000);
        for pec in [500, 1_000, 2_000, 2_500, 3_000, 4_500] {
            let age = format!("age.pec={pec}");
            let full = erase_time(&scheme("ispe", &[&age]), seed);
            let (time, pulses) = expected(EraseScheme::ISPE, 1, 16, pec, seed);
            // Eq. 2: (tEP + tVR) x N_ISPE.
            assert_eq!((full, full), (time, 3_600_000 * pulses[0].len() as u64));
            // Eq. 3: less by what the last pulse is shorter.
            for (name, of) in [("reo-minus", FELP), ("reo", SPARED)] {
                assert_eq!(erase_time(&scheme(name, &[&age]), seed), expected(of, 1, 16, pec, seed).0, "{name} {pec}");
            }
        }
    }
}

#[test]
fn blocks_that_were_read_are_erased_by_what_that_has_found() {
    // All pages are read, and overwritten thrice: how long the erases take together.
    let erased = |name: &str, reads: bool| {
        let small = ["geometry.blocks=16", "geometry.pages=12", "age.fill=1.0", "ftl.over_provisioning=1.5"];
        let age = ["age.pec=3500", "age.worn_under=ispe", "age.precondition=closed-form", "read.start=tracked"];
        let mut device = Device::new(&scheme(name, &[small, age].concat()), 1).unwrap();
        let pages = 60;
        for page in (0..pages).filter(|_| reads) {
            device.submit(request(page * 1_000_000, page, Op::Read)).unwrap();
        }
        for index in 0..3 * pages {
            device.submit(request((pages + index) * 1_000_000, index * 7 % pages, Op::Write)).unwrap();
        }
        device.flush().unwrap();
        device.check().unwrap();
        device.counters().erase_ns
    };
    // At 3,500 cycles the worst block that needs as many loops has no room; young data of most blocks has some.
    // Collection reads what it relocates; the more pages are read, the worse the worst of them.
    let (few, all) = (erased("reo,margin=tracked", false), erased("reo,margin=tracked", true));
    assert!(few <= all && all < erased("reo", true), "{few} {all}");
    let error = scheme("reo,margin=tracked", &["chip.model=none"]).plan().unwrap_err().to_string();
    assert!(error.contains("erase.margin") && error.contains("without a virtual chip"), "{error}");
}

#[test]
fn cells_of_five_bits_keep_their_data_where_reads_have_shown_how_little_room_they_leave() {
    // All data of a drive that has worn under a scheme, read once: how many reads were lost.
    let lost = |name: &str| {
        let age = ["age.pec=340", "age.retention=12mo", "read.start=tracked", "read.next=tailored"];
        let chip = ["chip.model=plc", "geometry.cell=PLC", "geometry.pages=320"];
        let lost = |seed: u64| {
            let mut device = Device::new(&scheme(name, &[&chip[..], &age].concat()), seed).unwrap();
            for page in 0..2_000 {
                device.submit(request(page * 1_000_000, page, Op::Read)).unwrap();
            }
            device.flush().unwrap();
            device.counters().requests_uncorrectable
        };
        (1..6).map(lost).sum::<u64>()
    };
    // The table goes by the errors of TLC's erase model: with those of the cells themselves more are left than the code
    // corrects.
    let (profiled, tracked, none) = (lost("reo"), lost("reo,margin=tracked"), lost("reo-minus"));
    assert!(profiled > 20 && tracked == 0 && none == 0, "{profiled} {tracked} {none}");
}

#[test]
fn planes_that_are_erased_together_wait_for_the_longest_pulse() {
    let settings = ["age.pec=2500", "geometry.planes=2", "chip.plane_programs=lockstep", "ftl.erase_when=opened"];
    let pair = scheme("reo-minus", &[&settings[..], &["ftl.placement=static", "chip.program_unit=page"]].concat());
    let (mut together, mut unequal) = (0, 0);
    for seed in 1..30 {
        // Reads keep the die until both pages are there.
        let all = play(&pair, seed, 2, &[0, 0]);
        let set = all.iter().find(|(kind, ..)| *kind == "planes").unwrap().1;
        let (time, pulses) = expected(FELP, set, 16, 2_500, seed);
        assert_eq!(first(&all, "erase").1, time, "{seed} {set}");
        (together, unequal) = (together + u32::from(set == 3), unequal + u32::from(set == 3 && pulses[0] != pulses[1]));
    }
    assert!(together == 29 && unequal > 10, "{together} {unequal}");
}

#[test]
fn a_read_waits_for_the_boundary_of_the_pulse_as_long_as_it_is() {
    let settings = ["schedule.suspend_erase=pulse-boundary", "chip.t_read=40us", "chip.cache_program=false"];
    let config = scheme("reo-minus", &settings);
    let (start, whole) = first(&play(&config, 1, 1, &[]), "erase");
    assert_eq!(whole, 2_200_000);
    // Two pulses of 1 ms with a verify read of 0.1 ms behind each.
    for (offset, boundary) in [(300, 1_000_000), (1_050_000, 1_100_000), (1_200_000, 2_100_000), (2_120_000, 2_200_000)]
    {
        let all = play(&config, 1, 1, &[start + offset]);
        assert_eq!(first(&all, "sense").0, start + boundary, "{offset}");
        let resumed = all.iter().find(|(kind, ..)| *kind == "resume");
        let ends = resumed.map_or(start + whole, |(_, _, ends)| *ends);
        assert_eq!(ends - (start + whole), if boundary < whole { 40_000 } else { 0 }, "{offset}");
    }
    // At once, whatever the pulse.
    let config = scheme("reo-minus,suspend-erase=reset-and-resume", &settings[1..]);
    assert_eq!(first(&play(&config, 1, 1, &[start + 1_200_000]), "sense").0, start + 1_204_000);
}

/// P/E cycles, by which reads are judged, of the pages of the first blocks.
fn lived(config: &Config) -> Vec<u32> {
    let device = Device::new(config, 1).unwrap();
    (0..3_000).map(|lpn| device.conditions_of(Lpn(lpn)).unwrap().pec.0).collect()
}

#[test]
fn wear_is_the_stress_that_erases_have_left() {
    for pec in [0, 50, 730, 2_500, 4_500] {
        let pec = format!("age.pec={pec}");
        let mean = |name: &str| {
            let all = lived(&scheme(name, &[&pec]));
            all.iter().map(|pec| f64::from(*pec)).sum::<f64>() / all.len() as f64
        };
        let count: f64 = pec[8..].parse().unwrap();
        // Conventional erases are what wear is counted in.
        assert!((mean("ispe") - count).abs() <= 0.5, "{} {count}", mean("ispe"));
        assert!(mean("reo-minus") <= count);
        assert!(mean("reo") <= mean("reo-minus"));
        assert!(mean("reo-plus") <= mean("reo"));
        assert!(mean("dpes") <= count);
        if count >= 730.0 {
            assert!(mean("reo") < 0.9 * count && mean("reo-plus") < 0.98 * mean("reo") && mean("dpes") < 0.9 * count);
        }
    }
}

#[test]
fn every_erase_adds_its_own_stress() {
    // A block that is erased over and over: its wear follows its own erases, whatever the drive's age says.
    let small =
        ["age.pec=1000", "geometry.blocks=16", "geometry.pages=12", "age.fill=1.0", "ftl.over_provisioning=1.5"];
    let run = |name: &str| {
        let mut device = Device::new(&scheme(name, &small), 1).unwrap();
        for index in 0..20_000 {
            device.submit(request(index * 3_000_000, index * 7 % 60, Op::Write)).unwrap();
        }
        device.flush().unwrap();
        device.check().unwrap();
        let erases = f64::from(device.erases().sum::<u32>()) / 16.0;
        let lived = device.effective_pec().unwrap().sum::<f64>() / 16.0;
        (erases, lived)
    };
    let (erases, lived) = run("ispe");
    assert!(erases > 50.0);
    assert!((lived - (1_000.0 + erases)).abs() < 0.02 * erases + 1.0, "{lived} after {erases} more");
    let (same, less) = run("reo");
    assert_eq!(erases, same);
    assert!(less < 1_000.0);
}

#[test]
fn a_suspension_within_a_pulse_wears_the_block_by_as_much_as_the_chip_says() {
    let base = ["age.pec=2500", "chip.t_read=40us", "chip.cache_program=false"];
    let begin = first(&play(&scheme("ispe", &base), 1, 1, &[]), "erase").0;
    let worn = |suspend: &str, cost: &str| {
        let cost = format!("chip.suspended_erase_wear={cost}");
        let config = scheme(&format!("ispe,suspend-erase={suspend}"), &[&base[..], &[cost.as_str()]].concat());
        let mut device = Device::new(&config, 1).unwrap();
        device.submit(request(1_000, 0, Op::Write)).unwrap();
        // Into the first pulse, into it again, at its verify, and into the second.
        for (index, offset) in (0..).zip([500_000, 2_000_000, 3_660_000, 4_500_000]) {
            device.submit(request(begin + offset, 20 + index, Op::Read)).unwrap();
        }
        device.flush().unwrap();
        device.check().unwrap();
        let pec = device.conditions_of(Lpn(0)).unwrap().pec.0;
        (pec, device.counters().erase_suspensions, device.counters().pulse_suspensions)
    };
    let (free, all, within) = worn("reset-and-resume", "0");
    assert_eq!((all, within), (4, 3));
    assert_eq!(worn("reset-and-resume", "20"), (free + 60, 4, 3));
    assert_eq!(worn("safe-points", "20"), (free + 60, 4, 3));
    // A pulse that has ended is left as it is.
    let (same, _, none) = worn("pulse-boundary", "20");
    assert_eq!((same, none), (free, 0));
}

#[test]
fn the_lowest_wordlines_decide_and_the_others_are_spared() {
    let settings = ["age.pec=2500"];
    let (block, page) = (lived(&scheme("reo", &settings)), lived(&scheme("reo-plus", &settings)));
    let pairs: Vec<(u32, u32)> = block.into_iter().zip(page).collect();
    assert!(pairs.iter().all(|(block, page)| page <= block), "no wordline is stressed more");
    assert!(pairs.iter().any(|(block, page)| page == block), "the slowest is stressed as ever");
    assert!(pairs.iter().any(|(block, page)| f64::from(*page) < 0.9 * f64::from(*block)), "the fastest is spared");
}

#[test]
fn dpes_programs_more_slowly() {
    // The block is erased once more before it is programmed.
    for (pec, t_prog) in [(499, 385_000), (2_499, 455_000), (3_499, 350_000)] {
        let pec = format!("age.pec={pec}");
        let config = scheme("dpes", &[&pec, "chip.t_prog=350us"]);
        assert_eq!(first(&play(&config, 1, 1, &[]), "program").1, t_prog);
        let phases = ["chip.t_prog=none", "chip.program_loops=7", "chip.t_program_pulse=40us"];
        let phases = [&phases[..], &["chip.t_program_verify=10us", &pec]].concat();
        assert_eq!(first(&play(&scheme("dpes", &phases), 1, 1, &[]), "program").1, t_prog);
    }
}

#[test]
fn blocks_that_no_loops_erase_go_out_of_service_if_asked() {
    let worn = ["age.pec=30000", "geometry.blocks=48", "age.fill=1.0", "age.precondition=closed-form"];
    let retired = |settings: &[&str]| {
        let mut device = Device::new(&scheme("ispe", &[&worn[..], settings].concat()), 1).unwrap();
        for index in 0..4_000 {
            if device.submit(request(index * 400_000, index * 2_477 % 4_000, Op::Write)).is_err() {
                break;
            }
        }
        let _ = device.flush();
        let counters = device.counters();
        (counters.blocks_retired, counters.erases_exhausted)
    };
    let (kept, exhausted) = retired(&[]);
    assert_eq!(kept, 0);
    assert!(exhausted > 0);
    let (out, exhausted) = retired(&["erase.retire=true"]);
    assert_eq!(out, exhausted);
    assert!(out > 0);
}
