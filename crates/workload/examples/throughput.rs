//! Measures how fast traces are read and requests generated:
//! `cargo run --release -p ssdlab-workload --example throughput`.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use units::{Bytes, Document};
use workload::{Source, TraceFile, Workload, content_hash};

const LINES: u64 = 5_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("workload-throughput-{}", std::process::id()));
    for (name, line) in [("msr", msr as fn(u64) -> String), ("mqsim", mqsim), ("disksim", disksim)] {
        let mut text = String::new();
        (0..LINES).for_each(|i| writeln!(text, "{}", line(i)).expect("text grows"));
        std::fs::write(&path, text)?;
        measure(name, || drain(&mut TraceFile::open(&path, None).expect("a good trace")));
    }
    let length = path.metadata()?.len();
    let start = Instant::now();
    content_hash(&path)?;
    println!("content_hash        {:8.0} MB/s", length as f64 / 1e6 / start.elapsed().as_secs_f64());
    std::fs::remove_file(&path)?;
    if let Some(trace) = std::env::args().nth(1) {
        measure("the trace given", || drain(&mut TraceFile::open(Path::new(&trace), None).expect("a good trace")));
    }
    for (name, lines) in [
        ("random poisson", "random_distribution = \"random\""),
        ("zipf poisson", "random_distribution = \"zipf:0.99\""),
        ("zipf bursty", "random_distribution = \"zipf:0.99\"\narrivals = \"bursty:8\""),
        ("zipf mean size", "random_distribution = \"zipf:0.99\"\nbs = \"mean:16KiB\""),
        ("zipf cold reads", "random_distribution = \"zipf:0.99\"\ncold_read_ratio = 0.7"),
        ("sequential fixed", "rw = \"read\"\narrivals = \"fixed\""),
        ("pareto", "random_distribution = \"pareto:0.2\""),
        ("zoned", "random_distribution = \"zoned:80/20:20/80\""),
    ] {
        let text = format!("[workload]\nrequests = 10_000_000\n{lines}\n");
        let workload = Workload::read(&Document::parse(&text, name)?, &[], None)?;
        measure(name, || drain(&mut *workload.source(Bytes(1 << 40), 1).expect("a good generator")));
    }
    Ok(())
}

fn measure(name: &str, run: impl Fn() -> u64) {
    // The best of three: the others saw a cold cache or another program.
    let rates = (0..3).map(|_| {
        let start = Instant::now();
        run() as f64 / start.elapsed().as_secs_f64()
    });
    println!("{name:20} {:6.1} million requests/s", rates.fold(0.0, f64::max) / 1e6);
}

fn drain(source: &mut dyn Source) -> u64 {
    let mut batch = Vec::new();
    let mut count = 0;
    loop {
        batch.clear();
        source.fill(&mut batch, 4096).expect("requests");
        if batch.is_empty() {
            return count;
        }
        count += batch.len() as u64;
    }
}

fn msr(i: u64) -> String {
    let op = if i.is_multiple_of(3) { "Write" } else { "Read" };
    format!(
        "{},web,0,{op},{},{},{}",
        128_166_385_365_934_025 + i * 997,
        i * 7919 % 16_000_000_000,
        4096,
        47_652 + i % 999
    )
}

fn mqsim(i: u64) -> String {
    format!("{} 4 {} 16 {}", 938_513_000 + i * 997, i * 7919 % 300_000_000, i % 2)
}

fn disksim(i: u64) -> String {
    format!("{}.{:03} 0 {} 16 {}", 15_849 + i / 1000, i % 1000, i * 7919 % 300_000_000, i % 2)
}
