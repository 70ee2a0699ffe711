//! A thread that runs one transaction after the other, and records each.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fulgurite::{ConflictReason, Error, Isolation, WriteTxn};

use super::super::history::{self, Operation, Outcome, Process, Sequence, Tick};
use super::super::recorder::{Clock, Recorder, Running};
use super::medium::{Crash, Medium};
use super::record::{Load, Note, Record, Tally};
use super::session::halt::Halt;
use super::session::keys::{self, value_bytes};
use super::session::step::Step;
use super::session::transaction::{Ground, Memory, Session, Txn, Values};
use super::shapes::{Isolations, Place, Shape};
use crate::random::Random;

/// What the threads of a segment share.
#[derive(Debug)]
pub(super) struct Shared<'w> {
    pub ground: Ground,
    pub medium: &'w Medium,
    pub clock: &'w Clock,
    /// Beats with each transaction.
    pub pulse: &'w AtomicU64,
    /// The number of the first list that is new in this segment.
    pub first_list: u64,
    /// Transactions to run.
    pub target: u64,
    /// The transaction before which the disk crashes, or after which it does so at the next commit that is durable.
    pub crash_at: Option<u64>,
    /// It is to crash at the next commit that is durable.
    pub armed: AtomicBool,
    /// Transactions begun.
    pub begun: AtomicU64,
    /// All are to end.
    pub stop: AtomicBool,
    /// Checkpoints that were begun, and those that have ended.
    pub checkpoints: [AtomicU64; 2],
    /// A thread waits for checkpoints.
    pub waits: AtomicBool,
    /// The newest commit that was acknowledged as durable.
    pub durable: AtomicU64,
    /// What the disk held when it crashed.
    pub crash: Mutex<Option<Crash>>,
    /// When a sync began that succeeded, and when it had.
    pub syncs: Mutex<Vec<(Tick, Tick)>>,
}

/// See the module.
pub(super) struct Worker<'w> {
    shared: &'w Shared<'w>,
    shape: &'static Shape,
    recorder: Recorder<'w>,
    random: Random,
    memory: Memory,
    record: Record,
}

/// What a transaction is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    DurableRead,
    Exclusive,
    Long,
    Plain,
}

impl<'w> Worker<'w> {
    pub fn new(shared: &'w Shared<'w>, process: u32, segment: u64, random: Random) -> Self {
        let memory = Memory { values: Values::new(segment, process), seen: HashMap::new() };
        let recorder = Recorder::new(shared.clock, Process(process));
        Self { shared, shape: shared.ground.shape, recorder, random, memory, record: Record::default() }
    }

    /// Runs transactions until there are enough.
    pub fn run(mut self) -> Result<Record, Halt> {
        while !self.shared.stop.load(Ordering::Relaxed) {
            let number = self.shared.begun.fetch_add(1, Ordering::Relaxed);
            if number >= self.shared.target {
                break;
            }
            self.shared.pulse.fetch_add(1, Ordering::Relaxed);
            if let Err(halt) = self.next(number) {
                self.shared.stop.store(true, Ordering::Relaxed);
                return Err(halt);
            }
        }
        self.record.transactions = self.recorder.finish();
        Ok(self.record)
    }

    fn next(&mut self, number: u64) -> Result<(), Halt> {
        if self.shared.crash_at == Some(number) {
            if self.random.coin() {
                self.shared.crash();
            } else {
                self.shared.armed.store(true, Ordering::Relaxed);
            }
        }
        let every = self.shape.checkpoint_every;
        if every > 0 && number % every == every - 1 {
            self.checkpoint()?;
        }
        let kinds = self.shape.kinds;
        let mut drawn = self.random.below(1000);
        let mut is = |share: u64| {
            let hit = drawn < share;
            drawn = if hit { u64::MAX } else { drawn - share };
            hit
        };
        if is(kinds.loads) {
            return self.load();
        }
        let kind = match () {
            () if is(kinds.reads) => Kind::Read,
            () if is(kinds.durable_reads) => Kind::DurableRead,
            () if is(kinds.exclusive) => Kind::Exclusive,
            () if is(kinds.long) => Kind::Long,
            () => Kind::Plain,
        };
        // Begun again it does the same, as far as it finds the same.
        let plan = Random::new(self.random.next_u64());
        for _ in 0..ATTEMPTS {
            if self.transaction(kind, plan.clone())? || self.random.chance(1, 3) {
                break;
            }
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), Halt> {
        let begin = self.shared.clock.tick();
        if self.random.chance(1, 5) {
            self.shared.ground.db.sync()?;
        } else {
            let [begun, ended] = &self.shared.checkpoints;
            begun.fetch_add(1, Ordering::Relaxed);
            self.shared.ground.db.checkpoint()?;
            ended.fetch_add(1, Ordering::Relaxed);
        }
        let end = self.shared.clock.tick();
        self.shared.syncs.lock().expect("no thread panics while it holds this lock").push((begin, end));
        Ok(())
    }

    /// Runs a transaction. False if it was refused, and may be tried again.
    fn transaction(&mut self, kind: Kind, mut random: Random) -> Result<bool, Halt> {
        let shared = self.shared;
        let durable = shared.durable.load(Ordering::SeqCst);
        let mut running = self.recorder.begin();
        let isolation = match self.shape.isolation {
            Isolations::Serializable => Isolation::Serializable,
            Isolations::Snapshot => Isolation::Snapshot,
            Isolations::Either => [Isolation::Serializable, Isolation::Snapshot][random.index(2)],
        };
        let txn = begin(&shared.ground, kind, isolation, &mut random)?;
        let began = shared.clock.tick();
        let serializable = isolation == Isolation::Serializable || kind == Kind::Exclusive;
        let mut session = Session::new(&shared.ground, &mut self.memory, txn, serializable);
        let snapshot = session.snapshot();
        if kind == Kind::DurableRead && snapshot.0 < durable {
            let text = format!("commit {durable} was durable, and then commit {} is said to be the newest", snapshot.0);
            self.record.wrong.push(text);
        }
        steps(&mut session, kind, shared, &mut random)?;
        let Session { txn, operations, counts, merges_alone, .. } = session;
        if serializable || !merges_alone {
            running.set_snapshot(Sequence(snapshot.0));
        }
        let writes = operations.iter().any(Operation::is_write);
        operations.into_iter().for_each(|operation| running.add(operation));
        self.record.notes.push(Note {
            counts,
            began,
            serializable,
            stale: kind == Kind::DurableRead,
            snapshot: snapshot.0,
        });
        let tally = &mut self.record.tally;
        match txn {
            Txn::Read(_) => {
                tally.committed += 1;
                running.end(Outcome::Committed, None);
                Ok(true)
            }
            Txn::Write(txn) if random.chance(1, 20) => {
                tally.aborted += 1;
                if random.coin() {
                    txn.abort()
                } else {
                    drop(txn)
                }
                running.end(Outcome::Aborted, None);
                Ok(true)
            }
            Txn::Write(txn) => {
                let committed = commit(*txn, writes, running, (shared, tally), &mut random)?;
                if merges_alone && !committed {
                    return Err(Halt::Wrong("a transaction that only merged was refused".to_owned()));
                }
                Ok(committed)
            }
        }
    }

    /// Loads registers in bulk.
    fn load(&mut self) -> Result<(), Halt> {
        let (ground, clock) = (&self.shared.ground, self.shared.clock);
        let table = self.random.index(self.shape.tables);
        let first = self.random.below(self.shape.registers);
        let end = (first + 1 + self.random.below(20)).min(self.shape.registers);
        let entries: Vec<(u64, history::Value)> =
            (first..end).map(|number| (number, self.memory.values.draw())).collect();
        let mut running = self.recorder.begin();
        for (number, value) in &entries {
            running.add(Operation::Write { key: keys::register(table, *number), value: *value });
        }
        let mut place = None;
        let bytes = entries.iter().map(|(number, value)| {
            // The load excludes commits from its first entry on: it applies to the state that is visible now.
            place.get_or_insert_with(|| (ground.db.read().map(|txn| txn.sequence()), clock.tick()));
            (ground.keys.bytes(*number), value_bytes(*value, ground.shape.padding))
        });
        ground.db.bulk_load(&ground.registers[table], bytes)?;
        running.end(Outcome::Committed, None);
        let (sequence, inside) = place.expect("there is an entry at least, and it was loaded");
        let sequence = sequence?;
        self.record.loads.push(Load { transaction: self.record.notes.len(), sequence: sequence.0, inside });
        let note = Note { counts: Vec::new(), began: inside, serializable: true, stale: false, snapshot: sequence.0 };
        self.record.notes.push(note);
        self.record.tally.committed += 1;
        Ok(())
    }
}

fn begin(ground: &Ground, kind: Kind, isolation: Isolation, random: &mut Random) -> Result<Txn, Halt> {
    let db = &ground.db;
    Ok(match kind {
        Kind::Read => Txn::Read(db.read()?),
        Kind::DurableRead => Txn::Read(db.read_durable()?),
        Kind::Exclusive => match db.begin_exclusive(EXCLUSIVE_MAX)? {
            Some(txn) => Txn::Write(Box::new(txn)),
            None => return Err(Halt::Wrong(format!("nobody could be the only writer for {EXCLUSIVE_MAX:?}"))),
        },
        Kind::Long | Kind::Plain => {
            // The isolation that the database was opened with is another way to the same.
            let of_options = ground.shape.isolation != Isolations::Either;
            let tried = if of_options && random.chance(1, 10) { db.try_write()? } else { None };
            let other = |isolation| if of_options { db.write() } else { db.write_with(isolation) };
            Txn::Write(Box::new(tried.map_or_else(|| other(isolation), Ok::<WriteTxn, Error>)?))
        }
    })
}

/// Makes the steps of a transaction.
fn steps(session: &mut Session<'_>, kind: Kind, shared: &Shared<'_>, random: &mut Random) -> Result<(), Halt> {
    let shape = session.ground.shape;
    let (low, high) = shape.steps;
    let count = low + random.below(high - low + 1);
    let waits = kind == Kind::Long || (kind == Kind::Read && shape.kinds.long > 0 && random.chance(1, 10));
    let wait_before = if waits { random.below(count + 1) } else { u64::MAX };
    for number in 0..=count {
        if number == wait_before {
            wait_for_checkpoints(shared, random);
        }
        if number == count {
            break;
        }
        let mark = if random.chance(1, 12) { session.mark() } else { None };
        for _ in 0..if mark.is_some() { 1 + random.below(3) } else { 1 } {
            let step = Step::draw(shape.mix, random);
            session.make(step, shared.first_list_now(), random)?;
            if random.chance(1, 4) {
                std::thread::yield_now();
            }
        }
        if let Some(mark) = mark.filter(|_| random.chance(2, 3)) {
            session.roll_back(&mark)?;
        }
    }
    Ok(())
}

/// Waits until some checkpoints have begun, or ended, if no other thread does.
fn wait_for_checkpoints(shared: &Shared<'_>, random: &mut Random) {
    if shared.waits.swap(true, Ordering::Relaxed) {
        return;
    }
    let checkpoints = &shared.checkpoints[random.index(2)];
    let enough = checkpoints.load(Ordering::Relaxed) + 2 + random.below(4) / 2;
    let others_run = || shared.begun.load(Ordering::Relaxed) < shared.target && !shared.stop.load(Ordering::Relaxed);
    for _ in 0..YIELDS_MAX {
        if checkpoints.load(Ordering::Relaxed) >= enough || !others_run() {
            break;
        }
        std::thread::yield_now();
    }
    shared.waits.store(false, Ordering::Relaxed);
}

fn commit(
    txn: WriteTxn,
    writes: bool,
    mut running: Running<'_, '_>,
    (shared, tally): (&Shared<'_>, &mut Tally),
    random: &mut Random,
) -> Result<bool, Halt> {
    let (level, durability) = draw_level(shared.ground.shape.place, random);
    running.set_durability(level);
    match txn.commit_with(durability) {
        Ok(sequence) => {
            tally.committed += 1;
            tally.written += u64::from(writes);
            running.end(Outcome::Committed, writes.then_some(Sequence(sequence.0)));
            if level == history::Durability::Disk {
                shared.durable.fetch_max(sequence.0, Ordering::SeqCst);
                // At this moment, promised and durable commits are closest.
                if shared.armed.load(Ordering::Relaxed) {
                    shared.crash();
                }
            }
            Ok(true)
        }
        Err(error) if error.is_retryable() => {
            match &error {
                Error::Conflict { reason, .. } => *tally.conflicts.entry(reason_name(*reason)).or_default() += 1,
                _ => tally.too_old += 1,
            }
            running.end(Outcome::Aborted, None);
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

fn reason_name(reason: ConflictReason) -> &'static str {
    match reason {
        ConflictReason::Read => REASONS[0],
        ConflictReason::Range => REASONS[1],
        ConflictReason::Write => REASONS[2],
        ConflictReason::Tables => REASONS[3],
        ConflictReason::BulkLoad => REASONS[4],
        _ => "another",
    }
}

/// What a commit is to survive. Real syncs take long: few are asked for.
fn draw_level(place: Place, random: &mut Random) -> (history::Durability, fulgurite::Durability) {
    use history::Durability::{Disk, Log, Memory};
    let (memory, disk) = match place {
        Place::Memory => (500, 250),
        Place::Directory => (500, 15),
        Place::Crashing => (250, 250),
    };
    match random.below(1000) {
        drawn if drawn < memory => (Memory, fulgurite::Durability::Memory),
        drawn if drawn < memory + disk => (Disk, fulgurite::Durability::Disk),
        _ => (Log, fulgurite::Durability::Log),
    }
}

impl Shared<'_> {
    /// Takes down what a crash at this moment may leave, unless there was one, and ends the segment.
    fn crash(&self) {
        if let Medium::Crashing(disk) = self.medium {
            let mut crash = self.crash.lock().expect("no thread panics while it holds this lock");
            crash.get_or_insert_with(|| Crash::of(disk, self.clock));
        }
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The first of the lists that are appended to now. They move on, so that none grows long.
    fn first_list_now(&self) -> u64 {
        let lists = self.ground.shape.lists;
        let turn = self.begun.load(Ordering::Relaxed) / (lists * TRANSACTIONS_PER_LIST);
        self.first_list + turn * lists
    }
}

/// Why commits are in conflict: each must come up in a run of everything.
pub(super) const REASONS: [&str; 5] = ["read", "range", "write", "tables", "bulk load"];
/// How often a transaction that was refused is begun again, at most.
const ATTEMPTS: u32 = 4;
/// Others end their exclusive transactions in milliseconds.
const EXCLUSIVE_MAX: Duration = Duration::from_secs(60);
/// Others make a checkpoint long before.
const YIELDS_MAX: u32 = 100_000;
/// Transactions after which a list is left for another.
const TRANSACTIONS_PER_LIST: u64 = 25;
