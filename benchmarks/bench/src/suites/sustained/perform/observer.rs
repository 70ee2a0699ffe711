//! Threads that look on while puts are made: one that gets now and then, and one that measures the space taken. What
//! they cost is known, so that it need not be charged to the engine.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use fulgurite_rivals::{Snapshot, WritingStore};

use crate::data::queries::Queries;
use crate::data::random::Random;
use crate::data::values::Ends;
use crate::error::{Error, Result};
use crate::measure::clock::{BATCH, Charge, Latencies, Sample, Stopwatch, cpu_ns};
use crate::measure::space::bytes_below;
use crate::suites::sustained::content::{Content, VALUE_BYTES};

/// Gets between two sleeps of the reader.
const BURST: usize = 16 * BATCH;

/// The reader sleeps so many times as long as it has read: it shall see what readers see, and not be half of the load.
const SLEEP: u32 = 19;

/// It never sleeps longer.
const SLEEP_MAX: Duration = Duration::from_millis(500);

/// Between two looks at the space taken.
const SPACE_INTERVAL: Duration = Duration::from_millis(25);

/// How far the writer has got, and what it cost to watch it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Puts that are acknowledged. Its store is Release and its loads Acquire: what was acknowledged then is visible.
    acknowledged: AtomicU32,
    /// Puts that are acknowledged or may become visible.
    begun: AtomicU32,
    written: AtomicBool,
    settled: AtomicBool,
    /// Processor time of each watching thread, in nanoseconds.
    cpu_ns: [AtomicU64; 2],
}

impl Progress {
    /// Puts up to this one may be visible from now on.
    pub fn begin(&self, put: usize) {
        self.begun.store(put as u32, Ordering::SeqCst);
    }

    /// Puts up to this one are acknowledged.
    pub fn acknowledge(&self, put: usize) {
        self.acknowledged.store(put as u32, Ordering::Release);
    }

    /// The puts have ended: the reader ends.
    pub fn end_puts(&self) {
        self.written.store(true, Ordering::Release);
    }

    /// All is settled: the thread that watches the space ends.
    pub fn end(&self) {
        self.end_puts();
        self.settled.store(true, Ordering::Release);
    }

    /// Processor time that the watching threads have taken so far.
    pub fn cpu_ns(&self) -> f64 {
        self.cpu_ns.iter().map(|part| part.load(Ordering::Relaxed) as f64).sum()
    }

    fn note_cpu(&self, thread: usize) {
        self.cpu_ns[thread].store(cpu_ns(Charge::Thread) as u64, Ordering::Relaxed);
    }
}

/// Gets records of the base in bursts, until the puts have ended, and at least once.
pub fn read<S: WritingStore>(store: &S, content: &Content, progress: &Progress, seed: u64) -> Result<Sample> {
    let mut random = Random::new(seed, 1);
    let mut whole = Sample { operations: 0, cpu_ns: 0.0, wall_ns: 0.0, p50_ns: 0.0, p99_ns: 0.0 };
    let mut latencies = Latencies::with_capacity(0);
    loop {
        let wall_ns = burst(store, content, progress, &mut random, &mut whole, &mut latencies)?;
        progress.note_cpu(0);
        if progress.written.load(Ordering::Acquire) {
            return Ok(whole.with(latencies));
        }
        std::thread::sleep((Duration::from_nanos(wall_ns as u64) * SLEEP).min(SLEEP_MAX));
    }
}

/// One burst; returns its wall time. Answers are kept, and judged when the time has been taken.
fn burst<S: WritingStore>(
    store: &S,
    content: &Content,
    progress: &Progress,
    random: &mut Random,
    whole: &mut Sample,
    latencies: &mut Latencies,
) -> Result<f64> {
    let ids: Vec<u32> = (0..BURST).map(|_| random.below(content.base()) as u32).collect();
    let mut queries = Queries::with_capacity(BURST);
    let mut key = Vec::new();
    for &id in &ids {
        key.clear();
        content.write_key(id, &mut key);
        queries.push(&key, content.values().get(id));
    }
    let mut answers: Vec<Option<Ends>> = vec![None; BURST];
    let mut bounds = [(0, 0); BURST / BATCH];
    latencies.restart();
    let watch = Stopwatch::start(Charge::Thread);
    for (batch, bounds) in bounds.iter_mut().enumerate() {
        bounds.0 = progress.acknowledged.load(Ordering::Acquire);
        let snapshot = store.snapshot()?;
        let first = batch * BATCH;
        for (offset, answer) in answers[first..first + BATCH].iter_mut().enumerate() {
            let ends = |value: Option<&[u8]>| value.filter(|value| value.len() == VALUE_BYTES).and_then(Ends::of);
            *answer = snapshot.get(queries.key(first + offset), ends)?;
        }
        drop(snapshot);
        bounds.1 = progress.begun.load(Ordering::SeqCst);
        latencies.lap(BATCH as u64);
    }
    let sample = watch.pause(BURST as u64);
    whole.operations += sample.operations;
    whole.cpu_ns += sample.cpu_ns;
    whole.wall_ns += sample.wall_ns;
    for (index, (&id, &answer)) in ids.iter().zip(&answers).enumerate() {
        let (before, after) = bounds[index / BATCH];
        if !content.may_be(id, answer, before, after) {
            let what = format!("a get of record {id} gave what was not there after {before} to {after} puts");
            return Err(Error::Wrong { workload: "get_hit_during", what });
        }
    }
    Ok(sample.wall_ns)
}

/// The most space that the store took until all was settled.
pub fn watch_space(directory: &Path, progress: &Progress) -> Result<u64> {
    let mut largest = 0;
    loop {
        let settled = progress.settled.load(Ordering::Acquire);
        largest = largest.max(bytes_below(directory)?);
        progress.note_cpu(1);
        if settled {
            return Ok(largest);
        }
        std::thread::sleep(SPACE_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::WritingEngine;

    use super::*;
    use crate::engines::planted::writing::{NO_FAULT, Planted};
    use crate::suites::sustained::perform::ingest::settings;
    use crate::suites::sustained::workload::Pattern;

    const PUTS: usize = 5000;

    fn loaded(content: &Content, directory: &Path) -> <Planted<NO_FAULT> as WritingEngine>::Store {
        let store = Planted::<NO_FAULT>::open(directory, settings(1 << 20)).unwrap();
        store.load_sorted(content.base_keys().records(content.values())).unwrap();
        store
    }

    #[test]
    fn a_reader_sees_what_is_acknowledged_and_nothing_that_was_not_begun() {
        let directory = tempfile::tempdir().unwrap();
        let content = Content::new(Pattern::Uniform, 1000, PUTS, 1);
        let store = loaded(&content, directory.path());
        let judged = |begun, acknowledged| {
            let progress = Progress::default();
            progress.begin(begun);
            progress.acknowledge(acknowledged);
            progress.end_puts();
            read(&store, &content, &progress, 1)
        };
        assert_eq!(judged(0, 0).unwrap().operations, BURST as u64);
        assert!(judged(PUTS, 0).is_ok());
        assert!(matches!(judged(PUTS, PUTS), Err(Error::Wrong { .. })));
        let mut key = Vec::new();
        for put in 0..PUTS {
            let (id, value) = content.put(put);
            key.clear();
            content.write_key(id, &mut key);
            store.put(&key, value).unwrap();
        }
        assert!(judged(PUTS, PUTS).is_ok());
        assert!(judged(PUTS, 0).is_ok());
        assert!(matches!(judged(0, 0), Err(Error::Wrong { .. })));
    }

    #[test]
    fn the_largest_space_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("file"), vec![1; 1 << 20]).unwrap();
        let progress = Progress::default();
        progress.end();
        assert!(watch_space(directory.path(), &progress).unwrap() >= 1 << 20);
        assert!(progress.cpu_ns() > 0.0);
    }
}
