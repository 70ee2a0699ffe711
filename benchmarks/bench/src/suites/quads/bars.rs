//! What the suite of quads must reach. The table of all bars is [`bars`].

use crate::harness::contest::cpu_ns;
use crate::harness::judge::{self, Limit, MEASURED, Measured};
use crate::harness::report::{Amount, Report};
use crate::measure::clock::Sample;
use crate::measure::statistics::median;
use crate::suites::quads::data::queries::QUERIES;
use crate::suites::quads::engines::engine::ENGINE_NAMES;
use crate::suites::quads::measure::{Measure, SPACE};

const LMDBSTORE: &str = ENGINE_NAMES[2];
const OXIGRAPH: &str = ENGINE_NAMES[3];
const FROM_RDF4J: &str = ENGINE_NAMES[4];
const FROM_RDF4J_WITH_QUERIES: &str = ENGINE_NAMES[5];

/// An engine, and the rival that it is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Pair(&'static str, &'static str);

/// What a bar is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// How many times less processor time than a rival's.
    Cpu(Measure, Pair),
    /// Millions of operations in a second of processor time, of the engine in Rust.
    Rate(Measure),
    /// An amount of this unit, of the engine in Rust.
    Amount(&'static str, &'static str),
    /// Bytes of a statement, as a share of a rival's.
    Space(Pair),
    /// Operations of an engine in a second of wall time by so many threads, of a hundred by two.
    Threads(&'static str, usize),
    /// Over all queries, the geometric mean of how many times less processor time than a rival's.
    Queries(Pair),
    /// The least of the same.
    SlowestQuery(Pair),
}

/// Every bar.
pub fn bars() -> Vec<(Subject, Limit)> {
    [bars_in_rust(), bars_in_java()].concat()
}

fn bars_in_rust() -> Vec<(Subject, Limit)> {
    use Limit::{AtLeast, AtMost, Below};
    use Measure::{BulkLoad, ByPredicateObject, BySubject, ScanIds, ScanTerms, TransactionalLoad};
    let beside_lmdbstore = Pair(MEASURED, LMDBSTORE);
    let beside_oxigraph = Pair(MEASURED, OXIGRAPH);
    vec![
        (Subject::Cpu(BulkLoad, beside_oxigraph), AtLeast(3.0)),
        (Subject::Cpu(BulkLoad, beside_lmdbstore), AtLeast(4.0)),
        (Subject::Amount(BulkLoad.name(), "GB of private memory at most"), Below(1.5)),
        (Subject::Cpu(TransactionalLoad, beside_lmdbstore), AtLeast(2.5)),
        (Subject::Amount(SPACE, "bytes"), AtMost(80.0)),
        (Subject::Rate(ScanIds), AtLeast(50.0)),
        (Subject::Cpu(ScanTerms, beside_lmdbstore), AtLeast(5.0)),
        (Subject::Cpu(BySubject, beside_lmdbstore), AtLeast(6.0)),
        (Subject::Cpu(ByPredicateObject, beside_lmdbstore), AtLeast(5.0)),
        (Subject::Threads(MEASURED, 4), AtLeast(95.0)),
        (Subject::Threads(MEASURED, 8), AtLeast(95.0)),
        (Subject::Amount(Measure::Open.name(), "ms"), Below(20.0)),
        (Subject::Queries(beside_oxigraph), AtLeast(3.0)),
        (Subject::SlowestQuery(beside_oxigraph), AtLeast(1.2)),
    ]
}

/// The bars of the store for RDF4J, beside the stock store that it replaces. NativeStore's figures have no bars.
fn bars_in_java() -> Vec<(Subject, Limit)> {
    use Limit::{AtLeast, AtMost};
    use Measure::{BulkLoad, ByPredicateObject, BySubject, ScanTerms, Threads, TransactionalLoad};
    let stock = Pair(FROM_RDF4J, LMDBSTORE);
    let stock_with_queries = Pair(FROM_RDF4J_WITH_QUERIES, LMDBSTORE);
    vec![
        (Subject::Cpu(TransactionalLoad, stock), AtLeast(2.5)),
        (Subject::Cpu(BulkLoad, stock), AtLeast(5.0)),
        (Subject::Cpu(ScanTerms, stock), AtLeast(4.0)),
        (Subject::Cpu(BySubject, stock), AtLeast(3.5)),
        (Subject::Cpu(ByPredicateObject, stock), AtLeast(3.0)),
        (Subject::Cpu(Threads(1), stock), AtLeast(3.5)),
        (Subject::Cpu(Threads(2), stock), AtLeast(3.5)),
        (Subject::Cpu(Threads(4), stock), AtLeast(3.5)),
        (Subject::Cpu(Threads(8), stock), AtLeast(3.5)),
        (Subject::Threads(FROM_RDF4J, 4), AtLeast(95.0)),
        (Subject::Threads(FROM_RDF4J, 8), AtLeast(95.0)),
        (Subject::Queries(stock), AtLeast(2.0)),
        (Subject::SlowestQuery(stock), AtLeast(1.0)),
        (Subject::Queries(stock_with_queries), AtLeast(5.0)),
        (Subject::SlowestQuery(stock_with_queries), AtLeast(1.0)),
        (Subject::Space(stock), AtMost(0.22)),
    ]
}

impl judge::Subject for Subject {
    fn measured(&self, _limit: Limit, report: &Report) -> Option<Measured> {
        let (title, value, unit) = match *self {
            Subject::Cpu(measure, pair) => {
                let Pair(engine, rival) = pair;
                let ratio = cpu_ratio(report, measure.name(), pair)?;
                (format!("{} of {engine} beside {rival}, by processor time", measure.name()), ratio, "×")
            }
            Subject::Rate(measure) => {
                let rate = 1e3 / cpu_ns(rounds(report, measure.name(), MEASURED)?);
                (measure.name().to_owned(), rate, "million in a second of processor time")
            }
            Subject::Amount(workload, unit) => (workload.to_owned(), amount(report, workload, MEASURED, unit)?, unit),
            Subject::Space(pair) => {
                let Pair(engine, rival) = pair;
                let bytes = |engine| amount(report, SPACE, engine, "bytes");
                (format!("{SPACE} of {engine} beside {rival}"), bytes(engine)? / bytes(rival)?, "×")
            }
            Subject::Threads(engine, count) => {
                let rate = |threads: usize| {
                    let rounds = rounds(report, Measure::Threads(threads).name(), engine)?;
                    Some(median(&rounds.iter().map(Sample::operations_per_second).collect::<Vec<_>>()))
                };
                let share = 100.0 * rate(count)? / rate(2)?;
                (format!("rate of {count} threads of {engine}, by the clock"), share, "% of that of 2")
            }
            Subject::Queries(pair) => {
                let Pair(engine, rival) = pair;
                let ratios = query_ratios(report, pair)?;
                let count = ratios.len();
                let mean = (ratios.iter().map(|(_, ratio)| ratio.ln()).sum::<f64>() / count as f64).exp();
                let title = format!("{count} queries of {engine} beside {rival}, geometric mean by processor time");
                (title, mean, "×")
            }
            Subject::SlowestQuery(pair) => {
                let Pair(engine, rival) = pair;
                let ratios = query_ratios(report, pair)?;
                let (name, ratio) = ratios.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
                (format!("{name}, the query in which {engine} is least ahead of {rival}"), ratio, "×")
            }
        };
        Some(Measured { title, value, unit })
    }
}

/// The rounds of an engine in a workload, if it took part.
fn rounds<'r>(report: &'r Report, workload: &str, engine: &str) -> Option<&'r [Sample]> {
    let contest = report.contests.iter().find(|contest| contest.workload == workload)?;
    contest.entries.iter().find(|(name, _)| *name == engine).map(|(_, samples)| samples.as_slice())
}

/// How many times less processor time an engine took than its rival: the median over the rounds, in which both had a
/// turn.
fn cpu_ratio(report: &Report, workload: &str, Pair(engine, rival): Pair) -> Option<f64> {
    let (ours, theirs) = (rounds(report, workload, engine)?, rounds(report, workload, rival)?);
    let ratio = |(ours, theirs): (&Sample, &Sample)| theirs.cpu_ns_per_operation() / ours.cpu_ns_per_operation();
    Some(median(&ours.iter().zip(theirs).map(ratio).collect::<Vec<_>>()))
}

/// The amount of this unit that an engine has in a workload.
fn amount(report: &Report, workload: &str, engine: &str, unit: &str) -> Option<f64> {
    let of = |found: &&Amount| found.workload == workload && found.data == engine && found.unit == unit;
    report.amounts.iter().find(of).map(|found| found.value)
}

/// Each query and how many times less processor time it took than a rival's; `None` if no query was measured.
fn query_ratios(report: &Report, pair: Pair) -> Option<Vec<(&'static str, f64)>> {
    let ratio = |name: &'static str| Some((name, cpu_ratio(report, name, pair)?));
    let ratios: Vec<_> = QUERIES.iter().filter_map(|(name, _)| ratio(name)).collect();
    (!ratios.is_empty()).then_some(ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::contest::Contest;
    use crate::harness::judge::{Verdict, judge};

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

    fn amount_of(workload: &'static str, engine: &str, value: f64, unit: &'static str) -> Amount {
        Amount { workload, data: engine.to_owned(), value, rival: None, unit }
    }

    #[test]
    fn amounts_are_those_of_the_measured_engine() {
        let amounts = vec![
            amount_of(SPACE, "lmdbstore", 400.0, "bytes"),
            amount_of(SPACE, "fulgurite", 80.0, "bytes"),
            amount_of("bulk_load", "fulgurite", 1.5, "GB of private memory at most"),
            amount_of("open", "fulgurite", 3.0, "ms"),
        ];
        let verdicts = judged(vec![contest("scan_ids", &[("fulgurite", 20.0, 1.0)])], amounts);
        assert_eq!(verdicts.iter().map(|verdict| verdict.0).collect::<Vec<_>>(), [false, true, true, true]);
    }

    #[test]
    fn the_store_for_rdf4j_is_judged_beside_lmdbstore_and_not_beside_the_others() {
        let scan = contest(
            "scan_terms",
            &[("lmdbstore", 400.0, 1.0), ("fulgurite-rdf4j", 100.0, 1.0), ("nativestore", 200.0, 1.0)],
        );
        let eight = contest("threads_8", &[("lmdbstore", 349.0, 1.0), ("fulgurite-rdf4j", 100.0, 1.0)]);
        let verdicts = judged(vec![scan, eight], vec![]);
        assert_eq!(verdicts.iter().map(|verdict| verdict.0).collect::<Vec<_>>(), [true, false]);
        assert!(verdicts[0].1.contains("scan_terms of fulgurite-rdf4j beside lmdbstore"), "{verdicts:?}");
        assert!(verdicts[1].1.contains("threads_8") && verdicts[1].1.contains("3.49 × (bar ≥ 3.5)"), "{verdicts:?}");
    }

    #[test]
    fn both_evaluations_of_queries_have_bars_of_their_own() {
        let one = |name| {
            let engines = ["lmdbstore", "fulgurite-rdf4j", "fulgurite-rdf4j-queries"];
            contest(name, &[(engines[0], 50.0, 1.0), (engines[1], 25.0, 1.0), (engines[2], 8.0, 1.0)])
        };
        let slower = contest("path_1", &[("lmdbstore", 99.0, 1.0), ("fulgurite-rdf4j", 100.0, 1.0)]);
        let verdicts = judged(vec![one("star_1"), slower], vec![]);
        assert_eq!(verdicts.iter().map(|verdict| verdict.0).collect::<Vec<_>>(), [false, false, true, true]);
        assert!(verdicts[1].1.contains("path_1") && verdicts[1].1.contains("(bar ≥ 1)"), "{verdicts:?}");
        assert!(verdicts[2].1.contains("1 queries of fulgurite-rdf4j-queries beside lmdbstore"), "{verdicts:?}");
    }

    #[test]
    fn the_size_is_judged_as_a_share_of_lmdbstore_s() {
        let size = |engine: &str, bytes| amount_of(SPACE, engine, bytes, "bytes");
        let sizes = |own| vec![size("fulgurite-rdf4j", own), size("lmdbstore", 400.0)];
        assert!(judged(vec![], sizes(88.0))[0].0);
        let verdicts = judged(vec![], sizes(89.0));
        assert!(verdicts.len() == 1 && !verdicts[0].0 && verdicts[0].1.contains("(bar ≤ 0.22)"), "{verdicts:?}");
    }
}
