//! Does a workload with one engine: loads what is there before, warms up, does the operations, settles, and compares everything. All
//! answers are checked: each get by the first and last bytes of its value, each scan by its keys, and in the end every record, whole.

use std::time::Instant;

use fulgurite_rivals::{Snapshot, WritingStore};

use crate::clock::{Charge, cpu_ns};
use crate::error::{Error, Result};
use crate::random::Random;
use crate::space::bytes_below;
use crate::sustained::SustainedEngine;
use crate::tables::definition::{Grouping, Kind, Steps};
use crate::tables::meter::{Latencies, memory_bytes, timer_ns};
use crate::tables::row::Figures;
use crate::tables::script::{Content, Step, draw, load};
use crate::tables::stability;
use crate::tables::task::Task;
use crate::values::Ends;

/// Records in a transaction of what is there before.
const LOAD_BATCH: usize = 1000;

/// Gets before the clock starts, as in the report of the first of these suites.
const WARM_UP: usize = 100;

/// Does a task in this process.
///
/// # Errors
/// What the engine answered; [`Error::Wrong`] if an answer was not right.
pub fn perform<E: SustainedEngine>(task: &Task) -> Result<Figures> {
    let (private_before, _) = memory_bytes();
    let mut figures = match task.kind() {
        Kind::Steps(steps) => run_steps::<E>(task, &steps)?,
        Kind::Checkpoint(records) => stability::checkpoint::<E>(task, records)?,
        Kind::Cycles(cycles, records) => stability::cycles::<E>(task, cycles, records)?,
        Kind::Growth(batches, records) => stability::growth::<E>(task, batches, records)?,
        Kind::Memory(cycles, operations) => stability::memory::<E>(task, cycles, operations)?,
    };
    if let Some(private) = figures.get("private_bytes") {
        figures.set("private_bytes", (private - private_before as f64).max(0.0));
    }
    Ok(figures)
}

fn run_steps<E: SustainedEngine>(task: &Task, steps: &Steps) -> Result<Figures> {
    let (records, _) = Kind::Steps(*steps).extent();
    let mut content = Content::new(task.definition.shape, task.definition.value_bytes, records);
    load(&mut content, steps.loaded);
    let store = E::open(&task.directory, task.settings())?;
    fill(&store, &content, steps.loaded)?;
    E::settle(&store)?;
    let script = draw(&mut content, steps, &mut Random::new(task.seed, 0));
    let player = Player { content: &content, script: &script, keys: keys(&content, &script), grouping: steps.grouping };
    player.warm_up(&store, steps.loaded)?;
    let mut figures = Figures::default();
    let written_before = E::written_bytes(&store);
    let mut latencies = Latencies::start();
    let (wall, cpu) = (Instant::now(), cpu_ns(Charge::Process));
    match steps.mixture.reads_alone() {
        true => player.play(&store, || {})?,
        false => {
            latencies.restart();
            player.play(&store, || latencies.lap())?;
        }
    }
    note_cost(&mut figures, script.len(), wall, cpu);
    let settling = Instant::now();
    E::settle(&store)?;
    figures.set("settle_ns", settling.elapsed().as_nanos() as f64);
    note_written(&mut figures, written_before.zip(E::written_bytes(&store)), player.put_bytes());
    if steps.mixture.reads_alone() {
        // Nothing has changed, so that the same can be done again: the rate is without looks at the clock, the latencies with.
        latencies.restart();
        player.play(&store, || latencies.lap())?;
    }
    latencies.note(&mut figures);
    figures.set("timer_ns", timer_ns());
    note_memory(&mut figures);
    verify(&store, &content, task.definition.name)?;
    store.close()?;
    note_size(&mut figures, task, &content)?;
    Ok(figures)
}

/// Rate and processor time of so many operations since then.
pub fn note_cost(figures: &mut Figures, operations: usize, wall: Instant, cpu_before_ns: f64) {
    let wall_ns = wall.elapsed().as_nanos() as f64;
    figures.set("ops_per_s", operations as f64 * 1e9 / wall_ns);
    figures.set("cpu_ns_per_op", (cpu_ns(Charge::Process) - cpu_before_ns) / operations as f64);
    figures.set("wall_ns", wall_ns);
}

/// Memory of the process as it is.
pub fn note_memory(figures: &mut Figures) {
    let (private, mapped) = memory_bytes();
    figures.set("private_bytes", private as f64);
    figures.set("mapped_bytes", mapped as f64);
}

/// Bytes given to the system by bytes of keys and values that were put, where the engine tells and something was put.
fn note_written(figures: &mut Figures, before_and_after: Option<(u64, u64)>, put_bytes: u64) {
    if let (Some((before, after)), 1..) = (before_and_after, put_bytes) {
        figures.set("written_per_user_byte", (after - before) as f64 / put_bytes as f64);
    }
}

/// Space of the closed store.
pub fn note_size(figures: &mut Figures, task: &Task, content: &Content) -> Result<()> {
    let size = bytes_below(&task.directory)? as f64;
    figures.set("size_bytes", size);
    figures.set("size_per_raw_byte", size / content.raw_bytes() as f64);
    Ok(())
}

/// Puts the first records, each in its first version, in transactions as large as are good for every engine.
pub fn fill<S: WritingStore>(store: &S, content: &Content, records: usize) -> Result<()> {
    let mut first = 0;
    while first < records {
        let ids = first as u32..(first + LOAD_BATCH).min(records) as u32;
        let keys: Vec<Vec<u8>> = ids.clone().map(|id| content.key(id)).collect();
        store.put_all(keys.iter().zip(ids).map(|(key, id)| (&key[..], content.value(id, 1))))?;
        first += LOAD_BATCH;
    }
    Ok(())
}

/// The keys of all steps, one behind the other: reading the next one costs next to nothing.
fn keys(content: &Content, script: &[Step]) -> Vec<Vec<u8>> {
    script.iter().map(|step| content.key(id_of(step))).collect()
}

fn id_of(step: &Step) -> u32 {
    match *step {
        Step::Get(id, _) | Step::Put(id, _) | Step::ReadModifyWrite(id, _, _) | Step::Scan(id, _, _) => id,
    }
}

/// A script, and what it needs.
struct Player<'c> {
    content: &'c Content,
    script: &'c [Step],
    keys: Vec<Vec<u8>>,
    grouping: Grouping,
}

impl Player<'_> {
    /// Gets of what is there before; they are not checked, because the operations are.
    fn warm_up<S: WritingStore>(&self, store: &S, loaded: usize) -> Result<()> {
        for id in (0..loaded as u32).take(WARM_UP) {
            store.get(&self.content.key(id), |value| std::hint::black_box(value.is_some()))?;
        }
        Ok(())
    }

    /// Bytes of all keys and values that are put.
    fn put_bytes(&self) -> u64 {
        let of = |(step, key): (&Step, &Vec<u8>)| match *step {
            Step::Put(id, version) | Step::ReadModifyWrite(id, _, version) => {
                (key.len() + self.content.value(id, version).len()) as u64
            }
            Step::Get(..) | Step::Scan(..) => 0,
        };
        self.script.iter().zip(&self.keys).map(of).sum()
    }

    /// Does all steps in their order, and calls `after` after each.
    fn play<S: WritingStore>(&self, store: &S, mut after: impl FnMut()) -> Result<()> {
        let group = match self.grouping {
            Grouping::Each => 1,
            Grouping::Every(count) => count,
            Grouping::All => usize::MAX,
        };
        let mut position = 0;
        while position < self.script.len() {
            let puts =
                self.script[position..].iter().take(group).take_while(|step| matches!(step, Step::Put(..))).count();
            if group == 1 || puts < 2 {
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

    #[inline]
    fn record(&self, index: usize) -> (&[u8], &[u8]) {
        match self.script[index] {
            Step::Put(id, version) | Step::ReadModifyWrite(id, _, version) => {
                (&self.keys[index], self.content.value(id, version))
            }
            Step::Get(..) | Step::Scan(..) => unreachable!("only puts have records"),
        }
    }

    #[inline]
    fn step<S: WritingStore>(&self, store: &S, index: usize) -> Result<()> {
        let key = &self.keys[index][..];
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
        };
        if right { Ok(()) } else { Err(self.wrong(index)) }
    }

    #[inline]
    fn get<S: WritingStore>(&self, store: &S, key: &[u8], id: u32, version: u32) -> Result<bool> {
        let expected = self.content.value(id, version);
        let right = |value: Option<&[u8]>| {
            value.is_some_and(|value| value.len() == expected.len() && Ends::of(value) == Ends::of(expected))
        };
        Ok(store.get(key, right)?)
    }

    /// As many must come as are stored, from the first that is asked for to the last, rising, with values of the right length.
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
            what: format!("operation {index}, {:?}, is answered wrongly", self.script[index]),
        }
    }
}

/// Compares everything that is stored with what must be: each record is asked for and compared whole, and a scan must give all of them
/// in order, keys and values, and nothing else.
pub fn verify<S: WritingStore>(store: &S, content: &Content, workload: &'static str) -> Result<()> {
    let wrong = |what: String| Error::Wrong { workload, what };
    let mut expected = Vec::new();
    for (id, &version) in (0..).zip(content.versions()) {
        let key = content.key(id);
        let right = |value: Option<&[u8]>| match version {
            0 => value.is_none(),
            version => value == Some(content.value(id, version)),
        };
        if !store.get(&key, right)? {
            return Err(wrong(format!("record {id} is not what was put last, in version {version}")));
        }
        if version > 0 {
            expected.push((key, id, version));
        }
    }
    expected.sort_unstable();
    let (mut seen, mut right) = (0, true);
    store.scan(|key, value| {
        let same = |(known, id, version): &(Vec<u8>, u32, u32)| known == key && content.value(*id, *version) == value;
        right &= expected.get(seen).is_some_and(same);
        seen += 1;
    })?;
    match right && seen == expected.len() {
        true => Ok(()),
        false => Err(wrong(format!("a scan gives {seen} records instead of {}, or others", expected.len()))),
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::{Lmdb, WritingEngine};

    use super::*;
    use crate::shape::Shape;
    use crate::tables::task::tests::small;
    use crate::tables::ycsb;

    /// Plays `script` on a store that has the first hundred records.
    fn played(script: &[Step], grouping: Grouping) -> Result<usize> {
        let directory = tempfile::tempdir().unwrap();
        let mut content = Content::new(Shape::Sequential, 100, 200);
        load(&mut content, 100);
        let store =
            <Lmdb as WritingEngine>::open(directory.path(), small(&ycsb::DEFINITIONS[0], directory.path()).settings())?;
        fill(&store, &content, 100)?;
        let player = Player { content: &content, script, keys: keys(&content, script), grouping };
        let mut laps = 0;
        player.play(&store, || laps += 1)?;
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
}
