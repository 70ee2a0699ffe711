//! Committing a batch.
//!
//! (1) Ids are dense: a commit reads and writes the first free id, so two that overlap conflict, and a failed one uses
//! no ids. (2) If no other commit came after the batch's snapshot, provisional ids are final. Otherwise each new fact
//! gets the ids of what it refers to, is looked up once more, and gets the next id if it is still new.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use fulgurite::{Read, Table, UPDATE_ATTEMPTS, WriteTxn};

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::growing::{Entity, Held, KEY_COPIED_BYTES_MAX, key_entry};
use crate::layout::meta::{FIRST_FREE_ID, FIRST_FREE_UNIT, STATE, read_number};
use crate::layout::tables::{Form, Side, Tables};
use crate::ownership::sets::UnitId;
use crate::reading::counts::Statistics;
use crate::reading::owning::read_unit;
use crate::reading::snapshot::Snapshot;
use crate::state::State;
use crate::store::backing::Changes;
use crate::store::batch::{Batch, same_value};
use crate::store::handle::Store;
use crate::store::pending::{NewFact, Pending};

/// The ids that the facts of a batch got.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The first provisional id.
    first: FactId,
    /// The final ids. None if they are the provisional ones.
    ids: Option<Vec<FactId>>,
    /// How many facts were new.
    new: usize,
}

impl Committed {
    /// The final id of a fact that [`Batch::define`] returned. Other ids are returned as they are.
    #[must_use]
    pub fn id(&self, id: FactId) -> FactId {
        let index = id.get().checked_sub(self.first.get()).and_then(|index| usize::try_from(index).ok());
        match (&self.ids, index) {
            (Some(ids), Some(index)) => ids.get(index).copied().unwrap_or(id),
            _ => id,
        }
    }

    /// How many facts were added: fewer than the batch had, if others added some of them first.
    #[must_use]
    pub fn new_facts(&self) -> usize {
        self.new
    }
}

/// How [`Batch::commit`] replaces ids in keys and values, which are bytes to a store: it gets a fact's predicate, key
/// and value, and a function from an id to the one that replaces it, and appends the new key and the new value to the
/// two buffers.
pub type Substitute<'f> =
    dyn FnMut(PredicateId, &[u8], &[u8], &dyn Fn(FactId) -> FactId, &mut Vec<u8>, &mut Vec<u8>) -> Result<()> + 'f;

impl Batch {
    /// Adds the facts. When it returns, new snapshots have all of them, and they are as durable as the engine's options
    /// say.
    ///
    /// If another batch was committed since this one began, new facts get other ids than the provisional ones, and
    /// `substitute` replaces them in keys and values. It is called for each new fact, in the order of ids. `None` says
    /// that no fact refers to a new one.
    ///
    /// # Errors
    /// [`Error::KeyHasOtherValue`], if another batch has defined such a fact; [`Error::WrongState`], if the database
    /// was completed meanwhile; [`Error::Contended`], if other processes or handles commit each time; what
    /// `substitute` returns; errors of the engine. Nothing is added in these cases, unless the engine's error is
    /// [`fulgurite::Error::Indeterminate`].
    pub fn commit(self, substitute: Option<&mut Substitute<'_>>) -> Result<Committed> {
        let store = self.store.clone();
        let _commits = store.lock_commits();
        let first = self.pending.first();
        let count = self.pending.len();
        let mut batch = self;
        let mut ids: Option<Vec<FactId>> = None;
        let mut substitute = substitute;
        for _ in 0..UPDATE_ATTEMPTS {
            store.require(State::Incomplete, "define facts")?;
            let newest = store.snapshot()?;
            if newest.first_free_id() != batch.pending.first() {
                let moved = rebase(&batch.pending, &newest, substitute.as_deref_mut())?;
                let earlier = batch.pending.first();
                ids = Some(match ids {
                    None => moved.ids.clone(),
                    Some(ids) => ids.into_iter().map(|id| final_id(earlier, &moved.ids, id)).collect(),
                });
                batch.rename(earlier, &moved.ids);
                batch.pending = moved.pending;
            }
            match batch.write(&store, &newest) {
                Ok(true) => {
                    let new = batch.pending.len();
                    debug_assert!(new <= count, "facts are not added by a commit");
                    return Ok(Committed { first, ids, new });
                }
                Ok(false) => {}
                Err(Error::Engine(error)) if error.is_retryable() => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Contended { attempts: UPDATE_ATTEMPTS })
    }

    /// Replaces provisional ids where the batch itself has them.
    fn rename(&mut self, first: FactId, ids: &[FactId]) {
        let rename = |id: &mut FactId| *id = final_id(first, ids, *id);
        self.owned.values_mut().flatten().for_each(rename);
        for (fact, sources) in &mut self.derived {
            rename(fact);
            sources.iter_mut().for_each(rename);
        }
    }

    /// One attempt; `false` if another handle has committed since `newest`. Requires: `newest` ends where the new facts
    /// begin.
    fn write(&self, store: &Store, newest: &Snapshot) -> Result<bool> {
        let mut changes = store.inner.backing.changes()?;
        let free = changes.get(Side::Meta, FIRST_FREE_ID)?;
        let state = changes.get(Side::Meta, STATE)?.and_then(|state| State::read(&state));
        if state != Some(State::Incomplete) || free.as_deref() != Some(&self.pending.first().get().to_le_bytes()[..]) {
            return Ok(false);
        }
        self.check_ids()?;
        changes.put(Side::Meta, FIRST_FREE_ID, self.pending.end().get().to_le_bytes())?;
        match &mut changes {
            Changes::Engine { txn, tables, .. } => write_facts(txn, tables, &self.pending)?,
            #[cfg(feature = "lmdb")]
            Changes::Lmdb(changes) => write_to_lmdb(changes, &self.pending)?,
        }
        write_statistics(&mut changes, &self.pending)?;
        self.write_owners(&mut changes, newest)?;
        changes.commit()?;
        store.inner.known.add(self.pending.first(), self.pending.hashes());
        Ok(true)
    }

    fn check_ids(&self) -> Result<()> {
        let named = self.owned.values().flatten();
        let mut named = named.chain(self.derived.iter().flat_map(|(fact, sources)| sources.iter().chain([fact])));
        match named.find(|id| **id < FactId::FIRST || **id >= self.pending.end()) {
            Some(id) => Err(Error::NoSuchFact { id: *id }),
            None => Ok(()),
        }
    }

    fn write_owners(&self, changes: &mut Changes<'_>, newest: &Snapshot) -> Result<()> {
        for (name, facts) in &self.owned {
            let unit = number_unit(changes, newest, name)?;
            for (from, to) in intervals(facts) {
                write_claim(changes, unit, from, to)?;
            }
        }
        for (fact, sources) in &self.derived {
            let ids: BTreeSet<u64> = sources.iter().map(|source| source.get()).collect();
            let mut key = fact.get().to_be_bytes().to_vec();
            ids.iter().for_each(|id| key.extend_from_slice(&id.to_be_bytes()));
            changes.put(Side::Derivations, key, [])?;
        }
        Ok(())
    }
}

/// Facts with other ids, after other commits.
struct Moved {
    pending: Pending,
    /// The ids of the earlier facts.
    ids: Vec<FactId>,
}

/// The facts as if the batch began at `newest`.
fn rebase(before: &Pending, newest: &Snapshot, mut substitute: Option<&mut Substitute<'_>>) -> Result<Moved> {
    let mut moved = Moved { pending: Pending::new(newest.first_free_id()), ids: Vec::with_capacity(before.len()) };
    let (mut key_bytes, mut value_bytes) = (Vec::new(), Vec::new());
    for index in 0..before.len() {
        let NewFact { predicate, mut key, mut value } = before.at(index);
        if let Some(substitute) = &mut substitute {
            key_bytes.clear();
            value_bytes.clear();
            let rename = |id: FactId| final_id(before.first(), &moved.ids, id);
            substitute(predicate, key, value, &rename, &mut key_bytes, &mut value_bytes)?;
            (key, value) = (&key_bytes, &value_bytes);
        }
        let hash = Pending::hash(predicate, key);
        let id = if let Some((existing, fact)) = moved.pending.find(hash, predicate, key) {
            same_value(predicate, existing, key, fact.value, value)?
        } else if let Some(existing) = newest.fact_by_key(predicate, key)? {
            same_value(predicate, existing.id(), key, existing.value(), value)?
        } else {
            moved.pending.push(hash, NewFact { predicate, key, value })
        };
        moved.ids.push(id);
    }
    Ok(moved)
}

/// The id of the fact that had the id `id`, if it is one of those from `first` on.
fn final_id(first: FactId, ids: &[FactId], id: FactId) -> FactId {
    let index = id.get().checked_sub(first.get()).and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| ids.get(index)).copied().unwrap_or(id)
}

fn write_facts(txn: &mut WriteTxn, tables: &Tables, pending: &Pending) -> Result<()> {
    let Form::Growing { keys, entities } = &tables.form else {
        return Err(Error::Damaged { what: "an incomplete database has blocks" });
    };
    let sorted = pending.sorted();
    let mut long = Vec::new();
    let entry = |index: &u32| {
        let fact = pending.at(*index as usize);
        let id = pending.first().plus((*index).into()).get().to_be_bytes();
        (key_entry(fact.predicate, fact.key), [&id[..], fact.value].concat())
    };
    txn.put_many(keys, sorted.iter().map(entry))?;
    let mut bytes = Vec::new();
    let entry = |index: usize| {
        let NewFact { predicate, key, value } = pending.at(index);
        if key.len() > KEY_COPIED_BYTES_MAX {
            long.push(index);
        }
        let held = if value.is_empty() { Held::Fact } else { Held::Key };
        bytes.clear();
        Entity { predicate, held, key: &key[..key.len().min(KEY_COPIED_BYTES_MAX)] }.write(&mut bytes);
        (pending.first().plus(index as u64).get().to_be_bytes(), bytes.clone())
    };
    txn.put_many(entities, (0..pending.len()).map(entry))?;
    for index in long {
        write_long(txn, keys, entities, pending.first().plus(index as u64), pending.at(index))?;
    }
    Ok(())
}

/// The entry by id of a fact with a long key: the prefix by which the key differs from its neighbours at this time.
/// Later neighbours may share it; reading it then reads these too.
fn write_long(txn: &mut WriteTxn, keys: &Table, entities: &Table, id: FactId, fact: NewFact<'_>) -> Result<()> {
    let entry = key_entry(fact.predicate, fact.key);
    let above = (Bound::Excluded(&entry[..]), Bound::Unbounded);
    let next = txn.range(keys, above)?.next().transpose()?.map_or(0, |(key, _)| shared(&key, &entry));
    let previous = txn.range(keys, ..&entry[..])?.next_back().transpose()?.map_or(0, |(key, _)| shared(&key, &entry));
    let distinct = (next.max(previous) + 1).saturating_sub(8).max(KEY_COPIED_BYTES_MAX).min(fact.key.len());
    let mut bytes = Vec::new();
    Entity { predicate: fact.predicate, held: Held::Prefix, key: &fact.key[..distinct] }.write(&mut bytes);
    txn.put(entities, id.get().to_be_bytes(), bytes)?;
    Ok(())
}

fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(feature = "lmdb")]
fn write_to_lmdb(changes: &mut crate::lmdb::changes::Changes<'_>, pending: &Pending) -> Result<()> {
    let fact = |index: usize| (pending.first().plus(index as u64), pending.at(index));
    changes.put_keys(pending.sorted().into_iter().map(|index| {
        let (id, fact) = fact(index as usize);
        (id, fact.predicate, fact.key)
    }))?;
    changes.put_entities((0..pending.len()).map(|index| {
        let (id, fact) = fact(index);
        (id, fact.predicate, fact.key, fact.value)
    }))
}

fn write_statistics(changes: &mut Changes<'_>, pending: &Pending) -> Result<()> {
    let mut added: BTreeMap<PredicateId, Statistics> = BTreeMap::new();
    let mut last: Option<(PredicateId, Statistics)> = None;
    for index in 0..pending.len() {
        let fact = pending.at(index);
        match &mut last {
            Some((predicate, statistics)) if *predicate == fact.predicate => statistics.add(fact.key, fact.value),
            _ => {
                if let Some((predicate, statistics)) = last.take() {
                    added.insert(predicate, statistics);
                }
                let mut statistics = added.get(&fact.predicate).copied().unwrap_or_default();
                statistics.add(fact.key, fact.value);
                last = Some((fact.predicate, statistics));
            }
        }
    }
    added.extend(last);
    for (predicate, added) in added {
        let key = predicate.get().to_be_bytes();
        let before = changes.get(Side::Statistics, key)?.map(|bytes| Statistics::read(&bytes)).transpose()?;
        changes.put(Side::Statistics, key, before.unwrap_or_default().plus(added).encode())?;
    }
    Ok(())
}

/// The number of a unit: a new one, if no database of the stack has the unit.
fn number_unit(changes: &mut Changes<'_>, newest: &Snapshot, name: &str) -> Result<UnitId> {
    if let Some(unit) = newest.unit_id(name)? {
        return Ok(unit);
    }
    // Another handle may have added it since, or a unit that takes the number: the transaction sees both.
    if let Some(value) = changes.get(Side::Units, name)? {
        return read_unit(&value);
    }
    let free = changes.get(Side::Meta, FIRST_FREE_UNIT)?.unwrap_or_default();
    let number = u32::try_from(read_number(&free)?).map_err(|_| Error::TooLarge)?;
    changes.put(Side::Units, name, number.to_le_bytes())?;
    changes.put(Side::Meta, FIRST_FREE_UNIT, (u64::from(number) + 1).to_le_bytes())?;
    Ok(UnitId(number))
}

/// Facts as intervals, in order: the first and the last of each.
fn intervals(facts: &[FactId]) -> Vec<(u64, u64)> {
    let sorted: BTreeSet<u64> = facts.iter().map(|fact| fact.get()).collect();
    let mut intervals: Vec<(u64, u64)> = Vec::new();
    for id in sorted {
        match intervals.last_mut() {
            Some((_, last)) if *last + 1 == id => *last = id,
            _ => intervals.push((id, id)),
        }
    }
    intervals
}

/// Writes an interval that a unit owns, unless a longer one begins at the same fact.
fn write_claim(changes: &mut Changes<'_>, unit: UnitId, from: u64, to: u64) -> Result<()> {
    let key = [&unit.0.to_be_bytes()[..], &from.to_be_bytes()].concat();
    let longer = changes.get(Side::Claims, &key)?.is_some_and(|last| *last >= to.to_be_bytes()[..]);
    if !longer {
        changes.put(Side::Claims, key, to.to_be_bytes())?;
    }
    Ok(())
}
