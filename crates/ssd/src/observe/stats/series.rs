//! What happened over time: a bounded number of rows, whatever a run's length.
//!
//! Rows start at 100 µs; when there are too many, neighbours are merged and the interval doubles. So a
//! burst of a tenth of a second and a week of traffic both give one to two thousand rows.

use units::{Span, Time};
use workload::Op;

use super::smart::Smart;
use super::throttling::Throttling;

/// Rows are merged when there would be more.
const MAX_ROWS: usize = 2048;

/// One interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// End of the interval \[ns].
    pub time_ns: u64,
    /// Reads and writes that completed in it.
    pub reads: u64,
    /// Writes that completed in it.
    pub writes: u64,
    /// Bytes of the reads.
    pub read_bytes: u64,
    /// Bytes of the writes.
    pub write_bytes: u64,
    /// Requests outstanding, mean of the samples at interval ends.
    pub outstanding: f64,
    /// Pages in the write buffer, mean of the samples.
    pub buffered_pages: f64,
    /// Share of the dies' time that was not idle.
    pub die_busy: f64,
    /// Share of the channels' time that was not idle.
    pub channel_busy: f64,
    /// Free blocks, mean of the samples: of the whole drive, and of the plane that has the fewest.
    pub free_blocks: f64,
    /// Free blocks of the plane that has the fewest.
    pub free_blocks_min: f64,
    /// NVMe's available spare [%], mean of the samples.
    pub available_spare: f64,
    /// Its percentage used [%], 0 where blocks never wear out, mean of the samples.
    pub percentage_used: f64,
    /// Its media errors until the end of the interval.
    pub media_errors: u64,
    /// Mean power in it \[W], the whole energy of what began in it included; 0 where neither power is limited nor
    /// temperature followed.
    pub power_w: f64,
    /// Temperature of the drive at its end \[C]; 0 where it is not followed.
    pub temperature: f64,
}

/// Time that dies and channels were idle, summed over them \[ns], and how many there are.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdleTime {
    pub(crate) dies: u64,
    pub(crate) channels: u64,
    pub(crate) counts: (usize, usize),
}

impl IdleTime {
    /// That of the parts of two drives.
    pub fn plus(self, more: IdleTime) -> IdleTime {
        IdleTime {
            dies: self.dies + more.dies,
            channels: self.channels + more.channels,
            counts: (self.counts.0 + more.counts.0, self.counts.1 + more.counts.1),
        }
    }
}

/// The state of a device at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Requests submitted and not completed.
    pub outstanding: u64,
    /// Pages in the write buffer.
    pub buffered_pages: u32,
    /// Free blocks: of the whole drive, and of the plane that has the fewest.
    pub free_blocks: (u64, u32),
    /// What NVMe reports of its health.
    pub smart: Smart,
    /// How it has been throttled.
    pub throttling: Option<Throttling>,
    /// Time that its parts were idle.
    pub idle: IdleTime,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The unit of its values; empty where they have none.
    pub unit: &'static str,
    /// What they are.
    pub about: &'static str,
}

impl Column {
    /// A column by its name, its unit and what its values are.
    pub const fn new(name: &'static str, unit: &'static str, about: &'static str) -> Column {
        Column { name, unit, about }
    }
}

/// The columns of the time series.
pub const COLUMNS: [Column; 16] = [
    Column::new("time_ns", "ns", "end of the interval, from the start of the run"),
    Column::new("reads", "requests", "reads completed in the interval"),
    Column::new("writes", "requests", "writes completed in the interval"),
    Column::new("read_bytes", "B", "bytes of those reads"),
    Column::new("write_bytes", "B", "bytes of those writes"),
    Column::new(
        "media_errors",
        "flash pages",
        "pages read that could not be corrected (NVMe), since the start of the device",
    ),
    Column::new("outstanding", "requests", "requests submitted and not completed, sampled at interval ends"),
    Column::new("buffered_pages", "logical pages", "pages in the write buffer, sampled at interval ends"),
    Column::new("die_busy", "share", "share of the dies' time that was not idle"),
    Column::new("channel_busy", "share", "share of the channels' time that was not idle"),
    Column::new("free_blocks", "blocks", "free blocks, sampled at interval ends"),
    Column::new("free_blocks_min", "blocks", "free blocks of the plane that has the fewest, sampled at interval ends"),
    Column::new(
        "available_spare",
        "%",
        "spare blocks left, of those of the new drive (NVMe), sampled at interval ends",
    ),
    Column::new(
        "percentage_used",
        "%",
        "mean P/E cycles over wear.endurance (NVMe), 0 where that is none, sampled at interval ends",
    ),
    Column::new("power_w", "W", "mean power of the drive, where energy.power_states or thermal.resistance is set"),
    Column::new(
        "temperature",
        "C",
        "temperature of the drive, sampled at interval ends, where thermal.resistance is set",
    ),
];

/// A growing time series.
pub struct Series {
    rows: Vec<Row>,
    interval: Span,
    current: Row,
    origin: Time,
    last: (Time, IdleTime),
    /// Energy used until then \[pJ].
    last_used: f64,
}

impl Series {
    /// An empty series.
    pub fn new() -> Series {
        Series {
            rows: Vec::new(),
            interval: Span::from_us(100),
            current: Row::default(),
            origin: Time::ZERO,
            last: (Time::ZERO, IdleTime::default()),
            last_used: 0.0,
        }
    }

    /// The series starts now, with what the device has done until then left out.
    pub fn start(&mut self, now: Time, idle: IdleTime, throttling: Option<Throttling>) {
        (self.origin, self.last) = (now, (now, idle));
        self.last_used = throttling.map_or(0.0, |throttling| throttling.used);
    }

    /// When the present interval ends.
    pub fn next_end(&self) -> Time {
        self.last.0 + self.interval
    }

    /// A request has completed.
    #[inline]
    pub fn completed(&mut self, op: Op, bytes: u64) {
        match op {
            Op::Read => {
                self.current.reads += 1;
                self.current.read_bytes += bytes;
            }
            Op::Write | Op::Append => {
                self.current.writes += 1;
                self.current.write_bytes += bytes;
            }
            _ => {}
        }
    }

    /// The present interval ends at `now`, with the device in this state.
    pub fn close(&mut self, now: Time, sample: Sample) {
        let Sample { outstanding, buffered_pages, free_blocks, smart, throttling, idle } = sample;
        let used = throttling.map_or(0.0, |throttling| throttling.used);
        let span = now.since(self.last.0).0 as f64;
        if span > 0.0 {
            let busy = |idle: u64, before: u64, count: usize| 1.0 - (idle - before) as f64 / (span * count as f64);
            self.rows.push(Row {
                time_ns: now.since(self.origin).0,
                outstanding: outstanding as f64,
                buffered_pages: f64::from(buffered_pages),
                die_busy: busy(idle.dies, self.last.1.dies, idle.counts.0),
                channel_busy: busy(idle.channels, self.last.1.channels, idle.counts.1),
                free_blocks: free_blocks.0 as f64,
                free_blocks_min: f64::from(free_blocks.1),
                available_spare: smart.available_spare,
                percentage_used: smart.percentage_used.unwrap_or(0.0),
                media_errors: smart.media_errors,
                power_w: (used - self.last_used) / span / 1e3,
                temperature: throttling.and_then(|throttling| throttling.celsius).map_or(0.0, |(celsius, _)| celsius),
                ..self.current
            });
        }
        self.current = Row::default();
        (self.last, self.last_used) = ((now, idle), used);
        if self.rows.len() == MAX_ROWS {
            self.rows = self.rows.chunks(2).map(|pair| merge(pair[0], pair[1])).collect();
            self.interval = self.interval * 2;
        }
    }

    /// The rows so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

impl Default for Series {
    fn default() -> Series {
        Series::new()
    }
}

/// Two neighbouring intervals of equal length as one.
fn merge(a: Row, b: Row) -> Row {
    let mean = |x: f64, y: f64| (x + y) / 2.0;
    Row {
        time_ns: b.time_ns,
        reads: a.reads + b.reads,
        writes: a.writes + b.writes,
        read_bytes: a.read_bytes + b.read_bytes,
        write_bytes: a.write_bytes + b.write_bytes,
        outstanding: mean(a.outstanding, b.outstanding),
        buffered_pages: mean(a.buffered_pages, b.buffered_pages),
        die_busy: mean(a.die_busy, b.die_busy),
        channel_busy: mean(a.channel_busy, b.channel_busy),
        free_blocks: mean(a.free_blocks, b.free_blocks),
        free_blocks_min: mean(a.free_blocks_min, b.free_blocks_min),
        available_spare: mean(a.available_spare, b.available_spare),
        percentage_used: mean(a.percentage_used, b.percentage_used),
        media_errors: b.media_errors,
        power_w: mean(a.power_w, b.power_w),
        temperature: mean(a.temperature, b.temperature),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stay_bounded_and_lose_no_request() {
        let idle = |now: Time| IdleTime { dies: now.0 / 2, channels: now.0, counts: (1, 1) };
        let mut series = Series::new();
        for _ in 0..10_000 {
            series.completed(Op::Read, 4096);
            let now = series.next_end();
            let sample = Sample {
                outstanding: 3,
                buffered_pages: 7,
                free_blocks: (0, 0),
                smart: Smart::default(),
                throttling: None,
                idle: idle(now),
            };
            series.close(now, sample);
        }
        let rows = series.rows();
        assert!(rows.len() < MAX_ROWS);
        assert_eq!(rows.iter().map(|row| row.reads).sum::<u64>(), 10_000);
        assert!(rows.iter().all(|row| (row.die_busy - 0.5).abs() < 1e-6 && row.channel_busy == 0.0));
        assert!(rows.iter().all(|row| row.outstanding == 3.0 && row.buffered_pages == 7.0));
        assert!(rows.is_sorted_by(|a, b| a.time_ns < b.time_ns));
    }
}
