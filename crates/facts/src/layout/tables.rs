//! The tables of a store.

use fulgurite::{Database, Table, TableOptions, WriteTxn};

use crate::error::Result;

/// Entries that are no facts, by their kind. Each is a table in the engine, and the first byte of keys in LMDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)] // On disk: never renumber, only append.
pub enum Side {
    /// [`Tables::meta`].
    Meta = 0,
    /// [`Tables::statistics`].
    Statistics = 1,
    /// [`Tables::units`].
    Units = 2,
    /// [`Tables::claims`].
    Claims = 3,
    /// [`Tables::derivations`].
    Derivations = 4,
    /// [`Tables::hidden`].
    Hidden = 5,
    /// [`Tables::sets`].
    Sets = 6,
    /// [`Tables::owners`].
    Owners = 7,
}

/// What is called for each entry of a side: its key and its value.
pub type EachEntry<'e> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'e;

/// The tables that every store in the engine has.
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
    Packed(PackedTables),
}

/// The tables that hold the facts of a completed database.
#[derive(Clone)]
pub struct PackedTables {
    /// Number → piece of records.
    pub records: Table,
    /// Number → node of bounds of groups of records.
    pub index: Table,
    /// Number → node of the last bounds of those nodes.
    pub root: Table,
    /// Number → places of facts, by id.
    pub places: Table,
    /// Number → slots with places of facts, by the hash of the key.
    pub hashes: Table,
}

impl PackedTables {
    /// The tables, each as `table` creates or opens it.
    pub fn each<E>(mut table: impl FnMut(&str) -> std::result::Result<Table, E>) -> std::result::Result<Self, E> {
        Ok(Self {
            records: table("facts.records")?,
            index: table("facts.index")?,
            root: table("facts.root")?,
            places: table("facts.places")?,
            hashes: table("facts.hashes")?,
        })
    }
}

impl Tables {
    /// The table of a side.
    pub fn side(&self, side: Side) -> &Table {
        match side {
            Side::Meta => &self.meta,
            Side::Statistics => &self.statistics,
            Side::Units => &self.units,
            Side::Claims => &self.claims,
            Side::Derivations => &self.derivations,
            Side::Hidden => &self.hidden,
            Side::Sets => &self.sets,
            Side::Owners => &self.owners,
        }
    }

    /// Creates the tables of a database that facts are added to.
    pub fn create(txn: &mut WriteTxn) -> fulgurite::Result<Self> {
        let mut table = |name: &str| txn.create_table(name, TableOptions::new());
        let form = Form::Growing { keys: table(KEYS)?, entities: table(ENTITIES)? };
        Self::each(form, table)
    }

    /// Opens the tables. `None` if the database is none of a store.
    pub fn open(db: &Database) -> Result<Option<Self>> {
        let growing = |name: &str| match db.open_table(name) {
            Ok(table) => Ok(Some(table)),
            Err(fulgurite::Error::TableNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        let form = match (growing(KEYS)?, growing(ENTITIES)?) {
            (Some(keys), Some(entities)) => Form::Growing { keys, entities },
            _ => match PackedTables::each(|name| db.open_table(name)) {
                Ok(tables) => Form::Packed(tables),
                Err(fulgurite::Error::TableNotFound { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            },
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
