//! Committing: log, then deltas, then visible.
//!
//! Invariants:
//! (1) A commit is appended to the log before any of it is in a delta, and is in the deltas before it is visible.
//! (2) Sequences rise by one per commit, in the order of the log.
//! (3) A commit that reports an error has no effect, now or after a restart, unless the error is `Poisoned`.
//! (4) The log's lock is held from taking a sequence until the commit is visible, and while deltas are exchanged, so
//!     that no commit falls between two deltas. Lock ranks: turn 1, log 2, space 3, published state 4.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::delta::{Approach, Change, Delta};
use crate::error::{Error, Result};
use crate::format::{Identity, LargeValue, RecordEncoder};
use crate::ids::{Sequence, TableId};
use crate::options::{Durability, LARGE_VALUE_BYTES, LARGE_VALUE_BYTES_UNSYNCED};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};
use crate::txn::journal::{Journal, LogStart};
use crate::txn::large::{LargeStore, Recent};
use crate::txn::schema::{Schema, SchemaChange};
use crate::txn::state::{Published, Snapshot, State, TableInfo, TableView};
use crate::txn::turn::Turns;
use crate::txn::write_set::{Pending, WriteSet};

/// What the transactions of one open database share.
#[derive(Debug)]
pub struct Core {
    /// The data file.
    pub path: PathBuf,
    /// The newest state.
    pub published: Published,
    /// One write transaction at a time.
    pub turns: Arc<Turns>,
    /// What it takes to write; `None` if the database is open read-only.
    pub writer: Option<Writer>,
    /// Set by `close`: no transaction begins after.
    pub closed: AtomicBool,
}

/// The writing half of [`Core`].
pub struct Writer {
    /// What `commit` waits for unless told otherwise.
    pub durability: Durability,
    /// Lock rank 2.
    pub log: Mutex<Logged>,
    /// Where values go that are too large for the log.
    pub large: LargeStore,
    /// Called when commits pile up.
    pub relief: OnceLock<Box<dyn Relief>>,
    /// Bytes of memory that the active deltas may take.
    pub delta_bytes: u64,
    /// Bytes of memory that the active deltas take, about. Changed under the log's lock.
    pub active_bytes: AtomicU64,
    /// Set when a sync failed: what is on the disk is in doubt.
    pub poisoned: AtomicBool,
}

/// What the log's lock guards.
#[derive(Debug)]
pub struct Logged {
    /// The log.
    pub journal: Journal,
    /// Kept for its buffer.
    pub encoder: RecordEncoder,
    /// What was committed since the last rotation and is not in the deltas.
    pub since: Since,
}

/// Changes since the last rotation that the deltas do not tell.
#[derive(Debug, Default)]
pub struct Since {
    /// Tables that were created.
    pub created: Vec<Arc<TableInfo>>,
    /// Tables that were dropped; they may be in `created` too.
    pub dropped: Vec<Arc<TableInfo>>,
    /// Large values that were committed.
    pub large: Vec<(TableId, Box<[u8]>, LargeValue)>,
}

/// What a checkpoint merges: everything up to a commit.
#[derive(Debug)]
pub struct Rotation {
    /// The last commit in it.
    pub sequence: Sequence,
    /// Where the log begins that holds later ones.
    pub start: LogStart,
    /// The deltas that were active until then and are frozen now.
    pub frozen: Vec<(TableId, Arc<Delta>)>,
    /// What the deltas do not tell.
    pub since: Since,
}

/// What a commit calls upon when memory fills.
pub trait Relief: Send + Sync {
    /// The active deltas take `bytes`, over their budget. Called without any lock; may wait.
    ///
    /// # Errors
    /// Why nothing could be freed, where that stops writing.
    fn relieve(&self, bytes: u64) -> Result<()>;

    /// A commit waits in the log's buffer to be written behind. Must not wait.
    fn write_behind(&self);

    /// A checkpoint emptied deltas of about `bytes` bytes of memory, which are kept for the next ones. Must not wait.
    fn left_spares(&self, bytes: usize);
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Writer").field("durability", &self.durability).finish_non_exhaustive()
    }
}

impl Writer {
    /// The size from which a value goes to an extent of its own. Below `Disk` it is larger, because a value there must be
    /// synced before its commit is logged, which such commits otherwise never wait for.
    pub fn large_value_bytes(&self) -> usize {
        if self.durability == Durability::Disk { LARGE_VALUE_BYTES } else { LARGE_VALUE_BYTES_UNSYNCED }
    }
}

impl Core {
    /// The writing half.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Poisoned`], [`Error::Closed`].
    pub fn writer(&self) -> Result<&Writer> {
        let writer = self.writer.as_ref().ok_or_else(|| Error::ReadOnly { path: self.path.clone() })?;
        self.check_open()?;
        if writer.poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned { path: self.path.clone() });
        }
        Ok(writer)
    }

    /// The present moment.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.check_open()?;
        Ok(self.published.snapshot())
    }

    /// What `commit` waits for unless told otherwise.
    pub fn durability(&self) -> Durability {
        self.writer.as_ref().map_or(Durability::Disk, |writer| writer.durability)
    }

    /// Makes every commit so far durable.
    ///
    /// # Errors
    /// What the disk reports; a failed sync poisons.
    pub fn sync(&self) -> Result<Sequence> {
        let writer = self.writer()?;
        let mut logged = writer.log.lock();
        let visible = self.published.visible();
        let outcome = logged.journal.sync();
        self.note_poison(writer, &logged);
        outcome.map(|()| visible)
    }

    /// Writes what waits in the log's buffer.
    ///
    /// # Errors
    /// What the disk reports; the next call tries again.
    pub fn write_behind(&self) -> Result<()> {
        let writer = self.writer()?;
        let mut logged = writer.log.lock();
        let outcome = logged.journal.write();
        self.note_poison(writer, &logged);
        outcome
    }

    /// Makes every commit so far at least this durable.
    ///
    /// # Errors
    /// As [`Core::sync`].
    pub fn harden(&self, durability: Durability) -> Result<()> {
        match durability {
            Durability::Memory => Ok(()),
            Durability::Log => self.write_behind(),
            Durability::Disk => self.sync().map(drop),
        }
    }

    /// Commits: encode, append to the log, make it as durable as asked, insert into the deltas, show. `held` is the state that
    /// the transaction began with, most often still the newest; `begun`, if there is one, is an approach to the set's only key.
    ///
    /// # Errors
    /// As [`crate::WriteTxn::commit`].
    pub fn commit(
        &self,
        held: &Arc<State>,
        set: &WriteSet,
        schema: &Schema,
        begun: Option<&Approach>,
        durability: Durability,
    ) -> Result<Sequence> {
        let writer = self.writer()?;
        let mut logged = writer.log.lock();
        let sequence = Sequence(self.published.visible().0 + 1);
        if set.large().next().is_some() {
            // Whatever the level: a log that survives must not refer to bytes that did not.
            writer.large.sync().inspect_err(|_| writer.poisoned.store(true, Ordering::Release))?;
        }
        // Deltas are exchanged under the log's lock: what is the newest state now has the active ones until it is dropped.
        let newer = (!self.published.is_newest(held)).then(|| self.published.state());
        let state = newer.as_ref().unwrap_or(held);
        let Logged { journal, encoder, .. } = &mut *logged;
        encode(encoder, set, schema);
        let appended = journal.append(encoder, sequence, durability);
        self.note_poison(writer, &logged);
        let buffered = appended?;
        let bytes = insert(state, schema, set, sequence, begun);
        logged.since.note(set, schema);
        if !schema.is_empty() {
            self.published.update(|newest| with_schema(newest, schema.changes(), sequence));
        }
        self.published.show(sequence);
        // Changed under the log's lock alone. Relaxed: for others it is a hint for back-pressure.
        writer.active_bytes.store(writer.active_bytes.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
        drop(logged);
        if let (true, Some(relief)) = (buffered, writer.relief.get()) {
            relief.write_behind();
        }
        Ok(sequence)
    }

    /// Calls for relief if the deltas are over their budget. Requires: the caller holds no lock and no turn.
    ///
    /// # Errors
    /// Why writing cannot go on.
    pub fn relieve(&self) -> Result<()> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let bytes = writer.active_bytes.load(Ordering::Relaxed);
        match writer.relief.get() {
            Some(relief) if bytes > writer.delta_bytes => relief.relieve(bytes),
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
        let mut logged = writer.log.lock();
        let state = self.published.state();
        if state.tables.iter().flatten().all(|view| view.active.is_empty()) && logged.since.is_empty() {
            return Ok(None);
        }
        let sequence = self.published.visible();
        let rotated = logged.journal.rotate();
        self.note_poison(writer, &logged);
        let start = LogStart { segment: rotated?, exists: true };
        let mut frozen = Vec::new();
        self.published.update(|newest| {
            let mut next = State { floor: sequence, ..newest.clone() };
            for view in next.tables.iter_mut().flatten().filter(|view| !view.active.is_empty()) {
                assert!(view.frozen.is_none(), "one checkpoint runs at a time");
                frozen.push((view.info.id, Arc::clone(&view.active)));
                *view = Arc::new(view.rotated());
            }
            next.frozen_large = std::mem::replace(&mut next.active_large, Arc::new(Recent::default()));
            next
        });
        writer.active_bytes.store(0, Ordering::Relaxed);
        let since = std::mem::take(&mut logged.since);
        drop(logged);
        // Between two checkpoints nothing was put into these tables: they may be done for a long time.
        let unused = state.tables.iter().flatten().filter(|view| view.active.is_empty());
        unused.for_each(|view| view.active.forget_spares());
        Ok(Some(Rotation { sequence, start, frozen, since }))
    }

    /// Gives back the memory that deltas left for those after them.
    pub fn forget_spares(&self) {
        self.published.state().tables.iter().flatten().for_each(|view| view.active.forget_spares());
    }

    fn check_open(&self) -> Result<()> {
        // Acquire pairs with the store in `close`, so that whoever sees it also sees what closing did before.
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed { path: self.path.clone() }) } else { Ok(()) }
    }

    fn note_poison(&self, writer: &Writer, logged: &Logged) {
        if logged.journal.is_poisoned() {
            writer.poisoned.store(true, Ordering::Release);
        }
    }
}

impl Drop for Core {
    /// Brings what was committed into the log: the last handle and the last transaction are gone.
    fn drop(&mut self) {
        // Nobody is left to tell; whoever must know calls `sync` or `close`.
        let _ = self.sync();
    }
}

impl TableView {
    /// The same table with its delta frozen and a new one begun.
    pub fn rotated(&self) -> Self {
        let active = Arc::new(self.active.successor());
        Self { frozen: Some(Arc::clone(&self.active)), active, ..self.clone() }
    }
}

impl Since {
    fn is_empty(&self) -> bool {
        self.created.is_empty() && self.dropped.is_empty() && self.large.is_empty()
    }

    /// Notes what the deltas do not tell of a commit.
    pub fn note(&mut self, set: &WriteSet, schema: &Schema) {
        for change in schema.changes() {
            match change {
                SchemaChange::Created(view) => self.created.push(Arc::clone(&view.info)),
                SchemaChange::Dropped(info) => self.dropped.push(Arc::clone(info)),
            }
        }
        self.large.extend(set.large().map(|(table, key, large)| (table, key.into(), *large)));
    }
}

fn encode(encoder: &mut RecordEncoder, set: &WriteSet, schema: &Schema) {
    encoder.begin();
    for change in schema.changes() {
        match change {
            SchemaChange::Created(view) => {
                encoder.put(TableId::CATALOG, view.info.name.as_bytes(), &view.info.descriptor.encode());
            }
            SchemaChange::Dropped(info) => encoder.delete(TableId::CATALOG, info.name.as_bytes()),
        }
    }
    for (table, key, pending) in set.iter() {
        match pending {
            Pending::Put(value) => encoder.put(table, key, value),
            Pending::PutLarge(large) => encoder.put_large(table, key, large),
            Pending::Delete => encoder.delete(table, key),
        }
    }
    encoder.finish();
}

/// Inserts the set into the active deltas; `begun` is an approach to its only key. Returns the bytes of memory that took,
/// about. Requires: with an approach, the set has one key at most, and the approach was to that.
fn insert(state: &State, schema: &Schema, set: &WriteSet, sequence: Sequence, begun: Option<&Approach>) -> u64 {
    let identity = state.pages.identity();
    let mut bytes = 0;
    let mut known: Option<(TableId, &Delta)> = None;
    for (id, key, pending) in set.iter() {
        let delta = match known {
            Some((table, delta)) if table == id => delta,
            // A table that was dropped later in the same transaction has no delta, and needs none.
            _ => match active(state, schema, id) {
                Some(delta) => delta,
                None => continue,
            },
        };
        known = Some((id, delta));
        if let Pending::PutLarge(large) = pending {
            state.active_large.note(large);
        }
        match begun {
            Some(approach) => {
                debug_assert!(approach.is_to(identity.hash(key)), "the approach is to the set's only key");
                delta.insert_near(approach, key, sequence, change_of(pending));
            }
            None => insert_one(delta, identity, sequence, key, pending),
        }
        bytes += (key.len() + pending.weight() + ENTRY_OVERHEAD_BYTES) as u64;
    }
    bytes
}

fn active<'a>(state: &'a State, schema: &'a Schema, id: TableId) -> Option<&'a Delta> {
    let created = schema.changes().iter().find_map(|change| match change {
        SchemaChange::Created(view) if view.info.id == id => Some(view),
        _ => None,
    });
    Some(&created.or_else(|| state.view_of(id))?.active)
}

/// Inserts one change into a delta.
pub fn insert_one(delta: &Delta, identity: &Identity, sequence: Sequence, key: &[u8], pending: &Pending) {
    delta.insert(key, identity.hash(key), sequence, change_of(pending));
}

fn change_of(pending: &Pending) -> Change<'_> {
    match pending {
        Pending::Put(value) => Change::Put(value),
        Pending::PutLarge(large) => Change::PutLarge(large.value),
        Pending::Delete => Change::Delete,
    }
}

/// `state` after the schema changes of the commit `sequence`.
pub fn with_schema(state: &State, changes: &[SchemaChange], sequence: Sequence) -> State {
    let mut next = State { floor: sequence, ..state.clone() };
    let names = Arc::make_mut(&mut next.names);
    for change in changes {
        match change {
            SchemaChange::Created(view) => {
                let at = view.info.id.0 as usize;
                if next.tables.len() <= at {
                    next.tables.resize(at + 1, None);
                }
                next.tables[at] = Some(Arc::clone(view));
                names.insert(view.info.name.to_string(), view.info.id);
            }
            SchemaChange::Dropped(info) => {
                next.tables[info.id.0 as usize] = None;
                names.remove(&*info.name);
            }
        }
    }
    next
}

/// Memory that an entry of a delta takes beyond its key and value, about.
const ENTRY_OVERHEAD_BYTES: usize = 48;
