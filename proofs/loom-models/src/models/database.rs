//! What models of several parts of the engine have in common: an open database with one table.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::format::{Identity, MergeOperator, MergeRule, Merging, TableDescriptor};
use crate::ids::{Birth, Sequence, TableId};
use crate::log::Retention;
use crate::options::{Durability, Isolation};
use crate::pager::{Page, Pages};
use crate::process::Stamp;
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use crate::sync::{Arc, Condvar, Mutex};
use crate::txn::commit::begin::Writing;
use crate::txn::commit::core::{Core, Logged, Writer, first_epoch};
use crate::txn::commit::journal::{Disk, Journal};
use crate::txn::commit::proposal::{Checks, Proposal};
use crate::txn::coordination::budget::Budget;
use crate::txn::coordination::group_sync::GroupSync;
use crate::txn::reads::layers::Layers;
use crate::txn::reads::read_set::ReadSet;
use crate::txn::snapshot::history::History;
use crate::txn::snapshot::large::{LargeStore, Recent};
use crate::txn::snapshot::pins::Pins;
use crate::txn::snapshot::published::Published;
use crate::txn::snapshot::state::{Snapshot, State, TableView};
use crate::txn::snapshot::table::TableInfo;
use crate::txn::writes::pending::Pending;
use crate::txn::writes::schema::{Schema, empty_view};
use crate::txn::writes::write_set::WriteSet;

/// The only table.
pub const TABLE: TableId = TableId(1);

/// A database, and what its checkpoints wrote.
pub struct Database {
    pub core: Arc<Core>,
    pub pins: Arc<Pins>,
    /// Written by flushes of the log.
    pub disk: Disk,
}

impl Database {
    /// With no commit, and the checkpoint number 1, whose page is `page`.
    pub fn new(page: Page) -> Self {
        let pins = Arc::new(Pins::default());
        let state = first_state(&pins, page);
        let disk = Disk::default();
        let history = History::since(&state.epoch);
        let writer = Writer {
            durability: Durability::Disk,
            isolation: Isolation::Serializable,
            log: Mutex::new(Logged::new(Journal::new(Disk::clone(&disk)), Sequence(0))),
            exclusive_ended: Condvar::default(),
            retention: Arc::new(Retention),
            group: GroupSync::new(Sequence(0)),
            history: Mutex::new(history),
            large: LargeStore,
            next_table: AtomicU32::new(2),
            relief: OnceLock::new(),
            budget: Budget::new(1 << 20),
            write_set_bytes: 1 << 20,
            spilled_bytes: AtomicU64::new(0),
            poisoned: AtomicBool::new(false),
            moved: AtomicBool::new(false),
            log_begun: AtomicBool::new(true),
            conflicts: Mutex::default(),
        };
        let core = Core {
            path: PathBuf::new(),
            stamp: Stamp,
            published: Published::new(state),
            turns: Arc::default(),
            exclusive: AtomicBool::new(false),
            writer: Some(writer),
            closed: AtomicBool::new(false),
        };
        Self { core: Arc::new(core), pins, disk }
    }

    /// A transaction that reads some keys and puts others: what it read, and its number if it was committed.
    ///
    /// # Errors
    /// That it must begin again.
    pub fn transact(&self, reads: &[u8], puts: &[u8], durability: Durability) -> Result<(Vec<Option<u8>>, Sequence)> {
        let held = Writing::begin(&self.core)?;
        let snapshot = &held.snapshot;
        let mut noted = ReadSet::default();
        reads.iter().for_each(|key| noted.note_key(TABLE, &[*key], Identity.hash(&[*key])));
        let found = reads.iter().map(|key| get(snapshot, *key)).collect();
        let mut set = WriteSet::default();
        puts.iter().for_each(|key| set.set(TABLE, &[*key], Pending::Put([*key][..].into())));
        Ok((found, self.commit(snapshot, Checks::Reads(noted.reads()), &set, durability)?))
    }

    /// A transaction that puts one key, and uses no slot: its other work is explored further then.
    ///
    /// # Errors
    /// None.
    pub fn put(&self, key: u8, durability: Durability) -> Result<Sequence> {
        let snapshot = self.core.snapshot()?;
        snapshot.state.epoch.enter();
        let mut set = WriteSet::default();
        set.set(TABLE, &[key], Pending::Put([key][..].into()));
        let outcome = self.commit(&snapshot, Checks::Nothing, &set, durability);
        self.core.leave(&snapshot.state);
        outcome
    }

    /// A transaction that appends to the value of a key, which is none's conflict.
    ///
    /// # Errors
    /// None.
    pub fn merge(&self, key: u8, operand: u8) -> Result<Sequence> {
        let held = Writing::begin(&self.core)?;
        let rule = MergeRule::of(MergeOperator::Append, "").expect("bytes can be appended");
        let mut set = WriteSet::default();
        set.merge(TABLE, &[key], &[operand], rule).expect("what is appended never overflows");
        self.commit(&held.snapshot, Checks::Nothing, &set, Durability::Memory)
    }

    fn commit(
        &self,
        snapshot: &Snapshot,
        checks: Checks<'_>,
        set: &WriteSet,
        durability: Durability,
    ) -> Result<Sequence> {
        let schema = &Schema::default();
        self.core.commit(&Proposal { snapshot, set, schema, checks, is_exclusive: false, begun: None }, durability)
    }

    /// Merges the commits into the page of the next checkpoint, publishes it, and releases pages of earlier
    /// checkpoints that no one reads: those are written then.
    pub fn checkpoint(&self, birth: Birth, page: Page, before: &Page) {
        let Some(rotation) = self.core.rotate().expect("the log does not fail") else { return };
        page.with_mut(|_| ());
        self.core.retire_frozen();
        let pin = Pins::pin(&self.pins, birth);
        drop(self.core.published.update(|newest| {
            let mut next = State {
                floor: newest.floor.max(rotation.sequence),
                checkpoint: rotation.sequence,
                thawed: newest.epoch.number,
                pages: Pages { page },
                frozen_large: Arc::new(Recent::default()),
                pin,
                ..newest.clone()
            };
            for view in next.tables.iter_mut().flatten() {
                *view = Arc::new(TableView { frozen: None, ..(**view).clone() });
            }
            next
        }));
        if self.pins.pinned() == [birth] {
            before.with_mut(|_| ());
        }
    }
}

impl Drop for Database {
    /// As the engine's last handle.
    fn drop(&mut self) {
        self.core.published.close_slots();
    }
}

/// The first byte of a key's value in a snapshot.
pub fn get(snapshot: &Snapshot, key: u8) -> Option<u8> {
    value(snapshot, key).map(|value| value[0])
}

/// The value of a key in a snapshot: from the deltas, or the page, which is said to have put what it merged.
pub fn value(snapshot: &Snapshot, key: u8) -> Option<Vec<u8>> {
    let state = &snapshot.state;
    let view = state.view_of(TABLE).expect("there is one table");
    let layers = Layers { state, view, at: snapshot.sequence, set: None, reads: None };
    layers.get(&[key]).expect("nothing is damaged")
}

/// Whether the transaction must begin again.
pub fn is_conflict<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error::Conflict { .. } | Error::TransactionTooOld))
}

fn first_state(pins: &Arc<Pins>, page: Page) -> State {
    let descriptor = TableDescriptor {
        id: TABLE,
        multimap: false,
        counted: false,
        packed: false,
        value_align: 1,
        key_type: String::new(),
        value_type: String::new(),
        merge: Some(Merging::Operator(MergeOperator::Append)),
        root: None,
        ranges: Vec::new(),
    };
    let view = empty_view(TableInfo::new("table".into(), descriptor));
    State {
        instance: 0,
        stamp: Stamp,
        floor: Sequence(0),
        dropped: Vec::new(),
        renamed: Vec::new(),
        tables_changed: Sequence(0),
        epoch: first_epoch(),
        thawed: 1,
        pages: Pages { page },
        tables: vec![None, Some(Arc::new(view))],
        names: Arc::default(),
        checkpoint: Sequence(0),
        trees: Vec::new().into(),
        catalog: None,
        active_large: Arc::default(),
        frozen_large: Arc::default(),
        guard: Arc::from_std(std::sync::Arc::new(())),
        pin: Pins::pin(pins, Birth(1)),
        slots: Arc::default(),
        merge_functions: Arc::default(),
    }
}
