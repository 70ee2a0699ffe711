//! The database and the store of quads that operations are counted on: made once, by this program without valgrind.

use std::path::{Path, PathBuf};

use fulgurite::{Database, Durability, Options, TableOptions};

use crate::error::Result;
use crate::keys::{RECORDS, Shape};

/// A table, its keys, and the length of its values.
#[derive(Clone, Copy, Debug)]
pub struct TableOf {
    /// Its name.
    pub name: &'static str,
    /// Its keys.
    pub shape: Shape,
    value_bytes: usize,
    is_packed: bool,
}

/// Of each table, what a get costs is counted.
pub const TABLES: [TableOf; 6] = [
    TableOf { name: "hashed", shape: Shape::Hashed, value_bytes: 100, is_packed: false },
    TableOf { name: "sequential", shape: Shape::Sequential, value_bytes: 100, is_packed: false },
    TableOf { name: "iris", shape: Shape::Iris, value_bytes: 20, is_packed: false },
    TableOf { name: "words", shape: Shape::Words, value_bytes: 8, is_packed: false },
    TableOf { name: "packed_u32", shape: Shape::U32, value_bytes: 8, is_packed: true },
    TableOf { name: "packed_u64", shape: Shape::Sequential, value_bytes: 0, is_packed: true },
];

/// Where they are below a directory.
#[derive(Clone, Debug)]
pub struct Stores {
    /// The database of tables.
    pub tables: PathBuf,
    /// The store of quads.
    #[cfg(feature = "quads")]
    pub quads: PathBuf,
}

impl Stores {
    /// Those below `directory`.
    pub fn below(directory: &Path) -> Self {
        Self {
            tables: directory.join("tables.ful"),
            #[cfg(feature = "quads")]
            quads: directory.join("quads.ful"),
        }
    }

    /// Makes the database.
    pub fn make_tables(&self) -> Result<()> {
        let db = engine_options().create(true).open(&self.tables)?;
        for table in TABLES {
            let options = TableOptions::new().packed(table.is_packed);
            let mut keys: Vec<Vec<u8>> = (0..RECORDS).map(|record| table.shape.key(record)).collect();
            keys.sort_unstable();
            let value = vec![7; table.value_bytes];
            db.bulk_load(&db.create_table(table.name, options)?, keys.iter().map(|key| (key, &value)))?;
        }
        db.close()?;
        Ok(())
    }
}

/// No thread works in the background, whose instructions would be counted now and then.
pub fn engine_options() -> Options {
    Database::options().background(false).durability(Durability::Memory)
}
