//! Operations one after the other, by one thread or by several side by side.
//!
//! Invariant: the expected answer of each operation is known before the clock starts, because threads change their
//! own records. Of records that threads share, only the final sum of the additions is known.

use std::panic::resume_unwind;
use std::sync::Barrier;
use std::time::Instant;

use fulgurite_rivals::{Refusal, Snapshot, Transaction, WritingStore};

use crate::data::queries::Packed;
use crate::data::random::Random;
use crate::engines::sustained::SustainedEngine;
use crate::error::{Error, Result};
use crate::harness::row::Figures;
use crate::measure::clock::{Charge, Sample, Stopwatch};
use crate::suites::tables::content::{Content, HASHED_BYTES, fill, load};
use crate::suites::tables::definition::{Grouping, Kind, Steps};
use crate::suites::tables::lengths::Lengths;
use crate::suites::tables::meter::{Latencies, timer_ns};
use crate::suites::tables::perform::figures::{finish, note_cost, note_written};
use crate::suites::tables::script::{Step, draw};
use crate::suites::tables::task::Task;

/// Gets before the clock starts, as in the report of the first of these suites.
const WARM_UP: usize = 100;

/// Does the operations with one engine.
pub fn run<E: SustainedEngine>(task: &Task, steps: &Steps) -> Result<Figures> {
    let definition = &task.definition;
    let (records, _) = Kind::Steps(*steps).extent();
    let mut content = Content::new(definition.shape, definition.lengths, records);
    load(&mut content, steps.loaded);
    let store = E::open(&task.directory, task.settings())?;
    fill(&store, &content, steps.loaded)?;
    E::settle(&store)?;
    let scripts = draw(&mut content, steps, &mut Random::new(task.seed, 0));
    let parts = Part::all(&content, scripts, steps.grouping);
    warm_up(&store, &content, steps.loaded)?;
    let mut figures = Figures::default();
    let written_before = E::written_bytes(&store);
    let reads_alone = steps.mixture.reads_alone();
    let (mut latencies, sample, refused) = match reads_alone {
        true => {
            let (_, sample) = side_by_side(&parts, |part| part.play(&store, || {}))?;
            (Vec::new(), sample, 0)
        }
        false => timed(&store, &parts)?,
    };
    let sample = count(&parts, sample);
    note_cost(&mut figures, &sample);
    if steps.grouping.is_refusable() {
        let refused = refused as f64;
        figures.set("% of transactions refused", 100.0 * refused / (refused + sample.operations as f64));
    }
    note_volume(&mut figures, definition.lengths, &parts);
    let settling = Instant::now();
    E::settle(&store)?;
    figures.set("settle_ns", settling.elapsed().as_nanos() as f64);
    let put_bytes = parts.iter().map(Part::put_bytes).sum();
    note_written(&mut figures, written_before.zip(E::written_bytes(&store)), put_bytes);
    if reads_alone {
        // Nothing has changed, so that the same can be done again: the rate is without looks at the clock, the
        // latencies with.
        latencies = timed(&store, &parts)?.0;
    }
    Latencies::joined(latencies).note(&mut figures);
    figures.set("timer_ns", timer_ns());
    finish(store, &content, task, figures)
}

/// Gets of loaded records; they are not checked, because the operations are.
pub fn warm_up<S: WritingStore>(store: &S, content: &Content, loaded: usize) -> Result<()> {
    for id in (0..loaded as u32).take(WARM_UP) {
        store.get(&content.key(id), |value| std::hint::black_box(value.is_some()))?;
    }
    Ok(())
}

/// The same cost, of the operations that all parts have.
pub fn count(parts: &[Part<'_>], sample: Sample) -> Sample {
    Sample { operations: parts.iter().map(Part::operations).sum(), ..sample }
}

/// All parts with their latencies, what it cost, and how many transactions were refused.
pub fn timed<S: WritingStore>(store: &S, parts: &[Part<'_>]) -> Result<(Vec<Latencies>, Sample, u64)> {
    let (played, sample) = side_by_side(parts, |part| {
        let mut latencies = Latencies::start();
        let refused = part.play(store, || latencies.lap())?;
        Ok((latencies, refused))
    })?;
    let refused = played.iter().map(|(_, refused)| refused).sum();
    Ok((played.into_iter().map(|(latencies, _)| latencies).collect(), sample, refused))
}

/// Bytes of values in a second, where their lengths differ.
fn note_volume(figures: &mut Figures, lengths: Lengths, parts: &[Part<'_>]) {
    if let (Lengths::Documents, Some(wall_ns)) = (lengths, figures.get("wall_ns")) {
        let bytes: u64 = parts.iter().map(Part::value_bytes).sum();
        figures.set("MB/s of values", bytes as f64 * 1e3 / wall_ns);
    }
}

/// Lets each part be done by a thread of its own, all at once, and takes the time until the last has ended, of the
/// whole process.
pub fn side_by_side<P: Sync, R: Send>(parts: &[P], work: impl Fn(&P) -> Result<R> + Sync) -> Result<(Vec<R>, Sample)> {
    if let [alone] = parts {
        let watch = Stopwatch::start(Charge::Process);
        let done = work(alone)?;
        return Ok((vec![done], watch.pause(1)));
    }
    let (barrier, work) = (Barrier::new(parts.len() + 1), &work);
    let timed = &|part| {
        barrier.wait();
        let begun = Instant::now();
        let done = work(part);
        (done, begun, Instant::now())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = parts.iter().map(|part| scope.spawn(move || timed(part))).collect();
        let watch = Stopwatch::start(Charge::Process);
        barrier.wait();
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let ended: Vec<_> = ended.collect();
        let mut sample = watch.pause(parts.len() as u64);
        // This thread may have been the last to go on, and may be late to see the end.
        let begun = ended.iter().map(|(_, begun, _)| *begun).min();
        let last = ended.iter().map(|(_, _, end)| *end).max();
        if let (Some(begun), Some(last)) = (begun, last) {
            sample.wall_ns = (last - begun).as_nanos() as f64;
        }
        Ok((ended.into_iter().map(|(done, _, _)| done).collect::<Result<Vec<R>>>()?, sample))
    })
}

/// What one thread does, and what it needs for that.
pub struct Part<'c> {
    content: &'c Content,
    script: Vec<Step>,
    /// The keys of all steps, one behind the other: reading the next one costs next to nothing.
    keys: Packed,
    grouping: Grouping,
}

impl<'c> Part<'c> {
    /// Scripts, one for each thread, whose steps are grouped so.
    pub fn all(content: &'c Content, scripts: Vec<Vec<Step>>, grouping: Grouping) -> Vec<Self> {
        scripts.into_iter().map(|script| Self::new(content, script, grouping)).collect()
    }

    /// A script, whose steps are grouped so.
    pub fn new(content: &'c Content, script: Vec<Step>, grouping: Grouping) -> Self {
        let mut keys = Packed::with_capacity(script.len());
        let mut key = Vec::with_capacity(HASHED_BYTES);
        for step in &script {
            key.clear();
            content.write_key(step.id(), &mut key);
            keys.push(&key);
        }
        Self { content, script, keys, grouping }
    }

    /// What they count as.
    pub fn operations(&self) -> u64 {
        self.script.len().div_ceil(self.grouping.counted()) as u64
    }

    /// Bytes of all keys and values that are put.
    fn put_bytes(&self) -> u64 {
        let of = |(index, step): (usize, &Step)| match *step {
            Step::Put(id, version) | Step::ReadModifyWrite(id, _, version) => {
                (self.keys.get(index).len() + self.content.value(id, version).len()) as u64
            }
            Step::Add(id, _) => (self.keys.get(index).len() + self.content.value(id, 1).len()) as u64,
            Step::Get(..) | Step::Scan(..) | Step::Miss(_) => 0,
        };
        self.script.iter().enumerate().map(of).sum()
    }

    /// Bytes of the values that are put or got.
    fn value_bytes(&self) -> u64 {
        let of = |step: &Step| match *step {
            Step::Put(id, version) | Step::Get(id, version) => self.content.value(id, version).len() as u64,
            _ => 0,
        };
        self.script.iter().map(of).sum()
    }

    /// Does all steps in their order, and calls `after` after each that counts. Says how many transactions were
    /// refused.
    pub fn play<S: WritingStore>(&self, store: &S, after: impl FnMut()) -> Result<u64> {
        match self.grouping {
            Grouping::Each => self.batches(store, 1, after).map(|()| 0),
            Grouping::Every(count) => self.batches(store, count, after).map(|()| 0),
            Grouping::All => self.batches(store, usize::MAX, after).map(|()| 0),
            Grouping::Snapshots(count) => self.snapshots(store, count, after).map(|()| 0),
            Grouping::Transactions(count) => self.transactions(store, count, after),
        }
    }

    /// Single operations, and puts in batches of so many at most.
    fn batches<S: WritingStore>(&self, store: &S, most: usize, mut after: impl FnMut()) -> Result<()> {
        let mut position = 0;
        while position < self.script.len() {
            let puts =
                self.script[position..].iter().take(most).take_while(|step| matches!(step, Step::Put(..))).count();
            if most == 1 || puts < 2 {
                self.step(store, position)?;
                after();
                position += 1;
                continue;
            }
            // The engine asks for the next record when it has put the last one; the last one's latency has the commit.
            let records = (position..position + puts).map(|index| {
                if index > position {
                    after();
                }
                self.record(index)
            });
            store.put_all(records)?;
            after();
            position += puts;
        }
        Ok(())
    }

    /// Gets, so many of one read transaction each.
    fn snapshots<S: WritingStore>(&self, store: &S, count: usize, mut after: impl FnMut()) -> Result<()> {
        for first in (0..self.script.len()).step_by(count) {
            let snapshot = store.snapshot()?;
            for index in first..(first + count).min(self.script.len()) {
                let Step::Get(id, version) = self.script[index] else { unreachable!("snapshots are read alone") };
                let expected = self.content.value(id, version);
                if !snapshot.get(self.keys.get(index), |value| self.content.is_like(value, expected))? {
                    return Err(self.wrong(index));
                }
            }
            drop(snapshot);
            after();
        }
        Ok(())
    }

    /// Serializable transactions of so many steps, each begun again until it is not refused.
    fn transactions<S: WritingStore>(&self, store: &S, count: usize, mut after: impl FnMut()) -> Result<u64> {
        let (mut refused, mut changed) = (0, Vec::new());
        for first in (0..self.script.len()).step_by(count) {
            let last = (first + count).min(self.script.len());
            loop {
                match self.attempt(store, first..last, &mut changed) {
                    Ok(None) => break,
                    Ok(Some(wrong)) => return Err(self.wrong(wrong)),
                    Err(Refusal::Conflict) => refused += 1,
                    Err(Refusal::Failed(failure)) => return Err(failure.into()),
                }
            }
            after();
        }
        Ok(refused)
    }

    /// One transaction; says which step was answered wrongly.
    fn attempt<S: WritingStore>(
        &self,
        store: &S,
        steps: std::ops::Range<usize>,
        changed: &mut Vec<u8>,
    ) -> Result<Option<usize>, Refusal> {
        let mut txn = store.begin()?;
        for index in steps {
            let key = self.keys.get(index);
            let right = match self.script[index] {
                Step::Put(id, version) => {
                    txn.put(key, self.content.value(id, version))?;
                    true
                }
                Step::Get(id, version) => {
                    let expected = self.content.value(id, version);
                    txn.get(key, |value| self.content.is_like(value, expected))?
                }
                Step::Add(id, change) => {
                    let base = self.content.value(id, 1);
                    let is_there = txn.get(key, |value| add(value, base, change, changed))?;
                    if is_there {
                        txn.put(key, changed)?;
                    }
                    is_there
                }
                Step::ReadModifyWrite(..) | Step::Scan(..) | Step::Miss(_) => {
                    unreachable!("transactions get, put and add")
                }
            };
            if !right {
                return Ok(Some(index));
            }
        }
        txn.commit()?;
        Ok(None)
    }

    #[inline]
    fn record(&self, index: usize) -> (&[u8], &[u8]) {
        match self.script[index] {
            Step::Put(id, version) => (self.keys.get(index), self.content.value(id, version)),
            step => unreachable!("{step:?} is not a put"),
        }
    }

    /// Does one step by itself.
    #[inline]
    pub fn step<S: WritingStore>(&self, store: &S, index: usize) -> Result<()> {
        let key = self.keys.get(index);
        let right = match self.script[index] {
            Step::Get(id, version) => self.get(store, key, id, version)?,
            Step::Put(id, version) => {
                store.put(key, self.content.value(id, version))?;
                true
            }
            Step::ReadModifyWrite(id, before, version) => {
                let right = self.get(store, key, id, before)?;
                store.put(key, self.content.value(id, version))?;
                right
            }
            Step::Scan(id, asked, stored) => self.scan(store, key, id, asked, stored)?,
            Step::Miss(_) => store.get(key, |value| value.is_none())?,
            Step::Add(..) => unreachable!("additions are made in transactions alone"),
        };
        if right { Ok(()) } else { Err(self.wrong(index)) }
    }

    #[inline]
    fn get<S: WritingStore>(&self, store: &S, key: &[u8], id: u32, version: u32) -> Result<bool> {
        let expected = self.content.value(id, version);
        Ok(store.get(key, |value| self.content.is_like(value, expected))?)
    }

    /// As many must come as are stored, from the first that is asked for to the last, rising, with values of the
    /// right length.
    fn scan<S: WritingStore>(&self, store: &S, from: &[u8], id: u32, asked: u32, stored: u32) -> Result<bool> {
        let mut last: Vec<u8> = Vec::with_capacity(from.len());
        let (mut seen, mut right) = (0, true);
        let value_bytes = self.content.value(id, 1).len();
        store.snapshot()?.scan_from(from, asked as usize, |key, value| {
            right &= value.len() == value_bytes && if seen == 0 { key == from } else { key > &last[..] };
            last.clear();
            last.extend_from_slice(key);
            seen += 1;
        })?;
        Ok(right && seen == stored && last == self.content.key(id + stored - 1))
    }

    #[cold]
    fn wrong(&self, index: usize) -> Error {
        Error::Wrong {
            workload: "a table",
            what: format!("operation {index}, {:?}, has a wrong answer", self.script[index]),
        }
    }
}

/// Writes the new value into `changed`, if the old value is `base` except for its first 8 bytes.
fn add(value: Option<&[u8]>, base: &[u8], change: i32, changed: &mut Vec<u8>) -> bool {
    let Some((number, rest)) = value.and_then(<[u8]>::split_first_chunk) else { return false };
    let sum = u64::from_le_bytes(*number).wrapping_add_signed(i64::from(change));
    changed.clear();
    changed.extend_from_slice(&sum.to_le_bytes());
    changed.extend_from_slice(rest);
    changed.len() == base.len() && rest.last_chunk::<8>() == base.last_chunk()
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::{Level, Lmdb, Settings, Usage, WritingEngine};

    use super::*;
    use crate::data::shape::Shape;
    use crate::engines::planted::writing::{LOST_UPDATE, NO_FAULT, Planted, TORN_TRANSACTION};
    use crate::suites::tables::content::verify;
    use crate::suites::tables::definition::{Mixture, Order};
    use crate::suites::tables::task::tests::small;
    use crate::suites::tables::workloads::YCSB;

    /// Plays `script` on a store that has the first hundred records.
    fn played(script: &[Step], grouping: Grouping) -> Result<usize> {
        let directory = tempfile::tempdir().unwrap();
        let mut content = Content::new(Shape::Sequential, Lengths::Fixed(100), 200);
        load(&mut content, 100);
        let store =
            <Lmdb as WritingEngine>::open(directory.path(), small(&YCSB.definitions[0], directory.path()).settings())?;
        fill(&store, &content, 100)?;
        let mut laps = 0;
        Part::new(&content, script.to_vec(), grouping).play(&store, || laps += 1)?;
        Ok(laps)
    }

    #[test]
    fn every_operation_has_a_lap_whatever_shares_its_transaction() {
        let script = [
            Step::Put(100, 1),
            Step::Put(101, 1),
            Step::Put(102, 1),
            Step::Get(102, 1),
            Step::Put(3, 2),
            Step::Get(3, 2),
        ];
        for grouping in [Grouping::Each, Grouping::Every(2), Grouping::All] {
            assert_eq!(played(&script, grouping).unwrap(), script.len(), "{grouping:?}");
        }
    }

    #[test]
    fn an_operation_that_is_answered_wrongly_is_named() {
        let right = [
            Step::Get(7, 1),
            Step::ReadModifyWrite(7, 1, 2),
            Step::Get(7, 2),
            Step::Scan(95, 10, 5),
            Step::Scan(3, 10, 10),
        ];
        assert_eq!(played(&right, Grouping::Each).unwrap(), 5);
        let wrong = [
            Step::Get(7, 2),
            Step::Get(100, 1),
            Step::ReadModifyWrite(7, 2, 3),
            Step::Scan(95, 10, 6),
            Step::Scan(95, 3, 5),
            Step::Scan(100, 3, 3),
        ];
        for step in wrong {
            let outcome = played(&[Step::Get(1, 1), step], Grouping::Each);
            assert!(matches!(outcome, Err(Error::Wrong { what, .. }) if what.contains("operation 1")), "{step:?}");
        }
    }

    #[test]
    fn what_shares_a_transaction_counts_as_one() {
        let gets: Vec<Step> = (0..12).map(|id| Step::Get(id, 1)).collect();
        assert_eq!(played(&gets, Grouping::Snapshots(5)).unwrap(), 3);
        assert_eq!(played(&[Step::Put(3, 2), Step::Get(3, 2), Step::Put(4, 2)], Grouping::Transactions(2)).unwrap(), 2);
        for grouping in [Grouping::Snapshots(2), Grouping::Transactions(2)] {
            let outcome = played(&[Step::Get(3, 1), Step::Get(4, 2)], grouping);
            assert!(matches!(outcome, Err(Error::Wrong { what, .. }) if what.contains("operation 1")), "{grouping:?}");
        }
        assert!(played(&[Step::Miss(100)], Grouping::Each).is_ok());
        assert!(matches!(played(&[Step::Miss(99)], Grouping::Each), Err(Error::Wrong { .. })));
    }

    /// Transfers by four threads, and what the content is then.
    fn transferred<E: SustainedEngine>() -> Result<()> {
        let directory = tempfile::tempdir().unwrap();
        let mut content = Content::loaded(Shape::Hashed, Lengths::Fixed(100), 100);
        let settings = Settings { level: Level::Log, usage: Usage::Transactions };
        let store = E::open(directory.path(), settings)?;
        fill(&store, &content, 100)?;
        let grouping = Grouping::Transactions(2);
        let steps = Steps {
            loaded: 100,
            count: 4000,
            threads: 4,
            mixture: Mixture::TRANSFERS,
            order: Order::Uniform,
            grouping,
        };
        let scripts = draw(&mut content, &steps, &mut Random::new(3, 3));
        let parts = Part::all(&content, scripts, grouping);
        let (latencies, _, _) = timed(&store, &parts)?;
        assert_eq!(latencies.len(), 4);
        verify(&store, &content, "transfers")
    }

    #[test]
    fn what_several_threads_transfer_is_neither_lost_nor_made_up() {
        transferred::<Planted<NO_FAULT>>().unwrap();
        transferred::<Lmdb>().unwrap();
        transferred::<crate::engines::fulgurite::Fulgurite>().unwrap();
        for outcome in [transferred::<Planted<TORN_TRANSACTION>>(), transferred::<Planted<LOST_UPDATE>>()] {
            assert!(matches!(outcome, Err(Error::Wrong { .. })), "{outcome:?}");
        }
    }

    #[test]
    fn parts_run_at_once_and_the_time_ends_with_the_last() {
        let barrier = Barrier::new(3);
        let (done, sample) = side_by_side(&[10, 20, 30], |number| {
            barrier.wait();
            std::thread::sleep(std::time::Duration::from_millis(*number));
            Ok(number * 2)
        })
        .unwrap();
        assert_eq!(done, [20, 40, 60]);
        assert!(sample.wall_ns >= 30e6, "{sample:?}");
        let failed = side_by_side(&[1, 2], |_| Err::<(), _>(Error::Usage("no".to_owned())));
        assert!(matches!(failed, Err(Error::Usage(_))));
    }
}
