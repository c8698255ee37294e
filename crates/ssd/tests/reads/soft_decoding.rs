//! Soft decoding, to the nanosecond: lone reads of a page that hard decoding cannot correct.

use std::sync::atomic::{AtomicU32, Ordering};

use ssd::{Config, Device, Drive};
use testing::lone_page_reads;
use units::{Bytes, Time};
use workload::{Op, Request};

const T_R: u64 = 40_000;
const T_DMA: u64 = 13_000;
const ITERATION: u64 = 1_000;
const MOST: u64 = 20 * ITERATION;

/// A profile whose words need 7 iterations below an RBER, and fail above it.
fn profile(capability: f64) -> String {
    // Tests run at the same time: each has files of its own.
    static FILES: AtomicU32 = AtomicU32::new(0);
    let file = FILES.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("ssdlab-soft-{}-{file}.csv", std::process::id()));
    let steps: Vec<String> = (0..=20).map(|step| format!("it_{step}")).collect();
    let row = |rber: f64, failures: u32, taken: usize| {
        let counts: Vec<&str> = (0..=20).map(|step| if step == taken { "10" } else { "0" }).collect();
        format!("{rber},10,{failures},0,0,{}", counts.join(","))
    };
    let rows = [row(1e-9, 0, 7), row(capability, 0, 7), row(capability * 1.001, 10, 20)];
    let header = format!("rber,words,failures,predicted,predicted_failures,{}", steps.join(","));
    std::fs::write(&path, format!("{header}\n{}\n", rows.join("\n"))).unwrap();
    path.display().to_string()
}

fn config(two_bit: f64, settings: &[&str]) -> Config {
    let (code, two, three) = (profile(2e-9), profile(two_bit), profile(0.4));
    let codes = [format!("ecc.code={code}"), format!("ecc.code_2bit={two}"), format!("ecc.code_3bit={three}")];
    let base = ["geometry.pages=12", "ecc.t_decode=1us", "age.pec=1000", "age.retention=3mo"];
    lone_page_reads(base.into_iter().chain(codes.iter().map(String::as_str)).chain(settings.iter().copied()))
}

/// The latency of a lone read of a page, through a DRAM and a link of 1000 GB/s; whether its data came; and the drive.
fn read(config: &Config) -> (u64, bool, Device) {
    let mut device = Device::new(config, 1).unwrap();
    device.submit(Request::new(Time(0), Op::Read, Bytes(0), Bytes(16_384))).unwrap();
    device.flush().unwrap();
    device.check().unwrap();
    let done = device.take_completions().next().unwrap();
    (done.latency().0 - 2 * 17, !done.uncorrectable, device)
}

/// A sense, its page on the bus, and its decoding.
fn hard() -> u64 {
    T_R + T_DMA + MOST
}

#[test]
fn what_is_sensed_around_the_best_references_is_what_is_missing() {
    // After the best references have failed two more senses and one page make two bits a cell.
    let two = 2 * T_R + T_DMA + 7 * ITERATION;
    let three = 6 * T_R + 2 * T_DMA + 7 * ITERATION;
    // Two bits that fail, then four senses and one page.
    let progressive = 2 * T_R + T_DMA + MOST + 4 * T_R + T_DMA + 7 * ITERATION;
    for (soft, two_bit, expected) in
        [("2-bit", 0.4, two), ("3-bit", 0.4, three), ("progressive", 0.4, two), ("progressive", 3e-9, progressive)]
    {
        let (latency, correct, device) = read(&config(two_bit, &["read.next=oracle", &format!("ecc.soft={soft}")]));
        assert!(correct, "{soft}");
        assert_eq!(latency, 2 * hard() + expected, "{soft}, 2-bit up to {two_bit}");
        let counters = device.counters();
        let decodings = 1 + u64::from(expected == progressive);
        assert_eq!((counters.soft_decodings, counters.soft_corrected), (decodings, 1), "{soft}");
    }
}

#[test]
fn the_weight_of_what_the_best_references_read_says_how_finely() {
    const T_PRED: u64 = 2_500;
    let weighed = |two_bit: f64, settings: &[&str]| {
        let all = ["read.predictor=on-die-again", "read.prediction_accuracy=1", "read.next=oracle", "ecc.soft=weighed"];
        config(two_bit, &[&all, settings].concat())
    };
    // Both senses are weighed on the die; the second crosses the bus as the first bit of each cell, and is not decoded
    // alone.
    let hard = 2 * (T_R + T_PRED) + T_DMA;
    let two = 2 * T_R + T_DMA + 7 * ITERATION;
    let three = 6 * T_R + 2 * T_DMA + 7 * ITERATION;
    for (two_bit, expected) in [(0.4, two), (3e-9, three)] {
        let (latency, correct, device) = read(&weighed(two_bit, &[]));
        assert!(correct);
        assert_eq!(latency, hard + expected, "2-bit up to {two_bit}");
        assert_eq!((device.counters().soft_decodings, device.counters().soft_corrected), (1, 1));
    }
    let refusal = |settings: &[&str]| Device::new(&weighed(0.4, settings), 1).err().unwrap().to_string();
    let error = refusal(&["read.predictor=on-die"]);
    assert!(error.contains("ecc.soft") && error.contains("best references is not weighed"), "{error}");
    let error = refusal(&["read.next=table"]);
    assert!(error.contains("ecc.soft") && error.contains("a step of a table says nothing"), "{error}");
}

#[test]
fn what_is_read_again_moves_the_codewords_that_are_not_corrected() {
    // Hard decoding by the default references and by the best ones, then two bits of each cell.
    let played = |transfer: &str, capability: f64| {
        let code = format!("ecc.code={}", profile(capability));
        let transfer = format!("bus.transfer={transfer}");
        read(&config(0.4, &["read.next=oracle", "ecc.soft=2-bit", "ecc.codeword=4KiB", &code, &transfer]))
    };
    let mut parts = std::collections::BTreeSet::new();
    for step in 0..200 {
        let capability = 5e-4 * 1.02f64.powi(step);
        let (latency, correct, device) = played("uncorrected", capability);
        let (whole, _, all) = played("codeword", capability);
        let codewords = |device: &Device| device.counters().bytes_read / 4096;
        assert!(correct && codewords(&device) >= 4 && codewords(&device) <= codewords(&all));
        // Each codeword that does not cross saves a quarter of a page's time, and nothing else changes: the others are
        // corrected as before.
        assert_eq!(whole - latency, (codewords(&all) - codewords(&device)) * (T_DMA / 4), "{capability}");
        parts.insert(codewords(&all) - codewords(&device));
    }
    assert!(parts.len() > 1 && parts.contains(&0), "{parts:?}");
    let refusal = |settings: &[&str]| {
        let mut config = lone_page_reads(settings.iter().copied());
        config.set("bus.transfer=uncorrected").unwrap();
        Device::new(&config, 1).err().unwrap().to_string()
    };
    let error = refusal(&[]);
    assert!(error.contains("bus.transfer") && error.contains("as a whole or not at all"), "{error}");
}

#[test]
fn soft_decoding_begins_after_so_many_retries_or_when_all_else_has_failed() {
    // The table's references are not the best ones: nothing of what they gave is of use.
    let soft = 3 * T_R + 2 * T_DMA + 7 * ITERATION;
    for after in [0, 1, 3] {
        let settings = ["read.next=table", "ecc.soft=2-bit", &format!("ecc.soft_after={after}")];
        assert_eq!(read(&config(0.4, &settings)).0, (after + 1) * hard() + soft);
    }
    let steps = nand::VirtualChip::preset("tlc48").unwrap().cells.retry_steps;
    let (latency, correct, _) = read(&config(0.4, &["read.next=table", "ecc.soft=2-bit"]));
    assert!(correct);
    assert_eq!(latency, u64::from(steps + 1) * hard() + soft);
    // With CACHE READ the table's steps overlap; a soft sense is none of them.
    let pipelined = ["read.next=table", "read.pipeline=cache-read", "ecc.soft=2-bit", "ecc.soft_after=1"];
    let (_, correct, device) = read(&config(0.4, &pipelined));
    assert!(correct && device.counters().soft_decodings == 1);
}

#[test]
fn a_page_that_the_finest_sensing_cannot_correct_is_lost() {
    let (latency, correct, _) = read(&config(3e-9, &["read.next=oracle", "ecc.soft=2-bit"]));
    assert!(!correct);
    assert_eq!(latency, 2 * hard() + 2 * T_R + T_DMA + MOST);
}

#[test]
fn soft_decoding_without_a_code_is_refused() {
    let mut config = lone_page_reads([]);
    config.set("ecc.soft=2-bit").unwrap();
    let error = Device::new(&config, 1).err().unwrap().to_string();
    assert!(error.contains("ecc.soft") && error.contains("give chip.model and ecc.code"), "{error}");
    let mut config = self::config(0.4, &["ecc.soft=2-bit"]);
    config.set("ecc.code=none").unwrap();
    assert!(Device::new(&config, 1).is_err());
}
