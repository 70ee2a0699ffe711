//! The tables.

use fulgurite::{Database, MultimapTable, TypedTable};

use crate::error::Result;

/// Words with commas between them, the lexicographer file, and the gloss: definition and examples.
pub type SynsetValue = (String, String, String);
/// The source, the symbol, and the position among those of the source, which makes the keys differ.
pub type PointerKey = (String, String, u16);
/// The target, and the numbers of the words that are connected here and there, or 0.
pub type PointerValue = (String, u8, u8);

/// The open tables.
#[derive(Debug)]
pub struct Tables {
    /// Synsets by id.
    pub synsets: TypedTable<String, SynsetValue>,
    /// The ids of a word's synsets.
    pub words: MultimapTable<String, String>,
    /// Pointers by source and symbol.
    pub pointers: TypedTable<PointerKey, PointerValue>,
}

impl Tables {
    /// Opens or creates them.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(db: &Database) -> Result<Self> {
        Ok(Self {
            synsets: db.typed_table("synsets")?,
            words: db.multimap_table("words")?,
            pointers: db.typed_table("pointers")?,
        })
    }
}
