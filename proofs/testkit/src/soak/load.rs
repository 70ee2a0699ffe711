//! The load of a soak: writers that know what they wrote, readers that check it, and somebody who watches what is held.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fulgurite::{Database, Durability, Error, Read, Result, Table, TableOptions};

use super::account::{key, value, version_of};
use super::{Report, Sample};
use crate::random::Random;

/// How long, and how hard.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How long the steady load lasts.
    pub length: Duration,
    /// Threads that write.
    pub writers: u64,
    /// Threads that read.
    pub readers: u64,
    /// Keys in all.
    pub keys: u64,
    /// The steady load is this part of the peak, in percent.
    pub percent: u64,
    /// Seed of everything.
    pub seed: u64,
}

/// What the threads share.
struct Stage<'s> {
    plan: Plan,
    db: &'s Database,
    /// Every key is in both, in the same version.
    twins: [Table; 2],
    /// What transactions write that last long.
    late: Table,
    /// The version that each key has at least: raised when its commit has returned. 0: none yet.
    committed: Box<[AtomicU32]>,
    transactions: AtomicU64,
    reads: AtomicU64,
    most_runs: AtomicU64,
    wrong: Mutex<Vec<String>>,
    stop: AtomicBool,
}

/// Runs the plan on a new database in `directory`. `tell` gets a line now and then.
///
/// # Errors
/// The engine's.
pub fn run(plan: Plan, directory: &Path, tell: &dyn Fn(String)) -> Result<Report> {
    // A small delta, so that a minute sees dozens of checkpoints.
    let options = Database::options().create(true).durability(Durability::Log).delta_bytes(DELTA_BYTES);
    let db = options.open(directory.join("soak.ful"))?;
    let twins = [db.create_table("first", TableOptions::new())?, db.create_table("second", TableOptions::new())?];
    let mut stage = Stage {
        plan,
        db: &db,
        twins,
        late: db.create_table("late", TableOptions::new())?,
        committed: (0..plan.keys).map(|_| AtomicU32::new(0)).collect(),
        transactions: AtomicU64::new(0),
        reads: AtomicU64::new(0),
        most_runs: AtomicU64::new(0),
        wrong: Mutex::default(),
        stop: AtomicBool::new(false),
    };
    stage.fill()?;
    let began = Instant::now();
    stage.play(0, PEAK_FOR, None, directory, &|_| {})?;
    let peak = stage.transactions.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    let rate = peak * plan.percent as f64 / 100.0;
    tell(format!("peak: {peak:.0} transactions a second; steady load: {rate:.0}"));
    stage.transactions = AtomicU64::new(0);
    stage.reads = AtomicU64::new(0);
    stage.stop = AtomicBool::new(false);
    let samples = stage.play(1, plan.length, Some(rate), directory, tell)?;
    stage.compare_all()?;
    let report = Report {
        transactions: stage.transactions.into_inner(),
        reads: stage.reads.into_inner(),
        most_runs: stage.most_runs.into_inner(),
        wrong: stage.wrong.into_inner().expect("no thread panics while it holds this lock"),
        samples,
    };
    db.close()?;
    Ok(report)
}

impl Stage<'_> {
    /// Gives every key its first version.
    fn fill(&self) -> Result<()> {
        for table in &self.twins {
            let entries = (0..self.plan.keys).map(|number| (key(number), value(number, 1)));
            self.db.bulk_load_unsorted(table, entries)?;
        }
        self.committed.iter().for_each(|version| version.store(1, Ordering::Relaxed));
        Ok(())
    }

    /// Writes and reads for so long, at `rate` transactions a second or as fast as it goes.
    fn play(
        &self,
        part: u64,
        length: Duration,
        rate: Option<f64>,
        directory: &Path,
        tell: &dyn Fn(String),
    ) -> Result<Vec<Sample>> {
        std::thread::scope(|scope| {
            let writers = (0..self.plan.writers).map(|writer| scope.spawn(move || self.write(part, writer, rate)));
            let readers = (0..self.plan.readers).map(|reader| scope.spawn(move || self.read(part, reader)));
            let threads: Vec<_> = writers.chain(readers).collect();
            let samples = self.watch(length, directory, tell);
            self.stop.store(true, Ordering::Relaxed);
            for thread in threads {
                thread.join().expect("a thread of the soak does not panic")?;
            }
            Ok(samples)
        })
    }

    fn watch(&self, length: Duration, directory: &Path, tell: &dyn Fn(String)) -> Vec<Sample> {
        let (began, mut samples) = (Instant::now(), Vec::new());
        let mut told = 0;
        while began.elapsed() < length && self.wrong.lock().is_ok_and(|wrong| wrong.is_empty()) {
            std::thread::sleep(SAMPLE_EVERY);
            let Ok(sample) = Sample::now(began.elapsed(), directory) else { continue };
            samples.push(sample);
            if sample.at.as_secs() / TELL_EVERY_SECONDS > told {
                told = sample.at.as_secs() / TELL_EVERY_SECONDS;
                let Sample { at, memory_bytes, disk_bytes, descriptors } = sample;
                let transactions = self.transactions.load(Ordering::Relaxed);
                let runs = self.db.stats().map_or(0, |stats| stats.tables.iter().map(|table| table.runs).sum());
                self.most_runs.fetch_max(runs, Ordering::Relaxed);
                tell(format!(
                    "{} s: {transactions} transactions, {runs} runs, {} MiB of memory, {} MiB on disk, \
                     {descriptors} descriptors",
                    at.as_secs(),
                    memory_bytes >> 20,
                    disk_bytes >> 20
                ));
            }
        }
        samples
    }

    /// Writes new versions of this writer's keys, both twins at once.
    fn write(&self, part: u64, writer: u64, rate: Option<f64>) -> Result<()> {
        let mut random = Random::for_part(self.plan.seed, &[part, 0, writer]);
        let (began, mut done) = (Instant::now(), 0_u64);
        let own = self.plan.keys / self.plan.writers;
        while !self.stop.load(Ordering::Relaxed) {
            if let Some(rate) = rate {
                let due = Duration::from_secs_f64(done as f64 * self.plan.writers as f64 / rate);
                if let Some(early) = due.checked_sub(began.elapsed()).filter(|early| *early > NAP) {
                    std::thread::sleep(early.min(LONGEST_NAP));
                    continue;
                }
            }
            let mut numbers: Vec<u64> =
                (0..1 + random.below(4)).map(|_| random.below(own) * self.plan.writers + writer).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let version = |number: u64| self.committed[number as usize].load(Ordering::Relaxed) + 1;
            let foreign = random.below(self.plan.keys);
            self.db.update(|txn| {
                // Read what others write, so that there are conflicts.
                if foreign.is_multiple_of(2) {
                    self.version(foreign, txn.get(&self.twins[0], &key(foreign))?.as_deref());
                }
                for &number in &numbers {
                    let value = value(number, version(number));
                    self.twins.iter().try_for_each(|table| txn.put(table, &key(number), &value))?;
                }
                Ok(())
            })?;
            for &number in &numbers {
                // Release pairs with the Acquire of readers.
                self.committed[number as usize].fetch_add(1, Ordering::Release);
            }
            self.transactions.fetch_add(1, Ordering::Relaxed);
            done += 1;
        }
        Ok(())
    }

    /// Reads anybody's keys, some from snapshots that are some seconds old.
    fn read(&self, part: u64, reader: u64) -> Result<()> {
        let mut random = Random::for_part(self.plan.seed, &[part, 1, reader]);
        while !self.stop.load(Ordering::Relaxed) {
            let least: Vec<(u64, u32)> = (0..GETS)
                .map(|_| {
                    let number = random.below(self.plan.keys);
                    (number, self.committed[number as usize].load(Ordering::Acquire))
                })
                .collect();
            if random.chance(1, HELD_SHARE) {
                self.write_late(reader, random.below(self.plan.keys), Duration::from_millis(random.below(3000)))?;
            }
            let txn = self.db.read()?;
            if random.chance(1, HELD_SHARE) {
                self.hold(Duration::from_millis(random.below(3000)));
            }
            for &(number, least) in &least {
                let versions = [0, 1].map(|twin| -> Result<Option<u32>> {
                    let value = txn.get(&self.twins[twin], &key(number))?;
                    Ok(self.version(number, value.as_deref()))
                });
                let [first, second] = versions;
                let (first, second) = (first?, second?);
                if first != second || first.is_some_and(|version| version < least) {
                    self.note(format!(
                        "key {number}: versions {first:?} and {second:?}, and {least} was committed before"
                    ));
                }
            }
            let from = key(random.below(self.plan.keys));
            let mut before: Option<Vec<u8>> = None;
            for entry in txn.range(&self.twins[0], &from[..]..)?.take(SCANNED) {
                let (found, value) = entry?;
                if before.as_deref().is_some_and(|before| *before >= *found) {
                    self.note("a scan went backwards".to_owned());
                }
                let number = found.last_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
                self.version(number, Some(&value));
                before = Some(found.to_vec());
            }
            self.reads.fetch_add(2 * GETS as u64 + SCANNED as u64, Ordering::Relaxed);
            // Readers share the machine with the writers whose rate is kept.
            std::thread::sleep(READER_NAP);
        }
        Ok(())
    }

    /// A write transaction that lasts over checkpoints, and is checked against what came since.
    fn write_late(&self, reader: u64, number: u64, length: Duration) -> Result<()> {
        let mut txn = self.db.write()?;
        let read = self.version(number, txn.get(&self.twins[1], &key(number))?.as_deref());
        self.hold(length);
        txn.put(&self.late, &reader.to_be_bytes(), &number.to_be_bytes())?;
        match txn.commit() {
            Ok(_) => {
                let now = self.db.read()?;
                let now = self.version(number, now.get(&self.twins[1], &key(number))?.as_deref());
                // Later versions may have come after the commit, earlier ones not.
                if now < read {
                    self.note(format!("key {number}: version {now:?} after {read:?}"));
                }
                Ok(())
            }
            Err(error) if error.is_retryable() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Waits, unless all is over.
    fn hold(&self, length: Duration) {
        let began = Instant::now();
        while began.elapsed() < length && !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(LONGEST_NAP.min(length));
        }
    }

    fn version(&self, number: u64, value: Option<&[u8]>) -> Option<u32> {
        match value.ok_or_else(|| format!("key {number} is missing")).and_then(|value| version_of(number, value)) {
            Ok(version) => Some(version),
            Err(offence) => {
                self.note(offence);
                None
            }
        }
    }

    fn note(&self, offence: String) {
        let mut wrong = self.wrong.lock().expect("no thread panics while it holds this lock");
        if wrong.len() < WRONG_MAX {
            wrong.push(offence);
        }
    }

    /// When nobody writes any more, every key has the version that was committed last.
    fn compare_all(&self) -> Result<()> {
        let txn = self.db.read()?;
        for table in &self.twins {
            let mut seen = 0;
            for entry in txn.range(table, ..)? {
                let (found, value) = entry?;
                let number = found.last_chunk::<8>().map_or(u64::MAX, |bytes| u64::from_be_bytes(*bytes));
                let Some(committed) = self.committed.get(number as usize) else {
                    self.note(format!("a key that nobody wrote: {found:?}"));
                    continue;
                };
                let (committed, version) = (committed.load(Ordering::Acquire), self.version(number, Some(&value)));
                if version.is_some_and(|version| version != committed) {
                    self.note(format!("key {number}: version {version:?} at the end, not {committed}"));
                }
                seen += 1;
            }
            if seen != self.plan.keys {
                self.note(format!("{seen} keys at the end, not {}", self.plan.keys));
            }
        }
        drop(txn);
        let found = self.db.check()?;
        if found.damages.is_empty() { Ok(()) } else { Err(Error::Invalid { message: format!("{found:?}") }) }
    }
}

/// How long the peak is measured.
const PEAK_FOR: Duration = Duration::from_secs(5);
const SAMPLE_EVERY: Duration = Duration::from_millis(500);
const TELL_EVERY_SECONDS: u64 = 10;
/// A thread that is early by less continues.
const NAP: Duration = Duration::from_millis(1);
const LONGEST_NAP: Duration = Duration::from_millis(50);
const READER_NAP: Duration = Duration::from_millis(2);
/// Keys that a reader looks up in one snapshot.
const GETS: usize = 20;
/// Entries that it scans.
const SCANNED: usize = 100;
/// One snapshot in so many is held for a while.
const HELD_SHARE: u64 = 200;
const DELTA_BYTES: u64 = 16 << 20;
/// More offences show nothing new.
const WRONG_MAX: usize = 20;
