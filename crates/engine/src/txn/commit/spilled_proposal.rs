//! The changes of a transaction that has spilled, as a checkpoint merges them into the trees of its tables.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::ops::Bound;

use crate::error::Result;
use crate::ids::{ExtentId, Sequence, TableId};
use crate::pager::Value;
use crate::tree::{Action, Change, Changes};
use crate::txn::commit::proposal::Proposal;
use crate::txn::reads::bounds::is_past;
use crate::txn::reads::layers::Layers;
use crate::txn::reads::walk::Walk;
use crate::txn::snapshot::state::{State, TableView};
use crate::txn::writes::run_walk::Start;
use crate::txn::writes::schema::{Schema, SchemaChange};
use crate::txn::writes::versions::OwnChange;

/// A transaction that has spilled, and whose changes are to be merged into the trees.
pub struct SpilledProposal<'t> {
    proposal: &'t Proposal<'t>,
    /// Its number, from its note on.
    sequence: OnceCell<Sequence>,
    /// The extents of its large values that trees have now.
    kept: RefCell<HashSet<ExtentId>>,
}

impl<'t> SpilledProposal<'t> {
    /// It has no number yet.
    pub fn new(proposal: &'t Proposal<'t>) -> Self {
        Self { proposal, sequence: OnceCell::new(), kept: RefCell::default() }
    }

    /// The tables that it created, dropped and renamed.
    pub fn schema(&self) -> &'t Schema {
        self.proposal.schema
    }

    /// The number after those of the tables that it created.
    pub fn tables_end(&self) -> TableId {
        let created = self.schema().changes().iter().map(|change| match change {
            SchemaChange::Created(view) => view.info.id.0 + 1,
            SchemaChange::Dropped(_) | SchemaChange::Renamed { .. } => 0,
        });
        TableId(created.max().unwrap_or(0))
    }

    /// The tables that it changed, rising, including those that it dropped.
    pub fn changed(&self) -> BTreeSet<TableId> {
        self.proposal.set.tables().collect()
    }

    /// The tables that its note names: those that it changed, created, dropped or renamed.
    pub fn noted_tables(&self) -> Vec<TableId> {
        let mut noted = self.changed();
        noted.extend(self.schema().changes().iter().map(|change| match change {
            SchemaChange::Created(view) => view.info.id,
            SchemaChange::Dropped(info) | SchemaChange::Renamed { after: info, .. } => info.id,
        }));
        noted.into_iter().collect()
    }

    /// Its note has this number.
    ///
    /// # Panics
    /// If it has a number already.
    pub fn note(&self, sequence: Sequence) {
        self.sequence.set(sequence).expect("it is noted once");
    }

    /// Its number. None before its note.
    pub fn sequence(&self) -> Option<Sequence> {
        self.sequence.get().copied()
    }

    /// The trees now have large values in these extents.
    pub fn keep(&self, extents: Vec<ExtentId>) {
        self.kept.borrow_mut().extend(extents);
    }

    /// See [`SpilledProposal::kept`].
    pub fn into_kept(self) -> HashSet<ExtentId> {
        self.kept.into_inner()
    }

    /// The extents of all large values that the trees now have.
    pub fn kept(&self) -> Vec<ExtentId> {
        self.kept.borrow().iter().copied().collect()
    }

    /// Its changes of a table. `state` is the newest state, whose deltas are empty. None if the table no longer exists.
    pub fn source<'s>(&'s self, state: &'s State, table: TableId) -> Option<SpilledTable<'s>> {
        let view = self.proposal.schema.view_of(state, table)?;
        let below = Layers { state, view, at: state.floor, set: None, reads: None };
        Some(SpilledTable { own: Layers { set: Some(self.proposal.set), ..below }, below })
    }
}

/// The changes of a transaction to one table.
#[derive(Clone, Copy)]
pub struct SpilledTable<'s> {
    own: Layers<'s>,
    /// The table without these changes.
    below: Layers<'s>,
}

impl<'s> SpilledTable<'s> {
    /// Upper bound of the keys that were changed.
    pub fn entries(&self) -> u64 {
        self.own.set.map_or(0, |set| set.count_of(self.view().info.id))
    }

    /// Bytes of keys and values, about.
    pub fn bytes(&self) -> u64 {
        let (all, bytes) = self.own.set.map_or((0, 0), |set| {
            let tables: BTreeSet<_> = set.tables().collect();
            let all: u64 = tables.into_iter().map(|table| set.count_of(table)).sum();
            (all, set.bytes() as u64 + set.spilled().map_or(0, |spilled| spilled.bytes()))
        });
        // It is not known how much of a layer each table takes.
        bytes / all.max(1) * self.entries()
    }

    /// The first and the last key that were changed between bounds: from `low` on, and below `high`.
    ///
    /// # Errors
    /// Damage to what was spilled.
    pub fn ends(&self, low: Option<&[u8]>, high: Option<&[u8]>) -> Result<Option<(Value<'s>, Value<'s>)>> {
        let first = Walk::new_own(&self.own, low.map_or(Start::First, Start::From))?.next_own(&self.own)?;
        let Some((first, _)) = first.filter(|(key, _)| !is_past(key, high.map_or(Bound::Unbounded, Bound::Excluded)))
        else {
            return Ok(None);
        };
        let last = Walk::new_own(&self.own, high.map_or(Start::Last, Start::Below))?.next_own(&self.own)?;
        Ok(last.map(|(last, _)| (first, last)))
    }

    /// The changes from a key on.
    ///
    /// # Errors
    /// As [`SpilledTable::ends`].
    pub fn changes(&self, low: Option<&[u8]>) -> Result<SpilledTableChanges<'s>> {
        let walk = Walk::new_own(&self.own, low.map_or(Start::First, Start::From))?;
        Ok(SpilledTableChanges { table: *self, walk, at: None, has_ended: false, kept: Vec::new() })
    }

    fn view(&self) -> &'s TableView {
        self.own.view
    }
}

/// The changes of a transaction to a table, by key, with the results of its merges in place of the merges.
pub struct SpilledTableChanges<'s> {
    table: SpilledTable<'s>,
    walk: Walk<'s>,
    /// The current change.
    at: Option<(Value<'s>, OwnChange<'s>)>,
    has_ended: bool,
    kept: Vec<ExtentId>,
}

impl<'s> SpilledTableChanges<'s> {
    /// Skips the changes of keys below `low`.
    ///
    /// # Errors
    /// Damage to what was spilled.
    pub fn seek(&mut self, low: &[u8]) -> Result<()> {
        let kept = std::mem::take(&mut self.kept);
        *self = Self { kept, ..self.table.changes(Some(low))? };
        Ok(())
    }

    /// The extents of the large values that were returned.
    pub fn into_kept(self) -> Vec<ExtentId> {
        self.kept
    }

    fn next(&mut self) -> Result<Option<(Value<'s>, OwnChange<'s>)>> {
        let SpilledTable { own, below } = self.table;
        Ok(match self.walk.next_own(&own)? {
            Some((key, OwnChange::Merge(operand))) => {
                let before = below.get(&key)?;
                let functions = &own.state.merge_functions;
                let value = own.view.info.merged(functions, &key, before.as_deref(), &operand)?;
                Some((key, OwnChange::Put(Value::from(value))))
            }
            next => next,
        })
    }
}

impl Changes for SpilledTableChanges<'_> {
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        if self.at.is_none() && !self.has_ended {
            self.at = self.next()?;
            self.has_ended = self.at.is_none();
        }
        Ok(self.at.as_ref().map(|(key, own)| {
            let action = match own {
                OwnChange::Put(value) => Action::Put(value),
                OwnChange::PutLarge(large) => Action::PutLarge(large.value),
                OwnChange::Delete => Action::Delete,
                OwnChange::Merge(_) => unreachable!("results are in the place of merges"),
            };
            Change { key, hash: None, action }
        }))
    }

    fn advance(&mut self) {
        if let Some((_, OwnChange::PutLarge(large))) = self.at.take() {
            self.kept.push(large.value.extent);
        }
    }
}
