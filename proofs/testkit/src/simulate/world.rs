//! The state of a simulation: the database and its disk, what holds for its present life, the snapshots and
//! transactions that are open, and the thread that reads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use fulgurite::planted::simulation::{self, Thread};
use fulgurite::{Database, Durability, Error, Isolation, WriteTxn};

use super::deck::Deck;
use super::disk::SimulatedDisk;
use super::model::Model;
use super::reading::{Held, SharedModel, Wrong, lock};
use super::scheduler::Scheduler;
use super::tally::Tally;
use crate::crash_disk::CrashDisk;
use crate::merge_function;
use crate::random::Random;

/// What is simulated.
pub struct World<'s> {
    pub(super) scheduler: &'s Scheduler,
    pub(super) random: Random,
    pub(super) target: u64,
    pub(super) operations: u64,
    pub(super) tally: Tally,
    pub(super) model: SharedModel,
    pub(super) disk: SimulatedDisk,
    pub(super) db: Option<Database>,
    pub(super) life: Life,
    pub(super) lots: Lots,
    pub(super) phase: Phase,
    pub(super) open: Vec<Open>,
    pub(super) held: Arc<Mutex<Vec<Arc<Held>>>>,
    /// Those that were held, and may still be asked by the reader.
    alive: Vec<Weak<Held>>,
    reader: Option<Reader>,
    /// Between two questions of the reader, at most.
    pub(super) reader_pause_us: Arc<AtomicU64>,
    /// Tables that were ever created, for names.
    names: u64,
    /// The most bytes that were live, or kept for snapshots.
    pub(super) needed_bytes_most: u64,
    /// A consumer of changes: the newest commit that it has.
    pub(super) consumed: u64,
}

/// What lives are drawn from.
#[derive(Debug)]
pub(super) struct Lots {
    background: Deck,
    keeps_log: Deck,
    busy: Deck,
    faulty: Deck,
    hasty: Deck,
    spills: Deck,
}

/// What holds for a life.
#[derive(Clone, Debug)]
pub struct Life {
    /// Work goes on in the background.
    pub background: bool,
    pub(super) durability: Durability,
    pub(super) isolation: Isolation,
    pub(super) delta_bytes: u64,
    write_set_bytes: u64,
    pub(super) keep_log: u64,
    pub(super) cache_bytes: u64,
    /// Operations until it ends.
    pub(super) until: u64,
    /// Time never passes without commits.
    pub(super) busy: bool,
    /// The disk fails in some way.
    pub faulty: bool,
    /// What takes long is ended before its time now and then.
    pub(super) hasty: bool,
    /// What a power cut left, at which it is to end.
    pub(super) left: Option<Arc<Left>>,
    /// It is over: the database is poisoned, or the power was cut.
    pub(super) over: bool,
    /// Errors of the disk may be reported until this operation.
    pub(super) excused_until: u64,
    /// Calls of the disk that failed so far.
    failures: u64,
}

/// What the foreground does for a while.
#[derive(Clone, Debug)]
pub struct Phase {
    pub(super) until: u64,
    pub(super) pattern: Pattern,
    /// Where a pattern is.
    pub(super) at: u32,
    /// The table it is about.
    pub(super) table: usize,
    /// Of a hundred operations so many are changes.
    pub(super) writes: u64,
    /// Most changes of a transaction.
    pub(super) changes: u64,
    /// Most bytes of a common value.
    pub(super) value_bytes: u64,
    /// Of a hundred changes so many are deletes.
    pub(super) deletes: u64,
}

/// Which keys are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Any.
    Spread,
    /// A few more often than others.
    Skewed,
    /// One after the other.
    Rising,
    /// One before the other.
    Falling,
    /// Those of a stretch.
    Near,
}

/// A transaction that is open.
#[derive(Debug)]
pub struct Open {
    pub(super) txn: WriteTxn,
    pub(super) isolation: Isolation,
    /// The version that it sees.
    pub version: u64,
    pub(super) changes: ChangeSet,
    /// Keys that it read, where that counts.
    pub(super) reads: Vec<(usize, u32)>,
    /// It commits when it has so many changes.
    pub(super) wanted: u64,
    /// Nothing is done with it until then, in operations.
    pub(super) rests_until: u64,
}

/// What the next life begins with.
#[derive(Debug)]
pub struct Left {
    pub(super) disk: CrashDisk,
    /// The oldest version that may be there.
    pub(super) acknowledged: u64,
}

/// A thread that asks snapshots while others work.
struct Reader {
    stop: Arc<AtomicBool>,
    thread: Thread,
    outcome: Arc<Mutex<(Tally, Option<Wrong>)>>,
}

impl<'s> World<'s> {
    /// Before the first life; `seed` decides everything, and so many operations are made.
    pub(super) fn new(seed: u64, target: u64, scheduler: &'s Scheduler) -> Self {
        let model = Model::default();
        let mut random = Random::for_part(seed, &[u64::from_be_bytes(*b"workload")]);
        let mut lots = Lots::default();
        let life = Life::draw(&mut random, &mut lots, 0, target);
        let phase = Phase::draw(&mut random, 0, &[], &model);
        Self {
            scheduler,
            random,
            target,
            operations: 0,
            tally: Tally::default(),
            model: Arc::new(Mutex::new(model)),
            disk: SimulatedDisk::new(CrashDisk::new()),
            db: None,
            life,
            lots,
            phase,
            open: Vec::new(),
            held: Arc::default(),
            alive: Vec::new(),
            reader: None,
            reader_pause_us: Arc::new(AtomicU64::new(READER_PAUSE_US)),
            names: 0,
            needed_bytes_most: 0,
            consumed: 0,
        }
    }

    /// Handles of the tables, of this life.
    pub(super) fn reopen_tables(&mut self) -> Result<(), String> {
        let db = self.db().clone();
        let names: Vec<(usize, String)> = {
            let model = lock(&self.model);
            model.live().into_iter().map(|place| (place, model.tables[place].name.clone())).collect()
        };
        for (place, name) in names {
            let table = db.open_table(&name).map_err(|error| format!("table `{name}`: {error}"))?;
            lock(&self.model).tables[place].handle = Some(table);
        }
        Ok(())
    }

    /// A snapshot of now, for a while.
    pub(super) fn hold(&mut self) -> Result<(), String> {
        self.tally.count("snapshots held");
        let life = match self.random.below(100) {
            0..70 => self.random.below(60),
            70..98 => self.random.below(2_000),
            _ => self.random.below(HELD_MAX),
        };
        let held = self.snapshot(self.operations + life)?;
        let mut all = self.held.lock().expect("one task runs");
        if all.len() < SNAPSHOTS_MAX {
            let held = Arc::new(held);
            self.alive.push(Arc::downgrade(&held));
            all.push(held);
        }
        Ok(())
    }

    /// A snapshot of now. After a failed sync that was not reported yet, it may show only what is durable.
    pub(super) fn snapshot(&mut self, until: u64) -> Result<Held, String> {
        let txn = self.db().read().map_err(|error| format!("no snapshot: {error}"))?;
        let sequence = txn.sequence();
        // Nothing is committed in between: this task is the only one that commits.
        let (newest, version) = {
            let model = lock(&self.model);
            (model.version, model.version_at(sequence))
        };
        if version < newest {
            let is_poisoned = matches!(self.db().write(), Err(Error::Poisoned { .. }));
            if !is_poisoned || !self.life.faulty || version < self.disk.plan().acknowledged.durable {
                return Err(format!("a snapshot of now shows version {version} (commit {}), not {newest}", sequence.0));
            }
            self.tally.count("snapshots after a failed sync");
            self.life.over = true;
        }
        Ok(Held { txn, version, since: self.operations, until })
    }

    /// A question to a snapshot that is held, or to a new one.
    pub(super) fn ask(&mut self) -> Result<(), String> {
        let held = {
            let held = self.held.lock().expect("one task runs");
            if held.is_empty() || self.random.chance(2, 3) {
                None
            } else {
                Some(Arc::clone(&held[self.random.index(held.len())]))
            }
        };
        let held = match held {
            Some(held) => held,
            None => Arc::new(self.snapshot(0)?),
        };
        match held.ask(&self.model, &mut self.random) {
            Ok(asked) => self.tally.count(asked.unwrap_or("questions without a table")),
            Err(Wrong::Answer(text)) => return Err(text),
            Err(Wrong::Failed(error)) => self.excuse("a read", &error)?,
        }
        Ok(())
    }

    pub(super) fn end_snapshots(&mut self) -> Result<(), String> {
        let operations = self.operations;
        let mut held = self.held.lock().expect("one task runs");
        let ended: Vec<Arc<Held>> = held.extract_if(.., |held| held.until <= operations).collect();
        drop(held);
        if ended.iter().any(|held| operations - held.since > HELD_LONG) {
            // Now it keeps more than at any time before.
            self.look_at_stats()?;
        }
        drop(ended);
        Ok(())
    }

    /// Forgets versions that no snapshot shows.
    pub(super) fn forget(&mut self) {
        let durable = self.disk.plan().acknowledged.durable;
        let oldest = self.open.iter().map(|open| open.version).fold(durable, u64::min);
        // The next life may begin with what an earlier power cut has left.
        let oldest = self.life.left.iter().map(|left| left.acknowledged).fold(oldest, u64::min);
        // A snapshot that the reader is just asking may be older than all that are held.
        self.alive.retain(|held| held.strong_count() > 0);
        let asked = self.alive.iter().filter_map(Weak::upgrade).map(|held| held.version);
        let oldest = asked.fold(oldest, u64::min);
        lock(&self.model).forget_before(oldest);
    }

    pub(super) fn db(&self) -> &Database {
        self.db.as_ref().expect("the database is open during a life")
    }

    /// Whether an error may be: the disk was made to fail, not long ago.
    pub(super) fn excuse(&mut self, what: &'static str, error: &Error) -> Result<(), String> {
        self.note_failures();
        let is_disk = matches!(error, Error::DiskFull { .. } | Error::Io { .. } | Error::Poisoned { .. });
        if is_disk
            && (self.operations <= self.life.excused_until || matches!(error, Error::Poisoned { .. }))
            && self.life.faulty
        {
            self.tally.count("errors of the disk told");
            if matches!(error, Error::Poisoned { .. }) {
                self.life.over = true;
            }
            return Ok(());
        }
        Err(format!("{what} failed, and nothing had it fail: {error}"))
    }

    /// Errors may be reported for a while after the disk has failed, or was full.
    pub(super) fn note_failures(&mut self) {
        let plan = self.disk.plan();
        let failures = plan.failed + plan.refused;
        if plan.is_full() || failures > self.life.failures {
            self.life.excused_until = self.operations + EXCUSED_FOR;
        }
        self.life.failures = failures;
    }

    pub(super) fn start_reader(&mut self) -> Result<(), String> {
        let stop = Arc::new(AtomicBool::new(false));
        let outcome = Arc::new(Mutex::new((Tally::default(), None)));
        let (stopped, held, model, told) =
            (Arc::clone(&stop), Arc::clone(&self.held), Arc::clone(&self.model), Arc::clone(&outcome));
        let mut random = Random::new(self.random.next_u64());
        let pause_us = Arc::clone(&self.reader_pause_us);
        let work = move || {
            while !stopped.load(Ordering::Relaxed) {
                let asked = {
                    let held = held.lock().expect("one task runs");
                    if held.is_empty() { None } else { Some(Arc::clone(&held[random.index(held.len())])) }
                };
                if let Some(asked) = asked {
                    match asked.ask(&model, &mut random) {
                        Ok(_) => told.lock().expect("one task runs").0.count("questions of the reader"),
                        Err(wrong) => {
                            told.lock().expect("one task runs").1.get_or_insert(wrong);
                        }
                    }
                }
                let pause = Duration::from_micros(1 + random.below(pause_us.load(Ordering::Relaxed)));
                simulation::with(|task| task.wait(0, Some(task.now() + pause)));
            }
        };
        let thread = simulation::spawn("reader", work).map_err(|error| format!("no thread: {error}"))?;
        self.reader = Some(Reader { stop, thread, outcome });
        Ok(())
    }

    pub(super) fn look_at_reader(&mut self) -> Result<(), String> {
        let Some(reader) = &self.reader else { return Ok(()) };
        let (tally, wrong) = std::mem::take(&mut *reader.outcome.lock().expect("one task runs"));
        self.tally += &tally;
        match wrong {
            None => Ok(()),
            Some(Wrong::Answer(text)) => Err(format!("the reader: {text}")),
            // It was reported some time ago.
            Some(Wrong::Failed(Error::Io { .. })) if self.life.faulty => Ok(()),
            Some(Wrong::Failed(error)) => self.excuse("a read of the reader", &error),
        }
    }

    pub(super) fn stop_reader(&mut self) -> Result<(), String> {
        if let Some(reader) = &self.reader {
            reader.stop.store(true, Ordering::Relaxed);
        }
        let outcome = self.look_at_reader();
        let Some(reader) = self.reader.take() else { return outcome };
        if reader.thread.join().is_err() {
            return Err("the reader panicked".into());
        }
        let wrong = reader.outcome.lock().expect("it has ended").1.take();
        match wrong {
            Some(Wrong::Answer(text)) => Err(format!("the reader: {text}")),
            _ => outcome,
        }
    }

    /// Drops everything, whatever state it is in.
    pub(super) fn abandon(&mut self) {
        let _ = self.stop_reader();
        self.open.clear();
        self.held.lock().expect("one task runs").clear();
        self.db = None;
    }

    /// A name that no table had.
    pub(super) fn new_name(&mut self) -> String {
        self.names += 1;
        format!("table-{}", self.names)
    }
}

impl Default for Lots {
    fn default() -> Self {
        Self {
            background: Deck::new(3, 4),
            keeps_log: Deck::new(1, 3),
            busy: Deck::new(1, 2),
            faulty: Deck::new(1, 2),
            hasty: Deck::new(1, 2),
            spills: Deck::new(1, 3),
        }
    }
}

impl Life {
    pub(super) fn draw(random: &mut Random, lots: &mut Lots, now: u64, target: u64) -> Self {
        let length = if random.chance(1, 3) { 200 + random.below(3_000) } else { 3_000 + random.below(17_000) };
        Self {
            background: lots.background.draw(random),
            durability: [Durability::Disk, Durability::Log, Durability::Memory][random.index(3)],
            isolation: if random.coin() { Isolation::Serializable } else { Isolation::Snapshot },
            delta_bytes: (64 << 10) << random.below(2),
            write_set_bytes: if lots.spills.draw(random) { (1 << 10) << random.below(4) } else { 64 << 20 },
            keep_log: if lots.keeps_log.draw(random) { 1 << 20 } else { 0 },
            cache_bytes: (128 << 10) << random.below(4),
            until: (now + length).min(target),
            busy: lots.busy.draw(random),
            faulty: lots.faulty.draw(random),
            hasty: lots.hasty.draw(random),
            left: None,
            over: false,
            excused_until: 0,
            failures: 0,
        }
    }

    /// The options to open it with.
    pub(super) fn options(&self, disk: &SimulatedDisk) -> fulgurite::Options {
        merge_function::with_functions(Database::options())
            .create(true)
            .page_size_bytes(8192)
            .background(self.background)
            .durability(self.durability)
            .isolation(self.isolation)
            .delta_bytes(self.delta_bytes)
            .write_set_bytes(self.write_set_bytes)
            .keep_log(self.keep_log)
            .cache_bytes(self.cache_bytes)
            .disk(Arc::new(disk.clone()))
    }
}

impl Phase {
    pub(super) fn draw(random: &mut Random, now: u64, live: &[usize], model: &Model) -> Self {
        let patterns = [
            Pattern::Spread,
            Pattern::Spread,
            Pattern::Spread,
            Pattern::Skewed,
            Pattern::Rising,
            Pattern::Falling,
            Pattern::Near,
        ];
        let table = if live.is_empty() {
            0
        } else {
            // The first are those with runs.
            let among = 1 + random.index(live.len());
            live[random.index(among)]
        };
        let space = model.tables.get(table).map_or(1, |table| table.kind.space);
        Self {
            until: now + 100 + random.below(3_000),
            pattern: patterns[random.index(patterns.len())],
            at: random.below(u64::from(space)) as u32,
            table,
            writes: [50, 85, 95, 99][random.index(4)],
            changes: [2, 20, 50, 100][random.index(4)],
            value_bytes: [40, 120, 400][random.index(3)],
            deletes: [2, 5, 15, 70][random.index(4)],
        }
    }
}

/// A table's place and key to changes of it.
pub type ChangeSet = BTreeMap<(usize, u32), super::model::Change>;

/// The database.
pub const PATH: &str = "simulated.ful";
/// A snapshot that is held longer keeps much of the file.
const HELD_LONG: u64 = 1_000;
const SNAPSHOTS_MAX: usize = 12;
/// A snapshot is held for so many operations at most.
pub const HELD_MAX: u64 = 12_000;
/// An error of the disk may be reported so many operations after it happened: to a thread that waited for a flush.
const EXCUSED_FOR: u64 = 400;
/// What the reader pauses for between two questions, at most.
pub const READER_PAUSE_US: u64 = 40;
