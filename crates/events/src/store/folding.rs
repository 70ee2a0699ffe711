//! Folding: moves the parts of blocks into entries of their streams.
//!
//! A put at a random place of the index is most of what an append of one event costs. So a transaction that appends to
//! many streams puts a block, and when there are many blocks, their parts are sorted: those of one stream are an entry,
//! and entries are put in the order of keys. Blocks are few, because readers of a stream look into each of them.
//!
//! Invariant: only a transaction that holds the writer changes blocks, so none is added while they are folded.

use fulgurite::{Database, Durability, Isolation, Read};

use crate::error::{Error, Result};
use crate::layout::parts::{self, Entries, Part};
use crate::layout::tables::Tables;
use crate::reading::locate;

/// Blocks that the index has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blocks {
    count: usize,
    parts: usize,
}

impl Blocks {
    /// Adds a block with so many parts.
    pub fn add(&mut self, parts: usize) {
        self.count += 1;
        self.parts += parts;
    }

    /// Adds other blocks.
    pub fn add_all(&mut self, others: Self) {
        self.count += others.count;
        self.parts += others.parts;
    }

    /// Whether they are to be folded.
    pub fn are_many(&self) -> bool {
        self.count >= BLOCKS_MAX || self.parts >= PARTS_MAX
    }
}

/// Folds all blocks. Returns those that are left: none, unless the disk is full. Then all stay as they are.
///
/// # Errors
/// Those of the engine; damage.
pub fn fold(db: &Database, tables: &Tables) -> Result<Blocks> {
    let (mut all, mut keys, mut blocks) = (Vec::new(), Vec::new(), Blocks::default());
    let mut txn = db.write_with(Isolation::Snapshot)?;
    for entry in txn.range(&tables.index, parts::blocks())? {
        let (key, value) = entry?;
        let block = locate::parse_block(tables, &value)?;
        all.extend(block.parts());
        keys.push(key.to_vec());
        blocks.add(block.len());
    }
    if keys.is_empty() {
        return Ok(blocks);
    }
    // Stable: it finds that each block is sorted, and merges them.
    all.sort_by_key(Part::order);
    let folded = || -> Result<()> {
        txn.put_many(&tables.index, Entries::of(&all).iter())?;
        keys.iter().try_for_each(|key| txn.delete(&tables.index, key).map(drop))?;
        // If a later commit is safe, so is this one.
        txn.commit_with(Durability::Memory)?;
        Ok(())
    };
    match folded() {
        Ok(()) => Ok(Blocks::default()),
        Err(Error::Engine(error)) if is_full(&error) => Ok(blocks),
        Err(error) => Err(error),
    }
}

fn is_full(error: &fulgurite::Error) -> bool {
    matches!(error, fulgurite::Error::DiskFull { .. } | fulgurite::Error::QuotaExceeded { .. })
}

/// A reader of a stream looks into each block.
const BLOCKS_MAX: usize = 64;
/// The more parts, the more of them share an entry. Sorting them and putting the entries delays one append by some tens
/// of milliseconds.
const PARTS_MAX: usize = 1 << 16;
