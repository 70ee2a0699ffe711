//! Folding: moves the parts of blocks into entries of their streams.
//!
//! A put at a random place of the index is most of what an append of one event costs. So a transaction that appends to
//! many streams puts a block, and when there are many blocks, their parts are sorted: those of one stream are an entry,
//! and entries are put in the order of keys. Blocks are few, because readers of a stream look into each of them.
//!
//! Invariants: (1) Only a thread that holds the writer changes blocks, so none is added while they are folded. (2) One
//! commit deletes blocks and puts the entries of all their parts, so each snapshot has a part exactly once.

use fulgurite::{Database, Durability, Isolation, Read, WriteTxn};

use crate::error::{Error, Result};
use crate::layout::parts::{self, Entries, Part};
use crate::layout::tables::Tables;
use crate::reading::locate;

/// How many blocks there are, and parts in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

/// When blocks are folded, and how many at once.
#[derive(Debug)]
pub struct Folding {
    /// The blocks of the index. Those of earlier openings are counted when a fold is refused.
    blocks: Blocks,
    /// With fewer blocks, no fold is due, because the disk was full at the last one.
    count_min: usize,
    /// Blocks with more parts are folded in several commits.
    parts_at_once: usize,
}

impl Default for Folding {
    fn default() -> Self {
        Self { blocks: Blocks::default(), count_min: 0, parts_at_once: PARTS_MAX }
    }
}

impl Folding {
    /// Adds blocks that a transaction has put.
    pub fn add(&mut self, blocks: Blocks) {
        self.blocks.count += blocks.count;
        self.blocks.parts += blocks.parts;
    }

    /// Whether to fold before the next transaction. `are_known`: no other blocks exist than those that were added.
    pub fn is_due(&self, are_known: bool) -> bool {
        let is_wanted = !are_known || self.blocks.count >= BLOCKS_MAX || self.blocks.parts >= PARTS_MAX;
        is_wanted && self.blocks.count >= self.count_min
    }

    /// Folds all blocks, the oldest first. Returns whether none is left: if the disk is full, those that are left stay
    /// as they are, and the next fold is due when there are twice as many.
    ///
    /// # Errors
    /// Those of the engine; damage. What was folded by then stays so.
    pub fn fold(&mut self, db: &Database, tables: &Tables) -> Result<bool> {
        loop {
            let txn = db.write_with(Isolation::Snapshot)?;
            let group = Group::read(&txn, tables, self.parts_at_once)?;
            if group.keys.is_empty() {
                (self.blocks, self.count_min) = (Blocks::default(), 0);
                return Ok(true);
            }
            let (keys, parts) = (group.keys.len(), group.parts.len());
            match group.write(txn, tables) {
                Ok(true) => {}
                Ok(false) => self.parts_at_once = parts / 2,
                Err(Error::Engine(error)) if is_full(&error) => {
                    if keys > 1 {
                        self.parts_at_once = parts / 2;
                    }
                    self.blocks = count(db, tables)?;
                    self.count_min = 2 * self.blocks.count;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Blocks that are folded in one commit.
struct Group {
    keys: Vec<Vec<u8>>,
    parts: Vec<Part>,
}

impl Group {
    /// The first blocks: as many as have at most so many parts, and one if that has more.
    fn read(txn: &WriteTxn, tables: &Tables, parts_max: usize) -> Result<Self> {
        let mut group = Self { keys: Vec::new(), parts: Vec::new() };
        for entry in txn.range(&tables.index, parts::blocks())? {
            let (key, value) = entry?;
            let block = locate::parse_block(tables, &value)?;
            if !group.keys.is_empty() && group.parts.len() + block.len() > parts_max {
                break;
            }
            group.keys.push(key.to_vec());
            group.parts.extend(block.parts());
        }
        // Stable: it finds that each block is sorted, and merges them.
        group.parts.sort_by_key(Part::order);
        Ok(group)
    }

    /// Replaces the blocks by entries. Returns false, and changes nothing, if the transaction was spilled and has
    /// several blocks: such a commit waits for a sync and for other transactions, and these conflict with it.
    fn write(&self, mut txn: WriteTxn, tables: &Tables) -> Result<bool> {
        txn.put_many(&tables.index, Entries::of(&self.parts).iter())?;
        for key in &self.keys {
            txn.delete(&tables.index, key)?;
        }
        if txn.spilled_bytes() > 0 && self.keys.len() > 1 {
            return Ok(false);
        }
        // If a later commit is safe, so is this one.
        txn.commit_with(Durability::Memory)?;
        Ok(true)
    }
}

fn count(db: &Database, tables: &Tables) -> Result<Blocks> {
    let (txn, mut blocks) = (db.read()?, Blocks::default());
    for entry in txn.range(&tables.index, parts::blocks())? {
        let (_, value) = entry?;
        blocks.add(locate::parse_block(tables, &value)?.len());
    }
    Ok(blocks)
}

/// Whether there was no room for a commit.
pub fn is_full(error: &fulgurite::Error) -> bool {
    matches!(error, fulgurite::Error::DiskFull { .. } | fulgurite::Error::QuotaExceeded { .. })
}

/// As many blocks are folded. So fewer are there when a transaction begins, which adds 33 at most.
const BLOCKS_MAX: usize = 64;
/// As many parts in blocks are folded, and a transaction with as many puts entries. The more parts are folded at once,
/// the more of them share an entry. Sorting them and putting the entries delays one append by some tens of
/// milliseconds, and takes about 10 MB of memory.
pub const PARTS_MAX: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fold_is_due_by_count_by_parts_and_for_unknown_blocks_and_after_a_refusal_when_they_have_doubled() {
        let mut folding = Folding::default();
        assert!(folding.is_due(false) && !folding.is_due(true));
        folding.add(Blocks { count: 63, parts: 63 });
        assert!(!folding.is_due(true));
        folding.add(Blocks { count: 1, parts: 1 });
        assert!(folding.is_due(true));
        folding.count_min = 128;
        assert!(!folding.is_due(true) && !folding.is_due(false));
        folding.add(Blocks { count: 64, parts: 0 });
        assert!(folding.is_due(true));
        let mut folding = Folding::default();
        folding.add(Blocks { count: 33, parts: PARTS_MAX });
        assert!(folding.is_due(true));
    }
}
