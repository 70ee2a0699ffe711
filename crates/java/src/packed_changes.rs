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
pub struct PackedChanges<I = Changes> {
    changes: I,
    /// The commits that were packed and not yet taken.
    batch: Vec<u8>,
    /// A commit that was read, and did not fit into the last batch.
    rest: Option<Commit>,
    /// The kind and the text of the error behind the batch. A feed cannot continue behind it.
    failure: Option<(&'static str, String)>,
    /// No batch is larger.
    bytes_max: usize,
}

impl<I: Iterator<Item = std::result::Result<Commit, Error>>> PackedChanges<I> {
    /// The commits of a feed, in batches of at most `bytes_max` bytes.
    pub fn new(changes: I, bytes_max: usize) -> Self {
        Self { changes, batch: Vec::new(), rest: None, failure: None, bytes_max }
    }

    /// The next commits: at least one, and more until they have so many bytes. Empty at the end of the feed. The same
    /// batch is returned again until it is taken by [`PackedChanges::take`].
    ///
    /// # Errors
    /// Those of the feed, and [`Failure::Explained`] for commits that are too large for an array. Commits before the
    /// failing one are returned first. After an error, every further call returns it again.
    pub fn next_batch(&mut self, bytes_wanted: usize) -> Result<&[u8]> {
        if self.batch.is_empty() {
            self.fill(bytes_wanted);
        }
        match &self.failure {
            Some((kind, text)) if self.batch.is_empty() => Err(Failure::Explained(kind, text.clone())),
            _ => Ok(&self.batch),
        }
    }

    /// Ends the current batch: the program has it.
    pub fn take(&mut self) {
        self.batch = Vec::new();
    }

    fn fill(&mut self, bytes_wanted: usize) {
        while self.failure.is_none() && (self.batch.is_empty() || self.batch.len() < bytes_wanted) {
            let next = self.rest.take().map(Ok).or_else(|| self.changes.next());
            let Some(next) = next else { return };
            let before = self.batch.len();
            let failure = match next.map_err(Failure::from) {
                Err(failure) => failure,
                Ok(commit) => match push_commit(&mut self.batch, &commit) {
                    Ok(()) if self.batch.len() <= self.bytes_max => continue,
                    Ok(()) if before > 0 => {
                        self.batch.truncate(before);
                        self.rest = Some(commit);
                        return;
                    }
                    Ok(()) => too_large(&commit, self.batch.len()),
                    Err(failure) => failure,
                },
            };
            self.batch.truncate(before);
            self.failure = Some(failure.kind_and_text());
        }
    }
}

fn too_large(commit: &Commit, bytes: usize) -> Failure {
    Failure::Invalid(format!(
        "commit {} has {bytes} bytes of changes, more than an array of Java can have; read the feed from Rust",
        commit.sequence.0
    ))
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

#[cfg(test)]
mod tests {
    use fulgurite::{Database, Sequence};

    use super::*;

    /// Five commits of one put each; the last value has 1,000 bytes, the others have none.
    fn commits() -> Vec<std::result::Result<Commit, Error>> {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::options().create(true).keep_log(1 << 20).open(directory.path().join("a.ful")).unwrap();
        let table = db.create_table("t", Default::default()).unwrap();
        for length in [0, 0, 0, 0, 1000] {
            db.update(|txn| txn.put(&table, b"key", vec![0; length])).unwrap();
        }
        db.wait_durable(Sequence(0), std::time::Duration::ZERO).unwrap();
        db.changes(table_created(&db)).unwrap().collect()
    }

    fn table_created(db: &Database) -> Sequence {
        db.changes(Sequence(0)).unwrap().next().unwrap().unwrap().sequence
    }

    /// The length of a packed commit of [`commits`] whose value is empty.
    const SMALL: usize = 8 + 4 + 1 + 8 + (4 + 1) + (4 + 3) + 4;

    fn length(batch: Result<&[u8]>) -> usize {
        batch.unwrap().len()
    }

    fn failed(batch: Result<&[u8]>) -> String {
        batch.unwrap_err().kind_and_text().1
    }

    #[test]
    fn commits_before_an_error_are_returned_and_then_the_error_every_time() {
        let mut given = commits();
        given[2] = Err(Error::Invalid { message: "damaged".to_owned() });
        let mut packed = PackedChanges::new(given.into_iter(), usize::MAX);
        assert_eq!(length(packed.next_batch(1 << 20)), 2 * SMALL);
        packed.take();
        for _ in 0..3 {
            assert!(failed(packed.next_batch(1 << 20)).contains("damaged"));
        }
    }

    #[test]
    fn a_commit_that_is_too_large_hides_no_commit_before_it() {
        let mut packed = PackedChanges::new(commits().into_iter(), 3 * SMALL);
        for commits in [3, 1] {
            assert_eq!(length(packed.next_batch(1 << 20)), commits * SMALL);
            packed.take();
        }
        for _ in 0..2 {
            assert!(failed(packed.next_batch(1 << 20)).contains("more than an array of Java can have"));
        }
    }

    #[test]
    fn a_batch_that_was_not_taken_is_returned_again() {
        let mut packed = PackedChanges::new(commits().into_iter(), usize::MAX);
        let first = packed.next_batch(1).unwrap().to_vec();
        assert_eq!(packed.next_batch(1).unwrap(), first);
        packed.take();
        assert_ne!(packed.next_batch(1).unwrap(), first);
        packed.take();
        assert_eq!(length(packed.next_batch(1 << 20)), 3 * SMALL + 1000);
        packed.take();
        assert_eq!(length(packed.next_batch(1)), 0);
    }
}
