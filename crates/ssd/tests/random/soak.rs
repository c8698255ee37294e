//! A bounded soak: see `testing::soak`.

use std::collections::{HashMap, HashSet};

use ssd::Config;

use testing::soak::{Case, Seeds, Verdict, by_blocks, draw, grouped, joined, learned, nth, soak, verdict, zoned};

#[test]
fn random_devices_of_every_axis_keep_every_invariant() {
    let (report, failures) = soak(Seeds::ALL, 60, 2);
    assert!(failures.is_empty(), "{report}\n{}", failures.join("\n"));
}

#[test]
fn every_key_of_the_schema_is_drawn_with_several_values() {
    let mut drawn: HashMap<String, HashSet<String>> = HashMap::new();
    for seed in 1..400 {
        for word in [draw, zoned, joined, learned, grouped, by_blocks]
            .into_iter()
            .flat_map(|any: fn(u64) -> Case| any(seed).device)
        {
            let (key, value) = word.split_once('=').unwrap();
            drawn.entry(key.into()).or_default().insert(value.into());
        }
    }
    let config = Config::default();
    for section in config.sections() {
        for key in section.keys() {
            let name = format!("{}.{}", section.name(), key.name);
            assert!(drawn.get(&name).is_some_and(|values| values.len() > 1), "{name} is not drawn");
        }
    }
}

/// Commands that broke once.
#[test]
fn what_broke_once_holds() {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let writes = ["workload.rw=randwrite".to_owned(), "workload.bs=16KiB".into()];
    let case = |requests, depth, device: &str| Case {
        seed: 1,
        requests,
        depth,
        device: words(device),
        workload: writes.to_vec(),
        own: false,
    };
    for case in [
        // Planes with room in the SLC cache could take no more data, and what others could have taken past it waited
        // for ever.
        nth(7255),
        // Of several pages of a flash page that could not be read the first was read again elsewhere, for all.
        nth(33_696),
        // Lockstep programs of the map and of the host opened the last free block both.
        case(300, 64, "geometry.channels=2 geometry.planes=3 geometry.blocks=30 geometry.pages=9 geometry.page_size=4KiB
            bus.die_interleaving=false buffer.size=288KiB gc.start=2 gc.stop=3 gc.preemptible=false mapping.table=cached
            mapping.entry_group=256B mapping.cache=22KiB mapping.entry=64B age.precondition=closed-form ftl.over_provisioning=1.08"),
        case(4500, 64, "geometry.channels=1 geometry.planes=2 geometry.blocks=41 geometry.pages=27 geometry.page_size=8KiB
            buffer.mode=write-through gc.relocations=3 mapping.table=cached mapping.cache=17KiB mapping.entry=64B
            mapping.writes=4 schedule.order=user-first schedule.write_queue=5 ftl.over_provisioning=0.49"),
        // Background collection, levelling and rewrites of the map kept each other going, and the host waiting.
        case(238, 64, "geometry.cell=QLC geometry.channels=3 geometry.chips=2 geometry.dies=2 geometry.planes=4
            geometry.blocks=36 geometry.pages=48 geometry.page_size=4KiB ecc.codeword=1KiB chip.program_unit=wordline
            chip.plane_reads=lockstep chip.plane_programs=single chip.cache_read=true chip.cache_program=false
            chip.shadow_buffer=false bus.die_interleaving=false bus.transfer=page bus.t_command=439ns ecc.decoders=3
            ecc.buffer=4 ecc.t_failed=none ecc.t_retried=1us host.queues=4 host.queue_depth=4 host.commands=18
            buffer.size=192KiB ftl.placement=static ftl.page_order=DPCW ftl.erase_when=opened ftl.streams=1
            gc.start=4 gc.stop=4 gc.relocations=10 gc.copyback=true gc.idle=0ns gc.idle_stop=6 wear.free_block=oldest
            wear.static_spread=3 mapping.table=cached mapping.sharing=partitioned mapping.entry_group=64B mapping.cache=9KiB
            mapping.entry=64B mapping.writes=23 refresh.period=60s age.pec=8000 age.map_retention=1mo age.staggered=true
            age.precondition=closed-form ftl.over_provisioning=0.43"),
        // Refresh that never rests kept partly filled units of host data from being let go.
        case(30, 1, "geometry.channels=3 geometry.chips=2 geometry.dies=2 geometry.planes=3 geometry.blocks=43
            geometry.pages=72 geometry.page_size=4KiB chip.program_unit=wordline chip.plane_programs=single ecc.t_decode=20ms ecc.decoders=1
            buffer.size=32KiB ftl.placement=static gc.preemptible=false refresh.period=60s age.retention=1mo
            host.timeout=300s age.precondition=closed-form ftl.over_provisioning=0.52"),
        // Collection and rewrites of the map kept each other going when the host had nothing more to write.
        Case { seed: 44683, workload: words("workload.rw=rw workload.bs=4KiB workload.align=4KiB workload.read_ratio=64%"), ..case(
            100, 1, "chip.program_unit=wordline geometry.channels=3 geometry.chips=1 geometry.dies=1
            geometry.planes=2 geometry.blocks=37 geometry.pages=51 geometry.page_size=4KiB chip.t_read=none
            chip.senses=[2,3,4] chip.t_pre=19us chip.t_eval=8us chip.t_disch=2us chip.t_prog=1473us
            chip.t_bers=7153us chip.plane_reads=lockstep chip.plane_programs=single chip.cache_read=false
            bus.bandwidth=none bus.t_dma=9us bus.t_command=345ns bus.transfer=codeword
            bus.die_interleaving=false ecc.t_decode=1us ecc.t_failed=8us ecc.decoders=1 ecc.buffer=7
            ecc.codeword=2KiB host.queues=5 host.queue_depth=26 host.commands=2 host.arbitration_burst=1
            host.link_bandwidth=7060MB/s host.t_submit=782ns host.t_complete=946ns host.timeout=30s
            buffer.size=156KiB buffer.mode=write-through buffer.dram_bandwidth=18395MB/s
            ftl.placement=static ftl.page_order=CWDP ftl.erase_when=opened ftl.streams=1 gc.victim=fifo
            gc.start=3 gc.stop=3 gc.relocations=18 wear.free_block=least-worn wear.static_spread=1
            mapping.table=cached mapping.entry=64B mapping.entry_group=1024B mapping.cache=36864B mapping.writes=4
            schedule.order=read-first schedule.write_queue=0 age.pec=1500 age.retention=uniform:0..30d
            age.precondition=closed-form age.staggered=false ftl.over_provisioning=0.46") },
        // With CACHE READ and decodings of unequal length a read ended twice.
        Case { workload: vec!["workload.rw=randrw".into()], ..case(600, 64, "geometry.blocks=40 geometry.pages=30
            ftl.over_provisioning=3.0 chip.t_read=none chip.senses=[2,3,2] chip.t_pre=24us chip.t_eval=5us chip.t_disch=10us
            chip.model=tlc48 ecc.code=qc-ldpc ecc.strength=0.5 read.next=oracle read.pipeline=cache-read
            read.sensing=adaptive age.pec=400 age.retention=6mo") },
    ] {
        match verdict(&case) {
            Verdict::Passed => {}
            Verdict::Refused(key) => panic!("refused for {key}: {}", case.command()),
            Verdict::Failed(text) => panic!("{text}: {}", case.command()),
        }
    }
}
