//! What the suite of sustained writes must reach. The table of all bars is [`bars`].

use crate::floors::around::Floors;
use crate::floors::floor::Floor;
use crate::harness::contest::cpu_ns;
use crate::harness::judge::{self, Limit, Measured, contest};
use crate::harness::report::Report;
use crate::measure::statistics::median;
use crate::suites::sustained::engine::{ENGINE_NAMES, LMDB_AT_REST};
use crate::suites::sustained::workload::{Figure, Measure, Workload};

/// The engine that has to reach them.
const MEASURED: &str = ENGINE_NAMES[0];

/// What a bar is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// How many times more operations than a rival's, in a second of wall time.
    Wall(Workload, Measure, &'static str),
    /// How many times less processor time than a rival's.
    Cpu(Workload, Measure, &'static str),
    /// Millions of operations in a second of wall time.
    Rate(Workload, Measure),
    /// Processor time of an operation, in nanoseconds.
    Cost(Measure),
    /// The same, as a multiple of a load from huge pages that waits for the one before it.
    Loads(Measure),
    /// An amount.
    Amount(Workload, Figure),
}

/// Every bar.
pub fn bars() -> Vec<(Subject, Limit)> {
    use Limit::{AtLeast, AtMost, Below};
    use Subject::{Amount, Cost, Cpu, Loads, Rate, Wall};
    use Workload::{Bounded, Idle, Ingest, Put1, Sequential, Skewed};
    vec![
        (Wall(Ingest, Measure::Puts, "rocksdb"), AtLeast(5.0)),
        (Wall(Ingest, Measure::Puts, "fjall"), AtLeast(4.0)),
        (Cpu(Ingest, Measure::Settled, "rocksdb"), AtLeast(4.5)),
        (Cpu(Ingest, Measure::Settled, "fjall"), AtLeast(4.0)),
        (Rate(Put1, Measure::Settled), AtLeast(0.6)),
        (Amount(Ingest, Figure::Passed), AtMost(4.5)),
        (Amount(Ingest, Figure::SpacePeak), AtMost(2.6)),
        (Amount(Ingest, Figure::SpaceSettled), AtMost(1.2)),
        (Cpu(Ingest, Measure::HitDuring, LMDB_AT_REST), AtLeast(2.5)),
        (Cpu(Ingest, Measure::HitRest, LMDB_AT_REST), AtLeast(4.5)),
        (Loads(Measure::MissDebt), AtMost(1.5)),
        (Cost(Measure::SeekDebt), AtMost(10_000.0)),
        (Cost(Measure::SeekRest), AtMost(3500.0)),
        (Amount(Ingest, Figure::Pause), AtMost(100.0)),
        (Amount(Ingest, Figure::P999), AtMost(5.0)),
        (Wall(Skewed, Measure::Puts, "rocksdb"), AtLeast(5.0)),
        (Wall(Sequential, Measure::Puts, "rocksdb"), AtLeast(5.0)),
        (Amount(Sequential, Figure::Passed), AtMost(2.2)),
        (Amount(Idle, Figure::IdleMemory), Below(64.0)),
        (Amount(Idle, Figure::IdleAwake), AtMost(0.0)),
        (Wall(Bounded, Measure::BoundedGet, "rocksdb"), AtLeast(1.0)),
        (Wall(Bounded, Measure::BoundedGet, "lmdb"), AtLeast(1.0)),
        (Wall(Bounded, Measure::BoundedMix, "rocksdb"), AtLeast(1.0)),
        (Wall(Bounded, Measure::BoundedMix, "lmdb"), AtLeast(1.0)),
    ]
}

impl judge::Subject for Subject {
    fn measured(&self, _limit: Limit, report: &Report) -> Option<Measured> {
        let (title, value, unit) = match *self {
            Subject::Wall(workload, measure, rival) => {
                let title = measure.title(workload);
                (format!("{title} beside {rival}, by the clock"), contest(report, title)?.wall_ratio_to(rival)?, "×")
            }
            Subject::Cpu(workload, measure, rival) => {
                let title = measure.title(workload);
                (format!("{title} beside {rival}, by processor time"), contest(report, title)?.ratio_to(rival)?, "×")
            }
            Subject::Rate(workload, measure) => {
                let title = measure.title(workload);
                let (_, samples) = contest(report, title)?.entries.first()?;
                let rates: Vec<f64> = samples.iter().map(|sample| sample.operations_per_second() / 1e6).collect();
                (title.to_owned(), median(&rates), "million a second")
            }
            Subject::Cost(measure) => {
                let title = measure.name();
                (title.to_owned(), cpu_ns(&contest(report, title)?.entries.first()?.1), "ns CPU")
            }
            Subject::Loads(measure) => {
                let title = measure.name();
                let load = |floors: &Floors| floors.get(Floor::DependentMemoryHuge);
                let around = report.limits.as_ref()?;
                let load_ns = (load(&around.before)? + load(&around.after)?) / 2.0;
                let cost_ns = cpu_ns(&contest(report, title)?.entries.first()?.1);
                (title.to_owned(), cost_ns / load_ns, "dependent loads")
            }
            Subject::Amount(workload, figure) => {
                let of = |name: &str, data: &str, unit: &str| {
                    name == workload.name() && data == MEASURED && unit == figure.unit()
                };
                let found = report.amounts.iter().find(|a| of(a.workload, &a.data, a.unit))?;
                (workload.name().to_owned(), found.value, figure.unit())
            }
        };
        Some(Measured { title, value, unit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floors::around::Around;
    use crate::floors::around::tests::planted;
    use crate::harness::contest::Contest;
    use crate::harness::judge::{Verdict, judge, judgement};
    use crate::harness::report::Amount;
    use crate::measure::clock::Sample;

    fn contest(title: &'static str, entries: &[(&'static str, f64, f64)]) -> Contest {
        let sample = |&(engine, cpu_ns, wall_ns): &(&'static str, f64, f64)| {
            (engine, vec![Sample { operations: 1, cpu_ns, wall_ns, p50_ns: 1.0, p99_ns: 1.0 }])
        };
        Contest {
            suite: "sustained",
            workload: title,
            threads: 1,
            shape: "hashed",
            records: 1,
            key_bytes: 32,
            value_bytes: 100,
            entries: entries.iter().map(sample).collect(),
        }
    }

    fn judged(report: &Report) -> Vec<bool> {
        judge(&bars(), report).0.iter().map(Verdict::met).collect()
    }

    #[test]
    fn puts_are_judged_by_the_clock_and_settled_ones_by_processor_time() {
        let report = |title, entries: &[(&'static str, f64, f64)]| Report {
            contests: vec![contest(title, entries)],
            ..Report::default()
        };
        let slow = [("fulgurite", 100.0, 100.0), ("rocksdb", 1.0, 500.0), ("fjall", 1.0, 399.0)];
        assert_eq!(judged(&report("ingest", &slow)), [true, false]);
        let dear = [("fulgurite", 100.0, 100.0), ("rocksdb", 449.0, 1.0), ("fjall", 400.0, 1.0)];
        assert_eq!(judged(&report("ingest_settled", &dear)), [false, true]);
        assert_eq!(judged(&report("put1_settled", &[("fulgurite", 1.0, 1600.0)])), [true]);
        assert!(judged(&report("ingest", &[("rocksdb", 1.0, 1.0), ("fjall", 1.0, 1.0)])).is_empty());
    }

    #[test]
    fn gets_are_judged_beside_lmdb_at_rest_and_costs_alone() {
        let contests = || {
            vec![
                contest(
                    "get_hit_during",
                    &[("fulgurite", 600.0, 1.0), ("lmdb", 1.0, 1.0), (LMDB_AT_REST, 1800.0, 1.0)],
                ),
                contest("get_hit_rest", &[("fulgurite", 600.0, 1.0), (LMDB_AT_REST, 1800.0, 1.0)]),
                contest("get_miss_debt", &[("fulgurite", 351.0, 1.0)]),
                contest("seek100_rest", &[("fulgurite", 3500.0, 1.0)]),
            ]
        };
        // Without the machine's loads, the cost of a get that finds nothing means nothing.
        assert_eq!(judged(&Report { contests: contests(), ..Report::default() }), [true, false, true]);
        for (load_ns, met) in [(234.0, true), (233.0, false)] {
            let floors = || planted([1.0, load_ns, 1.0, 1.0, 1.0, 1.0]);
            let limits = Some(Around { before: floors(), after: floors() });
            let report = Report { contests: contests(), limits, ..Report::default() };
            assert_eq!(judged(&report), [true, false, met, true], "{load_ns}");
        }
    }

    #[test]
    fn amounts_are_those_of_the_measured_engine() {
        let amount = |workload, engine: &str, figure: Figure, value| Amount {
            workload,
            data: engine.to_owned(),
            value,
            rival: None,
            unit: figure.unit(),
        };
        let amounts = vec![
            amount("ingest", "rocksdb", Figure::Passed, 9.0),
            amount("ingest", "fulgurite", Figure::Passed, 4.5),
            amount("sequential", "fulgurite", Figure::Passed, 2.3),
            amount("idle", "fulgurite", Figure::IdleMemory, 64.0),
            amount("idle", "fulgurite", Figure::IdleAwake, 0.0),
        ];
        assert_eq!(judged(&Report { amounts, ..Report::default() }), [true, false, false, true]);
        assert_eq!(judge(&bars(), &Report::default()).1, bars().len());
    }

    #[test]
    fn a_quick_run_is_not_judged() {
        let report =
            Report { contests: vec![contest("seek100_rest", &[("fulgurite", 9e9, 1.0)])], ..Report::default() };
        assert!(judgement(&bars(), true, &report).1);
        assert!(!judgement(&bars(), false, &report).1);
    }
}
