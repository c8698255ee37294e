//! Closed forms of queueing theory.

use ssd::{Config, Device, Drive};
use units::{Bytes, Stream, Time};
use workload::{Op, Request};

/// Mean waiting time of Poisson reads at one server, over its service time [ns].
fn relative_wait(server: &[&str], service: f64, load: f64, count: u64) -> f64 {
    let mut config = Config::default();
    for word in [
        "geometry.channels=1",
        "geometry.planes=1",
        "chip.cache_read=false",
        "bus.bandwidth=none",
        "bus.t_dma=16us",
        "bus.transfer=page",
        "ecc.t_decode=0us",
        "host.queue_depth=65535",
        "host.queues=1",
        "host.commands=65535",
        "host.t_submit=0us",
        "host.t_complete=0us",
        "host.link_bandwidth=1000GB/s",
        "buffer.dram_bandwidth=1000GB/s",
    ]
    .iter()
    .chain(server)
    {
        config.set(word).unwrap();
    }
    let mut device = Device::new(&config, 1).unwrap();
    let pages = device.capacity().0 / 16_384;
    let (gaps, addresses) = (Stream::new(5, "gaps"), Stream::new(5, "addresses"));
    let (mut time, mut wait, mut done) = (0.0, 0.0, 0u64);
    for index in 0..count {
        time += gaps.exponential(index) * service / load;
        let offset = Bytes(addresses.below(index, pages) * 16_384);
        let request = Request::new(Time(time as u64), Op::Read, offset, Bytes(16_384));
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

/// Pollaczek-Khinchine for deterministic service: W = rho / (2 (1 - rho)) service times.
fn waits_as_m_d_1(server: &[&str], service: f64, loads: &[f64], count: u64) {
    for load in loads {
        let expected = load / (2.0 * (1.0 - load));
        let found = relative_wait(server, service, *load, count);
        assert!((found / expected - 1.0).abs() < 0.01, "load {load}: {found} against {expected}");
    }
}

#[test]
fn one_die_under_poisson_reads_waits_as_an_m_d_1_queue() {
    // The die is held from the read command until the page has left over the bus.
    let die = ["geometry.chips=1", "geometry.dies=1", "chip.t_read=50us", "bus.t_command=1us"];
    waits_as_m_d_1(&die, 67_000.0, &[0.3, 0.6, 0.8], 4_000_000);
}

#[test]
fn one_bus_under_poisson_reads_waits_as_an_m_d_1_queue() {
    // Many dies, which sense in no time, share the bus; an engine with room never holds it up.
    let bus = ["geometry.chips=32", "geometry.dies=2", "chip.t_read=0us", "bus.t_command=0us", "ecc.buffer=1000"];
    waits_as_m_d_1(&bus, 16_000.0, &[0.3, 0.6], 2_000_000);
}

#[test]
fn one_ecc_engine_under_poisson_reads_waits_as_an_m_d_1_queue() {
    let fast = ["geometry.chips=32", "geometry.dies=2", "chip.t_read=0us", "bus.t_command=0us", "bus.t_dma=0us"];
    let engine = ["ecc.buffer=100000", "ecc.decoders=1", "ecc.t_decode=16us"];
    waits_as_m_d_1(&[&fast[..], &engine].concat(), 16_000.0, &[0.3, 0.6], 2_000_000);
}
