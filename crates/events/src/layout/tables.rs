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
    /// [`Error::NotEvents`] if there is something else of this name, or a layout that is not known.
    pub fn open(txn: &ReadTxn, name: &str) -> Result<Option<Self>> {
        let Ok(meta) = txn.open_table(&format!("{name}.meta")) else { return Ok(None) };
        match txn.get(&meta, META_LAYOUT)?.as_deref() {
            Some(&[LAYOUT | LAYOUT_WITHOUT_BLOCKS]) => {}
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
            index: table(&format!("{name}.index"), TableOptions::new().key_type("(u64,u64)"))?,
            types: table(&format!("{name}.types"), numbers())?,
            by_type: table(&format!("{name}.by_type"), TableOptions::new().key_type("(u32,u64)"))?,
            by_tag: table(&format!("{name}.by_tag"), TableOptions::new().key_type("(u64,u64)"))?,
            consumers: table(&format!("{name}.consumers"), plain())?,
            snapshots: table(&format!("{name}.snapshots"), TableOptions::new().key_type("(u64,u64)"))?,
            meta: table(&format!("{name}.meta"), plain())?,
        })
    }

    /// The error of a table whose bytes are wrong.
    pub fn damaged(&self, table: &Table, what: &'static str) -> Error {
        Error::Damaged { table: table.name().to_owned(), what }
    }
}

/// The key of the layout's version.
const META_LAYOUT: &[u8] = b"layout";
/// The key of the first position that retention keeps.
pub const META_START: &[u8] = b"start";
/// The version of the layout.
const LAYOUT: u8 = 2;
/// The version in which the index of streams has no blocks, and one part in each entry. It is read as the newer one.
const LAYOUT_WITHOUT_BLOCKS: u8 = 1;
