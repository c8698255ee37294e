//! Settings of a generator that have no effect.

use units::section::Section;

use super::jobs::Workload;
use super::options::{Generator, Rw};

/// A key that has no effect, when that is so, and what it would need. Of a drive it is known whether it takes hints.
struct Rule {
    key: &'static str,
    idle: fn(&Generator, bool) -> bool,
    without: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        key: "read_ratio",
        idle: |job, _| !matches!(job.rw, Rw::Rw | Rw::RandRw),
        without: "reads and writes mixed (workload.rw = \"rw\" or \"randrw\")",
    },
    Rule {
        key: "random_distribution",
        idle: |job, _| job.rw.is_sequential() || job.zone_size.is_some(),
        without: "random addresses (workload.rw) outside of zones (workload.zone_size)",
    },
    Rule { key: "written", idle: |job, _| job.cold_read_ratio.is_none(), without: "workload.cold_read_ratio" },
    Rule { key: "open_zones", idle: |job, _| job.zone_size.is_none(), without: "workload.zone_size" },
    Rule { key: "arrivals", idle: |job, _| job.rate_iops.is_none(), without: "workload.rate_iops" },
    Rule { key: "hint", idle: |_, takes_hints| !takes_hints, without: "ftl.hints" },
];

impl Workload {
    /// Settings without effect, each with the reason, of what differs from `inherited`, the workload without them.
    #[must_use]
    pub fn idle_settings(&self, inherited: &Workload, takes_hints: bool) -> Vec<String> {
        if self.phases.is_some() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for rule in RULES {
            let mut keys = Vec::new();
            for (name, job) in self.jobs.iter().filter(|(_, job)| (rule.idle)(job, takes_hints)) {
                let before = inherited.jobs.iter().find(|(other, _)| other == name);
                if before.is_some_and(|(_, before)| before.get(rule.key) != job.get(rule.key)) {
                    keys.push(match name.as_str() {
                        "" => format!("workload.{}", rule.key),
                        name => format!("job.{name}.{}", rule.key),
                    });
                }
            }
            if !keys.is_empty() {
                found.push(format!("{} without {}", keys.join(", "), rule.without));
            }
        }
        found
    }

    /// How many requests come at time 0, since their jobs have neither a rate nor a bound of requests under way.
    #[must_use]
    pub fn at_once(&self) -> u64 {
        let jobs = if self.phases.is_some() { &[] } else { self.jobs.as_slice() };
        let open = jobs.iter().filter(|(_, job)| job.rate_iops.is_none() && job.iodepth.is_none());
        open.fold(0, |sum, (_, job)| sum.saturating_add(job.requests.saturating_mul(job.numjobs.into())))
    }
}

#[cfg(test)]
mod tests {
    use units::Document;

    use super::*;

    fn read(words: &[&str]) -> Workload {
        Workload::read(&Document::parse("[workload]\nrw = \"randrw\"\n", "test").unwrap(), words, None).unwrap()
    }

    #[test]
    fn keys_are_idle_where_what_they_need_is_not_set() {
        let idle = |words: &[&str], hints| read(words).idle_settings(&read(&[]), hints);
        let ratio = "workload.read_ratio=0.5";
        assert_eq!(idle(&[ratio], false), [""; 0]);
        let [of] = &idle(&["workload.rw=randread", ratio], false)[..] else { panic!("one") };
        assert!(of.starts_with("workload.read_ratio without reads and writes mixed"), "{of}");
        assert_eq!(idle(&["workload.rw=randread"], false), [""; 0], "the ratio is not set");
        assert_eq!(idle(&["workload.hint=3"], false), ["workload.hint without ftl.hints"]);
        assert_eq!(idle(&["workload.hint=3"], true), [""; 0]);
        let none =
            ["workload.rate_iops=none", "workload.arrivals=fixed", "workload.written=0.1", "workload.open_zones=3"];
        assert_eq!(
            idle(&none, false),
            [
                "workload.written without workload.cold_read_ratio",
                "workload.open_zones without workload.zone_size",
                "workload.arrivals without workload.rate_iops"
            ]
        );
    }

    #[test]
    fn requests_come_at_once_without_rate_and_depth() {
        let at_once =
            |words: &[&str]| read(&[words, &["workload.requests=200", "workload.numjobs=2"]].concat()).at_once();
        assert_eq!(at_once(&[]), 0);
        assert_eq!(at_once(&["workload.rate_iops=none"]), 400);
        assert_eq!(at_once(&["workload.rate_iops=none", "workload.iodepth=4"]), 0);
    }
}
