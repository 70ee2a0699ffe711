//! [`Layer`]: a snapshot of one database of a stack.

use std::ops::Bound;

use fulgurite::{Read, ReadTxn, Value};

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::block::Block;
use crate::layout::fact::{Fact, Part};
use crate::layout::growing::{ENTITY_BYTES, Entity, Held, KEYED_BYTES, key_entry, keyed_id};
use crate::layout::packed::{Place, block_key, chunk_of};
use crate::layout::tables::{Form, Tables};

/// A snapshot of one database of a stack.
pub struct Layer {
    pub txn: ReadTxn,
    pub tables: Tables,
    /// The id of its first fact.
    pub first: FactId,
    /// The id after its last fact.
    pub end: FactId,
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
            Form::Packed { .. } => {
                let Some((_, block)) = self.block_of(predicate, key)? else { return Ok(None) };
                match block.search(key)? {
                    Ok(index) => block.fact(index).map(Some),
                    Err(_) => Ok(None),
                }
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
            Form::Packed { .. } => {
                let Some((_, block)) = self.block_of(predicate, key)? else { return Ok(None) };
                block.search(key)?.ok().map(|index| block.id(index)).transpose()
            }
        }
    }

    /// The fact with this id. Requires: the id is one of this database's.
    pub fn fact(&self, id: FactId) -> Result<Fact<'_>> {
        debug_assert!(self.first <= id && id < self.end, "the fact is in this layer");
        match &self.tables.form {
            Form::Growing { entities, .. } => {
                let entity = self.txn.get(entities, id.get().to_be_bytes())?.ok_or(NO_ENTITY)?;
                self.complete_entity(id, entity)
            }
            Form::Packed { places, .. } => {
                let (chunk, index) = chunk_of(id, self.first);
                let chunk = self.txn.get(places, chunk.to_be_bytes())?.ok_or(NO_PLACES)?;
                self.fact_at(id, Place::read(&chunk, index)?)
            }
        }
    }

    /// The fact whose entry by id is `entity`.
    pub fn complete_entity<'t>(&'t self, id: FactId, entity: Value<'t>) -> Result<Fact<'t>> {
        let Entity { predicate, held, key } = Entity::read(&entity)?;
        let Form::Growing { keys, .. } = &self.tables.form else { return Err(NO_ENTITY) };
        match held {
            Held::Fact => {
                let end = entity.len();
                let value = Part::from(entity.clone(), end);
                Ok(Fact::new(id, predicate, Part::from(entity, ENTITY_BYTES), value))
            }
            Held::Key => {
                let value = self.txn.get(keys, key_entry(predicate, key))?.ok_or(NO_ENTITY)?;
                if keyed_id(&value)? != id {
                    return Err(NO_ENTITY);
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
                Err(NO_ENTITY)
            }
        }
    }

    /// The fact at a place of a completed database.
    pub fn fact_at(&self, id: FactId, place: Place) -> Result<Fact<'_>> {
        let block = self.block(place.block)?.ok_or(NO_BLOCK)?;
        if place.index >= block.count() || block.id(place.index)? != id {
            return Err(NO_BLOCK);
        }
        block.fact(place.index)
    }

    /// The block of a completed database that may have `key`, and its number: the one with the greatest keys below its
    /// bound, if it has this predicate.
    pub fn block_of(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<(u64, Block<'_>)>> {
        let Form::Packed { index, .. } = &self.tables.form else { return Err(NO_BLOCK) };
        let entry = key_entry(predicate, key);
        let above = (Bound::Excluded(&entry[..]), Bound::Unbounded);
        let Some((_, number)) = self.txn.range(index, above)?.next().transpose()? else { return Ok(None) };
        let Ok(number) = <[u8; 8]>::try_from(&*number) else { return Err(NO_BLOCK) };
        let number = u64::from_be_bytes(number);
        let block = self.block(number)?.ok_or(NO_BLOCK)?;
        Ok((block.predicate() == predicate).then_some((number, block)))
    }

    /// The block with this number, if there is one.
    pub fn block(&self, number: u64) -> Result<Option<Block<'_>>> {
        let Form::Packed { blocks, .. } = &self.tables.form else { return Err(NO_BLOCK) };
        self.txn.get(blocks, block_key(number))?.map(Block::new).transpose()
    }
}

/// Bytes before a fact's key in an entry by key.
pub const KEY_PREDICATE_BYTES: usize = 8;

pub const NO_ENTITY: Error = Error::Damaged { what: "a fact's entries by id and by key do not match" };
pub const NO_PLACES: Error = Error::Damaged { what: "places of facts are missing" };
pub const NO_BLOCK: Error = Error::Damaged { what: "the block of a fact is missing, or another" };
