//! What the transactions of one open database share: the newest state, the log, and how deltas are exchanged.
//!
//! [`LockRank`](crate::sync::LockRank) has the order of the locks. A thread waits for a slot of another thread while
//! it holds at most a turn, and it locks nothing while it has a slot.
//!
//! Commits get their numbers under the log's lock. Deltas are rotated under it too, when every commit that has a
//! number is visible. So no commit falls between two deltas, and the delta that a commit finds under the lock stays
//! the active one until the commit is visible.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::ids::{Sequence, TableId};
use crate::log::Retention;
use crate::metrics;
use crate::metrics::Conflicts;
use crate::options::{Durability, Isolation, LARGE_VALUE_BYTES, LARGE_VALUE_BYTES_UNSYNCED};
use crate::planted::{Fault, give_way, planted};
use crate::process::Stamp;
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Arc, Condvar, Instant, Mutex, MutexGuard};
use crate::txn::commit::footprints::Footprints;
use crate::txn::commit::journal::{Journal, LogStart};
use crate::txn::commit::rotation::{Rotation, Since};
use crate::txn::commit::spilled_proposal::SpilledProposal;
use crate::txn::coordination::budget::Budget;
use crate::txn::coordination::epoch::Epoch;
use crate::txn::coordination::group_sync::GroupSync;
use crate::txn::coordination::slots::{Leave, Slots};
use crate::txn::coordination::turn::Turns;
use crate::txn::snapshot::history::History;
use crate::txn::snapshot::large::{LargeStore, Recent};
use crate::txn::snapshot::published::Published;
use crate::txn::snapshot::state::{Snapshot, State};

/// What the transactions of one open database share.
#[derive(Debug)]
pub struct Core {
    /// The data file.
    pub path: PathBuf,
    /// The process that opened it.
    pub stamp: Stamp,
    /// Turns at being the only writer.
    pub turns: Arc<Turns>,
    /// A transaction or load is the only writer. A hint: [`Logged::exclusive`] counts.
    pub exclusive: AtomicBool,
    /// What writing needs; `None` if the database is open read-only.
    pub writer: Option<Writer>,
    /// Set by `close`: no transaction begins afterwards.
    pub closed: AtomicBool,
    /// The newest state. Dropped last: it has the lock of the file, which must outlast everything that is done to the
    /// file.
    pub published: Published<Hold>,
}

/// What a transaction that may write holds: the database, and a snapshot in whose epoch it is counted.
#[derive(Debug)]
pub struct Hold {
    /// The database. Dropped first: its end brings the log to the disk, before others may open the file.
    pub core: Arc<Core>,
    /// What it sees.
    pub snapshot: Snapshot,
}

/// The writing half of [`Core`].
pub struct Writer {
    /// The durability of a `commit` that asks for no other.
    pub durability: Durability,
    /// The isolation of transactions that ask for no other.
    pub isolation: Isolation,
    /// [`LockRank::Log`](crate::sync::LockRank::Log).
    pub log: Mutex<Logged>,
    /// Signals that there is no longer an only writer. Waited for with the log's lock.
    pub exclusive_ended: Condvar,
    /// Which segments of the log are retained though recovery does not need them.
    pub retention: Arc<Retention>,
    /// Up to which commit the log is durable, and the commits that wait for a flush.
    pub group: GroupSync,
    /// Deltas that running transactions may be checked against. [`LockRank::History`](crate::sync::LockRank::History).
    pub history: Mutex<History>,
    /// Writes values that are too large for the log.
    pub large: LargeStore,
    /// The number for the next table.
    pub next_table: AtomicU32,
    /// Called when commits pile up.
    pub relief: OnceLock<Box<dyn MemoryRelief>>,
    /// How much memory the active deltas may take.
    pub budget: Budget,
    /// Bytes of memory that the changes of one transaction may take.
    pub write_set_bytes: usize,
    /// Bytes that transactions have spilled since the database was opened. It orders nothing.
    pub spilled_bytes: AtomicU64,
    /// Set when nothing may be written any more: a sync failed, so that the content of the disk is uncertain, or the
    /// files were moved.
    pub poisoned: AtomicBool,
    /// Whether `poisoned` was set because the files were moved.
    pub moved: AtomicBool,
    /// There is a log, and the newest meta says so.
    pub log_begun: AtomicBool,
    /// Commits that were refused, by reason. [`LockRank::Conflicts`](crate::sync::LockRank::Conflicts).
    pub conflicts: Mutex<Conflicts>,
}

/// What the log's lock guards.
#[derive(Debug)]
pub struct Logged {
    /// The log.
    pub journal: Journal,
    /// The last commit that has a number.
    pub last: Sequence,
    /// The last commit that was assigned a place in the log. Until it is finished, it may not be there yet.
    pub placed: Sequence,
    /// Which keys the newest commits wrote.
    pub footprints: Footprints,
    /// What was committed since the last rotation and is not in the deltas.
    pub since: Since,
    /// Only an exclusive transaction may commit.
    pub exclusive: bool,
    /// The database was discarded: the log is neither written nor synced any more. What its bytes are is certain, so
    /// this is not [`Writer::poisoned`].
    pub discarded: bool,
    /// Bytes of the log that commits took since the database was opened.
    pub bytes: u64,
    /// Estimate of the memory that the active deltas take.
    pub active_bytes: u64,
}

/// The database's background work, as transactions call it: memory and disk space for commits, the beginning of the
/// log, commits of spilled transactions, and work that is put off.
pub trait MemoryRelief: Send + Sync {
    /// The active deltas take `bytes`, which is over their budget, or the disk is to be measured. Called without any
    /// lock; may wait.
    ///
    /// # Errors
    /// Why nothing could be freed, if that stops writing.
    fn relieve(&self, bytes: u64) -> Result<()>;

    /// Whether the disk has room for a commit of so many bytes. Called without any lock, except perhaps a turn; must
    /// not wait.
    fn has_room_for(&self, bytes: u64) -> bool;

    /// Begins the log, durably, and writes a meta that says so: from then on a missing log is detected. Called
    /// without any lock, except perhaps a turn.
    ///
    /// # Errors
    /// What the disk reports.
    fn begin_log(&self) -> Result<()>;

    /// Merges the changes of a transaction that has spilled into the trees: durable, and then visible. Requires: the
    /// caller is the only writer.
    ///
    /// # Errors
    /// As [`crate::WriteTxn::commit`]. Nothing was changed then, unless writing is poisoned: then it is not known.
    fn commit_spilled(&self, incoming: &SpilledProposal<'_>) -> Result<()>;

    /// A commit is in the log's buffer, to be written behind. Must not wait.
    fn write_behind(&self);

    /// A commit is the oldest that no checkpoint has begun to flush. Must not wait.
    fn note_oldest(&self);

    /// A checkpoint has left runs above trees, which are to be merged later. Must not wait.
    fn note_runs(&self);

    /// A checkpoint emptied deltas of about `bytes` bytes, whose memory is kept for the next ones. Must not wait.
    fn keep_spares(&self, bytes: usize);
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Writer").field("durability", &self.durability).finish_non_exhaustive()
    }
}

impl Writer {
    /// The size from which a value goes to an extent of its own. Below `Disk` it is larger, because a value there
    /// must be synced before its commit is logged, which such commits otherwise never wait for.
    pub fn large_value_bytes(&self) -> usize {
        if self.durability == Durability::Disk { LARGE_VALUE_BYTES } else { LARGE_VALUE_BYTES_UNSYNCED }
    }

    /// Refuses all further writing: a sync failed, or the content of the log or of memory is uncertain for another
    /// reason.
    pub fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
        self.large.distrust();
    }

    /// Whether nothing may be written any more, because a sync failed or the files were moved.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }

    /// The active deltas now take about so many bytes.
    pub fn set_active_bytes(&self, logged: &mut Logged, bytes: u64) {
        logged.active_bytes = bytes;
        self.budget.note(bytes);
    }

    /// Poisons writing if the log is poisoned.
    pub fn note_poison(&self, logged: &Logged) {
        if logged.journal.is_poisoned() {
            if logged.journal.is_moved() {
                // Relaxed: the Release of `poison` comes after.
                self.moved.store(true, Ordering::Relaxed);
            }
            self.poison();
        }
    }
}

impl Core {
    /// The writing half.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Poisoned`], [`Error::Moved`], [`Error::Closed`], [`Error::Forked`].
    pub fn writer(&self) -> Result<&Writer> {
        let writer = self.writer.as_ref().ok_or_else(|| Error::ReadOnly { path: self.path.clone() })?;
        self.check_open()?;
        if writer.is_poisoned() {
            let (path, is_moved) = (self.path.clone(), writer.moved.load(Ordering::Relaxed));
            return Err(if is_moved { Error::Moved { path } } else { Error::Poisoned { path } });
        }
        Ok(writer)
    }

    /// Begins the log before the first commit, if there is none. Requires: the caller holds no lock; it may have the
    /// turn.
    ///
    /// # Errors
    /// What the disk reports.
    #[inline]
    pub fn begin_log(&self, writer: &Writer) -> Result<()> {
        // Acquire pairs with the Release of the checkpointer, which has begun the log by then.
        if writer.log_begun.load(Ordering::Acquire) {
            return Ok(());
        }
        writer.relief.get().map_or(Ok(()), |relief| relief.begin_log())
    }

    /// A snapshot of now. After a failed sync, of the last commit that is certain to be durable.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        // Before any lock: in a child made by `fork`, a thread that does not exist there may hold it.
        self.check_process()?;
        let snapshot = self.published.snapshot();
        if self.shows_all()? {
            return Ok(snapshot);
        }
        let last = match &self.writer {
            Some(writer) if writer.is_poisoned() => writer.group.durable(),
            _ => Sequence(snapshot.sequence.0 - 1),
        };
        Ok(snapshot.at(last))
    }

    /// Whether a snapshot of now shows all visible commits.
    ///
    /// # Errors
    /// [`Error::Closed`].
    #[inline]
    pub fn shows_all(&self) -> Result<bool> {
        self.check_open()?;
        let is_in_doubt = self.writer.as_ref().is_some_and(Writer::is_poisoned);
        Ok(!is_in_doubt && !planted(Fault::StaleSnapshot))
    }

    /// A snapshot of the newest durable commit.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn durable_snapshot(&self) -> Result<Snapshot> {
        let snapshot = self.snapshot()?;
        Ok(match &self.writer {
            Some(writer) => snapshot.at(writer.group.durable()),
            None => snapshot,
        })
    }

    /// The durability of a `commit` that asks for no other.
    pub fn durability(&self) -> Durability {
        self.writer.as_ref().map_or(Durability::Disk, |writer| writer.durability)
    }

    /// Makes every commit so far durable.
    ///
    /// # Errors
    /// What the disk reports; a failed sync poisons.
    pub fn sync(&self) -> Result<Sequence> {
        let writer = self.writer()?;
        let visible = self.published.visible();
        self.make_durable(writer, visible)?;
        Ok(writer.group.durable())
    }

    /// Writes the log's buffer.
    ///
    /// # Errors
    /// What the disk reports; the next call tries again.
    pub fn write_behind(&self) -> Result<()> {
        let writer = self.writer()?;
        let mut logged = writer.log.lock();
        self.check_not_discarded(&logged)?;
        let outcome = logged.journal.write();
        writer.note_poison(&logged);
        outcome
    }

    /// Makes every commit up to `sequence` at least this durable.
    ///
    /// # Errors
    /// As [`Core::sync`].
    pub fn harden(&self, sequence: Sequence, durability: Durability) -> Result<()> {
        match durability {
            Durability::Memory => Ok(()),
            Durability::Log => self.write_behind(),
            Durability::Disk => self.make_durable(self.writer()?, sequence),
        }
    }

    /// Waits until all commits up to `sequence` are durable. Flushes the log for all waiting commits, if no other
    /// thread does.
    ///
    /// # Errors
    /// What the disk reports; a failed sync poisons.
    pub fn make_durable(&self, writer: &Writer, sequence: Sequence) -> Result<()> {
        writer.group.wait(sequence, || {
            let mut logged = writer.log.lock();
            self.check_not_discarded(&logged)?;
            self.await_places(&logged)?;
            let begun = logged.journal.begin_sync(sequence);
            writer.note_poison(&logged);
            let Some(pending) = begun? else { return Ok(logged.last) };
            drop(logged);
            give_way();
            let outcome = pending.run();
            give_way();
            let mut logged = writer.log.lock();
            let durable = logged.journal.finish_sync(pending, outcome);
            writer.note_poison(&logged);
            durable
        })
    }

    /// Locks the log for a commit. While another transaction or load is the only writer, waits for its end.
    pub fn lock_log<'w>(&self, writer: &'w Writer, is_exclusive: bool) -> MutexGuard<'w, Logged> {
        let mut logged = writer.log.lock();
        while logged.exclusive && !is_exclusive {
            logged = writer.exclusive_ended.wait(logged);
        }
        logged
    }

    /// Waits while a transaction or load is the only writer: a transaction that began now would most likely conflict
    /// with it.
    pub fn wait_while_exclusive(&self, writer: &Writer) {
        if self.exclusive.load(Ordering::Relaxed) {
            drop(self.lock_log(writer, false));
        }
    }

    /// As [`Core::wait_while_exclusive`], but for at most `timeout`. `false` if the other transaction or load has not
    /// ended by then. With a timeout of zero, no lock is taken.
    pub fn wait_while_exclusive_for(&self, writer: &Writer, timeout: Duration) -> bool {
        if !self.exclusive.load(Ordering::Relaxed) {
            return true;
        }
        if timeout.is_zero() {
            return false;
        }
        let mut logged = writer.log.lock();
        // A deadline beyond the clock's range counts as none.
        let deadline = Instant::now().checked_add(timeout);
        while logged.exclusive {
            logged = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(left) if left.is_zero() => return false,
                Some(left) => writer.exclusive_ended.wait_timeout(logged, left),
                None => writer.exclusive_ended.wait(logged),
            };
        }
        true
    }

    /// Asks for relief if the deltas are over their budget. Requires: the caller holds no lock and no turn.
    ///
    /// # Errors
    /// Why writing cannot go on.
    pub fn relieve(&self) -> Result<()> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let bytes = writer.budget.excess_bytes();
        match writer.relief.get() {
            Some(relief) if bytes > 0 => relief.relieve(bytes),
            _ => Ok(()),
        }
    }

    /// Freezes the active deltas and begins new ones. `None` if nothing was committed since the last rotation.
    ///
    /// # Errors
    /// What the disk reports; then nothing changed.
    ///
    /// # Panics
    /// If deltas are frozen already: one checkpoint runs at a time, and it thaws what it froze.
    pub fn rotate(&self) -> Result<Option<Rotation>> {
        let writer = self.writer()?;
        // A recorder is the program's, and called without a lock.
        let active_bytes = writer.log.lock().active_bytes;
        metrics::delta_bytes(active_bytes);
        let mut logged = writer.log.lock();
        // Commits that have a number are inserted into the deltas that are active now.
        self.published.wait(logged.last);
        let state = self.published.state();
        if state.tables.iter().flatten().all(|view| view.active.is_empty()) && logged.since.is_empty() {
            return Ok(None);
        }
        let sequence = logged.last;
        let rotated = logged.journal.rotate();
        writer.note_poison(&logged);
        let start = LogStart { segment: rotated?, exists: true };
        let mut frozen = Vec::new();
        let replaced = self.published.update(|newest| {
            let epoch = Arc::new(newest.epoch.next());
            let mut next = State { floor: sequence, epoch, ..newest.clone() };
            for view in next.tables.iter_mut().flatten().filter(|view| !view.active.is_empty()) {
                assert!(view.frozen.is_none(), "one checkpoint runs at a time");
                frozen.push((view.info.id, Arc::clone(&view.active)));
                *view = Arc::new(view.rotated());
            }
            next.frozen_large = std::mem::replace(&mut next.active_large, Arc::new(Recent::default()));
            next
        });
        writer.history.lock().begin(&replaced.state().epoch);
        logged.active_bytes = 0;
        writer.budget.reset();
        let since = std::mem::take(&mut logged.since);
        drop(logged);
        drop(replaced);
        give_way();
        // Nothing was put into these tables since the last checkpoint, so their memory may be unused for a long time.
        let unused = state.tables.iter().flatten().filter(|view| view.active.is_empty());
        unused.for_each(|view| view.active.forget_spares());
        Ok(Some(Rotation { sequence, start, frozen, since }))
    }

    /// Retains the frozen deltas for transactions that must be checked against them. Called before they are thawed.
    pub fn retire_frozen(&self) {
        let Some(writer) = &self.writer else { return };
        let state = self.published.state();
        if state.thawed < state.epoch.number {
            writer.history.lock().retire(&state, HISTORY_FACTOR * writer.budget.bytes_max());
            give_way();
        }
    }

    /// A transaction that could write has ended.
    pub fn leave(&self, state: &Arc<State>) {
        state.epoch.leave();
        if !self.published.is_newest(state)
            && let Some(writer) = &self.writer
        {
            writer.history.lock().trim();
        }
    }

    /// Reserves a number for a table that is to be created. `None` if all are used.
    pub fn new_table_number(&self) -> Option<TableId> {
        let next = &self.writer.as_ref()?.next_table;
        let more = |number: u32| (number < TableId::END.0).then_some(number + 1);
        // Relaxed: the number orders nothing.
        next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(TableId)
    }

    /// Frees the number of a table that was not created, if it was the last one.
    pub fn return_table_number(&self, table: TableId) {
        if let Some(writer) = &self.writer {
            let _ = writer.next_table.compare_exchange(table.0 + 1, table.0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Frees the memory that deltas left for their successors.
    pub fn forget_spares(&self) {
        self.published.state().tables.iter().flatten().for_each(|view| view.active.forget_spares());
    }

    /// Checks that this process opened the database.
    ///
    /// # Errors
    /// [`Error::Forked`].
    pub fn check_process(&self) -> Result<()> {
        if self.stamp.is_inherited() { Err(Error::Forked) } else { Ok(()) }
    }

    fn check_open(&self) -> Result<()> {
        self.check_process()?;
        // Acquire pairs with the store in `close`: a thread that sees it also sees what closing did before.
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed { path: self.path.clone() }) } else { Ok(()) }
    }

    /// For a thread that has waited for the log's lock since it looked whether the database is open.
    fn check_not_discarded(&self, logged: &Logged) -> Result<()> {
        if logged.discarded { Err(Error::Closed { path: self.path.clone() }) } else { Ok(()) }
    }
}

impl Drop for Core {
    /// Makes the log durable: the last handle and the last transaction are gone. Also after a `close` that failed.
    /// After `discard` that is refused.
    fn drop(&mut self) {
        // In a child made by `fork`, the log is the parent's.
        let is_own = |writer: &&Writer| !writer.is_poisoned() && !self.stamp.is_inherited();
        let Some(writer) = self.writer.as_ref().filter(is_own) else { return };
        // There is no caller to report an error to. A program that must know calls `sync` or `close`.
        let _ = self.make_durable(writer, self.published.visible());
    }
}

impl Leave for Hold {
    #[inline]
    fn slots(&self) -> &Arc<Slots<Self>> {
        self.core.published.write_slots()
    }

    #[inline]
    fn state(&self) -> *const () {
        self.snapshot.state()
    }

    #[inline]
    fn is_inherited(&self) -> bool {
        self.snapshot.is_inherited()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.core.leave(&self.snapshot.state);
    }
}

impl Logged {
    /// A log that continues after `last`.
    pub fn new(journal: Journal, last: Sequence) -> Self {
        Self {
            journal,
            last,
            placed: last,
            footprints: Footprints::default(),
            since: Since::default(),
            exclusive: false,
            discarded: false,
            bytes: 0,
            active_bytes: 0,
        }
    }
}

/// Past deltas are retained up to so many times the budget of the active ones.
const HISTORY_FACTOR: u64 = 2;

/// The first epoch.
pub fn first_epoch() -> Arc<Epoch> {
    Arc::new(Epoch::default().next())
}
