//! The tables of a store.

use fulgurite::{Database, Table, TableOptions, WriteTxn};

use crate::error::Result;

/// The tables that every store has.
#[derive(Clone)]
pub struct Tables {
    /// Entries of [`meta`](crate::layout::meta).
    pub meta: Table,
    /// Predicate → count and bytes of its facts.
    pub statistics: Table,
    /// The tables of facts.
    pub form: Form,
    /// Name → number of a unit.
    pub units: Table,
    /// Unit and first fact → last fact of an interval that the unit owns.
    pub claims: Table,
    /// Fact and the facts that it was derived from → nothing.
    pub derivations: Table,
    /// Predicate → count and bytes of facts of the base that are hidden.
    pub hidden: Table,
    /// Number → set of owners.
    pub sets: Table,
    /// First fact of an interval → its set of owners.
    pub owners: Table,
}

/// The tables that hold the facts of a database.
#[derive(Clone)]
pub enum Form {
    /// Facts are added.
    Growing {
        /// Predicate and key → id and value.
        keys: Table,
        /// Id → predicate, and the key or a prefix of it.
        entities: Table,
    },
    /// The database is complete.
    Packed {
        /// Number → block.
        blocks: Table,
        /// Bound → number of the block below it.
        index: Table,
        /// Number → places of facts.
        places: Table,
    },
}

impl Tables {
    /// Creates the tables of a database that facts are added to.
    pub fn create(txn: &mut WriteTxn) -> fulgurite::Result<Self> {
        let mut table = |name: &str| txn.create_table(name, TableOptions::new());
        let form = Form::Growing { keys: table(KEYS)?, entities: table(ENTITIES)? };
        Self::each(form, table)
    }

    /// Opens the tables. `None` if the database is none of a store.
    pub fn open(db: &Database) -> Result<Option<Self>> {
        let table = |name: &str| match db.open_table(name) {
            Ok(table) => Ok(Some(table)),
            Err(fulgurite::Error::TableNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        let form = match (table(KEYS)?, table(ENTITIES)?, table(BLOCKS)?, table(INDEX)?, table(PLACES)?) {
            (Some(keys), Some(entities), ..) => Form::Growing { keys, entities },
            (None, None, Some(blocks), Some(index), Some(places)) => Form::Packed { blocks, index, places },
            _ => return Ok(None),
        };
        match Self::each(form, |name| db.open_table(name)) {
            Ok(tables) => Ok(Some(tables)),
            Err(fulgurite::Error::TableNotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn each(form: Form, mut table: impl FnMut(&str) -> fulgurite::Result<Table>) -> fulgurite::Result<Self> {
        Ok(Self {
            meta: table("facts.meta")?,
            statistics: table("facts.statistics")?,
            form,
            units: table("facts.units")?,
            claims: table("facts.claims")?,
            derivations: table("facts.derivations")?,
            hidden: table("facts.hidden")?,
            sets: table("facts.sets")?,
            owners: table("facts.owners")?,
        })
    }
}

/// The table of entries by key of a growing database.
pub const KEYS: &str = "facts.keys";
/// The table of entries by id of a growing database.
pub const ENTITIES: &str = "facts.entities";
/// The table of blocks of a completed database.
pub const BLOCKS: &str = "facts.blocks";
/// The table of bounds of blocks.
pub const INDEX: &str = "facts.index";
/// The table of places.
pub const PLACES: &str = "facts.places";
