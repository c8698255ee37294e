//! What an array reports beside what every run reports: itself, and each of its drives.

use crate::array::{Array, Seat};
use crate::layout::Code;
use crate::member::Member;
use crate::ops::Purpose;
use crate::rebuild::RebuildRecord;
use crate::stats::ArrayCounters;
use serde_json::{Map, Value, json};
use ssd::stats::Finding;
use ssd::stats::report::report;
use ssd::{Drive, RunDrive};
use units::Time;

/// Names of the purposes of requests to drives.
const PURPOSES: [(&str, Purpose); Purpose::COUNT] = [
    ("read_data", Purpose::ReadData),
    ("read_reconstruct", Purpose::ReadReconstruct),
    ("read_hedge", Purpose::ReadHedge),
    ("read_extra", Purpose::ReadExtra),
    ("read_before_write", Purpose::ReadBeforeWrite),
    ("read_rebuild", Purpose::ReadRebuild),
    ("read_scrub", Purpose::ReadScrub),
    ("write_data", Purpose::WriteData),
    ("write_parity", Purpose::WriteParity),
    ("write_rebuild", Purpose::WriteRebuild),
    ("write_repair", Purpose::WriteRepair),
    ("other", Purpose::Other),
];

impl<D: RunDrive + ?Sized> Array<D> {
    /// What has been counted since counting began.
    pub fn counters_now(&self) -> ArrayCounters {
        self.counters.since(&self.counters_before)
    }

    /// The section `array` of a result: the layout, what was counted, and each drive with its own statistics.
    pub fn section(&self) -> Value {
        let mut section = Map::new();
        let code = self.layout.code;
        section.insert("layout".into(), json!(self.config.layout.word()));
        section.insert("width".into(), json!(self.seats.len()));
        section.insert("rows".into(), json!(self.layout.rows));
        section.insert("data".into(), json!(code.data));
        section.insert("parity".into(), json!(code.parity));
        section.insert("chunk_bytes".into(), json!(self.layout.chunk));
        section.insert("capacity_bytes".into(), json!(self.capacity().0));
        section.insert("unused_bytes".into(), json!(self.unused()));
        let counters = self.counters_now();
        for (count, value) in ArrayCounters::DECLARED.iter().zip(counters.counts()) {
            section.insert(count.name.into(), json!(value));
        }
        section.insert("log_write_amplification".into(), json!(log_write_amplification(&counters, code)));
        let busy = self.link.busy().map(|span| json!(span.0));
        section.insert("link_busy_ns".into(), json!({ "to_drives": busy[0], "from_drives": busy[1] }));
        let rebuilds: Vec<Value> = counters.rebuilds.iter().map(|record| self.rebuild(record)).collect();
        section.insert("data_lost_ns".into(), json!(counters.data_lost.map(|time| self.in_run(time))));
        section.insert("rebuilds".into(), Value::Array(rebuilds));
        section.insert("requests_to_drives".into(), purposes(|purpose| self.all_of(|member| member.requests[purpose])));
        section.insert("bytes_to_drives".into(), purposes(|purpose| self.all_of(|member| member.bytes[purpose])));
        section.insert("drives".into(), self.members.iter().map(|member| self.of_member(member)).collect());
        Value::Object(section)
    }

    fn all_of(&self, count: impl Fn(&Member<D>) -> u64) -> u64 {
        self.members.iter().map(count).sum()
    }

    /// Bytes of the drives in use that the layout leaves unused: the smallest of them rules.
    pub fn unused(&self) -> u64 {
        let unused = |(place, seat): (usize, &Seat)| {
            let used = self.layout.rows_of(place) * self.layout.chunk;
            self.members[seat.drive].drive.capacity().0.saturating_sub(used)
        };
        self.seats.iter().enumerate().map(unused).sum()
    }

    fn rebuild(&self, record: &RebuildRecord) -> Value {
        json!({
            "drive": self.members[record.drive].name,
            "began_ns": self.in_run(record.began),
            "ended_ns": record.ended.map(|time| self.in_run(time)),
            "rows": record.rows,
            "rows_lost": record.lost,
        })
    }

    /// A time, from the beginning of the workload on; 0 where it was before.
    fn in_run(&self, time: Time) -> u64 {
        time.0.saturating_sub(self.origin.0)
    }

    /// A drive: its requests by purpose, and the statistics that a run on it alone would report.
    fn of_member(&self, member: &Member<D>) -> Value {
        let mut section = Map::new();
        section.insert("name".into(), json!(member.name));
        section.insert("failed_ns".into(), json!(member.failed.map(|time| self.in_run(time))));
        section.insert("requests".into(), purposes(|purpose| member.requests[purpose]));
        section.extend(report(&member.measured()).to_json());
        Value::Object(section)
    }
}

/// Blocks that a log has written, parity included, for each that the host wrote.
fn log_write_amplification(counters: &ArrayCounters, code: Code) -> Option<f64> {
    let ArrayCounters { log_blocks_written: of_host, log_blocks_moved, log_blocks_padded, .. } = counters;
    let all = of_host + log_blocks_moved + log_blocks_padded;
    (*of_host > 0).then(|| all as f64 / *of_host as f64 * code.width() as f64 / code.data as f64)
}

/// A number for each purpose.
fn purposes(count: impl Fn(usize) -> u64) -> Value {
    Value::Object(PURPOSES.iter().map(|(name, purpose)| ((*name).into(), json!(count(*purpose as usize)))).collect())
}

/// A number in the section `array` of a result.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its name in a result.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// What it is.
    pub about: String,
}

/// The numbers in the section `array` of a result; none of a result of one drive.
pub fn described(result: &Value) -> Vec<Described> {
    if !result["array"].is_object() {
        return Vec::new();
    }
    let of = |name: &str, unit, about: &str| Described { name: format!("array.{name}"), unit, about: about.to_owned() };
    let counts = ArrayCounters::DECLARED.iter().map(|count| of(count.name, count.unit, count.about.trim()));
    let amplification = "blocks that a log has written, parity included, for each of the host's";
    let others = [
        of("capacity_bytes", "B", "address space of the array"),
        of("unused_bytes", "B", "of the drives in use, what the layout leaves unused"),
        of("log_write_amplification", "blocks/block", amplification),
    ];
    let to_drives = PURPOSES.iter().flat_map(|(name, purpose)| {
        let requests = of(&format!("requests_to_drives.{name}"), "requests to drives", purpose.words());
        [requests, of(&format!("bytes_to_drives.{name}"), "B", purpose.words())]
    });
    counts.chain(others).chain(to_drives).collect()
}

/// What puts the numbers of drives in doubt: what is so of several is said once, with the first of them.
pub(crate) fn findings<D: RunDrive + ?Sized>(members: &[Member<D>]) -> Vec<Finding> {
    let each = members.iter().flat_map(|member| {
        member.findings().into_iter().map(|finding| (member.name.as_str(), finding)).collect::<Vec<_>>()
    });
    of_several(each)
}

/// Findings of several drives, by their names: those of one kind become one, the numbers that of the first.
pub(crate) fn of_several<'a>(findings: impl Iterator<Item = (&'a str, Finding)>) -> Vec<Finding> {
    let mut kinds: Vec<(Vec<&str>, Finding)> = Vec::new();
    for (name, finding) in findings {
        match kinds.iter_mut().find(|(_, of)| of.id == finding.id) {
            Some((names, _)) => names.push(name),
            None => kinds.push((vec![name], finding)),
        }
    }
    let told = |(names, finding): (Vec<&str>, Finding)| {
        let others = match names.len() - 1 {
            0 => String::new(),
            1..=3 => format!(" (as {})", names[1..].join(", ")),
            more => format!(" (as {more} other drives)"),
        };
        let numbers = finding.numbers.iter().copied().chain([("drives", names.len() as f64)]).collect();
        Finding { text: format!("{}{others}: {}", names[0], finding.text), numbers, ..finding }
    };
    kinds.into_iter().map(told).collect()
}
