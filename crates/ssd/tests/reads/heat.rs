//! What the drive's temperature does to its data: how fast it ages, and that it is read at another temperature than it
//! was programmed at.

use nand::VirtualChip;
use nand::model::outcomes::{Archetypes, OutcomeSource, Outcomes, PageState};
use ssd::{Config, Device, Drive};
use units::{Bytes, Lpn, Span, Temperature, Time};
use workload::{Op, Request};

const HOUR: u64 = 3_600_000_000_000;

/// Two dies, on which nothing draws any power but programs: each heats the drive by 40 K, which stays for seconds.
fn drive(settings: &[&str]) -> Device {
    let mut config = Config::default();
    for word in [
        "geometry.channels=1",
        "geometry.chips=2",
        "geometry.planes=1",
        "geometry.dies=1",
        "geometry.blocks=40",
        "geometry.pages=60",
        "ftl.over_provisioning=0.5",
        "chip.program_unit=page",
        "chip.model=tlc48",
        "chip.t_prog=400us",
        "buffer.mode=write-through",
        "age.pec=1000",
        "age.retention=1mo",
        "energy.sense_mw=0",
        "energy.program_mw=360e6",
        "energy.erase_mw=0",
        "energy.transfer_nj=0",
        "energy.decode_nj=0",
    ]
    .iter()
    .chain(settings)
    {
        config.set(word).unwrap();
    }
    Device::new(&config, 7).unwrap()
}

const FOLLOWED: [&str; 2] = ["thermal.resistance=1000", "thermal.time_constant=1h"];

/// A page is read or written; how many steps its read has been retried.
fn play(device: &mut Device, op: Op, page: u64) -> u64 {
    let before = device.counters().retry_steps;
    device.submit(Request::new(device.now(), op, Bytes(page * 16_384), Bytes(16_384))).unwrap();
    while device.advance_to_completion(Time::NEVER).unwrap() {
        device.take_completions();
    }
    device.check().unwrap();
    device.counters().retry_steps - before
}

#[test]
fn at_rest_a_drive_that_is_followed_is_one_whose_temperature_stays() {
    let mut stays = drive(&["age.temperature=85C"]);
    let mut followed = drive(
        &[&FOLLOWED[..], &["thermal.ambient=85C", "thermal.light=125C", "thermal.heavy=125C", "energy.program_mw=0"]]
            .concat(),
    );
    for device in [&mut stays, &mut followed] {
        play(device, Op::Write, 5);
        device.advance(Time(13 * HOUR)).unwrap();
    }
    for page in 0..200 {
        assert_eq!(play(&mut stays, Op::Read, page), play(&mut followed, Op::Read, page));
        let [kept, summed] = [&stays, &followed].map(|device| device.conditions_of(Lpn(page)).unwrap());
        assert_eq!((kept.pec, kept.temperature), (summed.pec, summed.temperature));
        // The steps in which program times are kept, of the one at 85 C.
        assert!(kept.retention.0.abs_diff(summed.retention.0) < 1 << 34, "{kept:?} {summed:?}");
    }
    // A year, from 13 hours at 85 C.
    let days = followed.conditions_of(Lpn(5)).unwrap().retention.0 as f64 / 24.0 / HOUR as f64;
    assert!((355.0..375.0).contains(&days), "{days}");
    assert_eq!(stays.now(), followed.now());
}

#[test]
fn data_is_read_at_the_temperature_of_the_drive_and_was_programmed_at_that_of_its_program() {
    let chip = OutcomeSource::Virtual(Box::new(VirtualChip::preset("tlc48").unwrap()));
    let mut device = drive(&FOLLOWED);
    let steps = |device: &Device, page: u64, at: PageState| {
        let layout = device.plan().layout;
        let mut outcomes = Outcomes::new(chip.clone(), None, 3, layout.pages / 3, 30.0, 7);
        let place = layout.unpack(device.flash_page(Lpn(page)).unwrap());
        u64::from(outcomes.read(Archetypes::name(place.plane.0, place.block), place.page, at).first)
    };
    let month = Span(device.conditions_of(Lpn(0)).unwrap().retention.0);
    let at = |retention, warmer, programmed| PageState {
        pec: 1_000,
        retention,
        reads: 0,
        warmer,
        programmed: Some(programmed),
        extra: 0.0,
    };
    // Each write heats the drive by 40 K: what it writes is programmed before that.
    let mut retried = 0;
    for written in 0..3u8 {
        let warmer = 20 * written;
        for page in 100..140 {
            assert_eq!(
                device.conditions_of(Lpn(page)).unwrap().temperature,
                Temperature(30.0 + 40.0 * f64::from(written))
            );
            let expected = steps(&device, page, at(month, warmer, 0));
            assert_eq!(play(&mut device, Op::Read, page), expected, "page {page} after {written} writes");
            retried += expected;
        }
        for page in 0..u64::from(written) {
            let expected = steps(&device, page, at(Span::ZERO, warmer, 20 * page as u8));
            assert_eq!(play(&mut device, Op::Read, page), expected, "page {page} after {written} writes");
            retried += expected;
        }
        play(&mut device, Op::Write, u64::from(written));
    }
    assert!(retried > 500, "{retried}");
    // Data that was programmed before the run at another temperature is read as if it was the drive's.
    let mut crossed = drive(&[&FOLLOWED[..], &["age.written_at=70C"]].concat());
    for page in 100..140 {
        let expected = steps(&crossed, page, at(month, 0, 20));
        assert_eq!(play(&mut crossed, Op::Read, page), expected);
    }
}

#[test]
fn a_hot_hour_counts_for_all_data_that_rests_in_it() {
    // Two writes, an hour apart: the first page is older by what the hour was worth.
    let mut device = drive(&[&FOLLOWED[..], &["age.retention=0ns"]].concat());
    play(&mut device, Op::Write, 0);
    device.advance(Time(HOUR)).unwrap();
    play(&mut device, Op::Write, 1);
    device.advance(Time(2 * HOUR)).unwrap();
    let [first, second, initial] =
        [0, 1, 100].map(|page| device.conditions_of(Lpn(page)).unwrap().retention.0 as f64 / HOUR as f64);
    // From 40 K down to 40 K / e, and from 40 K (1 + 1 / e) on.
    let fell = |from: f64| {
        let parts = 100_000;
        let at = |part: i32| 30.0 + from * libm::exp(-(f64::from(part) + 0.5) / f64::from(parts));
        (0..parts).map(|part| Temperature(at(part)).acceleration()).sum::<f64>() / f64::from(parts)
    };
    let (before, after) = (fell(40.0), fell(40.0 * (1.0 + libm::exp(-1.0))));
    assert!((second / after - 1.0).abs() < 1e-3, "{second} {after}");
    assert!((first / (before + after) - 1.0).abs() < 1e-3, "{first} {before}");
    assert!((initial / first - 1.0).abs() < 1e-3, "{initial}");
}
