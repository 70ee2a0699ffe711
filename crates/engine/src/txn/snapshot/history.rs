//! Deltas that checkpoints have flushed, for transactions that began before. Only deltas show whether what a
//! transaction read has changed since.
//!
//! Deltas belong to *epochs*: the time from one rotation to the next. A transaction's own state has the delta of its
//! epoch, and the newest state has those of the last one or two. The deltas in between are retained here while a
//! writing transaction runs that began before them, up to a bound. A transaction that needs an evicted delta gets a
//! retryable error.

use std::collections::{HashMap, VecDeque};

use crate::delta::Delta;
use crate::ids::TableId;
use crate::sync::Arc;
use crate::txn::coordination::epoch::Epoch;
use crate::txn::snapshot::state::State;

/// The deltas of a past epoch.
#[derive(Debug)]
pub struct Retired {
    epoch: u64,
    deltas: HashMap<TableId, Arc<Delta>>,
    bytes: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct History {
    /// Rising, without gaps, up to the last epoch that was merged, or empty.
    retired: VecDeque<Arc<Retired>>,
    /// Epochs that transactions may have begun in, rising.
    epochs: VecDeque<Arc<Epoch>>,
}

impl Retired {
    /// The delta of a table, if anything in it changed then.
    pub fn delta(&self, table: TableId) -> Option<&Delta> {
        self.deltas.get(&table).map(|delta| &**delta)
    }
}

impl History {
    /// Of what comes after the first epoch.
    pub fn since(first: &Arc<Epoch>) -> Self {
        let mut history = Self::default();
        history.begin(first);
        history
    }

    /// A new epoch began.
    pub fn begin(&mut self, epoch: &Arc<Epoch>) {
        self.epochs.push_back(Arc::clone(epoch));
        self.trim();
    }

    /// Retains the frozen deltas of `state`, which are in the trees now, if a transaction may need them. Retains at
    /// most `bytes_max` bytes in all, except that the last ones stay.
    pub fn retire(&mut self, state: &State, bytes_max: u64) {
        let epoch = state.epoch.number - 1;
        let deltas: HashMap<_, _> = state
            .tables
            .iter()
            .flatten()
            .filter_map(|view| Some((view.info.id, Arc::clone(view.frozen.as_ref()?))))
            .collect();
        let bytes = deltas.values().map(|delta| delta.memory_bytes() as u64).sum();
        self.retired.push_back(Arc::new(Retired { epoch, deltas, bytes }));
        self.trim();
        let mut held: u64 = self.retired.iter().map(|retired| retired.bytes).sum();
        while held > bytes_max
            && self.retired.len() > 1
            && let Some(oldest) = self.retired.pop_front()
        {
            held -= oldest.bytes;
            // Transactions that would need it get an error from now on, so they retain nothing either.
            while self.epochs.front().is_some_and(|epoch| epoch.number < oldest.epoch) {
                self.epochs.pop_front();
            }
        }
    }

    /// Evicts what no transaction can need any more.
    pub fn trim(&mut self) {
        while self.epochs.len() > 1 && self.epochs[0].is_left() {
            self.epochs.pop_front();
        }
        // A transaction of the oldest epoch holds that epoch's deltas itself, and needs the later ones.
        let oldest = self.epochs.front().map_or(u64::MAX, |epoch| epoch.number);
        while self.retired.front().is_some_and(|retired| retired.epoch <= oldest) {
            self.retired.pop_front();
        }
    }

    /// The retired deltas of the epochs above `after` and below `before`; `None` if some of them were evicted.
    pub fn between(&self, after: u64, before: u64) -> Option<Vec<Arc<Retired>>> {
        let wanted = (after + 1)..before;
        let found: Vec<_> =
            self.retired.iter().filter(|retired| wanted.contains(&retired.epoch)).map(Arc::clone).collect();
        (found.len() as u64 == before.saturating_sub(after + 1)).then_some(found)
    }
}
