//! Files of changes.
//!
//! A file of changes has, after the eight bytes `FULDELT1`, the changes in the order of their tables and keys: a byte
//! (1 for a put, 2 for a deletion), the name of the table, the key and, for a put, the value, each after its length as
//! four bytes, least significant first. A byte 0 ends it.
//!
//! The changes of a file are sorted in memory. Where they take too much of it, the next file has the later changes, so
//! a key may be in several files.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

use fulgurite::{Change, Changes, Database, Error, WriteTxn};

use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::fields::{Fields, write_bytes};

const MAGIC: &[u8; 8] = b"FULDELT1";
const PUT: u8 = 1;
const DELETE: u8 = 2;
const END: u8 = 0;

/// A table and a key in it.
type TableKey = (Arc<str>, Vec<u8>);

/// Changes since a checkpoint: for each table and key the last one.
#[derive(Default)]
pub struct Delta {
    changes: BTreeMap<TableKey, Option<Vec<u8>>>,
    /// Of the file, but for its beginning and end.
    bytes: u64,
}

/// How large deltas may become.
#[derive(Clone, Copy, Debug)]
pub struct DeltaLimits {
    /// The bytes of all deltas of a feed.
    pub bytes_max: u64,
    /// About the memory of one delta.
    pub memory_bytes_max: u64,
}

/// Passes the changes of a feed to `each` as deltas, in order, but for the last delta. Returns that one, which may be
/// empty. Returns `None` if the changes cannot be listed one by one, have more bytes than are allowed, or are
/// [no longer in the log](are_gone). Some deltas may have been passed then.
///
/// # Errors
/// What `each` returns; errors of the feed.
pub fn collect(
    feed: Changes,
    limits: DeltaLimits,
    mut each: impl FnMut(&Delta) -> Result<(), CheckpointError>,
) -> Result<Option<Delta>, CheckpointError> {
    let (mut delta, mut bytes_before) = (Delta::default(), 0);
    for commit in feed {
        let commit = match commit {
            Err(error) if are_gone(&error) => return Ok(None),
            commit => commit?,
        };
        for change in commit.changes {
            if delta.memory_bytes() > limits.memory_bytes_max {
                each(&delta)?;
                bytes_before += delta.bytes;
                delta = Delta::default();
            }
            let is_listed = match change {
                Change::Put { table, key, value } => delta.note(table.name, key, Some(value)),
                Change::Delete { table, key } => delta.note(table.name, key, None),
                // A later change of the feed replaces it.
                Change::Superseded { .. } => true,
                // Tables that were created, dropped, renamed or loaded as a whole.
                _ => false,
            };
            if !is_listed || bytes_before + delta.bytes > limits.bytes_max {
                return Ok(None);
            }
        }
    }
    Ok(Some(delta))
}

impl Delta {
    /// Whether it has no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn note(&mut self, table: Option<Arc<str>>, key: Vec<u8>, value: Option<Vec<u8>>) -> bool {
        // A table without a name is dropped later in the feed.
        let Some(table) = table else { return true };
        let key_bytes = table.len() + key.len() + 9;
        let bytes_with =
            |value: &Option<Vec<u8>>| (key_bytes + value.as_ref().map_or(0, |value| value.len() + 4)) as u64;
        self.bytes += bytes_with(&value);
        if let Some(before) = self.changes.insert((table, key), value) {
            self.bytes -= bytes_with(&before);
        }
        true
    }

    fn memory_bytes(&self) -> u64 {
        self.bytes + self.changes.len() as u64 * CHANGE_MEMORY_BYTES
    }

    /// Writes the file.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(MAGIC)?;
        for ((table, key), value) in &self.changes {
            out.write_all(&[if value.is_some() { PUT } else { DELETE }])?;
            for bytes in [Some(table.as_bytes()), Some(key), value.as_deref()].into_iter().flatten() {
                write_bytes(out, bytes)?;
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
///
/// # Errors
/// [`CheckpointError::Damaged`] with the name of the file; [`CheckpointError::Engine`]; [`CheckpointError::Storage`].
pub fn apply(name: &str, input: impl Read, db: &Database) -> Result<(), CheckpointError> {
    let mut fields = Fields::open(name, input, MAGIC, "a file of changes")?;
    let mut has_more = true;
    while has_more {
        let mut txn = db.write()?;
        for _ in 0..CHANGES_PER_COMMIT {
            has_more = apply_next(&mut fields, db, &mut txn)?;
            if !has_more {
                break;
            }
        }
        txn.commit()?;
    }
    Ok(())
}

/// Applies a change; false at the end.
fn apply_next(fields: &mut Fields<impl Read>, db: &Database, txn: &mut WriteTxn) -> Result<bool, CheckpointError> {
    let [kind] = fields.array::<1>()?;
    if kind == END {
        return Ok(false);
    }
    let table = db.open_table(&fields.text()?)?;
    let key = fields.bytes()?;
    match kind {
        PUT => txn.put(&table, key, fields.bytes()?)?,
        DELETE => drop(txn.delete(&table, key)?),
        other => return Err(fields.damaged(format!("there is no change of kind {other}"))),
    }
    Ok(true)
}

const CHANGES_PER_COMMIT: usize = 100_000;
/// Memory of a change beside its bytes: its place in the map, and what is allocated for it.
const CHANGE_MEMORY_BYTES: u64 = 128;
