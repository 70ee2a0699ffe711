//! What the database is at one moment: the trees of a checkpoint, the deltas above them, and the tables there are.
//!
//! Invariants:
//! (1) A published [`State`] never changes; commits go into the deltas that it shares, numbered by sequence.
//! (2) A snapshot of a state sees all commits up to [`State::floor`]: the trees hold nothing newer.
//! (3) Pages that a state can reach are not reused while it lives: its [`Pin`] reserves them.

use std::any::Any;
use std::collections::BTreeMap;

use crate::delta::Delta;
use crate::error::{Error, Result};
use crate::ids::{Sequence, TableId};
use crate::merge_functions::MergeFunctions;
use crate::pager::Pages;
use crate::process::Stamp;
use crate::sync::Arc;
use crate::tree::{Base, Root, Stack};
use crate::txn::coordination::epoch::Epoch;
use crate::txn::coordination::slots::{Leave, Slots};
use crate::txn::snapshot::large::Recent;
use crate::txn::snapshot::pins::Pin;
use crate::txn::snapshot::table::{Table, TableInfo};

/// One table within a state.
#[derive(Clone, Debug)]
pub struct TableView {
    /// Name and options; its root is that of the last checkpoint or meaningless: [`TableView::trees`] counts.
    pub info: Arc<TableInfo>,
    /// The trees of the last checkpoint.
    pub trees: Trees,
    /// Commits that a running checkpoint is merging into the tree.
    pub frozen: Option<Arc<Delta>>,
    /// Commits since.
    pub active: Arc<Delta>,
    /// How many bulk loads have changed the table since the database was opened.
    pub loads: u64,
    /// The commit that created the table, if that was since the last checkpoint.
    pub created: Sequence,
}

/// What the file has of a table.
#[derive(Clone, Debug, Default)]
pub struct Trees {
    /// The tree.
    pub base: Option<Base>,
    /// The runs above it, if there are any.
    pub stack: Option<Arc<Stack>>,
}

impl Trees {
    /// Whether these are the same, not only alike.
    pub fn is_same(&self, other: &Self) -> bool {
        let same_stack = match (&self.stack, &other.stack) {
            (Some(stack), Some(same)) => Arc::ptr_eq(stack, same),
            (None, None) => true,
            _ => false,
        };
        same_stack && self.base == other.base
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct State {
    /// The open database that this belongs to: a table handle of another is refused.
    pub instance: u64,
    /// The process that opened it: a child made by `fork` reads nothing.
    pub stamp: Stamp,
    /// Every commit up to this one is visible in this state.
    pub floor: Sequence,
    /// Tables that were dropped since the last checkpoint, and by which commits.
    pub dropped: Vec<(Sequence, Arc<TableView>)>,
    /// Tables that were renamed since the last checkpoint, by which commits, and what they were called before.
    pub renamed: Vec<(Sequence, Arc<TableInfo>)>,
    /// The last commit that created, dropped or renamed a table, of those since the database was opened.
    pub tables_changed: Sequence,
    /// The epoch of the active deltas.
    pub epoch: Arc<Epoch>,
    /// The deltas of all epochs below this one are in the trees. The frozen ones, if there are any, are of the epoch
    /// before the active ones'.
    pub thawed: u64,
    /// The pages of the last checkpoint.
    pub pages: Pages,
    /// Tables by number; a dropped table leaves a hole.
    pub tables: Vec<Option<Arc<TableView>>>,
    /// Tables by name.
    pub names: Arc<BTreeMap<String, TableId>>,
    /// Every commit up to this one is in the trees.
    pub checkpoint: Sequence,
    /// The trees of all tables as of the last checkpoint, and the runs above them, those of tables that were dropped
    /// since included.
    pub trees: Arc<[Trees]>,
    /// The tree of the catalog as of the last checkpoint.
    pub catalog: Option<Root>,
    /// Where the large values of the active deltas are.
    pub active_large: Arc<Recent>,
    /// Where the large values of the frozen deltas are.
    pub frozen_large: Arc<Recent>,
    /// While this is held, other processes neither write nor reuse pages that are read here. It is empty in the last
    /// state of a database that was closed, which no snapshot reads.
    pub guard: Arc<dyn Any + Send + Sync>,
    /// Keeps the pages of `pages` from being reused.
    pub pin: Arc<Pin>,
    /// Where read transactions leave it for the next ones.
    pub slots: Arc<Slots<Snapshot>>,
    /// The functions by which the program merges values.
    pub merge_functions: Arc<MergeFunctions>,
}

impl State {
    /// The table that a handle names.
    ///
    /// # Errors
    /// [`Error::TableNotFound`] if it did not exist then, [`Error::Invalid`] if the handle is another database's,
    /// [`Error::Forked`].
    #[inline]
    pub fn view(&self, table: &Table) -> Result<&TableView> {
        self.find(table).ok_or_else(|| self.missing(table))
    }

    /// The table that a handle names, if it is there.
    #[inline(always)]
    pub fn find(&self, table: &Table) -> Option<&TableView> {
        if self.stamp.is_inherited() {
            return None;
        }
        let view = self.tables.get(table.info.id.0 as usize)?.as_deref()?;
        view.info.is_same(&table.info).then_some(view)
    }

    /// Sees to it that this process opened the database.
    ///
    /// # Errors
    /// [`Error::Forked`].
    #[inline(always)]
    pub fn check_process(&self) -> Result<()> {
        if self.stamp.is_inherited() { Err(Error::Forked) } else { Ok(()) }
    }

    /// With the tables that there were after an earlier commit. Requires: that is not older than the last checkpoint.
    fn at(&self, sequence: Sequence) -> Self {
        let mut then = self.clone();
        for place in &mut then.tables {
            place.take_if(|view| view.created > sequence);
        }
        for (_, view) in self.dropped.iter().filter(|(dropped, view)| *dropped > sequence && view.created <= sequence) {
            then.tables[view.info.id.0 as usize] = Some(Arc::clone(view));
        }
        // The latest first: of several names of a table the earliest remains.
        for (_, info) in self.renamed.iter().rev().filter(|(renamed, _)| *renamed > sequence) {
            if let Some(view) = then.tables[info.id.0 as usize].as_mut().filter(|view| view.info.is_same(info)) {
                *view = Arc::new(TableView { info: Arc::clone(info), ..(**view).clone() });
            }
        }
        let names = then.tables.iter().flatten().map(|view| (view.info.name.to_string(), view.info.id));
        then.names = Arc::new(names.collect());
        then
    }

    /// The table of that number, if it exists.
    pub fn view_of(&self, id: TableId) -> Option<&Arc<TableView>> {
        self.tables.get(id.0 as usize)?.as_ref()
    }

    #[cold]
    fn missing(&self, table: &Table) -> Error {
        if self.stamp.is_inherited() {
            Error::Forked
        } else if table.instance == self.instance {
            Error::TableNotFound { name: table.name().to_owned() }
        } else {
            Error::Invalid { message: format!("table `{}` was opened from another database", table.name()) }
        }
    }
}

/// A moment of the database, for as long as it is held.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Trees, deltas and tables.
    pub state: Arc<State>,
    /// Commits above this one are not seen.
    pub sequence: Sequence,
}

impl Snapshot {
    /// An earlier moment, as far as that can still be read: what is in the trees is.
    pub fn at(self, sequence: Sequence) -> Self {
        let sequence = sequence.max(self.state.checkpoint).min(self.sequence);
        let state = if self.state.tables_changed > sequence { Arc::new(self.state.at(sequence)) } else { self.state };
        Self { state, sequence }
    }
}

impl TableView {
    /// The same table with its delta frozen and a new one begun.
    pub fn rotated(&self) -> Self {
        let active = Arc::new(self.active.successor());
        Self { frozen: Some(Arc::clone(&self.active)), active, ..self.clone() }
    }
}

impl Leave for Snapshot {
    #[inline]
    fn slots(&self) -> &Arc<Slots<Self>> {
        &self.state.slots
    }

    #[inline]
    fn state(&self) -> *const () {
        address(&self.state)
    }

    #[inline]
    fn is_inherited(&self) -> bool {
        self.state.stamp.is_inherited()
    }
}

/// Where a state is, for comparing only.
#[inline]
pub fn address(state: &Arc<State>) -> *const () {
    Arc::as_ptr(state).cast()
}
