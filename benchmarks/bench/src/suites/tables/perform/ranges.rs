//! Scans: forwards, backwards, and of all keys that begin alike. What each of them must give is summed up before the
//! clock starts.

use fulgurite_rivals::{Snapshot, WritingStore};

use crate::data::random::Random;
use crate::data::values::Digest;
use crate::engines::sustained::SustainedEngine;
use crate::error::{Error, Result};
use crate::harness::row::Figures;
use crate::measure::clock::{Charge, Stopwatch};
use crate::suites::tables::content::Content;
use crate::suites::tables::definition::{Ranges, Span};
use crate::suites::tables::meter::{Latencies, timer_ns};
use crate::suites::tables::perform::bulk::load_all;
use crate::suites::tables::perform::figures::{finish, note_cost};
use crate::suites::tables::task::Task;

/// Does the scans with one engine, once without looks at the clock and once with.
pub fn run<E: SustainedEngine>(task: &Task, ranges: &Ranges) -> Result<Figures> {
    let definition = &task.definition;
    let content = Content::loaded(definition.shape, definition.lengths, ranges.loaded);
    let store = E::open(&task.directory, task.settings())?;
    load_all(&store, &content)?;
    E::settle(&store)?;
    let scans = draw(&content, ranges, &mut Random::new(task.seed, 0));
    let mut figures = Figures::default();
    let watch = Stopwatch::start(Charge::Process);
    play(&store, &scans, ranges.span, || {})?;
    let sample = watch.pause(scans.len() as u64);
    note_cost(&mut figures, &sample);
    let records: u64 = scans.iter().map(|scan| scan.expected.count).sum();
    figures.set("M records/s", records as f64 * 1e3 / sample.wall_ns);
    let mut latencies = Latencies::start();
    play(&store, &scans, ranges.span, || latencies.lap())?;
    latencies.note(&mut figures);
    figures.set("timer_ns", timer_ns());
    finish(store, &content, task, figures)
}

/// A scan: where it begins, or what its keys begin with, and the sum over the values that it must give, in their order.
#[derive(Debug)]
struct Scan {
    from: Vec<u8>,
    expected: Digest,
}

/// Scans from records that are drawn uniformly.
fn draw(content: &Content, ranges: &Ranges, random: &mut Random) -> Vec<Scan> {
    let order = content.order();
    let digest = |ids: &mut dyn Iterator<Item = &u32>| {
        let mut digest = Digest::default();
        ids.for_each(|&id| digest.add(content.value(id, 1)));
        digest
    };
    let one = |_| {
        let position = random.below(order.len());
        let mut from = content.key(order[position]);
        let expected = match ranges.span {
            Span::Forward(count) => digest(&mut order[position..].iter().take(count)),
            Span::Back(count) => digest(&mut order[..=position].iter().rev().take(count)),
            Span::Prefix => {
                from.pop();
                let first = order.partition_point(|&id| content.key(id) < from);
                digest(&mut order[first..].iter().take_while(|&&id| content.key(id).starts_with(&from)))
            }
        };
        Scan { from, expected }
    };
    (0..ranges.count).map(one).collect()
}

/// Does all scans in their order, each of a snapshot of its own, and calls `after` after each.
fn play<S: WritingStore>(store: &S, scans: &[Scan], span: Span, mut after: impl FnMut()) -> Result<()> {
    for (index, scan) in scans.iter().enumerate() {
        let mut seen = Digest::default();
        let snapshot = store.snapshot()?;
        let each = |_: &[u8], value: &[u8]| seen.add(value);
        match span {
            Span::Forward(count) => snapshot.scan_from(&scan.from, count, each)?,
            Span::Back(count) => snapshot.scan_back_from(&scan.from, count, each)?,
            Span::Prefix => snapshot.scan_prefix(&scan.from, each)?,
        }
        drop(snapshot);
        if seen != scan.expected {
            let what =
                format!("scan {index} gives {} records instead of {}, or others", seen.count, scan.expected.count);
            return Err(Error::Wrong { workload: "a table", what });
        }
        after();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::{Level, Lmdb, Settings, Usage, WritingEngine};

    use super::*;
    use crate::data::shape::Shape;
    use crate::suites::tables::lengths::Lengths;

    const SPANS: [Span; 3] = [Span::Forward(50), Span::Back(50), Span::Prefix];

    #[test]
    fn scans_give_what_was_summed_up_and_nothing_else_passes() {
        for (shape, span) in SPANS.map(|span| (Shape::Sequential, span)).into_iter().chain([(Shape::Hashed, SPANS[1])])
        {
            let directory = tempfile::tempdir().unwrap();
            let settings = Settings { level: Level::Log, usage: Usage::SingleOperations };
            let store = <Lmdb as WritingEngine>::open(directory.path(), settings).unwrap();
            let content = Content::loaded(shape, Lengths::Fixed(20), 1000);
            load_all(&store, &content).unwrap();
            let scans = draw(&content, &Ranges { loaded: 1000, count: 200, span }, &mut Random::new(5, 5));
            let counts: Vec<u64> = scans.iter().map(|scan| scan.expected.count).collect();
            match span {
                Span::Prefix => assert!(counts.iter().all(|count| [256, 1000 - 768].contains(count))),
                _ => assert!(counts.contains(&50) && counts.iter().all(|count| (1..=50).contains(count))),
            }
            let mut laps = 0;
            play(&store, &scans, span, || laps += 1).unwrap();
            assert_eq!(laps, 200);
            let id = content.order()[500];
            store.put(&content.key(id), content.value(id, 2)).unwrap();
            assert!(matches!(play(&store, &scans, span, || {}), Err(Error::Wrong { .. })), "{shape:?} {span:?}");
        }
    }
}
