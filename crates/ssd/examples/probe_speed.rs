//! scratch
use ssd::{Config, Device};
use units::{Bytes, Stream, Time};
use workload::{Op, Request};
fn main() {
    let mut config = Config::default();
    config.set("geometry.channels=8").unwrap();
    config.set("geometry.chips=4").unwrap();
    config.set("geometry.dies=2").unwrap();
    config.set("geometry.planes=2").unwrap();
    config.set("geometry.blocks=2048").unwrap();
    config.set("geometry.pages=256").unwrap();
    config.set("geometry.page_size=8KiB").unwrap();
    for w in std::env::args().skip(2) {
        config.set(&w).unwrap();
    }
    let mut device = Device::new(&config, 1).unwrap();
    let pages = u64::from(device.plan().logical_pages);
    let random = Stream::new(1, "x");
    let n: u64 = std::env::var("N").ok().and_then(|v| v.parse().ok()).unwrap_or(5_000_000);
    let start = std::time::Instant::now();
    if std::env::args().nth(1).as_deref() == Some("closed") {
        let mut sent = 0u64;
        let req = |i: u64, t: Time| Request {
            time: t,
            offset: Bytes(random.below(i, pages) * 8192),
            bytes: Bytes(8192),
            op: Op::Read,
            queue: 0,
        };
        for _ in 0..256 {
            device.submit(req(sent, Time(0))).unwrap();
            sent += 1;
        }
        let mut done = 0;
        let mut batch = vec![];
        while device.advance_to_completion(Time::NEVER).unwrap() {
            batch.extend(device.take_completions());
            let now = device.now();
            for c in batch.drain(..) {
                done += 1;
                std::hint::black_box(c);
                if sent < n {
                    device.submit(req(sent, now)).unwrap();
                    sent += 1;
                }
            }
        }
        assert_eq!(done, n);
    } else {
        let mut done = 0;
        let mut i = 0;
        while i < n {
            let end = (i + 64).min(n);
            while i < end {
                device
                    .submit(Request {
                        time: Time(i * 20_000),
                        offset: Bytes(random.below(i, pages) * 8192),
                        bytes: Bytes(8192),
                        op: Op::Read,
                        queue: 0,
                    })
                    .unwrap();
                i += 1;
            }
            device.advance(Time((i - 1) * 20_000)).unwrap();
            done += device.take_completions().count();
        }
        device.advance(Time(n * 20_000 + 1_000_000_000)).unwrap();
        done += device.take_completions().count();
        assert_eq!(done as u64, n);
    }
    let wall = start.elapsed();
    device.check().unwrap();
    println!(
        "{:.0} ns/read, {:.2} events/read, sim {} s, {:?}",
        wall.as_nanos() as f64 / n as f64,
        device.counters().events as f64 / n as f64,
        device.now().0 / 1_000_000_000,
        device.usage().link_out
    );
}
