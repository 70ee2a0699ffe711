//! [`Shared`]: what all handles and snapshots of a file have together, and its tables.

use std::path::{Path, PathBuf};

use heed::types::Bytes;
use heed::{Database, Env, WithoutTls};

use crate::error::Error;

/// A table of LMDB.
pub type Table = Database<Bytes, Bytes>;

/// The tables of a database of facts.
#[derive(Clone, Copy)]
pub struct LmdbTables {
    /// Id → predicate, key and value.
    pub entities: Table,
    /// Predicate and key → ids.
    pub keys: Table,
    /// Side and key → value.
    pub sides: Table,
}

/// What all handles and snapshots of a file have together: LMDB opens a file once in a process.
pub struct Shared {
    /// LMDB's handle.
    pub env: Env<WithoutTls>,
    /// The tables.
    pub tables: LmdbTables,
    /// The file.
    pub path: PathBuf,
    /// Whether it is open for reading only.
    pub read_only: bool,
}

/// An error of LMDB about the file at `path`.
pub fn failed<'p>(path: &'p Path, operation: &'static str) -> impl Fn(heed::Error) -> Error + 'p {
    move |error| Error::Lmdb(Box::new((path.to_owned(), operation, error.to_string().into())))
}
