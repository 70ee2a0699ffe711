//! What the suite must reach. The table of all bars is [`bars`].

use crate::harness::judge::{self, Limit, MEASURED, Measured};
use crate::harness::report::Report;
use crate::harness::row::Row;
use crate::measure::statistics::median;
use crate::suites::storagebench::events::replay::{BANDWIDTH, TWO_THREADS};
use crate::suites::storagebench::inventory::PART;
use crate::suites::storagebench::workload::{FLATBUFFERS, PROTOBUF, Workload};

/// What a bar is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// Millions of operations in a second of processor time.
    Rate(Workload, &'static str),
    /// How many times more processor time a rival's operation takes.
    Ratio(Workload, &'static str, &'static str),
    /// Durable transactions, as a part of what is asked for on this machine.
    Durable(&'static str),
    /// Another figure of a workload.
    Figure(Workload, &'static str, &'static str),
    /// How many times more processor time a replay of Protocol Buffers takes.
    Codecs,
    /// The 99th percentile of the latency, in microseconds.
    P99(Workload),
}

/// Every bar.
pub fn bars() -> Vec<(Subject, Limit)> {
    use Limit::{AtLeast, AtMost};
    use Subject::{Codecs, Durable, Figure, P99, Rate, Ratio};
    use Workload::{Add, AddRemove, AppendMany, AppendOne, FollowHere, FollowProcess, Read, Replay};
    let mut bars = vec![
        (Rate(Read, FLATBUFFERS), AtLeast(5.0)),
        (Rate(Read, PROTOBUF), AtLeast(1.5)),
        (Ratio(Read, FLATBUFFERS, "lmdb"), AtLeast(3.0)),
        (Ratio(Read, PROTOBUF, "lmdb"), AtLeast(3.0)),
    ];
    for workload in [Add, AddRemove] {
        for codec in [PROTOBUF, FLATBUFFERS] {
            bars.push((Rate(workload, codec), AtLeast(1.0)));
            bars.push((Ratio(workload, codec, "lmdb"), AtLeast(2.5)));
        }
    }
    bars.extend([
        (Durable(PROTOBUF), AtLeast(1.0)),
        (Durable(FLATBUFFERS), AtLeast(1.0)),
        (Rate(Replay, FLATBUFFERS), AtLeast(20.0)),
        (Figure(Replay, FLATBUFFERS, TWO_THREADS), AtLeast(1.9)),
        (Figure(Replay, FLATBUFFERS, BANDWIDTH), AtLeast(0.5)),
        (Codecs, AtLeast(3.0)),
        (Rate(AppendOne, FLATBUFFERS), AtLeast(1.5)),
        (Rate(AppendMany, FLATBUFFERS), AtLeast(1.0)),
        (P99(FollowHere), AtMost(10.0)),
        (P99(FollowProcess), AtMost(50.0)),
    ]);
    bars
}

impl judge::Subject for Subject {
    fn measured(&self, _limit: Limit, report: &Report) -> Option<Measured> {
        let row = |workload: Workload, codec, engine: &str| {
            let name = workload.with_codec(codec);
            report.rows.iter().find(|row| row.workload == name && row.engine == engine)
        };
        let (title, value, unit) = match *self {
            Self::Rate(workload, codec) => {
                let cpu_ns = row(workload, codec, MEASURED)?.median("cpu_ns_per_op")?;
                (workload.with_codec(codec).to_owned(), 1e3 / cpu_ns, "M in a second of processor time")
            }
            Self::Ratio(workload, codec, rival) => {
                let ratio = cpu_ratio(row(workload, codec, rival)?, row(workload, codec, MEASURED)?);
                (format!("{} beside {rival}", workload.with_codec(codec)), ratio, "×")
            }
            Self::Durable(codec) => {
                let part = row(Workload::Durable, codec, MEASURED)?.median(PART)?;
                (Workload::Durable.with_codec(codec).to_owned(), part, PART)
            }
            Self::Figure(workload, codec, figure) => {
                let value = row(workload, codec, MEASURED)?.median(figure)?;
                (workload.with_codec(codec).to_owned(), value, figure)
            }
            Self::Codecs => {
                let of = |codec| row(Workload::Replay, codec, MEASURED);
                ("replay of protobuf beside flatbuffers".to_owned(), cpu_ratio(of(PROTOBUF)?, of(FLATBUFFERS)?), "×")
            }
            Self::P99(workload) => {
                let nanoseconds = row(workload, FLATBUFFERS, MEASURED)?.median("p99_ns")?;
                (format!("{}, p99", workload.name()), nanoseconds / 1e3, "µs")
            }
        };
        Some(Measured { title, value, unit })
    }
}

/// The median over the rounds of how many times more processor time an operation of `slow` takes.
fn cpu_ratio(slow: &Row, fast: &Row) -> f64 {
    let cpu = |row: &Row| -> Vec<f64> { row.rounds.iter().filter_map(|round| round.get("cpu_ns_per_op")).collect() };
    median(&cpu(slow).iter().zip(cpu(fast)).map(|(slow, fast)| slow / fast).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::judge::{Verdict, judge};
    use crate::harness::row::Figures;

    fn row(workload: &'static str, engine: &'static str, figures: &[(&str, f64)]) -> Row {
        let mut round = Figures::default();
        figures.iter().for_each(|(name, value)| round.set(name, *value));
        Row { workload, engine, rounds: vec![round], ..crate::harness::row::tests::row("lmdb", &[]) }
    }

    fn judged(rows: Vec<Row>) -> Vec<bool> {
        judge(&bars(), &Report { rows, ..Report::default() }).0.iter().map(Verdict::met).collect()
    }

    #[test]
    fn every_bar_is_judged_by_its_figure() {
        let read = |engine, cpu| row("read_flatbuffers", engine, &[("cpu_ns_per_op", cpu)]);
        assert_eq!(judged(vec![read("fulgurite", 200.0), read("lmdb", 600.0)]), [true, true]);
        assert_eq!(judged(vec![read("fulgurite", 201.0), read("lmdb", 602.0)]), [false, false]);
        assert!(judged(vec![read("lmdb", 300.0)]).is_empty());
        let replay = |codec, cpu| {
            let figures = [("cpu_ns_per_op", cpu), (TWO_THREADS, 1.9), (BANDWIDTH, 0.4)];
            row(Workload::Replay.with_codec(codec), "fulgurite", &figures)
        };
        assert_eq!(judged(vec![replay(FLATBUFFERS, 40.0), replay(PROTOBUF, 121.0)]), [true, true, false, true]);
        let follow = |name, p99| row(name, "fulgurite", &[("p99_ns", p99)]);
        assert_eq!(judged(vec![follow("follow_here", 10_001.0), follow("follow_process", 50_000.0)]), [false, true]);
        assert_eq!(judged(vec![row("durable_protobuf", "fulgurite", &[(PART, 1.0)])]), [true]);
        assert_eq!(judge(&bars(), &Report::default()).1, bars().len());
    }
}
