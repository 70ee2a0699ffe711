//! What the suite of writers must reach. The table of all bars is [`bars`].

use crate::harness::judge::{self, Limit, Measured, contest};
use crate::harness::report::Report;
use crate::suites::writers::workload::{COMMITS_PER_FLUSH, CPU, SPEED_UP, WALL, Workload};

/// The engine that has to reach them.
const MEASURED: &str = "fulgurite";

/// What a dependent load took on the machine on which the times among the bars were set, in nanoseconds: half of two
/// that follow each other.
const LOAD_NS: f64 = 111.5;

/// What a bar is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// How many times more processor time a rival's transaction takes.
    Ratio(Workload, &'static str),
    /// An amount of this unit, its description beginning with the engine's name.
    Amount(Workload, &'static str),
}

/// Every bar.
pub fn bars() -> Vec<(Subject, Limit)> {
    use Limit::{AtLeast, Below};
    use Subject::{Amount, Ratio};
    vec![
        (Ratio(Workload::Put1Log, "lmdb"), AtLeast(2.4)),
        (Ratio(Workload::Put1Log, "rocksdb"), AtLeast(6.0)),
        (Ratio(Workload::Put1Log, "fjall"), AtLeast(2.5)),
        (Ratio(Workload::Put1Memory, "rocksdb"), AtLeast(5.0)),
        (Ratio(Workload::Txn5, "lmdb"), AtLeast(1.0)),
        (Ratio(Workload::Bank, "lmdb"), AtLeast(1.8)),
        (Ratio(Workload::Mix80, "lmdb"), AtLeast(1.0)),
        (Ratio(Workload::Mix70, "lmdb"), AtLeast(1.0)),
        // A few syncs of other files than the log's are counted too.
        (Amount(Workload::Sync1, COMMITS_PER_FLUSH), AtLeast(0.98)),
        (Amount(Workload::Sync8, COMMITS_PER_FLUSH), AtLeast(6.0)),
        (Amount(Workload::Sync32, COMMITS_PER_FLUSH), AtLeast(24.0)),
        (Ratio(Workload::Sync100, "rocksdb"), AtLeast(2.0)),
        (Amount(Workload::TwoPut1, SPEED_UP), AtLeast(1.3)),
        (Amount(Workload::TwoTxn5, SPEED_UP), AtLeast(1.5)),
        (Amount(Workload::Recovery64, WALL), Below(250.0)),
        (Amount(Workload::Recovery1024, CPU), Below(2000.0)),
    ]
}

impl judge::Subject for Subject {
    fn measured(&self, _limit: Limit, report: &Report) -> Option<Measured> {
        let (title, value, unit) = match *self {
            Subject::Ratio(workload, rival) => {
                (format!("{} beside {rival}", workload.name()), contest(report, workload.name())?.ratio_to(rival)?, "×")
            }
            Subject::Amount(workload, unit) => {
                let of = |name: &str, data: &str| name == workload.name() && data.starts_with(MEASURED);
                let found = report.amounts.iter().find(|a| a.unit == unit && of(a.workload, &a.data))?;
                (workload.name().to_owned(), found.value, unit)
            }
        };
        Some(Measured { title, value, unit })
    }

    fn load_ns_where_set(&self) -> Option<f64> {
        let is_time = matches!(self, Subject::Amount(_, WALL | CPU));
        is_time.then_some(LOAD_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::contest::Contest;
    use crate::harness::judge::{Subject as _, Verdict, judge, judgement};
    use crate::harness::report::Amount;
    use crate::measure::clock::Sample;

    fn contest(workload: Workload, entries: &[(&'static str, f64)]) -> Contest {
        let sample = |cpu_ns| Sample { operations: 1, cpu_ns, wall_ns: 1.0, p50_ns: 1.0, p99_ns: 1.0 };
        Contest {
            suite: "writers",
            workload: workload.name(),
            threads: 1,
            shape: "hashed",
            records: 1,
            key_bytes: 32,
            value_bytes: 100,
            entries: entries.iter().map(|&(engine, cpu_ns)| (engine, vec![sample(cpu_ns)])).collect(),
        }
    }

    fn judged(report: &Report) -> Vec<bool> {
        judge(&bars(), report).0.iter().map(Verdict::met).collect()
    }

    #[test]
    fn ratios_are_judged_for_the_rivals_that_were_there() {
        let report = |entries: &[(&'static str, f64)]| Report {
            contests: vec![contest(Workload::Put1Log, entries)],
            ..Report::default()
        };
        assert_eq!(judged(&report(&[("fulgurite", 100.0), ("lmdb", 239.0), ("rocksdb", 600.0)])), [false, true]);
        assert_eq!(judged(&report(&[("fulgurite", 100.0), ("fjall", 250.0)])), [true]);
        assert!(judged(&report(&[("lmdb", 100.0), ("rocksdb", 3600.0)])).is_empty());
    }

    #[test]
    fn times_are_the_bars_that_depend_on_the_machine() {
        let timed = |(subject, _): &(Subject, Limit)| subject.load_ns_where_set().map(|_| format!("{subject:?}"));
        let timed: Vec<String> = bars().iter().filter_map(timed).collect();
        assert_eq!((timed.len(), timed.iter().all(|subject| subject.contains("Recovery"))), (2, true));
        let wall = Amount { workload: "recovery_64", data: "fulgurite".into(), value: 251.0, rival: None, unit: WALL };
        let report = Report { amounts: vec![wall], ..Report::default() };
        assert!(judgement(&bars(), false, &report).0.contains("a dependent load took 112 ns where the bar was set"));
    }

    #[test]
    fn amounts_are_those_of_the_measured_engine() {
        let amount = |engine: &str, value| Amount {
            workload: "sync8",
            data: engine.to_owned(),
            value,
            rival: None,
            unit: COMMITS_PER_FLUSH,
        };
        let report = Report { amounts: vec![amount("rocksdb", 3.0), amount("fulgurite", 6.0)], ..Report::default() };
        assert_eq!(judged(&report), [true]);
        assert_eq!(judge(&bars(), &Report::default()).1, bars().len());
    }

    #[test]
    fn a_quick_run_is_not_judged() {
        let slow = contest(Workload::Bank, &[("fulgurite", 9e9), ("lmdb", 1.0)]);
        let report = Report { contests: vec![slow], ..Report::default() };
        assert!(judgement(&bars(), true, &report).1);
        assert!(!judgement(&bars(), false, &report).1);
    }
}
