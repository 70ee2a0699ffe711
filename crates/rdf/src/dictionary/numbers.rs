//! Numbers for new terms, reserved in blocks.

use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fulgurite::{Database, Durability};

use crate::error::{Error, Result};
use crate::model::id::PAYLOAD_MAX;
use crate::tables::{Reads, Tables, damaged, next_number, set_next_number};

/// Numbers that this process has reserved and not given out yet. What is left when the store is closed is lost; so
/// blocks begin small.
#[derive(Debug, Default)]
pub struct Numbers {
    block: Mutex<Block>,
}

#[derive(Debug, Default)]
struct Block {
    left: Range<u64>,
    /// How large the last one was.
    size: u64,
    /// How many blocks were reserved.
    reservations: u64,
}

impl Numbers {
    /// A number that no term has.
    ///
    /// # Errors
    /// [`Error::Damaged`]; [`Error::Invalid`] if none is left; what the engine reports.
    pub fn take(&self, database: &Database, tables: &Tables) -> Result<u64> {
        let mut block = self.block.lock().unwrap_or_else(PoisonError::into_inner);
        if block.left.is_empty() {
            let size = (block.size * 2).clamp(BLOCK_MIN, BLOCK_MAX);
            block.left = reserve(database, tables, size)?;
            block.size = size;
            block.reservations += 1;
        }
        Ok(block.left.next().expect("a block has one number at least"))
    }

    /// Calls `read` while no numbers are being reserved. Also returns how often this process has reserved some before:
    /// each time is one commit.
    pub fn between_reservations<T>(&self, read: impl FnOnce() -> T) -> (T, u64) {
        let block = self.block.lock().unwrap_or_else(PoisonError::into_inner);
        (read(), block.reservations)
    }
}

/// Reserves `count` numbers, in a transaction of its own. It need not be durable before what uses them is: durability
/// goes from the first commit on.
///
/// # Errors
/// As [`Numbers::take`].
fn reserve(database: &Database, tables: &Tables, count: u64) -> Result<Range<u64>> {
    loop {
        let mut txn = database.write()?;
        let first = next_number(&txn, &tables.meta, database.path())?;
        let end = end(first, count)?;
        set_next_number(&mut txn, &tables.meta, end)?;
        match txn.commit_with(Durability::Memory) {
            Ok(_) => return Ok(first..end),
            Err(error) if error.is_retryable() => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The number after `count` numbers from `first` on.
///
/// # Errors
/// [`Error::Invalid`] if there are not so many.
pub fn end(first: u64, count: u64) -> Result<u64> {
    let end = first.checked_add(count).filter(|&end| end <= PAYLOAD_MAX);
    end.ok_or_else(|| Error::Invalid { message: "the store has no number left for another term".into() })
}

/// Checks that no term has a number that is still to be given out.
///
/// # Errors
/// [`Error::Damaged`]; what the engine reports.
pub fn check(reads: &impl Reads, tables: &Tables, path: &Path) -> Result<()> {
    use crate::model::id::{Tag, TermId};

    let next = next_number(reads, &tables.meta, path)?;
    for tag in Tag::DICTIONARY {
        let first = TermId::new(tag, 0);
        let end = TermId::new(tag, PAYLOAD_MAX).key().end().expect("tags are below 31");
        let low = first.key();
        let mut range = reads.range(&tables.terms, low.as_bytes()..end.as_bytes())?;
        let Some(last) = range.next_back().transpose()? else { continue };
        let last = TermId::from_key(&last.0).filter(|id| id.tag() == tag);
        let last = last.ok_or_else(|| damaged(path, "table `terms`", "a key is not a number of a term"))?;
        if last.payload() >= next {
            return Err(damaged(path, "meta `next_number`", "a term has a higher number already"));
        }
    }
    Ok(())
}

const BLOCK_MIN: u64 = 64;
const BLOCK_MAX: u64 = 1 << 16;
