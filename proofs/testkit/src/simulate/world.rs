//! One simulation: lives of a database, one after the other on the same disk, each ended by closing it, by the death
//! of its process or by a power cut.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use fulgurite::planted::simulation::{self, Thread};
use fulgurite::{Database, Durability, Error, Isolation};

use super::deck::Deck;
use super::disk::SimulatedDisk;
use super::model::{KeyForm, Kind, Model, Value};
use super::reading::{Held, SharedModel, Wrong, lock};
use super::scheduler::{OnStuck, Scheduler};
use super::tally::Tally;
use super::writing::Open;
use crate::crash_disk::CrashDisk;
use crate::merge_function;
use crate::random::Random;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Decides everything.
    pub seed: u64,
    /// Calls of the database by the thread in the foreground.
    pub operations: u64,
}

/// Simulates, and tells what was done; or what is wrong.
///
/// # Errors
/// What is wrong, in words.
pub fn simulate(plan: &Plan, on_stuck: OnStuck) -> Result<Tally, String> {
    let scheduler = Scheduler::begin(plan.seed, on_stuck);
    let mut world = World::new(plan, &scheduler);
    let outcome = world.play();
    let outcome = outcome.map_err(|wrong| {
        let (operations, lives) = (world.operations, world.tally.of("lives"));
        format!("after {operations} operations, in life {lives}: {wrong}")
    });
    world.abandon();
    let mut tally = std::mem::take(&mut world.tally);
    drop(world);
    tally.add("operations", plan.operations);
    tally.add("handovers", scheduler.switches());
    tally.add("steps", scheduler.steps());
    outcome?;
    if scheduler.panics() > 0 {
        return Err("a thread in the background panicked".into());
    }
    Ok(tally)
}

/// What is simulated.
pub struct World<'s> {
    pub(super) scheduler: &'s Scheduler,
    pub(super) random: Random,
    target: u64,
    pub(super) operations: u64,
    pub(super) tally: Tally,
    pub(super) model: SharedModel,
    pub(super) disk: SimulatedDisk,
    pub(super) db: Option<Database>,
    pub(super) life: Life,
    lots: Lots,
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
struct Lots {
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
    until: u64,
    /// Time never passes without commits.
    busy: bool,
    /// The disk fails in some way.
    pub faulty: bool,
    /// What takes long is ended before its time now and then.
    pub(super) hasty: bool,
    /// What a power cut left, at which it is to end.
    pub(super) left: Option<Arc<super::endings::Left>>,
    /// It is over: the database is poisoned, or the power was cut.
    pub(super) over: bool,
    /// Errors of the disk may be told until this operation.
    pub(super) excused_until: u64,
    /// Calls of the disk that failed so far.
    failures: u64,
}

/// What the foreground does for a while.
#[derive(Clone, Debug)]
pub struct Phase {
    until: u64,
    pub(super) pattern: Pattern,
    /// Where a pattern is.
    pub(super) at: u32,
    /// The table it is about.
    pub(super) table: usize,
    /// Of a hundred operations so many are changes.
    writes: u64,
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

/// A thread that asks snapshots while others work.
struct Reader {
    stop: Arc<AtomicBool>,
    thread: Thread,
    outcome: Arc<Mutex<(Tally, Option<Wrong>)>>,
}

impl<'s> World<'s> {
    fn new(plan: &Plan, scheduler: &'s Scheduler) -> Self {
        let model = Model::default();
        let mut random = Random::for_part(plan.seed, &[u64::from_be_bytes(*b"workload")]);
        let mut lots = Lots::default();
        let life = Life::draw(&mut random, &mut lots, 0, plan.operations);
        let phase = Phase::draw(&mut random, 0, &[], &model);
        Self {
            scheduler,
            random,
            target: plan.operations,
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

    fn play(&mut self) -> Result<(), String> {
        let mut acknowledged = 0;
        while self.operations < self.target {
            self.tally.count("lives");
            self.life = Life::draw(&mut self.random, &mut self.lots, self.operations, self.target);
            self.begin_life(acknowledged)?;
            self.live()?;
            acknowledged = self.end_life()?;
        }
        self.settle(acknowledged)
    }

    /// Opens the database and looks at what is there.
    fn begin_life(&mut self, acknowledged: u64) -> Result<(), String> {
        let db = self.life.options(&self.disk).open(PATH).map_err(|error| format!("it does not open: {error}"))?;
        self.db = Some(db);
        self.compare_recovered(acknowledged)?;
        self.reopen_tables()?;
        self.plan_faults();
        self.start_reader()?;
        if lock(&self.model).live().is_empty() {
            self.create_first_tables()?;
        }
        Ok(())
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

    fn create_first_tables(&mut self) -> Result<(), String> {
        // Nothing fails before there is something to lose.
        let faults = std::mem::take(&mut *self.disk.plan()).without_faults();
        *self.disk.plan() = faults;
        self.life.faulty = false;
        for (keys, space, counted, packed, adds, loaded) in [
            (KeyForm::Text, 24_000, false, false, false, 9_000),
            (KeyForm::Short, 16_000, false, true, false, 0),
            (KeyForm::Text, 6_000, true, true, false, 3_000),
            (KeyForm::Short, 5_000, false, false, true, 0),
            (KeyForm::Long, 1_200, false, false, false, 0),
        ] {
            let place = self.create_table(Kind { keys, space, counted, packed, adds, by_function: adds })?;
            let entries: Vec<(u32, Value)> = (0..loaded)
                .map(|number| (number * (space / loaded.max(1)), Value::Bytes(30 + number % 40, number)))
                .collect();
            if let (Some(place), false) = (place, entries.is_empty()) {
                self.load(place, entries)?;
            }
        }
        Ok(())
    }

    /// The operations of a life.
    fn live(&mut self) -> Result<(), String> {
        while self.operations < self.life.until && !self.life.over {
            self.operations += 1;
            if self.operations >= self.phase.until {
                let model = lock(&self.model);
                self.phase = Phase::draw(&mut self.random, self.operations, &model.live(), &model);
            }
            self.operate()?;
            self.note_failures();
            if self.life.faulty && self.random.chance(1, 1_000) {
                self.disk.plan().fail_within(200, &mut self.random);
            }
            if self.random.chance(1, CUT_EVERY) {
                let at = self.disk.plan().calls + self.random.below(40);
                let cut = Some(at);
                let at_sync = self.random.chance(2, 3);
                let mut plan = self.disk.plan();
                if at_sync { plan.cut_at_sync = cut } else { plan.cut_at = cut }
            }
            self.look_at_cut()?;
            self.end_snapshots()?;
            if self.operations.is_multiple_of(FORGOTTEN_EVERY) {
                self.forget();
                self.look_at_reader()?;
            }
        }
        Ok(())
    }

    fn operate(&mut self) -> Result<(), String> {
        let drawn = self.random.below(10_000);
        let writes = self.phase.writes * 95;
        match drawn {
            _ if drawn < writes => self.write(),
            9500..9503 => self.create_or_drop(),
            9503..9508 => self.load_some(),
            9508..9511 => self.checkpoint(),
            9511 if self.random.chance(1, 2) => self.compact(),
            9512..9516 => self.check(),
            9516..9536 => self.look_at_stats(),
            9536..9546 if !self.life.busy => self.idle(),
            9546..9552 => self.sync(),
            9552..9557 => self.consume(),
            9557..9660 => self.hold(),
            _ => self.ask(),
        }
    }

    /// A snapshot of now, for a while.
    fn hold(&mut self) -> Result<(), String> {
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

    /// A snapshot of now. After a sync that failed, of which nobody need have been told yet, it is of what is durable.
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

    fn end_snapshots(&mut self) -> Result<(), String> {
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

    /// Lets go of versions that nobody sees.
    fn forget(&mut self) {
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

    /// Errors may be told for a while after the disk has failed, or was full.
    fn note_failures(&mut self) {
        let plan = self.disk.plan();
        let failures = plan.failed + plan.refused;
        if plan.is_full() || failures > self.life.failures {
            self.life.excused_until = self.operations + EXCUSED_FOR;
        }
        self.life.failures = failures;
    }

    fn start_reader(&mut self) -> Result<(), String> {
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
            // It was told some time ago.
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

    /// Lets go of everything, whatever state it is in.
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

    fn plan_faults(&mut self) {
        let faulty = self.life.faulty;
        let length = self.life.until - self.operations;
        let random = &mut self.random;
        let mut plan = self.disk.plan();
        // So many calls that change something are made at least.
        let calls = 1 + length / 8;
        let version = lock(&self.model).version;
        plan.acknowledged.durable = version;
        plan.acknowledged.logged = version;
        if faulty {
            plan.fail_within(calls, random);
        }
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
    fn draw(random: &mut Random, lots: &mut Lots, now: u64, target: u64) -> Self {
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
    fn draw(random: &mut Random, now: u64, live: &[usize], model: &Model) -> Self {
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
/// The power is cut once in about so many operations.
const CUT_EVERY: u64 = 400;
const FORGOTTEN_EVERY: u64 = 1_000;
/// A snapshot that is held longer keeps much of the file.
const HELD_LONG: u64 = 1_000;
const SNAPSHOTS_MAX: usize = 12;
/// A snapshot is held for so many operations at most.
pub const HELD_MAX: u64 = 12_000;
/// An error of the disk may be told so many operations after it happened: by who waited for a flush.
const EXCUSED_FOR: u64 = 400;
/// What the reader pauses for between two questions, at most.
pub const READER_PAUSE_US: u64 = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::disk::Failing;

    #[test]
    fn a_seed_repeats_a_simulation() {
        let run = || simulate(&Plan { seed: 3, operations: 3_000 }, Box::new(|how| panic!("{how}")));
        let (first, second) = (run().expect("nothing is wrong"), run().expect("nothing is wrong"));
        assert!(first.of("handovers") > 0);
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
    }

    /// A checkpoint that failed kept its deltas frozen, and all runs unmerged, until there was another commit over
    /// the budget.
    #[test]
    fn a_checkpoint_that_failed_in_the_background_is_tried_again_without_a_further_commit() {
        let scheduler = Scheduler::begin(1, Box::new(|how| panic!("{how}")));
        let disk = SimulatedDisk::new(CrashDisk::new());
        let options = Database::options().create(true).delta_bytes(64 << 10).durability(Durability::Log);
        let db = options.disk(Arc::new(disk.clone())).open(PATH).expect("nothing fails yet");
        let table = db.create_table("t", Default::default()).expect("nothing fails yet");
        disk.plan().fails = Some((0, Failing::PageWrites(3)));
        let wait = |time| simulation::with(|task| task.wait(0, Some(task.now() + time)));
        let mut last = 0;
        for number in 0..1_000_u32 {
            db.update(|txn| txn.put(&table, &number.to_be_bytes(), &[1; 1_000])).expect("the log can be written");
            last = db.read().expect("it is open").sequence().0;
            wait(Duration::from_millis(1));
            if disk.plan().failed > 0 {
                break;
            }
        }
        wait(Duration::from_secs(1));
        let failed = disk.plan().failed;
        let before = db.stats().expect("nothing fails any more").checkpoint_sequence;
        wait(Duration::from_secs(60));
        let after = db.stats().expect("nothing fails any more").checkpoint_sequence;
        drop(db);
        drop(scheduler);
        // Growing the file is tried twice.
        assert!(failed >= 2, "the checkpoint did not fail");
        assert!(before < last && after + 1 >= last, "from {before} to {after}, and {last} was the last commit");
    }
}
