//! The real traces that lie beside the repository give the counts of their README.

use std::io::Write;
use std::path::{Path, PathBuf};

use workload::{Op, TraceFile};

/// File, requests, reads in percent, duration [s], and the format where the content does not show it.
type Row = (&'static str, usize, f64, f64, Option<&'static str>);

const ROWS: [Row; 13] = [
    ("msn_fs.ascii.gz", 149_999, 87.0, 143.0, None),
    ("msr_web_0_head.csv.gz", 100_000, 62.0, 3.8 * 3600.0, None),
    ("msr_web_3.csv.gz", 31_380, 32.0, 165.0 * 3600.0, None),
    ("msr_rsrch_1.csv.gz", 13_780, 0.3, 160.0 * 3600.0, None),
    ("msr_window_write80.ascii.gz", 10_000, 20.0, 243.0, Some("disksim:time=ms,offset=B,size=B")),
    ("msr_window_write60.ascii.gz", 10_000, 40.0, 86.0, Some("disksim:time=ms,offset=B,size=B")),
    ("websearch1.mqsim.gz", 24_783, 100.0, 60.0, None),
    ("tpcc.mqsim.gz", 6_999, 63.0, 0.14, None),
    ("pcmark.ascii.gz", 56_088, 75.0, 1466.0, None),
    ("postmark.ascii.gz", 62_257, 83.0, 490.0, None),
    ("nexus5_installing.biotracer.gz", 17_952, 2.0, 978.0, None),
    ("nexus5_movie.biotracer.gz", 4_781, 95.0, 997.0, None),
    ("nvme_java.blkparse.gz", 1_695, 100.0, 0.68, None),
];

#[test]
fn the_shared_traces_give_the_counts_of_their_readme() {
    let Some(folder) = folder() else { return };
    for (name, count, reads, duration, format) in ROWS {
        let requests = crate::common::read_path(&folder.join(name), format).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(requests.len(), count, "{name}");
        let read = 100.0 * requests.iter().filter(|request| request.op == Op::Read).count() as f64 / count as f64;
        assert!((read - reads).abs() <= 0.6, "{name}: {read} % reads");
        assert_eq!(requests[0].time.0, 0, "{name}");
        let last = requests[count - 1].time.0 as f64 / 1e9;
        assert!((last / duration - 1.0).abs() < 0.05, "{name}: {last} s");
    }
}

#[test]
fn the_shared_traces_show_their_format() {
    let Some(folder) = folder() else { return };
    for (name, .., format) in ROWS.iter().filter(|row| row.4.is_none()) {
        assert!(format.is_none());
        let trace = TraceFile::open(&folder.join(name), None).unwrap_or_else(|error| panic!("{error}"));
        let expected = match name.rsplit('.').nth(1) {
            Some("csv") => "msr",
            Some("mqsim") => "mqsim",
            Some("biotracer") => "biotracer",
            Some("blkparse") => "blkparse",
            _ => "disksim",
        };
        assert_eq!(trace.format().name(), expected, "{name}");
    }
}

/// Where the traces are; says so where they are not, past what captures tests' output. In CI they are there.
fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("SSDLAB_TRACES").map_or_else(beside, PathBuf::from);
    if folder.join(ROWS[0].0).is_file() {
        return Some(folder);
    }
    let told = format!("skipped: no shared traces in {}; set SSDLAB_TRACES to their folder", folder.display());
    assert!(std::env::var_os("CI").is_none(), "{told}");
    #[allow(clippy::explicit_write, reason = "what eprintln! writes is shown of failed tests only")]
    writeln!(std::io::stderr(), "{told}").unwrap();
    None
}
