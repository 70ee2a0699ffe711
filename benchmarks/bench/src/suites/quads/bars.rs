//! What the suite of quads must reach. The table of all bars is [`bars`].

use crate::harness::contest::cpu_ns;
use crate::harness::judge::{self, Limit, MEASURED, Measured, contest};
use crate::harness::report::Report;
use crate::measure::statistics::median;
use crate::suites::quads::data::queries::QUERIES;
use crate::suites::quads::engines::engine::ENGINE_NAMES;
use crate::suites::quads::measure::{Measure, SPACE};

const LMDBSTORE: &str = ENGINE_NAMES[2];
const OXIGRAPH: &str = ENGINE_NAMES[3];

/// What a bar is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// How many times less processor time than a rival's.
    Cpu(Measure, &'static str),
    /// Millions of operations in a second of processor time.
    Rate(Measure),
    /// An amount of this unit.
    Amount(&'static str, &'static str),
    /// Operations in a second of wall time by so many threads, of a hundred by two.
    Threads(usize),
    /// Over all queries, the geometric mean of how many times less processor time than Oxigraph's.
    Queries,
    /// The least of the same.
    SlowestQuery,
}

/// Every bar.
pub fn bars() -> Vec<(Subject, Limit)> {
    use Limit::{AtLeast, AtMost, Below};
    use Measure::{BulkLoad, ByPredicateObject, BySubject, ScanIds, ScanTerms, TransactionalLoad};
    vec![
        (Subject::Cpu(BulkLoad, OXIGRAPH), AtLeast(3.0)),
        (Subject::Cpu(BulkLoad, LMDBSTORE), AtLeast(4.0)),
        (Subject::Amount(BulkLoad.name(), "GB of private memory at most"), Below(1.5)),
        (Subject::Cpu(TransactionalLoad, LMDBSTORE), AtLeast(2.5)),
        (Subject::Amount(SPACE, "bytes"), AtMost(80.0)),
        (Subject::Rate(ScanIds), AtLeast(50.0)),
        (Subject::Cpu(ScanTerms, LMDBSTORE), AtLeast(5.0)),
        (Subject::Cpu(BySubject, LMDBSTORE), AtLeast(6.0)),
        (Subject::Cpu(ByPredicateObject, LMDBSTORE), AtLeast(5.0)),
        (Subject::Threads(4), AtLeast(95.0)),
        (Subject::Threads(8), AtLeast(95.0)),
        (Subject::Amount(Measure::Open.name(), "ms"), Below(20.0)),
        (Subject::Queries, AtLeast(3.0)),
        (Subject::SlowestQuery, AtLeast(1.2)),
    ]
}

impl judge::Subject for Subject {
    fn measured(&self, _limit: Limit, report: &Report) -> Option<Measured> {
        let (title, value, unit) = match *self {
            Subject::Cpu(measure, rival) => {
                let ratio = contest(report, measure.name())?.ratio_to(rival)?;
                (format!("{} beside {rival}, by processor time", measure.name()), ratio, "×")
            }
            Subject::Rate(measure) => {
                let (_, samples) = contest(report, measure.name())?.entries.first()?;
                (measure.name().to_owned(), 1e3 / cpu_ns(samples), "million in a second of processor time")
            }
            Subject::Amount(workload, unit) => {
                let of = |name: &str, data: &str, of: &str| name == workload && data == MEASURED && of == unit;
                let found = report.amounts.iter().find(|a| of(a.workload, &a.data, a.unit))?;
                (workload.to_owned(), found.value, unit)
            }
            Subject::Threads(count) => {
                let rates = |threads: usize| {
                    let (_, samples) = contest(report, Measure::Threads(threads).name())?.entries.first()?;
                    Some(median(&samples.iter().map(|sample| sample.operations_per_second()).collect::<Vec<_>>()))
                };
                let share = 100.0 * rates(count)? / rates(2)?;
                (format!("rate of {count} threads, by the clock"), share, "% of that of 2")
            }
            Subject::Queries => {
                let ratios: Vec<f64> = query_ratios(report)?.into_iter().map(|(_, ratio)| ratio.ln()).collect();
                let mean = (ratios.iter().sum::<f64>() / ratios.len() as f64).exp();
                (format!("{} queries beside {OXIGRAPH}, geometric mean by processor time", ratios.len()), mean, "×")
            }
            Subject::SlowestQuery => {
                let ratios = query_ratios(report)?;
                let (name, ratio) = ratios.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
                (format!("{name}, the query least ahead of {OXIGRAPH}"), ratio, "×")
            }
        };
        Some(Measured { title, value, unit })
    }
}

/// Each query and how many times less processor time it took than Oxigraph's; `None` if no query was measured.
fn query_ratios(report: &Report) -> Option<Vec<(&'static str, f64)>> {
    let ratio = |name: &'static str| Some((name, contest(report, name)?.ratio_to(OXIGRAPH)?));
    let ratios: Vec<_> = QUERIES.iter().filter_map(|(name, _)| ratio(name)).collect();
    (!ratios.is_empty()).then_some(ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::contest::Contest;
    use crate::harness::judge::{Verdict, judge};
    use crate::harness::report::Amount;
    use crate::measure::clock::Sample;

    fn sample(cpu_ns: f64, wall_ns: f64) -> Sample {
        Sample { operations: 1, cpu_ns, wall_ns, p50_ns: 1.0, p99_ns: 1.0 }
    }

    fn contest(workload: &'static str, entries: &[(&'static str, f64, f64)]) -> Contest {
        Contest {
            suite: "rdf4j",
            workload,
            threads: 1,
            shape: "universities",
            records: 1,
            key_bytes: 0,
            value_bytes: 0,
            entries: entries.iter().map(|(name, cpu, wall)| (*name, vec![sample(*cpu, *wall)])).collect(),
        }
    }

    fn judged(contests: Vec<Contest>, amounts: Vec<Amount>) -> Vec<(bool, String)> {
        let report = Report { contests, amounts, ..Report::default() };
        judge(&bars(), &report).0.iter().map(|verdict: &Verdict| (verdict.met(), verdict.to_string())).collect()
    }

    #[test]
    fn loads_are_judged_beside_each_rival_by_processor_time() {
        let load =
            contest("bulk_load", &[("fulgurite", 100.0, 9e9), ("lmdbstore", 399.0, 1.0), ("oxigraph", 300.0, 1.0)]);
        let verdicts = judged(vec![load], vec![]);
        assert_eq!(verdicts.iter().map(|verdict| verdict.0).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn threads_are_judged_by_the_clock_beside_two() {
        let threads = |name, wall| contest(name, &[("fulgurite", 1.0, wall)]);
        let contests = vec![threads("threads_2", 95.0), threads("threads_4", 100.0), threads("threads_8", 101.0)];
        let verdicts = judged(contests, vec![]);
        assert_eq!(verdicts.iter().map(|verdict| verdict.0).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn queries_are_judged_by_their_mean_and_by_the_slowest() {
        let one = |name, theirs| contest(name, &[("fulgurite", 1.0, 1.0), ("oxigraph", theirs, 1.0)]);
        let verdicts = judged(vec![one("star_1", 18.5), one("chain_1", 0.5)], vec![]);
        assert_eq!(verdicts.iter().map(|verdict| verdict.0).collect::<Vec<_>>(), [true, false]);
        assert!(verdicts[0].1.contains(": 3.04 ×") && verdicts[1].1.contains("chain_1"), "{verdicts:?}");
    }

    #[test]
    fn amounts_are_those_of_the_measured_engine() {
        let amount = |workload, engine: &str, value, unit| Amount {
            workload,
            data: engine.to_owned(),
            value,
            rival: None,
            unit,
        };
        let amounts = vec![
            amount(SPACE, "lmdbstore", 400.0, "bytes"),
            amount(SPACE, "fulgurite", 80.0, "bytes"),
            amount("bulk_load", "fulgurite", 1.5, "GB of private memory at most"),
            amount("open", "fulgurite", 3.0, "ms"),
        ];
        let verdicts = judged(vec![contest("scan_ids", &[("fulgurite", 20.0, 1.0)])], amounts);
        assert_eq!(verdicts.iter().map(|verdict| verdict.0).collect::<Vec<_>>(), [false, true, true, true]);
    }
}
