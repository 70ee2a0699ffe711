//! [`Layer`]: a snapshot of one database of a stack.

use std::sync::{Arc, OnceLock};

use fulgurite::{Read, ReadTxn, Table, Value};

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::fact::{Fact, Part};
use crate::layout::growing::{ENTITY_BYTES, Entity, Held, KEYED_BYTES, key_entry, keyed_id};
use crate::layout::tables::{Form, PackedTables, Side};
use crate::reading::counts::{Counts, Statistics};
use crate::reading::packed::{Packed, Root};
use crate::reading::view::View;

/// A snapshot of one database of a stack.
pub struct Layer {
    pub view: View,
    /// The id of its first fact.
    pub first: FactId,
    /// The id after its last fact.
    pub end: FactId,
    /// The upper level of the index of a completed database.
    pub root: Arc<Root>,
    /// Whether it is complete.
    pub complete: bool,
    /// The statistics of a completed database, once they are read.
    pub counts: Arc<OnceLock<Counts>>,
}

/// The facts of a layer, by the form that they have.
pub enum Facts<'t> {
    /// Facts are added.
    Growing {
        /// The transaction.
        txn: &'t ReadTxn,
        /// Predicate and key → id and value.
        keys: &'t Table,
        /// Id → predicate, and the key or a prefix of it.
        entities: &'t Table,
    },
    /// The database is complete.
    Packed(Packed<'t>),
    /// The database is in LMDB.
    #[cfg(feature = "lmdb")]
    Lmdb(&'t crate::lmdb::view::View),
}

impl Layer {
    /// Its facts.
    #[inline]
    pub fn facts(&self) -> Facts<'_> {
        match &self.view {
            View::Engine { txn, tables } => match &tables.form {
                Form::Growing { keys, entities } => Facts::Growing { txn, keys, entities },
                Form::Packed(tables) => Facts::Packed(self.packed(txn, tables)),
            },
            #[cfg(feature = "lmdb")]
            View::Lmdb(view) => Facts::Lmdb(view),
        }
    }

    /// The fact with this key.
    pub fn get(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<Fact<'_>>> {
        match self.facts() {
            Facts::Growing { txn, keys, .. } => {
                let entry = key_entry(predicate, key);
                let Some(value) = txn.get(keys, &entry)? else { return Ok(None) };
                let id = keyed_id(&value)?;
                let key = Part::from(entry.into(), KEY_PREDICATE_BYTES);
                Ok(Some(Fact::new(id, predicate, key, Part::from(value, KEYED_BYTES))))
            }
            Facts::Packed(packed) => {
                let found = packed.get(predicate, key)?;
                Ok(found.map(|found| found.piece.fact(found.record, self.first)))
            }
            #[cfg(feature = "lmdb")]
            Facts::Lmdb(view) => view.id_by_key(predicate, key)?.map(|id| self.fact(id)).transpose(),
        }
    }

    /// The id of the fact with this key.
    pub fn id_by_key(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<FactId>> {
        match self.facts() {
            Facts::Growing { txn, keys, .. } => match txn.get(keys, key_entry(predicate, key))? {
                Some(value) => keyed_id(&value).map(Some),
                None => Ok(None),
            },
            Facts::Packed(packed) => {
                let found = packed.get(predicate, key)?;
                Ok(found.map(|found| self.first.plus(found.record.rank)))
            }
            #[cfg(feature = "lmdb")]
            Facts::Lmdb(view) => view.id_by_key(predicate, key),
        }
    }

    /// The fact with this id. Requires: the id is one of this database's.
    pub fn fact(&self, id: FactId) -> Result<Fact<'_>> {
        debug_assert!(self.first <= id && id < self.end, "the fact is in this layer");
        match self.facts() {
            Facts::Growing { txn, keys, entities } => {
                let entity = txn.get(entities, id.get().to_be_bytes())?.ok_or_else(no_entity)?;
                complete_entity(txn, keys, id, entity)
            }
            Facts::Packed(packed) => packed.fact(id),
            #[cfg(feature = "lmdb")]
            Facts::Lmdb(view) => {
                use crate::lmdb::keys::{ENTITY_BYTES, Entity};

                let bytes = view.entity(id)?.ok_or_else(no_entity)?;
                let Entity { predicate, value, .. } = Entity::read(bytes)?;
                let key = Part::new(bytes.into(), ENTITY_BYTES, value);
                Ok(Fact::new(id, predicate, key, Part::from(bytes.into(), value)))
            }
        }
    }

    /// The statistics of a predicate: of the database's own facts, and of those below that it hides.
    pub fn statistics_of(&self, predicate: PredicateId) -> Result<(Statistics, Statistics)> {
        if !self.complete {
            return Ok((
                Statistics::get(&self.view, Side::Statistics, predicate)?,
                Statistics::get(&self.view, Side::Hidden, predicate)?,
            ));
        }
        if let Some(counts) = self.counts.get() {
            return Ok(counts.of(predicate));
        }
        let counts = Counts::read(&self.view)?;
        Ok(self.counts.get_or_init(|| counts).of(predicate))
    }

    fn packed<'t>(&'t self, txn: &'t ReadTxn, tables: &'t PackedTables) -> Packed<'t> {
        Packed { txn, tables, root: &self.root, first: self.first, end: self.end }
    }
}

/// The fact whose entry by id is `entity`.
fn complete_entity<'t>(txn: &'t ReadTxn, keys: &Table, id: FactId, entity: Value<'t>) -> Result<Fact<'t>> {
    let Entity { predicate, held, key } = Entity::read(&entity)?;
    match held {
        Held::Fact => {
            let end = entity.len();
            let value = Part::from(entity.clone(), end);
            Ok(Fact::new(id, predicate, Part::from(entity, ENTITY_BYTES), value))
        }
        Held::Key => {
            let value = txn.get(keys, key_entry(predicate, key))?.ok_or_else(no_entity)?;
            if keyed_id(&value)? != id {
                return Err(no_entity());
            }
            let key = Part::from(entity, ENTITY_BYTES);
            Ok(Fact::new(id, predicate, key, Part::from(value, KEYED_BYTES)))
        }
        Held::Prefix => {
            for entry in txn.prefix(keys, key_entry(predicate, key))? {
                let (key, value) = entry?;
                if keyed_id(&value)? == id {
                    let key = Part::from(key, KEY_PREDICATE_BYTES);
                    return Ok(Fact::new(id, predicate, key, Part::from(value, KEYED_BYTES)));
                }
            }
            Err(no_entity())
        }
    }
}

/// Bytes before a fact's key in an entry by key.
pub const KEY_PREDICATE_BYTES: usize = 8;

fn no_entity() -> Error {
    Error::Damaged { what: "a fact's entries by id and by key do not match" }
}
