//! [`Batch`]: facts that are added together.

use std::collections::BTreeMap;

use crate::error::{Error, OtherValue, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::fact::Fact;
use crate::reading::snapshot::Snapshot;
use crate::state::State;
use crate::store::handle::Store;
use crate::store::pending::{NewFact, Pending};

impl Store {
    /// Begins to add facts.
    ///
    /// # Errors
    /// [`Error::WrongState`], if the database is no longer incomplete; errors of the engine.
    pub fn batch(&self) -> Result<Batch> {
        self.require(State::Incomplete, "define facts")?;
        Batch::new(self)
    }
}

/// Facts that are committed together, or not at all. It deduplicates against a snapshot, so any number of batches can
/// be filled at once; see [`Store::batch`].
///
/// New facts have provisional ids, as if no other batch came first: those after the snapshot's last fact.
/// [`Batch::commit`] says which ids they got.
pub struct Batch {
    pub(super) store: Store,
    pub(super) snapshot: Snapshot,
    pub(super) pending: Pending,
    /// Whether all keys of the snapshot are known in memory.
    covered: bool,
    /// The facts that each unit owns.
    pub(super) owned: BTreeMap<String, Vec<FactId>>,
    /// Derived facts, and what each was derived from.
    pub(super) derived: Vec<(FactId, Vec<FactId>)>,
}

impl Batch {
    pub(super) fn new(store: &Store) -> Result<Self> {
        let snapshot = store.snapshot()?;
        let pending = Pending::new(snapshot.first_free_id());
        let covered = store.inner.known.covers(snapshot.first_free_id());
        Ok(Self { store: store.clone(), snapshot, pending, covered, owned: BTreeMap::new(), derived: Vec::new() })
    }

    /// The id of the fact with this key and value: that of an existing fact, or a provisional one.
    ///
    /// # Errors
    /// [`Error::KeyHasOtherValue`]: nothing was added, and the batch can go on. Errors of the engine.
    pub fn define(&mut self, predicate: PredicateId, key: &[u8], value: &[u8]) -> Result<FactId> {
        let hash = Pending::hash(predicate, key);
        if let Some((existing, fact)) = self.pending.find(hash, predicate, key) {
            return same_value(predicate, existing, key, fact.value, value);
        }
        if let Some(existing) = self.committed(hash, predicate, key)? {
            return same_value(predicate, existing.id(), key, existing.value(), value);
        }
        Ok(self.pending.push(hash, NewFact { predicate, key, value }))
    }

    /// The fact of the snapshot with this key.
    fn committed(&self, hash: u64, predicate: PredicateId, key: &[u8]) -> Result<Option<Fact<'_>>> {
        let known = &self.store.inner.known;
        match self.covered && !known.may_have(hash) {
            true => self.snapshot.base_fact_by_key(predicate, key),
            false => self.snapshot.fact_by_key(predicate, key),
        }
    }

    /// The id of the fact with this key, of the snapshot or of the batch.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn id_by_key(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<FactId>> {
        match self.pending.find(Pending::hash(predicate, key), predicate, key) {
            Some((id, _)) => Ok(Some(id)),
            None => self.snapshot.id_by_key(predicate, key),
        }
    }

    /// Records that `unit` owns facts, of the snapshot or of the batch. Owners of facts are computed when the database
    /// is completed.
    pub fn own(&mut self, unit: &str, facts: impl IntoIterator<Item = FactId>) {
        match self.owned.get_mut(unit) {
            Some(owned) => owned.extend(facts),
            None => drop(self.owned.insert(unit.to_owned(), facts.into_iter().collect())),
        }
    }

    /// Records that `fact` was derived from others: it is owned by those that own all of them.
    pub fn derive(&mut self, fact: FactId, sources: impl IntoIterator<Item = FactId>) {
        self.derived.push((fact, sources.into_iter().collect()));
    }

    /// The snapshot that the batch is deduplicated against.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The id that the next new fact gets provisionally.
    #[must_use]
    pub fn first_free_id(&self) -> FactId {
        self.pending.end()
    }

    /// The number of new facts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether there is no new fact.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.len() == 0
    }
}

/// The id of an existing fact that is defined again.
pub(super) fn same_value(
    predicate: PredicateId,
    existing: FactId,
    key: &[u8],
    existing_value: &[u8],
    value: &[u8],
) -> Result<FactId> {
    if existing_value == value {
        return Ok(existing);
    }
    let (key, existing_value, value) = (key.to_vec(), existing_value.to_vec(), value.to_vec());
    Err(Error::KeyHasOtherValue(Box::new(OtherValue { predicate, existing, key, existing_value, value })))
}
