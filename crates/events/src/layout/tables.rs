//! The tables of a store.

use fulgurite::{Database, ReadTxn, Table, TableOptions, WriteTxn};

use crate::error::{Error, Result};

/// The tables of a store. `docs/reference/events.md` specifies their entries.
#[derive(Clone, Debug)]
pub struct Tables {
    /// The name of the store, with which the names of its tables begin.
    pub name: String,
    /// Chunks of events by the position of the first.
    pub log: Table,
    /// Numbers of streams by name.
    pub names: Table,
    /// Records of streams by number.
    pub streams: Table,
    /// Chunks by stream and version.
    pub index: Table,
    /// Names of types by number.
    pub types: Table,
    /// Chunks by type.
    pub by_type: Table,
    /// Chunks by the hash of a tag.
    pub by_tag: Table,
    /// Positions of consumers by name.
    pub consumers: Table,
    /// States of aggregates by stream and version.
    pub snapshots: Table,
    /// The version of the layout, and where the log begins.
    pub meta: Table,
}

impl Tables {
    /// The tables of the store with this name. None if the database has no such store.
    ///
    /// # Errors
    /// [`Error::NotEvents`] if there is something else of this name; [`Error::NewerLayout`]; those of the engine.
    pub fn open(txn: &ReadTxn, name: &str) -> Result<Option<Self>> {
        let meta = match txn.open_table(&format!("{name}.meta")) {
            Err(fulgurite::Error::TableNotFound { .. }) => return Ok(None),
            meta => meta?,
        };
        match txn.get(&meta, META_LAYOUT)?.as_deref() {
            Some(&[LAYOUT | LAYOUT_WITHOUT_BLOCKS]) => {}
            Some(&[layout]) if layout > LAYOUT => {
                return Err(Error::NewerLayout { name: name.to_owned(), layout, known: LAYOUT });
            }
            _ => return Err(Error::NotEvents { name: name.to_owned() }),
        }
        Self::collect(name, |table, _| txn.open_table(table)).map(Some)
    }

    /// Creates the tables.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn create(db: &Database, name: &str) -> Result<()> {
        let created = db.update(|txn: &mut WriteTxn| {
            let mut failed = None;
            let tables = Self::collect(name, |table, options| txn.create_table(table, options));
            match tables {
                Ok(tables) => txn.put(&tables.meta, META_LAYOUT, [LAYOUT])?,
                Err(error) => failed = Some(error),
            }
            match failed {
                Some(Error::Engine(error)) => Err(*error),
                _ => Ok(()),
            }
        });
        match created {
            // Another thread was faster.
            Err(fulgurite::Error::TableExists { .. }) => Ok(()),
            created => Ok(created?),
        }
    }

    /// Notes that the index of streams has what older programs cannot read: blocks, or several parts in an entry. Does
    /// nothing if that is noted.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn raise_layout(&self, txn: &mut WriteTxn) -> Result<()> {
        if txn.get(&self.meta, META_LAYOUT)?.as_deref() == Some(&[LAYOUT]) {
            return Ok(());
        }
        Ok(txn.put(&self.meta, META_LAYOUT, [LAYOUT])?)
    }

    fn collect(name: &str, mut table: impl FnMut(&str, TableOptions) -> fulgurite::Result<Table>) -> Result<Self> {
        let plain = TableOptions::new;
        let numbers = || TableOptions::new().key_type("u64");
        Ok(Self {
            name: name.to_owned(),
            log: table(&format!("{name}.log"), numbers().value_align(8))?,
            names: table(&format!("{name}.names"), plain())?,
            streams: table(&format!("{name}.streams"), numbers())?,
            index: table(&format!("{name}.{INDEX}"), TableOptions::new().key_type(INDEX_KEY))?,
            types: table(&format!("{name}.types"), numbers())?,
            by_type: table(&format!("{name}.{BY_TYPE}"), TableOptions::new().key_type(BY_TYPE_KEY))?,
            by_tag: table(&format!("{name}.{BY_TAG}"), TableOptions::new().key_type(BY_TAG_KEY))?,
            consumers: table(&format!("{name}.consumers"), plain())?,
            snapshots: table(&format!("{name}.snapshots"), TableOptions::new().key_type("(u64,u64)"))?,
            meta: table(&format!("{name}.meta"), plain())?,
        })
    }

    /// Creates the indexes again, empty, beside the old ones. Drops those that an interrupted rebuild has left. The
    /// other tables of the result are the same.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn create_beside(&self, txn: &mut WriteTxn) -> Result<Self> {
        self.drop_beside(txn)?;
        let mut create = |part: &str, key: &str| {
            let name = format!("{}.{part}{BESIDE}", self.name);
            txn.create_table(&name, TableOptions::new().key_type(key))
        };
        let index = create(INDEX, INDEX_KEY)?;
        let by_type = create(BY_TYPE, BY_TYPE_KEY)?;
        let by_tag = create(BY_TAG, BY_TAG_KEY)?;
        Ok(Self { index, by_type, by_tag, ..self.clone() })
    }

    /// Drops the indexes beside the old ones, if there are some.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn drop_beside(&self, txn: &mut WriteTxn) -> Result<()> {
        for part in [INDEX, BY_TYPE, BY_TAG] {
            match txn.open_table(&format!("{}.{part}{BESIDE}", self.name)) {
                Ok(table) => txn.drop_table(&table)?,
                Err(fulgurite::Error::TableNotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Puts the indexes of `beside` in the place of the old ones.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn exchange(&self, txn: &mut WriteTxn, beside: &Self) -> Result<()> {
        let pairs = [(&self.index, &beside.index), (&self.by_type, &beside.by_type), (&self.by_tag, &beside.by_tag)];
        for (old, new) in pairs {
            txn.drop_table(old)?;
            txn.rename_table(new, old.name())?;
        }
        Ok(())
    }

    /// The error of a table whose bytes are wrong.
    pub fn damaged(&self, table: &Table, what: &'static str) -> Error {
        Error::Damaged { table: table.name().to_owned(), what }
    }
}

/// The name of the event store that a table is of. Indexes that are being rebuilt are of it too. None if the database
/// has no such store.
///
/// # Errors
/// Those of the engine.
pub fn store_of<'n>(txn: &ReadTxn, table: &'n str) -> Result<Option<&'n str>> {
    let Some((store, part)) = table.rsplit_once('.') else { return Ok(None) };
    if !PARTS.contains(&part.strip_suffix(BESIDE).unwrap_or(part)) {
        return Ok(None);
    }
    let meta = match txn.open_table(&format!("{store}.meta")) {
        Err(fulgurite::Error::TableNotFound { .. }) => return Ok(None),
        meta => meta?,
    };
    // The version of a layout is a byte.
    let is_store = txn.get(&meta, META_LAYOUT)?.is_some_and(|layout| layout.len() == 1);
    Ok(is_store.then_some(store))
}

/// What follows the name of the store in the names of its tables.
const PARTS: [&str; 10] =
    ["log", "names", "streams", INDEX, "types", BY_TYPE, BY_TAG, "consumers", "snapshots", "meta"];
/// What follows the name of the store in the names of the indexes, and the types of their keys.
const INDEX: &str = "index";
const INDEX_KEY: &str = "(u64,u64)";
const BY_TYPE: &str = "by_type";
const BY_TYPE_KEY: &str = "(u32,u64)";
const BY_TAG: &str = "by_tag";
const BY_TAG_KEY: &str = "(u64,u64)";
/// The end of the names of indexes and of views that are being rebuilt.
pub const BESIDE: &str = "~rebuild";
/// The key of the layout's version.
const META_LAYOUT: &[u8] = b"layout";
/// The key of the first position that retention keeps.
pub const META_START: &[u8] = b"start";
/// The key of the position before which retention has removed ids of events that limits of streams removed.
pub const META_IDS: &[u8] = b"ids";
/// The version of the layout.
const LAYOUT: u8 = 2;
/// The version in which the index of streams has no blocks, and one part in each entry. It is read as the newer one.
const LAYOUT_WITHOUT_BLOCKS: u8 = 1;
