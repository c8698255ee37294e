//! What a caller may rely on: errors of submission, arbitration, scheduling order, the end of the free
//! blocks, determinism across threads, start-up and memory of a large device.

use ssd::{Config, Device, Drive, RunError};
use units::{Bytes, Lpn, Stream, Time};
use workload::{Op, Request};

const PAGE: u64 = 16_384;

fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    settings.iter().for_each(|word| config.set(word).unwrap());
    config
}

fn request(time: u64, op: Op, page: u64, queue: u16) -> Request {
    Request::new(Time(time), op, Bytes(page * PAGE), Bytes(PAGE)).on(queue)
}

/// Latencies by request, played to the end.
fn latencies(device: &mut Device, requests: impl Iterator<Item = Request>) -> Vec<u64> {
    let mut found = Vec::new();
    for request in requests {
        device.submit(request).unwrap();
        found.push(0);
    }
    while device.advance_to_completion(Time::NEVER).unwrap() {
        device.take_completions().for_each(|completion| found[completion.id as usize] = completion.latency().0);
    }
    found
}

#[test]
fn bad_submissions_are_refused_and_change_nothing() {
    let mut device = Device::new(&Config::default(), 1).unwrap();
    let capacity = device.capacity().0;
    let at = |offset: u64, bytes: u64| Request::new(Time(5), Op::Read, Bytes(offset), Bytes(bytes));
    for bad in [at(capacity, 1), at(capacity - 1, 2), at(u64::MAX, 2), at(0, 0), at(0, u64::MAX)] {
        assert!(matches!(device.submit(bad), Err(RunError::OutOfRange { .. })), "{bad:?}");
    }
    let far = Request { time: Time(u64::MAX / 2), ..at(0, 1) };
    assert!(matches!(device.submit(far), Err(RunError::BeyondHorizon { .. })));
    device.advance(Time(100)).unwrap();
    assert!(matches!(device.submit(at(0, 1)), Err(RunError::BackInTime { .. })));
    assert_eq!(device.submit(Request { time: Time(100), ..at(0, 1) }), Ok(0));
    device.advance(Time(1_000_000)).unwrap();
    assert_eq!(device.take_completions().count(), 1);
    assert!(device.idle());
}

#[test]
fn a_drive_whose_blocks_wear_out_says_so_and_stays_stopped() {
    let small = [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.blocks=20",
        "geometry.pages=30",
        "wear.endurance=3",
    ];
    let mut device = Device::new(&config(&[&small[..], &["ftl.over_provisioning=1.0"]].concat()), 1).unwrap();
    let pages = device.capacity().0 / PAGE;
    for index in 0..20 * pages {
        device.submit(request(index * 1000, Op::Write, index % pages, 0)).unwrap();
    }
    let error = device.advance(Time(1 << 42)).unwrap_err();
    assert!(matches!(error, RunError::EndOfLife { retired: 1.., .. }), "{error}");
    assert!(error.to_string().contains("help: "));
    let done = device.take_completions().count();
    assert!(done as u64 > 2 * pages, "every block was written twice before, and what completed is kept: {done}");
    assert_eq!(device.advance(Time(1 << 43)), Err(error));
}

#[test]
fn a_light_queue_is_served_between_the_commands_of_a_flooding_one() {
    let settings = ["host.commands=1", "host.queues=2", "host.queue_depth=4096"];
    let flood = (0..1000).map(|index| request(0, Op::Read, index * 17, 0));
    let light = (0..1).map(|_| request(1, Op::Read, 5, 1));
    let alone = latencies(&mut Device::new(&config(&settings), 1).unwrap(), light.clone())[0];
    let together = latencies(&mut Device::new(&config(&settings), 1).unwrap(), flood.chain(light));
    // One command is under way, one of the flood may go before it.
    assert!(together[1000] < 3 * alone, "{} against {alone} alone", together[1000]);
    assert!(together[999] > 900 * alone / 2);
}

#[test]
fn orders_decide_who_waits() {
    // Writes to one die pile up, then a read of that die arrives.
    let play = |order: &str| {
        let settings = [
            "geometry.channels=1",
            "geometry.chips=1",
            "geometry.dies=1",
            "geometry.planes=1",
            "geometry.blocks=40",
            "chip.program_unit=page",
            "chip.cache_program=false",
            "ftl.over_provisioning=1.0",
            order,
        ];
        let mut device = Device::new(&config(&settings), 1).unwrap();
        let writes = (0..20).map(|index| request(0, Op::Write, index, 0));
        latencies(&mut device, writes.chain([request(100_000, Op::Read, 500, 1)]))[20]
    };
    let (fifo, read_first) = (play("schedule.order=fifo"), play("schedule.order=read-first"));
    let user_first = play("schedule.order=user-first");
    let program = 1_200_000;
    assert!(fifo > 15 * program, "first come, first served: {fifo}");
    assert!(read_first < 5 * program && user_first < 5 * program, "at most an erase and a program: {read_first}");
}

#[test]
fn runs_are_equal_in_any_number_of_threads() {
    let play = || {
        let mut device = Device::new(&Config::default(), 7).unwrap();
        let (random, pages) = (Stream::new(3, "threads"), device.capacity().0 / PAGE);
        let requests = (0..20_000).map(|index| {
            let op = if random.below(2 * index, 3) == 0 { Op::Write } else { Op::Read };
            request(index * 5_000, op, random.below(2 * index + 1, pages), index as u16)
        });
        latencies(&mut device, requests)
    };
    let alone = play();
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(play)).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), alone);
    }
}

#[test]
fn a_two_tebibyte_drive_starts_small() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let before = resident();
    let device = Device::new(&ssd::presets::load("hpca24").unwrap().config, 1).unwrap();
    assert!(device.capacity() > Bytes(1 << 40));
    if let (Some(before), Some(after)) = (before, resident()) {
        assert!(after - before.min(after) < 32 << 10, "{} KiB", after - before);
    }
}

#[test]
fn old_data_ages_new_data_starts_young_and_an_erase_wears_the_block() {
    const DAY: u64 = 86_400_000_000_000;
    let settings = ["age.pec=500", "age.retention=10d", "ftl.erase_when=opened", "buffer.mode=write-through"];
    let mut device = Device::new(&config(&[&settings[..], &["age.temperature=85C"]].concat()), 1).unwrap();
    // 13 hours at 85 C stand for a year at 30 C, within the fit.
    let (hours_13, year) = (13 * DAY / 24, 365.0 * DAY as f64);
    let days = |device: &Device, page: u64| device.conditions_of(Lpn(page)).unwrap().retention.0 as f64 / DAY as f64;
    assert_eq!((days(&device, 0), device.conditions_of(Lpn(0)).unwrap().pec.0), (10.0, 500));
    device.advance(Time(hours_13)).unwrap();
    let aged = days(&device, 0);
    assert!(((aged - 10.0) * DAY as f64 / year - 1.0).abs() < 0.03, "{aged} days");
    device.submit(request(hours_13, Op::Write, 0, 0)).unwrap();
    device.advance(Time(hours_13 + 10_000_000)).unwrap();
    assert!(days(&device, 0) < 0.001, "{} days", days(&device, 0));
    assert_eq!(device.conditions_of(Lpn(0)).unwrap().pec.0, 501);
    assert_eq!(device.conditions_of(Lpn(1)).unwrap().pec.0, 500);
    assert_eq!(device.conditions_of(Lpn(0)).unwrap().temperature.0, 85.0);
}

#[test]
fn a_run_that_outlasts_the_clock_says_so() {
    // The more dies, the nearer the horizon: 26 days here. One page is read over and over, 10 s each time.
    let many = ["geometry.channels=64", "geometry.chips=64", "geometry.dies=1", "geometry.blocks=60"];
    let slow = [
        "ftl.over_provisioning=1.0",
        "geometry.pages=30",
        "chip.t_read=10s",
        "host.queue_depth=1000000",
        "host.commands=1000000",
    ];
    let mut device = Device::new(&config(&[&many[..], &slow].concat()), 1).unwrap();
    for _ in 0..250_000 {
        device.submit(request(0, Op::Read, 0, 0)).unwrap();
    }
    let mut done = 0;
    let error = loop {
        match device.advance_to_completion(Time::NEVER) {
            Ok(more) => assert!(more),
            Err(error) => break error,
        }
        done += device.take_completions().count();
    };
    assert!(matches!(error, RunError::BeyondHorizon { .. }), "{error}");
    assert!((225_000..225_200).contains(&done), "{done} reads fit into 26 days");
    device.check().unwrap();
}

/// The device is refused, and the error names the key and a remedy.
fn refused(settings: &[&str], key: &str) {
    let error = config(settings).plan().unwrap_err();
    assert_eq!(error.key.as_deref(), Some(key), "{settings:?}: {error}");
    assert!(!error.remedy.is_empty());
}

#[test]
fn impossible_devices_are_refused_with_their_key() {
    for (word, key) in [
        ("geometry.blocks=4000000000", "geometry.blocks"),
        ("geometry.page_size=10000B", "geometry.page_size"),
        ("geometry.pages=1000", "geometry.pages"),
        ("host.queues=0", "host.queues"),
        ("host.queues=300", "host.queues"),
        ("host.queue_depth=4000000000", "host.queue_depth"),
        ("host.commands=0", "host.commands"),
        ("host.priorities=[]", "host.priorities"),
        ("host.priorities=[high,high,high,high,high,high,high,high,high]", "host.priorities"),
        ("host.weights=[1,2]", "host.weights"),
        ("host.weights=[1,2,0]", "host.weights"),
        ("host.link_bandwidth=0B/s", "host.link_bandwidth"),
        ("buffer.size=1KiB", "buffer.size"),
        ("buffer.size=100TiB", "buffer.size"),
        ("ecc.codeword=3000B", "ecc.codeword"),
        ("ecc.decoders=0", "ecc.decoders"),
        ("ecc.buffer=0", "ecc.buffer"),
        ("bus.bandwidth=none", "bus.bandwidth"),
        ("bus.t_dma=3us", "bus.t_dma"),
        ("ftl.over_provisioning=-0.5", "ftl.over_provisioning"),
        ("ftl.over_provisioning=0.0", "ftl.over_provisioning"),
        ("age.invalid=0.5", "age.fill"),
        ("ftl.streams=5", "ftl.streams"),
        ("ftl.hints=9", "ftl.hints"),
        ("gc.start=1", "gc.start"),
        ("gc.stop=3", "gc.stop"),
        ("gc.stop=60", "ftl.over_provisioning"),
        ("gc.relocations=2", "gc.relocations"),
        ("refresh.period=1s", "refresh.period"),
        ("refresh.reads=1000", "refresh.reads"),
        ("chip.senses=[2,3,2]", "chip.t_read"),
        ("chip.t_read=1h", "chip.t_read"),
        ("chip.t_prog=290y", "chip.t_prog"),
        ("chip.t_prog=[1us,2us,3us]", "chip.t_prog"),
        ("chip.program_passes=5", "chip.program_passes"),
        ("host.cores=0", "host.cores"),
        ("host.t_firmware=290y", "host.t_firmware"),
        ("buffer.read_cache=1KiB", "buffer.read_cache"),
        ("buffer.read_cache=900TiB", "buffer.read_cache"),
        ("chip.t_bers=290y", "chip.t_bers"),
        ("bus.t_command=290y", "bus.t_command"),
        ("bus.bandwidth=1B/s", "bus.bandwidth"),
        ("ecc.t_decode=290y", "ecc.t_decode"),
        ("host.t_submit=290y", "host.t_submit"),
        ("host.t_complete=290y", "host.t_complete"),
        ("host.link_bandwidth=1B/s", "host.link_bandwidth"),
        ("buffer.dram_bandwidth=1B/s", "buffer.dram_bandwidth"),
    ] {
        refused(&[word], key);
    }
    let phases = ["chip.t_read=none", "chip.t_pre=290y", "chip.t_eval=290y", "chip.t_disch=290y"];
    refused(&[&phases[..], &["chip.senses=[4000000000]"]].concat(), "chip.senses");
    refused(&["chip.t_prog=none", "chip.t_program_pulse=290y", "chip.program_loops=4000000000"], "chip.program_loops");
    refused(&["chip.t_bers=none", "chip.t_erase_verify=290y", "chip.erase_loops=4000000000"], "chip.erase_loops");
    refused(&["bus.bandwidth=none", "bus.t_dma=290y"], "bus.t_dma");
    for (word, key) in [
        ("mapping.cache=1KiB", "mapping.cache"),
        ("mapping.entry=3B", "mapping.entry"),
        ("mapping.entry_group=32KiB", "mapping.entry_group"),
        ("mapping.writes=0", "mapping.writes"),
    ] {
        refused(&["mapping.table=cached", word], key);
    }
    refused(&["gc.idle=1ms", "gc.idle_stop=4"], "gc.idle_stop");
    refused(&["refresh.reads=5000", "age.reads=5000"], "age.reads");
    refused(&["age.pec=1000000001"], "age.pec");
    assert!(config(&["age.pec=1000000000"]).plan().is_ok());
    refused(&["age.precondition=closed-form", "age.invalid=0.1"], "age.invalid");
    // Bad blocks are drawn when the device is built.
    let error = Device::new(&config(&["wear.factory_bad=0.3"]), 1).err().unwrap();
    assert_eq!(error.key.as_deref(), Some("wear.factory_bad"));
    let one_page = ["channels", "chips", "dies", "planes", "blocks", "pages"].map(|key| format!("geometry.{key}=1"));
    let one_page: Vec<&str> = one_page.iter().map(String::as_str).chain(["chip.program_unit=page"]).collect();
    refused(&[&one_page[..], &["age.fill=0.0"]].concat(), "ftl.over_provisioning");
}
