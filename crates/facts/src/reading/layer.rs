//! [`Layer`]: a snapshot of one database of a stack.

use std::sync::{Arc, OnceLock};

use fulgurite::{Read, ReadTxn, Value};

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::fact::{Fact, Part};
use crate::layout::growing::{ENTITY_BYTES, Entity, Held, KEYED_BYTES, key_entry, keyed_id};
use crate::layout::tables::{Form, PackedTables, Tables};
use crate::reading::counts::{Counts, Statistics};
use crate::reading::packed::{Packed, Root};

/// A snapshot of one database of a stack.
pub struct Layer {
    pub txn: ReadTxn,
    pub tables: Tables,
    /// The id of its first fact.
    pub first: FactId,
    /// The id after its last fact.
    pub end: FactId,
    /// The upper level of the index of a completed database.
    pub root: Arc<Root>,
    /// The statistics of a completed database, once they are read.
    pub counts: Arc<OnceLock<Counts>>,
}

impl Layer {
    /// The fact with this key.
    pub fn get(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<Fact<'_>>> {
        match &self.tables.form {
            Form::Growing { keys, .. } => {
                let entry = key_entry(predicate, key);
                let Some(value) = self.txn.get(keys, &entry)? else { return Ok(None) };
                let id = keyed_id(&value)?;
                let key = Part::from(entry.into(), KEY_PREDICATE_BYTES);
                Ok(Some(Fact::new(id, predicate, key, Part::from(value, KEYED_BYTES))))
            }
            Form::Packed(tables) => {
                let found = self.packed(tables).get(predicate, key)?;
                Ok(found.map(|found| found.piece.fact(found.record, self.first)))
            }
        }
    }

    /// The id of the fact with this key.
    pub fn id_by_key(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<FactId>> {
        match &self.tables.form {
            Form::Growing { keys, .. } => match self.txn.get(keys, key_entry(predicate, key))? {
                Some(value) => keyed_id(&value).map(Some),
                None => Ok(None),
            },
            Form::Packed(tables) => {
                let found = self.packed(tables).get(predicate, key)?;
                Ok(found.map(|found| self.first.plus(found.record.rank)))
            }
        }
    }

    /// The fact with this id. Requires: the id is one of this database's.
    pub fn fact(&self, id: FactId) -> Result<Fact<'_>> {
        debug_assert!(self.first <= id && id < self.end, "the fact is in this layer");
        match &self.tables.form {
            Form::Growing { entities, .. } => {
                let entity = self.txn.get(entities, id.get().to_be_bytes())?.ok_or_else(no_entity)?;
                self.complete_entity(id, entity)
            }
            Form::Packed(tables) => self.packed(tables).fact(id),
        }
    }

    /// The fact whose entry by id is `entity`.
    pub fn complete_entity<'t>(&'t self, id: FactId, entity: Value<'t>) -> Result<Fact<'t>> {
        let Entity { predicate, held, key } = Entity::read(&entity)?;
        let Form::Growing { keys, .. } = &self.tables.form else { return Err(no_entity()) };
        match held {
            Held::Fact => {
                let end = entity.len();
                let value = Part::from(entity.clone(), end);
                Ok(Fact::new(id, predicate, Part::from(entity, ENTITY_BYTES), value))
            }
            Held::Key => {
                let value = self.txn.get(keys, key_entry(predicate, key))?.ok_or_else(no_entity)?;
                if keyed_id(&value)? != id {
                    return Err(no_entity());
                }
                let key = Part::from(entity, ENTITY_BYTES);
                Ok(Fact::new(id, predicate, key, Part::from(value, KEYED_BYTES)))
            }
            Held::Prefix => {
                for entry in self.txn.prefix(keys, key_entry(predicate, key))? {
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

    /// The statistics of a predicate: of the database's own facts, and of those below that it hides.
    pub fn statistics_of(&self, predicate: PredicateId) -> Result<(Statistics, Statistics)> {
        match self.tables.form {
            // These change no more.
            Form::Packed(_) => {
                if let Some(counts) = self.counts.get() {
                    return Ok(counts.of(predicate));
                }
                let counts = Counts::read(&self.txn, &self.tables)?;
                Ok(self.counts.get_or_init(|| counts).of(predicate))
            }
            Form::Growing { .. } => Ok((
                Statistics::get(&self.txn, &self.tables.statistics, predicate)?,
                Statistics::get(&self.txn, &self.tables.hidden, predicate)?,
            )),
        }
    }

    /// The database, which is complete.
    pub fn packed<'t>(&'t self, tables: &'t PackedTables) -> Packed<'t> {
        Packed { txn: &self.txn, tables, root: &self.root, first: self.first, end: self.end }
    }
}

/// Bytes before a fact's key in an entry by key.
pub const KEY_PREDICATE_BYTES: usize = 8;

fn no_entity() -> Error {
    Error::Damaged { what: "a fact's entries by id and by key do not match" }
}
