//! Commits of a change feed, many in an array.
//!
//! Numbers are little-endian. A commit is its sequence (8 bytes), the number of its changes (4 bytes), and the changes.
//! A change is its kind (1 byte), the id of its table (8 bytes), and three parts: the name of the table, the key and
//! the value. Each part follows its length (4 bytes). An id or length with all bits set means that there is none.
//!
//! | kind | change | key | value |
//! |---|---|---|---|
//! | 0 | put | the key | the value |
//! | 1 | superseded | the key | the length of the value (8 bytes) |
//! | 2 | delete | the key | empty |
//! | 3 | table created | empty | empty |
//! | 4 | table dropped | empty | empty |
//! | 5 | table renamed | the previous name | empty |
//! | 6 | bulk loaded | empty | empty |

use fulgurite::{Change, ChangedTable, Changes, Commit, Error};

use crate::error::{Failure, Result};

/// A change feed whose commits are read in batches.
pub struct PackedChanges {
    changes: Changes,
    /// An error behind the commits of the last batch. The next call reports it.
    failure: Option<Error>,
}

impl PackedChanges {
    /// The commits of a feed.
    pub fn new(changes: Changes) -> Self {
        Self { changes, failure: None }
    }

    /// The next commits: at least one, and more until they have so many bytes. Empty at the end of the feed.
    ///
    /// # Errors
    /// Those of the feed, and [`Failure::Invalid`] for values that are too long for an array.
    pub fn next_batch(&mut self, bytes_wanted: usize) -> Result<Vec<u8>> {
        if let Some(failure) = self.failure.take() {
            return Err(failure.into());
        }
        let mut batch = Vec::new();
        while batch.is_empty() || batch.len() < bytes_wanted {
            match self.changes.next() {
                Some(Ok(commit)) => push_commit(&mut batch, &commit)?,
                Some(Err(error)) if batch.is_empty() => return Err(error.into()),
                Some(Err(error)) => {
                    self.failure = Some(error);
                    break;
                }
                None => break,
            }
        }
        Ok(batch)
    }
}

fn push_commit(out: &mut Vec<u8>, commit: &Commit) -> Result<()> {
    out.extend_from_slice(&commit.sequence.0.to_le_bytes());
    out.extend_from_slice(&(commit.changes.len() as u32).to_le_bytes());
    commit.changes.iter().try_for_each(|change| push_change(out, change))
}

fn push_change(out: &mut Vec<u8>, change: &Change) -> Result<()> {
    let length;
    let (kind, table, key, value): (u8, &ChangedTable, &[u8], &[u8]) = match change {
        Change::Put { table, key, value } => (0, table, key, value),
        Change::Superseded { table, key, value_bytes } => {
            length = value_bytes.to_le_bytes();
            (1, table, key, &length)
        }
        Change::Delete { table, key } => (2, table, key, &[]),
        Change::TableCreated { table } => (3, table, &[], &[]),
        Change::TableDropped { table } => (4, table, &[], &[]),
        Change::TableRenamed { table, before } => (5, table, before.as_bytes(), &[]),
        Change::BulkLoaded { table } => (6, table, &[], &[]),
        other => return Err(Failure::Invalid(format!("the Java binding does not support this change: {other:?}"))),
    };
    out.push(kind);
    out.extend_from_slice(&table.id.map_or(u64::MAX, |id| id.0.into()).to_le_bytes());
    for part in [table.name.as_deref().map(str::as_bytes), Some(key), Some(value)] {
        let Some(part) = part else {
            out.extend_from_slice(&u32::MAX.to_le_bytes());
            continue;
        };
        let length = u32::try_from(part.len()).ok().filter(|length| *length < u32::MAX).ok_or_else(|| {
            let reason = "a value has 4 GiB or more, more than an array of Java can have; read the feed from Rust";
            Failure::Invalid(reason.to_owned())
        })?;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(part);
    }
    Ok(())
}
