//! Closed forms of queueing theory.

use ssd::{Config, Device};
use units::{Bytes, Stream, Time};
use workload::{Op, Request};

/// Mean waiting time of Poisson reads at one die without a cache register, over the service time.
///
/// The die is an M/D/1 server: it is held from the read command until the page has left over the bus.
fn relative_wait(load: f64) -> f64 {
    let mut config = Config::default();
    for word in [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "chip.t_read=50us",
        "chip.cache_read=false",
        "bus.bandwidth=none",
        "bus.t_dma=16us",
        "bus.t_command=1us",
        "bus.transfer=page",
        "ecc.t_decode=0us",
        "host.queue_depth=65535",
        "host.queues=1",
        "host.commands=65535",
        "host.t_submit=0us",
        "host.t_complete=0us",
        "host.link_bandwidth=1000GB/s",
        "buffer.dram_bandwidth=1000GB/s",
    ] {
        config.set(word).unwrap();
    }
    let service = 67_000.0;
    let mut device = Device::new(&config, 1).unwrap();
    let pages = device.capacity().0 / 16_384;
    let (gaps, addresses) = (Stream::new(5, "gaps"), Stream::new(5, "addresses"));
    let count = 4_000_000u64;
    let (mut time, mut wait, mut done) = (0.0, 0.0, 0u64);
    for index in 0..count {
        time += gaps.exponential(index) * service / load;
        let offset = Bytes(addresses.below(index, pages) * 16_384);
        let request = Request { time: Time(time as u64), offset, bytes: Bytes(16_384), op: Op::Read, queue: 0 };
        device.submit(request).unwrap();
        if index % 64 == 63 || index + 1 == count {
            device.advance(request.time).unwrap();
        }
        if index + 1 == count {
            device.advance(Time(time as u64 + 1_000_000_000)).unwrap();
        }
        // Beyond the service there are 34 ns of DRAM and link for each page.
        for completion in device.take_completions() {
            wait += completion.latency().0 as f64 - service - 34.0;
            done += 1;
        }
    }
    assert_eq!(done, count);
    wait / done as f64 / service
}

#[test]
fn one_die_under_poisson_reads_waits_as_an_m_d_1_queue() {
    for load in [0.3, 0.6, 0.8] {
        // Pollaczek-Khinchine for deterministic service: W = rho / (2 (1 - rho)) service times.
        let expected = load / (2.0 * (1.0 - load));
        let found = relative_wait(load);
        assert!((found / expected - 1.0).abs() < 0.01, "load {load}: {found} against {expected}");
    }
}
