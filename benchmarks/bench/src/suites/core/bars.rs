//! What a release must reach in the suite `core`. The table of all bars is [`bars`]. Data sets without a bar are
//! measured and reported too.

use crate::data::shape::Shape;
use crate::harness::judge::{self, Limit, Measured};
use crate::harness::report::{Amount, Report};
use crate::suites::core::workload::Workload;

/// Data sets of hashed keys: value bytes, which imply the key bytes, and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(u64, u64);

const SMALL: u64 = 1_000_000;
const LARGE: u64 = 10_000_000;

/// What a bar is about.
#[derive(Clone, Debug)]
pub enum Subject {
    /// The ratio of a workload on hashed keys.
    Hashed(Workload, Size),
    /// The ratio of a workload on another shape of key.
    Shape(Workload, Shape),
    /// The smallest ratio of a workload over all shapes but hashed.
    WorstShape(Workload),
    /// An amount, the worst of those measured.
    Amount(Workload, Option<&'static str>),
}

/// Every bar.
pub fn bars() -> Vec<(Subject, Limit)> {
    let hashed = |workload, size, ratio| (Subject::Hashed(workload, size), Limit::AtLeast(ratio));
    let shape = |shape, ratio| (Subject::Shape(Workload::GetHit, shape), Limit::AtLeast(ratio));
    let worst = |workload, ratio| (Subject::WorstShape(workload), Limit::AtLeast(ratio));
    let amount = |workload, data, limit| (Subject::Amount(workload, data), limit);
    let middle = Size(100, LARGE);
    vec![
        hashed(Workload::GetHit, middle, 4.5),
        hashed(Workload::GetHitSerialised, middle, 2.8),
        hashed(Workload::GetHitPortable, middle, 4.0),
        shape(Shape::Sequential, 3.5),
        shape(Shape::User, 3.5),
        shape(Shape::Uuid7, 3.5),
        shape(Shape::Tuple, 2.2),
        shape(Shape::Words, 2.2),
        shape(Shape::Domains, 2.2),
        shape(Shape::Iris, 2.2),
        hashed(Workload::GetHitDelta, middle, 3.0),
        hashed(Workload::GetMiss, middle, 7.0),
        worst(Workload::GetMiss, 3.2),
        hashed(Workload::GetMany32, middle, 12.0),
        worst(Workload::GetMany32, 4.0),
        hashed(Workload::Scan, middle, 1.7),
        hashed(Workload::Scan, Size(8, LARGE), 4.0),
        hashed(Workload::Scan, Size(1024, SMALL), 3.0),
        hashed(Workload::ScanReverse, middle, 1.7),
        hashed(Workload::ScanReverse, Size(8, LARGE), 4.0),
        hashed(Workload::ScanReverse, Size(1024, SMALL), 3.0),
        hashed(Workload::Seek100, middle, 1.7),
        hashed(Workload::BulkLoad, middle, 2.0),
        hashed(Workload::Put1, middle, 4.0),
        amount(Workload::Put1, None, Limit::AtLeast(2.0)),
        amount(Workload::BytesPerRecord, Some("hashed 32/100"), Limit::AtMost(11.0)),
        amount(Workload::BytesPerRecord, Some("hashed 8/8"), Limit::AtMost(11.0)),
        amount(Workload::Open, None, Limit::Below(10.0)),
        amount(Workload::LoadMemory, None, Limit::Below(512.0)),
        amount(Workload::BinarySize, None, Limit::Below(5.0)),
    ]
}

impl judge::Subject for Subject {
    fn measured(&self, limit: Limit, report: &Report) -> Option<Measured> {
        let (title, value, unit) = match self {
            Subject::Hashed(workload, Size(value_bytes, records)) => {
                let contest = report.contest(workload.name(), Shape::Hashed.name(), *value_bytes, *records)?;
                (format!("{} {}", workload.name(), contest.data_name()), contest.ratio(), "×")
            }
            Subject::Shape(workload, shape) => {
                let contest = report.contest(workload.name(), shape.name(), 100, LARGE)?;
                (format!("{} {}", workload.name(), contest.data_name()), contest.ratio(), "×")
            }
            Subject::WorstShape(workload) => {
                let all: Option<Vec<_>> = Shape::ALL
                    .into_iter()
                    .filter(|&shape| shape != Shape::Hashed)
                    .map(|shape| report.contest(workload.name(), shape.name(), 100, LARGE))
                    .collect();
                let worst = all?.into_iter().min_by(|a, b| a.ratio().total_cmp(&b.ratio()))?;
                (format!("{} worst shape ({})", workload.name(), worst.shape), worst.ratio(), "×")
            }
            Subject::Amount(workload, data) => {
                let of_data = |text: &str| data.is_none_or(|data| text.starts_with(data));
                let candidates = report.amounts.iter().filter(|a| a.workload == workload.name() && of_data(&a.data));
                let rising = |a: &&Amount, b: &&Amount| a.value.total_cmp(&b.value);
                let worst = match limit {
                    Limit::AtLeast(_) => candidates.min_by(rising)?,
                    Limit::AtMost(_) | Limit::Below(_) => candidates.max_by(rising)?,
                };
                (format!("{} {}", workload.name(), worst.data), worst.value, worst.unit)
            }
        };
        Some(Measured { title, value, unit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::contest::Contest;
    use crate::harness::judge::{Verdict, judge};
    use crate::measure::clock::Sample;

    fn contest(workload: Workload, shape: &'static str, value_bytes: u64, records: u64, ratio: f64) -> Contest {
        let sample = |cpu_ns| Sample { operations: 1, cpu_ns, wall_ns: 1.0, p50_ns: 1.0, p99_ns: 1.0 };
        let entries = vec![("ours", vec![sample(100.0)]), ("lmdb", vec![sample(100.0 * ratio)])];
        let (suite, workload, threads) = ("core", workload.name(), 1);
        Contest { suite, workload, threads, shape, records, key_bytes: 32, value_bytes, entries }
    }

    fn judged(report: &Report) -> Vec<bool> {
        judge(&bars(), report).0.iter().map(Verdict::met).collect()
    }

    #[test]
    fn a_ratio_at_the_bar_is_met_and_one_below_is_not() {
        let report = |ratio| Report {
            contests: vec![contest(Workload::GetHit, "hashed", 100, LARGE, ratio)],
            ..Report::default()
        };
        assert_eq!(judged(&report(4.5)), [true]);
        assert_eq!(judged(&report(4.49)), [false]);
    }

    #[test]
    fn other_sizes_have_no_bar() {
        let report =
            Report { contests: vec![contest(Workload::GetHit, "hashed", 100, 5000, 1.0)], ..Report::default() };
        let (verdicts, unmeasured) = judge(&bars(), &report);
        assert_eq!((verdicts.len(), unmeasured), (0, bars().len()));
    }

    #[test]
    fn the_worst_shape_decides_once_all_are_measured() {
        let mut report = Report::default();
        for shape in Shape::ALL.into_iter().skip(1) {
            assert!(judged(&report).is_empty());
            let ratio = if shape == Shape::Domains { 3.1 } else { 9.0 };
            report.contests.push(contest(Workload::GetMiss, shape.name(), 100, LARGE, ratio));
        }
        assert_eq!(judged(&report), [false]);
    }

    #[test]
    fn amounts_are_judged_by_the_worst() {
        let amount = |workload: Workload, value| Amount {
            workload: workload.name(),
            data: "hashed 32/100 × 5".to_owned(),
            value,
            rival: None,
            unit: "bytes",
        };
        let report = |workload, values: &[f64]| Report {
            amounts: values.iter().map(|&value| amount(workload, value)).collect(),
            ..Report::default()
        };
        assert_eq!(judged(&report(Workload::BytesPerRecord, &[11.0, 10.0])), [true]);
        assert_eq!(judged(&report(Workload::BytesPerRecord, &[9.0, 11.1])), [false]);
        assert_eq!(judged(&report(Workload::Put1, &[2.0, 3.0])), [true]);
        assert_eq!(judged(&report(Workload::Put1, &[1.0, 3.0])), [false]);
    }
}
