//! Files of changes.
//!
//! A file of changes has, after the eight bytes `FULDELT1`, the changes in the order of their tables and keys: a byte
//! (1 for a put, 2 for a deletion), the name of the table, the key and, for a put, the value, each after its length as
//! four bytes, least significant first. A byte 0 ends it.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

use fulgurite::{Change, Changes, Database, Error, WriteTxn};

use crate::checkpoint::error::CheckpointError;

const MAGIC: &[u8; 8] = b"FULDELT1";
const PUT: u8 = 1;
const DELETE: u8 = 2;
const END: u8 = 0;

/// A table and a key in it.
type TableKey = (Arc<str>, Vec<u8>);

/// The changes since a checkpoint: for each table and key its last one.
#[derive(Default)]
pub struct Delta {
    changes: BTreeMap<TableKey, Option<Vec<u8>>>,
    bytes: u64,
}

impl Delta {
    /// Collects the changes of a feed; `None` if they cannot be listed one by one, have more than `bytes_max`, or are
    /// [no longer in the log](are_gone).
    pub fn collect(feed: Changes, bytes_max: u64) -> fulgurite::Result<Option<Self>> {
        let mut delta = Self::default();
        for commit in feed {
            let commit = match commit {
                Err(error) if are_gone(&error) => return Ok(None),
                commit => commit?,
            };
            for change in commit.changes {
                let is_listed = match change {
                    Change::Put { table, key, value } => delta.note(table.name, key, Some(value)),
                    Change::Delete { table, key } => delta.note(table.name, key, None),
                    // A later change of the feed replaces it.
                    Change::Superseded { .. } => true,
                    // Tables that were created, dropped, renamed or loaded as a whole.
                    _ => false,
                };
                if !is_listed || delta.bytes > bytes_max {
                    return Ok(None);
                }
            }
        }
        Ok(Some(delta))
    }

    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn note(&mut self, table: Option<Arc<str>>, key: Vec<u8>, value: Option<Vec<u8>>) -> bool {
        // A table without a name is dropped later in the feed.
        let Some(table) = table else { return true };
        self.bytes += (table.len() + key.len() + value.as_ref().map_or(0, Vec::len) + 13) as u64;
        self.changes.insert((table, key), value);
        true
    }

    /// Writes the file.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(MAGIC)?;
        for ((table, key), value) in &self.changes {
            out.write_all(&[if value.is_some() { PUT } else { DELETE }])?;
            for bytes in [Some(table.as_bytes()), Some(key), value.as_deref()].into_iter().flatten() {
                // Keys and values have less than 4 GiB.
                out.write_all(&(bytes.len() as u32).to_le_bytes())?;
                out.write_all(bytes)?;
            }
        }
        out.write_all(&[END])
    }
}

/// Whether an error of the feed means that the retained log no longer has the changes, or that one of its segments is
/// damaged or missing. The database does not need these segments.
pub fn are_gone(error: &Error) -> bool {
    match error {
        Error::ChangesGone { .. } | Error::Corrupt { .. } | Error::UnsupportedFormat { .. } => true,
        Error::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}

/// Applies a file of changes.
pub fn apply(name: &str, input: &mut impl BufRead, db: &Database) -> Result<(), CheckpointError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => CheckpointError::damaged(name, "it ends too early"),
        _ => CheckpointError::Storage { operation: "read", name: name.to_owned(), source: error },
    };
    let mut magic = [0; MAGIC.len()];
    input.read_exact(&mut magic).map_err(failed)?;
    if magic != *MAGIC {
        return Err(CheckpointError::damaged(name, "it is not a file of changes"));
    }
    let mut has_more = true;
    while has_more {
        let mut txn = db.write()?;
        for _ in 0..CHANGES_PER_COMMIT {
            has_more = apply_next(name, input, db, &mut txn, &failed)?;
            if !has_more {
                break;
            }
        }
        txn.commit()?;
    }
    Ok(())
}

/// Applies a change; false at the end.
fn apply_next(
    name: &str,
    input: &mut impl BufRead,
    db: &Database,
    txn: &mut WriteTxn,
    failed: &impl Fn(io::Error) -> CheckpointError,
) -> Result<bool, CheckpointError> {
    let mut kind = [0];
    input.read_exact(&mut kind).map_err(failed)?;
    if kind == [END] {
        return Ok(false);
    }
    let mut next = || -> Result<Vec<u8>, CheckpointError> {
        let mut length = [0; 4];
        input.read_exact(&mut length).map_err(failed)?;
        let length = u64::from(u32::from_le_bytes(length));
        let mut bytes = Vec::new();
        if input.take(length).read_to_end(&mut bytes).map_err(failed)? as u64 != length {
            return Err(failed(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(bytes)
    };
    let table = String::from_utf8(next()?).map_err(|_| CheckpointError::damaged(name, "a table has no name"))?;
    let table = db.open_table(&table)?;
    let key = next()?;
    match kind {
        [PUT] => txn.put(&table, key, next()?)?,
        [DELETE] => drop(txn.delete(&table, key)?),
        [other] => return Err(CheckpointError::damaged(name, format!("there is no change of kind {other}"))),
    }
    Ok(true)
}

const CHANGES_PER_COMMIT: usize = 100_000;
