//! One database, used in one shape: it is opened, used in segments, crashed or reopened between them, and closed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fulgurite::planted::{Fault, plant};
use fulgurite::{Database, Error, Isolation, MergeOperator, Read, ReadTxn, TableOptions};

use super::super::history::{Content, End, History, Key, Outcome, Tick, Transaction, Value};
use super::super::recorder::Clock;
use super::loads;
use super::medium::{Crash, Medium};
use super::process::{Shared, Worker};
use super::record::{Load, Note, Record, Tally};
use super::session::halt::Halt;
use super::session::keys::{self, Keys, elements_of, value_of};
use super::session::named::{NAMED_KEY, name};
use super::session::transaction::Ground;
use super::shapes::{Isolations, Shape};
use crate::merge_function;
use crate::panics;
use crate::random::Random;

/// What was recorded of a segment.
#[derive(Debug)]
pub(super) struct Segment {
    pub history: History,
    /// Of each transaction.
    pub notes: Vec<Note>,
    /// As [`Record::wrong`].
    pub wrong: Vec<String>,
    pub tally: Tally,
    /// Runs that lay above the trees at its end.
    pub runs: u64,
}

/// Why a segment could not be run to its end.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    /// Whether that is an anomaly of itself: an answer that cannot be.
    pub is_anomaly: bool,
    /// What happened, in words.
    pub text: String,
}

/// See the module.
#[derive(Debug)]
pub(super) struct World {
    shape: &'static Shape,
    random: Random,
    medium: Medium,
    keys: Keys,
    /// `None` while it is not open.
    db: Option<Database>,
    /// What the registers hold.
    content: Content,
    segments: u64,
    fault: Option<Fault>,
}

impl World {
    /// Creates the database.
    ///
    /// # Errors
    /// The engine's, in words; as all that follow.
    pub fn new(shape: &'static Shape, seed: u64) -> Result<Self, Broken> {
        let mut random = Random::for_part(seed, &[shape.name.bytes().map(u64::from).sum()]);
        let medium = Medium::new(shape.place).map_err(|text| Broken { is_anomaly: false, text })?;
        // Long keys go another way through the pages.
        let keys = Keys::new(if random.chance(1, 4) { vec![b'k'; 200 + random.index(300)] } else { Vec::new() });
        let content = Content::default();
        let mut world = Self { shape, random, medium, keys, db: None, content, segments: 0, fault: None };
        world.open()?;
        // Both put elements at the end.
        let lists = match world.random.coin() {
            true => TableOptions::new().merge(MergeOperator::Append),
            false => TableOptions::new().merge_function(merge_function::JOINED),
        };
        let db = world.db();
        let create = || {
            let lists = db.create_table(LISTS, lists)?;
            // Counts of counted tables are kept in another way.
            let options = |number| TableOptions::new().counted(number % 2 == 1);
            (0..shape.tables)
                .try_for_each(|number| db.create_table(&registers_name(number), options(number)).map(drop))?;
            // Its removal is the first commit of the first segment: all older states have all tables.
            db.update(|txn| txn.put(&lists, &world.keys.bytes(0), &[]))?;
            db.sync()
        };
        create().map_err(Broken::at("creating the tables"))?;
        Ok(world)
    }

    /// Plants a fault in the engine whenever transactions run, in the whole process.
    pub fn plant(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// Runs so many transactions, and records them. `pulse` beats with each.
    ///
    /// # Errors
    /// Also what the engine answered that cannot be, and its panics.
    pub fn segment(&mut self, transactions: u64, pulse: &AtomicU64) -> Result<Segment, Broken> {
        self.segments += 1;
        let ground = self.ground().map_err(Broken::at("between two segments"))?;
        let (clock, first_list) = (Clock::default(), self.segments << LISTS_SHIFT);
        let crashes = matches!(self.medium, Medium::Crashing(_));
        let crash_at = crashes.then(|| transactions / 2 + self.random.below(transactions / 2));
        let seeds: Vec<Random> = (0..self.shape.threads).map(|_| Random::new(self.random.next_u64())).collect();
        let shared = Shared {
            ground,
            medium: &self.medium,
            clock: &clock,
            pulse,
            first_list,
            target: transactions,
            crash_at,
            armed: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            checkpoints: Default::default(),
            waits: AtomicBool::new(false),
            durable: AtomicU64::new(0),
            crash: Mutex::default(),
            syncs: Mutex::default(),
        };
        plant(self.fault);
        let records = run_processes(&shared, self.segments, seeds);
        plant(None);
        let records = match records {
            Ok(records) => records,
            Err(error) => {
                // Its state is unknown: closing it might never end.
                std::mem::forget(shared.ground);
                return Err(error);
            }
        };
        let Shared { ground, crash, syncs, .. } = shared;
        drop(ground);
        // After a crash it cannot report it.
        let runs = self.db().stats().map_or(0, |stats| stats.tables.iter().map(|table| table.runs).sum());
        let crash = crash.into_inner().expect("no thread panics while it holds this lock");
        let syncs = syncs.into_inner().expect("no thread panics while it holds this lock");
        let mut wrong: Vec<String> = records.iter().flat_map(|record| record.wrong.clone()).collect();
        let (transactions, notes, tally) = joined(records, crash.as_ref());
        let initial = std::mem::take(&mut self.content);
        let shown = durable_shown(&transactions, &notes, crash.as_ref());
        let end = self.end(crash.as_ref(), &syncs, first_list)?;
        let recovered = self.db().read().map_err(Broken::at("reading"))?.sequence().0;
        if let Some(shown) = shown.filter(|shown| *shown > recovered) {
            wrong
                .push(format!("commit {shown} was shown as durable, and after a crash commit {recovered} is the last"));
        }
        self.content = Content {
            registers: end.content().map(|end| end.registers.clone()).unwrap_or_default(),
            ..Content::default()
        };
        Ok(Segment { history: History { initial, transactions, end }, notes, wrong, tally, runs })
    }

    /// Ends a segment: with a crash, or with all that was committed.
    fn end(&mut self, crash: Option<&Crash>, syncs: &[(Tick, Tick)], first_list: u64) -> Result<End, Broken> {
        let end = match crash {
            Some(crash) => {
                let (disk, survives) = crash.leave(&mut self.random);
                self.db = None;
                self.medium = Medium::Crashing(disk);
                self.open()?;
                let done = syncs.iter().filter(|(_, end)| *end < crash.before);
                let synced = done.map(|(begin, _)| *begin).max();
                End::Crashed { content: self.read(first_list)?, survives, synced }
            }
            None => {
                if self.random.coin() {
                    self.reopen()?;
                }
                End::Closed(self.read(first_list)?)
            }
        };
        let report = self.db().check().map_err(Broken::at("checking the file"))?;
        match report.damages.first() {
            None => Ok(end),
            Some(damage) => Err(Broken { is_anomaly: false, text: format!("the file is damaged: {damage}") }),
        }
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("the database is open between segments")
    }

    fn open(&mut self) -> Result<(), Broken> {
        let isolation = match self.shape.isolation {
            Isolations::Snapshot => Isolation::Snapshot,
            Isolations::Serializable | Isolations::Either => Isolation::Serializable,
        };
        let options = Database::options().create(true).delta_bytes(self.shape.delta_bytes).cache_bytes(8 << 20);
        let options = options.write_set_bytes(self.shape.write_set_bytes);
        let options = options.isolation(isolation).background(self.random.coin()).map(self.random.chance(3, 4));
        let opened = self.medium.options(merge_function::with_functions(options)).open(self.medium.path());
        self.db = Some(opened.map_err(Broken::at("opening the database"))?);
        Ok(())
    }

    /// Opens the database again, closed cleanly or with a log to recover from.
    fn reopen(&mut self) -> Result<(), Broken> {
        if let (Some(db), true) = (self.db.take(), self.random.coin()) {
            db.close().map_err(Broken::at("closing the database"))?;
        }
        self.open()
    }

    /// The tables, without the lists of before, all of it durable.
    fn ground(&self) -> fulgurite::Result<Ground> {
        let db = self.db();
        let lists = db.open_table(LISTS)?;
        let registers =
            (0..self.shape.tables).map(|number| db.open_table(&registers_name(number))).collect::<Result<_, _>>()?;
        db.update(|txn| txn.delete_range(&lists, ..))?;
        db.sync()?;
        Ok(Ground { db: db.clone(), shape: self.shape, keys: self.keys.clone(), lists, registers })
    }

    /// All that the database holds.
    fn read(&self, first_list: u64) -> Result<Content, Broken> {
        self.read_content(first_list).map_err(|halt| Broken::of(&halt))
    }

    fn read_content(&self, first_list: u64) -> Result<Content, Halt> {
        let txn = self.db().read()?;
        let mut content = Content::default();
        for entry in txn.range(&txn.open_table(LISTS)?, &*self.keys.bytes(first_list)..)? {
            let (key, list) = entry?;
            content.lists.insert(Key(self.keys.number(&key)?), elements_of(&list)?);
        }
        for number in 0..self.shape.tables {
            for entry in txn.range(&txn.open_table(&registers_name(number))?, ..)? {
                let (key, value) = entry?;
                content.registers.insert(keys::register(number, self.keys.number(&key)?), value_of(&value)?);
            }
        }
        for number in 0..self.shape.named {
            if let Some(value) = named_value(&txn, number)? {
                content.registers.insert(keys::named(number), value);
            }
        }
        Ok(content)
    }
}

impl Broken {
    fn at(doing: &'static str) -> impl Fn(Error) -> Self {
        move |error| Self { is_anomaly: false, text: format!("{doing}: {error}") }
    }

    fn of(halt: &Halt) -> Self {
        Self { is_anomaly: matches!(halt, Halt::Wrong(_)), text: halt.to_string() }
    }
}

fn run_processes(shared: &Shared<'_>, segment: u64, seeds: Vec<Random>) -> Result<Vec<Record>, Broken> {
    let run = |process: u32, random: Random| {
        let outcome = panics::catch(|| Worker::new(shared, process, segment, random).run());
        if outcome.is_err() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        match outcome {
            Ok(Ok(record)) => Ok(record),
            Ok(Err(halt)) => Err(Broken::of(&halt)),
            Err(panic) => Err(Broken { is_anomaly: false, text: format!("it panics: {panic}") }),
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..).zip(seeds).map(|(process, random)| scope.spawn(move || run(process, random))).collect();
        threads.into_iter().map(|thread| thread.join().expect("its panics are caught")).collect()
    })
}

/// The records of all processes as one: of transactions during a crash it is not known whether they have happened,
/// and those after it have not.
fn joined(records: Vec<Record>, crash: Option<&Crash>) -> (Vec<Transaction>, Vec<Note>, Tally) {
    let (mut transactions, mut notes, mut loads, mut tally) = (Vec::new(), Vec::new(), Vec::new(), Tally::default());
    for record in records {
        let before = transactions.len();
        loads.extend(record.loads.into_iter().map(|load| Load { transaction: load.transaction + before, ..load }));
        transactions.extend(record.transactions);
        notes.extend(record.notes);
        tally.add(&record.tally);
    }
    assert_eq!(transactions.len(), notes.len(), "there is a note for each transaction");
    loads::number(&mut transactions, &notes, loads);
    let mut all: Vec<(Transaction, Note)> = transactions.into_iter().zip(notes).collect();
    if let Some(crash) = crash {
        // What was in the way of others only, and ended afterwards, may have seen what came after the crash.
        all.retain(|(transaction, _)| {
            let lasts = transaction.outcome == Outcome::Committed && transaction.writes();
            transaction.end < crash.before || (lasts && transaction.begin < crash.after)
        });
    }
    for (transaction, note) in &mut all {
        if crash.is_some_and(|crash| transaction.end > crash.before) {
            transaction.outcome = Outcome::Indeterminate;
        }
        if note.stale {
            transaction.begin = Tick(0);
        }
    }
    let (transactions, notes): (Vec<Transaction>, Vec<Note>) = all.into_iter().unzip();
    let judged = transactions.iter().filter(|transaction| transaction.outcome == Outcome::Committed);
    tally.committed = judged.count() as u64;
    (transactions, notes, tally)
}

/// The newest commit that was shown as durable before a crash.
fn durable_shown(transactions: &[Transaction], notes: &[Note], crash: Option<&Crash>) -> Option<u64> {
    let crash = crash?;
    let shown =
        transactions.iter().zip(notes).filter(|(transaction, note)| note.stale && transaction.end < crash.before);
    shown.map(|(_, note)| note.snapshot).max()
}

/// The value of a named table, if it exists.
fn named_value(txn: &ReadTxn, number: u64) -> Result<Option<Value>, Halt> {
    match txn.open_table(&name(number)) {
        Ok(table) => txn.get(&table, NAMED_KEY)?.map(|bytes| value_of(&bytes)).transpose(),
        Err(Error::TableNotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn registers_name(number: usize) -> String {
    format!("registers {number}")
}

/// The table of lists.
const LISTS: &str = "lists";
/// Lists of one segment have numbers below this power of two.
const LISTS_SHIFT: u32 = 16;
