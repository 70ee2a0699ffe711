//! How far the last transaction was, if it did not end, by the file `txn-status`.

use std::io;
use std::path::Path;

use super::tree::Record;
use crate::error::{Error, Result};

/// What becomes of the changes of a transaction that did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// There was none, or it is rolled back.
    RolledBack,
    /// It was being committed: its changes count.
    Committed,
}

impl Unfinished {
    /// As RDF4J decides when it opens the store.
    ///
    /// # Errors
    /// [`Error::Read`].
    pub fn read(path: &Path) -> Result<Self> {
        match std::fs::read(path) {
            // Older versions write words.
            Ok(bytes) if bytes.first() == Some(&COMMITTING) || bytes.starts_with(b"COMMITTING") => Ok(Self::Committed),
            Ok(_) => Ok(Self::RolledBack),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::RolledBack),
            Err(source) => Err(Error::Read { path: path.to_path_buf(), source }),
        }
    }

    /// Whether a statement is explicit; `None` if it is not in the store.
    pub fn is_explicit(self, record: &Record) -> Option<bool> {
        let has = |flag| record.flags & flag != 0;
        match self {
            Self::RolledBack => (!has(ADDED)).then(|| has(EXPLICIT)),
            // RDF4J leaves the last flag where a commit has ended, so whether a statement became explicit or only
            // inferred is not known. No explicit one is lost.
            Self::Committed => (!has(REMOVED)).then(|| has(EXPLICIT) || has(TOGGLED)),
        }
    }
}

const COMMITTING: u8 = 4;

/// The statement is explicit, and not only inferred.
const EXPLICIT: u8 = 1;
/// The transaction has added it.
const ADDED: u8 = 2;
/// The transaction has removed it.
const REMOVED: u8 = 4;
/// A transaction has made it explicit, or only inferred.
const TOGGLED: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::StatementIds;

    #[test]
    fn a_transaction_is_committed_if_its_commit_had_begun() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("txn-status");
        assert_eq!(Unfinished::read(&path).expect("no file"), Unfinished::RolledBack);
        for (content, expected) in [
            (&b""[..], Unfinished::RolledBack),
            (b"\x00", Unfinished::RolledBack),
            (b"\x01", Unfinished::RolledBack),
            (b"\x02", Unfinished::RolledBack),
            (b"\x04", Unfinished::Committed),
            (b"\x08", Unfinished::RolledBack),
            (b"ACTIVE", Unfinished::RolledBack),
            (b"COMMITTING", Unfinished::Committed),
        ] {
            std::fs::write(&path, content).expect("it is written");
            assert_eq!(Unfinished::read(&path).expect("it is read"), expected, "{content:?}");
        }
    }

    #[test]
    fn flags_of_a_transaction_count_by_how_it_ended() {
        let statement = StatementIds { subject: 1, predicate: 2, object: 3, context: 0 };
        for (flags, rolled_back, committed) in [
            (0, Some(false), Some(false)),
            (EXPLICIT, Some(true), Some(true)),
            (EXPLICIT | ADDED, None, Some(true)),
            (ADDED, None, Some(false)),
            (EXPLICIT | REMOVED, Some(true), None),
            (EXPLICIT | TOGGLED, Some(true), Some(true)),
            (TOGGLED, Some(false), Some(true)),
            (EXPLICIT | ADDED | REMOVED, None, None),
        ] {
            let record = Record { statement, flags };
            assert_eq!(Unfinished::RolledBack.is_explicit(&record), rolled_back, "{flags}");
            assert_eq!(Unfinished::Committed.is_explicit(&record), committed, "{flags}");
        }
    }
}
