//! An engine in the suite of writers: which engines take part, and how each makes the steps of a round's scripts.
//!
//! Every timed loop is compiled once for each engine; trait objects are only around whole turns.

use std::ops::Range;
use std::path::{Path, PathBuf};

use fulgurite_rivals::{Failure, Lmdb, Refusal, RocksDb, Settings, Transaction as _, WritingEngine, WritingStore};

use crate::data::dataset::Dataset;
use crate::engines::fulgurite::Fulgurite;
use crate::error::{Error, Result};
use crate::measure::clock::{Charge, Latencies, Sample, Stopwatch};
use crate::measure::space;
use crate::suites::writers::ledger::{Ledger, number_of};
use crate::suites::writers::recovery;
use crate::suites::writers::script::{Script, Step};
use crate::suites::writers::workload::{Definition, Mixture, Settling, Transaction};

/// Every engine, the measured one first.
pub const ENGINE_NAMES: [&str; 5] = ["fulgurite", "lmdb", "rocksdb", "fjall", "fjall-single"];

/// What the suite can do with an engine.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Whether it has a log to recover from.
    pub has_log: bool,
    /// Why it cannot be measured here.
    pub missing: fn() -> Option<String>,
    /// Why it is not measured with such settings.
    pub unfit: fn(Settings) -> Option<&'static str>,
    /// Opens a store of it and loads the stored records.
    pub enter: fn(&Path, Settings, &Dataset) -> Result<Box<dyn Contestant>>,
    /// Opens a store whose process was killed, and compares its records.
    pub recover: fn(&Path, usize) -> Result<Sample>,
    /// Makes a store with so many records in its log, and returns while it is open.
    pub fill: fn(&Path, usize) -> Result<()>,
}

/// The entries of [`ENGINE_NAMES`].
pub fn entries() -> Vec<Entry> {
    let mut entries = vec![entry::<Fulgurite>(), entry::<Lmdb>(), entry::<RocksDb>()];
    #[cfg(feature = "fjall")]
    entries.extend([entry::<fulgurite_rivals::Fjall>(), entry::<fulgurite_rivals::FjallSingleWriter>()]);
    #[cfg(not(feature = "fjall"))]
    {
        let missing = crate::engines::not_built::fjall;
        entries.extend(ENGINE_NAMES[3..].iter().map(|&name| Entry { name, missing, ..entry::<Lmdb>() }));
    }
    entries
}

/// The entry of one engine.
pub fn entry<E: WritingEngine + 'static>() -> Entry {
    Entry {
        name: E::NAME,
        has_log: E::HAS_LOG,
        missing: E::missing,
        unfit: E::unfit,
        enter: enter::<E>,
        recover: recovery::open::<E>,
        fill: recovery::put_all::<E>,
    }
}

/// An open store between its turns.
pub trait Contestant {
    /// Does what the scripts say, each in a thread of its own.
    fn turn(&self, scripts: &[Script<'_>], definition: &Definition) -> Result<Turn>;

    /// Compares all content with the ledger, and the sum of all accounts if only transfers were made.
    fn verify(&self, ledger: &Ledger, data: &Dataset, definition: &Definition, name: &'static str) -> Result<()>;

    /// Space that the store takes on the disk.
    fn disk_bytes(&self) -> Result<u64>;

    /// Closes the store.
    fn close(self: Box<Self>) -> Result<()>;
}

/// What a turn cost, and what came of it.
#[derive(Debug)]
pub struct Turn {
    /// The cost.
    pub sample: Sample,
    /// Transactions that were refused, and begun again.
    pub refused: u64,
    /// Waits for the disk, if the engine counts them.
    pub flushes: Option<u64>,
}

struct Entrant<E: WritingEngine> {
    store: E::Store,
    directory: PathBuf,
}

fn enter<E: WritingEngine + 'static>(
    directory: &Path,
    settings: Settings,
    data: &Dataset,
) -> Result<Box<dyn Contestant>> {
    let store = E::open(directory, settings)?;
    store.load_sorted(data.stored.records(&data.values))?;
    Ok(Box::new(Entrant::<E> { store, directory: directory.to_owned() }))
}

impl<E: WritingEngine> Contestant for Entrant<E> {
    fn turn(&self, scripts: &[Script<'_>], definition: &Definition) -> Result<Turn> {
        run(&self.store, scripts, definition)
    }

    fn verify(&self, ledger: &Ledger, data: &Dataset, definition: &Definition, name: &'static str) -> Result<()> {
        if definition.mixture == Mixture::Transfers {
            Ledger::verify_sum(&self.store, data, name)?;
        }
        ledger.verify(&self.store, data, name)
    }

    fn disk_bytes(&self) -> Result<u64> {
        space::bytes_below(&self.directory)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.store.close()?)
    }
}

/// Runs the scripts side by side and takes the time, of the whole process and until the last has ended.
fn run<S: WritingStore>(store: &S, scripts: &[Script<'_>], definition: &Definition) -> Result<Turn> {
    let transactions: usize = scripts.iter().map(Script::transactions).sum();
    let flushes_before = store.flushes()?;
    let watch = Stopwatch::start(Charge::Process);
    let parts = match scripts {
        [alone] => vec![perform(store, alone, definition)?],
        _ => side_by_side(store, scripts, definition)?,
    };
    if definition.settling == Settling::Charged {
        store.settle()?;
    }
    let sample = watch.pause(transactions as u64);
    let flushes = flushes_before.zip(store.flushes()?).map(|(before, after)| after - before);
    if definition.settling == Settling::Free {
        store.settle()?;
    }
    let refused = parts.iter().map(|part| part.refused).sum();
    let sample = sample.with(Latencies::joined(parts.into_iter().map(|part| part.latencies)));
    Ok(Turn { sample, refused, flushes })
}

fn side_by_side<S: WritingStore>(
    store: &S,
    scripts: &[Script<'_>],
    definition: &Definition,
) -> Result<Vec<Performance>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = scripts.iter().map(|script| scope.spawn(|| perform(store, script, definition))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Performance>>| match thread.join() {
            Ok(performance) => performance,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    })
}

/// What one thread has done.
struct Performance {
    latencies: Latencies,
    refused: u64,
}

fn perform<S: WritingStore>(store: &S, script: &Script<'_>, definition: &Definition) -> Result<Performance> {
    let transactions = script.transactions();
    let mut performance = Performance { latencies: Latencies::with_capacity(transactions), refused: 0 };
    let batch = definition.batch();
    for start in (0..transactions).step_by(batch) {
        let range = start..(start + batch).min(transactions);
        let operations = range.len() as u64;
        let right = match definition.transaction {
            Transaction::Single => singles(store, script, range)?,
            Transaction::SingleSynced { every } => singles_synced(store, script, range, every)?,
            Transaction::Batch => batches(store, script, range).map(|()| true)?,
            Transaction::Serializable => serializable(store, script, range, &mut performance.refused)?,
        };
        if !right {
            let what = "a get did not give what was put last".to_owned();
            return Err(Error::Wrong { workload: "a workload of writers", what });
        }
        performance.latencies.lap(operations);
    }
    Ok(performance)
}

/// Each step by itself. Says whether all answers were right.
#[inline]
fn singles<S: WritingStore>(store: &S, script: &Script<'_>, range: Range<usize>) -> Result<bool, Failure> {
    let mut right = true;
    for index in range {
        right &= single(store, script, index)?;
    }
    Ok(right)
}

#[inline(always)]
fn single<S: WritingStore>(store: &S, script: &Script<'_>, index: usize) -> Result<bool, Failure> {
    let key = script.keys.get(index);
    match script.steps[index] {
        Step::Put(value) => store.put(key, value).map(|()| true),
        Step::Get(expected) => store.get(key, |value| value == Some(expected)),
        Step::Add(_) | Step::Merge(_) => unreachable!("additions are made in serializable transactions alone"),
    }
}

fn singles_synced<S: WritingStore>(
    store: &S,
    script: &Script<'_>,
    range: Range<usize>,
    every: usize,
) -> Result<bool, Failure> {
    let mut right = true;
    for index in range {
        right &= single(store, script, index)?;
        if (index + 1).is_multiple_of(every) {
            store.sync()?;
        }
    }
    Ok(right)
}

/// Commits of many puts.
fn batches<S: WritingStore>(store: &S, script: &Script<'_>, mut range: Range<usize>) -> Result<(), Failure> {
    let put = |index: usize| match script.steps[index] {
        Step::Put(value) => (script.keys.get(index), value),
        Step::Get(_) | Step::Add(_) | Step::Merge(_) => unreachable!("batches have puts alone"),
    };
    range.try_for_each(|transaction| {
        let first = transaction * script.per_transaction;
        store.put_all((first..first + script.per_transaction).map(put))
    })
}

/// Transactions, each begun again until it is not refused.
fn serializable<S: WritingStore>(
    store: &S,
    script: &Script<'_>,
    range: Range<usize>,
    refused: &mut u64,
) -> Result<bool, Failure> {
    let mut right = true;
    for index in range {
        right &= loop {
            match attempt(store, script, index) {
                Ok(right) => break right,
                Err(Refusal::Conflict) => *refused += 1,
                Err(Refusal::Failed(failure)) => return Err(failure),
            }
        };
    }
    Ok(right)
}

/// Longest value that an addition can change.
const VALUE_BYTES_MAX: usize = 256;

#[inline]
fn attempt<S: WritingStore>(store: &S, script: &Script<'_>, transaction: usize) -> Result<bool, Refusal> {
    let mut right = true;
    let mut txn = store.begin()?;
    let first = transaction * script.per_transaction;
    for index in first..first + script.per_transaction {
        let key = script.keys.get(index);
        match script.steps[index] {
            Step::Put(value) => txn.put(key, value)?,
            Step::Get(expected) => right &= txn.get(key, |value| value == Some(expected))?,
            Step::Merge(change) => txn.add(key, change)?,
            Step::Add(change) => {
                let mut changed = [0; VALUE_BYTES_MAX];
                let copied = txn.get(key, |value| {
                    let value = value.filter(|value| value.len() <= VALUE_BYTES_MAX)?;
                    changed[..value.len()].copy_from_slice(value);
                    number_of(value).map(|number| (number, value.len()))
                })?;
                let Some((number, length)) = copied else { return Ok(false) };
                changed[..8].copy_from_slice(&number.wrapping_add(change).to_le_bytes());
                txn.put(key, &changed[..length])?;
            }
        }
    }
    txn.commit()?;
    Ok(right)
}
