//! Random small devices and random loads, for the tests that put any device under any load.
// Each test file is a program of its own and uses a part of this.
#![allow(dead_code)]

use proptest::prelude::*;
use ssd::Config;
use units::{Bytes, Time};
use workload::{Op, Request};

/// A small device with every policy drawn at random. Its buffer holds a few pages.
pub fn devices() -> impl Strategy<Value = Vec<String>> {
    let geometry = (1..3u32, 1..3u32, 1..3u32, 1..4u32);
    let policies = (
        prop::sample::select(vec!["page", "wordline"]),
        prop::sample::select(vec!["static", "dynamic"]),
        prop::sample::select(vec!["write-back", "write-through"]),
        prop::sample::select(vec!["independent", "lockstep", "single"]),
        prop::sample::select(vec!["single", "lockstep"]),
        prop::sample::select(vec!["reclaimed", "opened"]),
        prop::sample::select(vec!["fifo", "read-first", "user-first"]),
        prop::sample::select(vec!["CWDP", "PDWC", "DPCW"]),
    );
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (3..12u64, 0..3u32, 1..4u32, 1..4u32, 0..2u32, 1..6u32);
    (geometry, policies, switches, sizes).prop_map(
        |((channels, chips, dies, planes), policies, (cache_read, cache_program, interleave, codeword), sizes)| {
            let (unit, placement, mode, reads, programs, erase, order, page_order) = policies;
            let (slots, dirty, decoders, ecc_buffer, queues, commands) = sizes;
            [
                format!("geometry.channels={channels}"),
                format!("geometry.chips={chips}"),
                format!("geometry.dies={dies}"),
                format!("geometry.planes={planes}"),
                "geometry.blocks=40".into(),
                "geometry.pages=30".into(),
                "ftl.over_provisioning=3.0".into(),
                "age.fill=0.7".into(),
                "age.invalid=0.2".into(),
                "chip.t_read=[40us,60us,50us]".into(),
                format!("chip.program_unit={unit}"),
                format!("ftl.placement={placement}"),
                format!("buffer.mode={mode}"),
                format!("chip.plane_reads={reads}"),
                format!("chip.plane_programs={programs}"),
                format!("ftl.erase_when={erase}"),
                format!("schedule.order={order}"),
                format!("ftl.page_order={page_order}"),
                format!("chip.cache_read={cache_read}"),
                format!("chip.cache_program={cache_program}"),
                format!("bus.die_interleaving={interleave}"),
                format!("bus.transfer={}", if codeword { "codeword" } else { "page" }),
                format!("buffer.size={}KiB", slots * 16),
                format!("buffer.dirty_limit=0.{}", dirty * 4),
                format!("ecc.decoders={decoders}"),
                format!("ecc.buffer={ecc_buffer}"),
                format!("host.queues={}", queues + 1),
                format!("host.commands={}", commands * 3),
                format!("host.queue_depth={}", commands * 4),
            ]
            .into()
        },
    )
}

/// Requests on few pages, so that they meet: gap to the one before, write or read, 512-B sector, sectors.
pub fn loads() -> impl Strategy<Value = Vec<(u64, bool, u64, u64)>> {
    let gap = prop_oneof![Just(0u64), 1..3_000u64, 1_000..400_000u64];
    prop::collection::vec((gap, any::<bool>(), 0..40 * 32u64, 1..100u64), 1..120)
}

pub fn requests(load: &[(u64, bool, u64, u64)]) -> Vec<Request> {
    let mut time = 0;
    load.iter()
        .enumerate()
        .map(|(index, &(gap, write, sector, sectors))| {
            time += gap;
            let op = if write { Op::Write } else { Op::Read };
            let queue = index as u16 % 3;
            Request { time: Time(time), offset: Bytes(sector * 512), bytes: Bytes(sectors * 512), op, queue }
        })
        .collect()
}

pub fn config(settings: &[String]) -> Config {
    let mut config = Config::default();
    settings.iter().for_each(|word| config.set(word).unwrap());
    config
}
