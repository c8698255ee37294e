//! What the drive may use: operations wait until the limit has paid for those before them, to the nanosecond; and what
//! it has used heats it.

use ssd::stats::energy::Energy;
use ssd::{Config, Device, Drive};
use units::{Bytes, Stream, Time};
use workload::{Op, Request};

/// Eight dies on channels of their own; a sense draws 100 mW for 50 us, which is 5 uJ, and nothing else draws anything.
fn drive(settings: &[&str]) -> Config {
    let mut config = Config::default();
    for word in [
        "geometry.channels=8",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=40",
        "geometry.pages=60",
        "ftl.over_provisioning=0.5",
        "ftl.placement=static",
        "ftl.erase_when=reclaimed",
        "ftl.page_order=CDPW",
        "chip.program_unit=page",
        "chip.t_read=50us",
        "chip.t_prog=400us",
        "chip.t_bers=2ms",
        "bus.t_command=0ns",
        "host.queue_depth=1024",
        "host.t_submit=0ns",
        "host.link_bandwidth=1000GB/s",
        "buffer.dram_bandwidth=1000GB/s",
        "energy.sense_mw=100",
        "energy.program_mw=100",
        "energy.erase_mw=100",
        "energy.transfer_nj=0",
        "energy.decode_nj=0",
        "energy.window=0ns",
    ]
    .iter()
    .chain(settings)
    {
        config.set(word).unwrap();
    }
    config
}

fn request(time: u64, op: Op, page: u64) -> Request {
    Request::new(Time(time), op, Bytes(page * 16_384), Bytes(16_384))
}

/// When each of some requests completes, in their order.
fn finishes(config: &Config, requests: &[Request]) -> Vec<u64> {
    let mut device = Device::new(config, 1).unwrap();
    for request in requests {
        device.submit(*request).unwrap();
    }
    device.advance(Time(100_000_000)).unwrap();
    device.check().unwrap();
    let mut completions: Vec<_> = device.take_completions().collect();
    completions.sort_by_key(|completion| completion.id);
    assert_eq!(completions.len(), requests.len());
    completions.iter().map(|completion| completion.finish.0).collect()
}

/// Random requests, this many at once; reads in percent.
fn load(config: &Config, count: u64, depth: u64, reads: u64) -> Device {
    let mut device = Device::new(config, 1).unwrap();
    let draws = Stream::new(1, "load");
    for index in 0..count {
        while device.outstanding() >= depth {
            assert!(device.advance_to_completion(Time::NEVER).unwrap());
            device.take_completions();
        }
        let op = if draws.below(2 * index, 100) < reads { Op::Read } else { Op::Write };
        device.submit(request(device.now().0, op, draws.below(2 * index + 1, 4000))).unwrap();
    }
    while device.advance_to_completion(Time::NEVER).unwrap() {
        device.take_completions();
    }
    device.check().unwrap();
    device
}

#[test]
fn a_sense_waits_until_the_limit_has_paid_for_those_before_it() {
    let reads: Vec<Request> = (0..4).map(|page| request(0, Op::Read, page)).collect();
    let alone = finishes(&drive(&[]), &reads[..1])[0];
    let waits = |settings: &[&str]| -> Vec<u64> {
        finishes(&drive(settings), &reads).iter().map(|finish| finish - alone).collect()
    };
    // 5 uJ at 0.3 W: 16.7 us each, to whole nanoseconds.
    assert_eq!(waits(&["energy.power_states=[0.3]"]), [0, 16_667, 33_334, 50_001]);
    assert_eq!(waits(&["energy.power_states=[9, 0.5]", "energy.power_state=1"]), [0, 10_000, 20_000, 30_000]);
    // What the rest of the drive draws is not there for them.
    assert_eq!(waits(&["energy.power_states=[0.5]", "energy.idle_mw=400"]), [0, 50_000, 100_000, 150_000]);
    // 8 uJ are saved in 16 us: two senses begin at once, since less is owed when the second comes, and the third when 2
    // uJ are paid. The second page waits 17 ns for the link.
    assert_eq!(waits(&["energy.power_states=[0.5]", "energy.window=16us"]), [0, 17, 4_000, 14_000]);
    // 16 KiB over a bus and through a decoder: 1.6 and 3.2 uJ more, when they leave. The fourth sense waits for the
    // three pages too.
    let more = ["energy.power_states=[0.25]", "energy.transfer_nj=100", "energy.decode_nj=200"];
    assert_eq!(waits(&more), [0, 20_000, 40_000, 117_600]);
}

#[test]
fn throughput_is_the_limit_over_the_energy_of_an_operation() {
    // 5 uJ for the sense, 0.9 for the transfer, 1.3 for the decoding of 16 KiB.
    let config = drive(&["energy.power_states=[0.4]", "energy.transfer_nj=56.69", "energy.decode_nj=81.9"]);
    let device = load(&config, 4_000, 64, 100);
    let each = 5e6 + 16.0 * (56.69 + 81.9) * 1e3;
    let took = device.now().0 as f64;
    assert!((took * 400.0 / (4_000.0 * each) - 1.0).abs() < 2e-3, "{took}");
    let used = Energy::of(device.plan(), &device.counters(), &device.usage()).total();
    assert!((used / took / 0.4 - 1.0).abs() < 2e-3, "the mean power is the limit");
    assert!(device.throttling().unwrap().held.0 as f64 > 0.98 * took);
}

#[test]
fn what_is_taken_from_the_budget_is_what_is_used() {
    let all = ["energy.transfer_nj=56.69", "energy.decode_nj=81.9", "energy.idle_mw=50", "energy.power_states=[9]"];
    let suspending = [
        "chip.t_prog=none",
        "chip.program_loops=5",
        "chip.t_program_pulse=60us",
        "chip.t_program_verify=20us",
        "chip.shadow_buffer=true",
        "schedule.order=read-first",
        "schedule.suspend_program=intra-phase",
    ];
    let retrying = ["chip.model=tlc48", "age.pec=1000", "age.retention=6mo", "read.pipeline=cache-read"];
    for (settings, within) in [(&[][..], 1e-12), (&suspending, 1e-2), (&retrying, 1e-2)] {
        let device = load(&drive(&[&all, settings].concat()), 3_000, 32, 50);
        let used = Energy::of(device.plan(), &device.counters(), &device.usage()).total();
        let taken = device.throttling().unwrap().used / 1e3;
        assert!((taken / used - 1.0).abs() < within, "{settings:?}: {taken} and {used}");
    }
}

#[test]
fn planes_that_sense_beside_one_another_take_the_energy_of_their_die() {
    // Senses of several lengths on four planes, so that one that begins later often ends sooner.
    let planes = ["geometry.planes=4", "chip.plane_reads=independent", "chip.t_read=[20us,40us,160us]"];
    let config = drive(&[&planes[..], &["energy.power_states=[0.4]"]].concat());
    let device = load(&config, 4_000, 256, 100);
    let used = Energy::of(device.plan(), &device.counters(), &device.usage()).total();
    let taken = device.throttling().unwrap().used / 1e3;
    assert!((taken / used - 1.0).abs() < 1e-12, "{taken} and {used}");
    let mean = used / device.now().0 as f64;
    assert!((mean / 0.4 - 1.0).abs() < 5e-3, "{mean} W");
}

#[test]
fn a_power_cut_gives_back_what_was_to_be_used() {
    // 16 KiB take 13.7 us to their die: after 5 us the array has not begun, after 50 it programs.
    for cut in ["5us", "50us"] {
        let cut = format!("power.cut_at=[{cut}]");
        let config = drive(&["energy.power_states=[9]", "buffer.mode=write-through", &cut]);
        let mut device = Device::new(&config, 1).unwrap();
        device.submit(request(0, Op::Write, 0)).unwrap();
        device.advance(Time(10_000_000_000)).unwrap();
        assert_eq!(device.counters().cuts, 1);
        let used = Energy::of(device.plan(), &device.counters(), &device.usage()).total();
        let taken = device.throttling().unwrap().used / 1e3;
        assert!((taken - used).abs() < 1e-9 * used, "{cut}: {taken} and {used}");
    }
}

#[test]
fn a_limit_that_is_never_reached_changes_nothing() {
    let plain = load(&drive(&[]), 2_000, 32, 50);
    let limited = load(&drive(&["energy.power_states=[1000]", "energy.window=1s"]), 2_000, 32, 50);
    assert_eq!((plain.counters(), plain.usage()), (limited.counters(), limited.usage()));
    assert_eq!(limited.throttling().unwrap().held.0, 0);
}

#[test]
fn a_read_that_comes_late_goes_before_the_programs_that_wait_for_energy() {
    // Programs of 40 uJ on all dies but one take 0.8 ms each at 50 mW. The read comes in the payment of the first.
    let config = |order: &str| {
        drive(&["energy.power_states=[0.05]", &format!("schedule.order={order}"), "buffer.mode=write-through"])
    };
    let mut requests: Vec<Request> = (0..7).map(|page| request(0, Op::Write, page)).collect();
    requests.push(request(100_000, Op::Read, 7));
    let read = |order| finishes(&config(order), &requests)[7];

    let (first, in_order) = (read("read-first"), read("fifo"));
    assert!((800_000..900_000).contains(&first), "{first}");
    assert!((5_600_000..5_700_000).contains(&in_order), "{in_order}");
}

#[test]
fn a_hot_drive_goes_to_lower_power_states_and_stays_between_the_thresholds() {
    // At 2 W it would come to 60 + 30 C, at 1 W to 60 C, at 0.1 W to 33 C.
    let hot = [
        "energy.power_states=[2, 1, 0.1]",
        "energy.sense_mw=2000",
        "thermal.resistance=30",
        "thermal.time_constant=20ms",
        "thermal.light=65C",
        "thermal.heavy=85C",
        "thermal.hysteresis=5",
    ];
    let device = load(&drive(&hot), 4_000, 64, 100);
    let throttling = device.throttling().unwrap();
    let (_, highest) = throttling.celsius.unwrap();
    // A sense of 100 uJ raises it by 0.15 K.
    assert!((65.0..65.2).contains(&highest), "{highest}");
    assert!(throttling.light.0 > 0 && throttling.heavy.0 == 0);
    let heavier = [&hot[..], &["thermal.light=40C", "thermal.heavy=50C"]].concat();
    let heavy = load(&drive(&heavier), 4_000, 64, 100);
    assert!(heavy.throttling().unwrap().heavy.0 > 0 && heavy.now() > device.now());
    let free = load(&drive(&["energy.power_states=[2]", "energy.sense_mw=2000"]), 4_000, 64, 100);
    assert!(free.now() < device.now());
}
