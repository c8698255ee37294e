//! Plays this many reads, one after another, each of which needs three retries: `one_read N`. `make calls` counts the
//! calls between functions that one of them takes.

use ssd::{Device, Drive};
use units::{Bytes, Time};
use workload::{Op, Request};

fn main() {
    let reads: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1);
    let steps = std::env::temp_dir().join(format!("ssdlab-one-read-{}.csv", std::process::id()));
    std::fs::write(&steps, "pec,months,steps,pages\n0,0,3,1\n90000,1000,40,1\n")
        .expect("a file in the temporary folder");
    let mut config = ssd::presets::load("asplos21").expect("a preset").config;
    for word in [format!("chip.model={}", steps.display()), "mapping.table=ideal".into()] {
        config.set(&word).expect("a valid setting");
    }
    let mut device = Device::new(&config, 1).expect("a possible device");
    std::fs::remove_file(&steps).expect("the file is removed");
    for number in 0..reads {
        let request = Request::new(Time(1_000_000 * (1 + number)), Op::Read, Bytes(65_536 * number), Bytes(8192));
        device.submit(request).expect("a valid request");
        device.advance_to_completion(Time::NEVER).expect("the device goes on");
        for done in device.take_completions() {
            println!("{} ns", done.latency().0);
        }
    }
    println!("{} retry steps in all, {} events", device.counters().retry_steps, device.counters().events);
}
