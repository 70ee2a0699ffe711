//! What the suite must reach. The table of all bars is [`bars`].

use crate::harness::judge::{self, Limit, MEASURED, Measured};
use crate::harness::report::Report;
use crate::harness::row::Row;
use crate::measure::statistics::median;
use crate::suites::storagebench::events::latencies::RATE_PART;
use crate::suites::storagebench::events::replay::{BANDWIDTH, EVENTS_PART, TWO_THREADS};
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
            report.rows.iter().find(|row| row.workload == name && row.engine == engine && is_whole(row))
        };
        let (title, value, unit) = match *self {
            Self::Rate(workload, codec) => {
                let row = row(workload, codec, MEASURED)?;
                (title(workload, row), 1e3 / row.median("cpu_ns_per_op")?, "M in a second of processor time")
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
                let row = row(workload, codec, MEASURED)?;
                (title(workload, row), row.median(figure)?, figure)
            }
            Self::Codecs => {
                let of = |codec| row(Workload::Replay, codec, MEASURED);
                let (protobuf, flatbuffers) = (of(PROTOBUF)?, of(FLATBUFFERS)?);
                let title = format!("replay of {} events, protobuf beside flatbuffers", flatbuffers.records);
                (title, cpu_ratio(protobuf, flatbuffers), "×")
            }
            Self::P99(workload) => {
                let nanoseconds = row(workload, FLATBUFFERS, MEASURED)?.median("p99_ns")?;
                (format!("{}, p99", workload.name()), nanoseconds / 1e3, "µs")
            }
        };
        Some(Measured { title, value, unit })
    }
}

/// What a bar on a row is about. A replay names its events, which are as many as the machine has room for.
fn title(workload: Workload, row: &Row) -> String {
    match workload {
        Workload::Replay => format!("{} of {} events", row.workload, row.records),
        _ => row.workload.to_owned(),
    }
}

/// Whether a row has as many events, or as many a second, as the bars on it are about.
fn is_whole(row: &Row) -> bool {
    let has = |part, least| row.median(part).is_none_or(|found| found >= least);
    has(EVENTS_PART, 1.0) && has(RATE_PART, RATE_PART_MIN)
}

/// The median over the rounds of how many times more processor time an operation of `slow` takes.
fn cpu_ratio(slow: &Row, fast: &Row) -> f64 {
    let cpu = |row: &Row| -> Vec<f64> { row.rounds.iter().filter_map(|round| round.get("cpu_ns_per_op")).collect() };
    median(&cpu(slow).iter().zip(cpu(fast)).map(|(slow, fast)| slow / fast).collect::<Vec<_>>())
}

/// The part of the asked rate from which on a follower is judged.
const RATE_PART_MIN: f64 = 0.95;

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

    #[test]
    fn a_replay_of_fewer_events_and_a_slow_writer_leave_their_bars_unmeasured() {
        let replay = |part| {
            let figures = [("cpu_ns_per_op", 40.0), (TWO_THREADS, 1.9), (BANDWIDTH, 0.6), (EVENTS_PART, part)];
            row("replay_flatbuffers", "fulgurite", &figures)
        };
        assert_eq!(judged(vec![replay(1.0)]), [true; 3]);
        assert!(judged(vec![replay(0.62)]).is_empty());
        let verdicts = judge(&bars(), &Report { rows: vec![replay(1.0)], ..Report::default() }).0;
        assert!(verdicts.iter().all(|verdict| verdict.title == "replay_flatbuffers of 10000 events"), "{verdicts:?}");
        let follow = |part| row("follow_here", "fulgurite", &[("p99_ns", 9_000.0), (RATE_PART, part)]);
        assert_eq!(judged(vec![follow(0.95)]), [true]);
        assert!(judged(vec![follow(0.94)]).is_empty());
    }
}
