//! Fulgurite: an embedded, transactional key-value store in one memory-mapped file.
//!
//! ```
//! use fulgurite::{Database, Read, TableOptions};
//!
//! # fn main() -> fulgurite::Result<()> {
//! # let directory = tempfile::tempdir().expect("a temporary directory");
//! # let path = directory.path().join("people.ful");
//! let db = Database::options().create(true).open(path)?;
//! let people = db.open_or_create_table("people", TableOptions::new())?;
//!
//! // Commits the changes of the closure, and runs it again after a conflict with another writer.
//! db.update(|txn| {
//!     txn.put(&people, "ada", "analytical engine")?;
//!     txn.put(&people, "grace", "compiler")
//! })?;
//!
//! // A snapshot shows one state for as long as it lives, and blocks no writer.
//! let snapshot = db.read()?;
//! assert_eq!(snapshot.get(&people, "ada")?.as_deref(), Some(&b"analytical engine"[..]));
//! for entry in snapshot.prefix(&people, "g")? {
//!     let (key, value) = entry?;
//!     assert_eq!((&*key, &*value), (&b"grace"[..], &b"compiler"[..]));
//! }
//! # drop(snapshot);
//! db.close()
//! # }
//! ```
//!
//! # Where to begin
//!
//! | you want to | begin at |
//! |---|---|
//! | open a database, choose cache, durability, quota | [`Database::options`], [`Options`] |
//! | read | [`Database::read`], [`ReadTxn`], [`Read`] |
//! | write | [`Database::update`], [`Database::write`], [`WriteTxn`] |
//! | use types instead of bytes | [`Database::typed_table`], [`Database::multimap_table`] |
//! | count without conflicts | [`TableOptions::merge`], [`MergeOperator`] |
//! | load many entries | [`Database::bulk_load`], [`Database::bulk_load_unsorted`] |
//! | follow every commit | [`Options::keep_log`], [`Database::changes`] |
//! | back up, check, shrink | [`Database::backup_to`], [`Database::check`], [`Database::compact`] |
//! | keep a compressed copy that opens in place | [`Database::write_image`], [`Database::open_image`] |
//! | handle errors | [`Error`] |
//!
//! # What the engine promises
//!
//! - **Snapshots** never block writers, and writers never block them. They are `Send` and `Sync`.
//! - **Write transactions** run concurrently and are serializable; [`Isolation::Snapshot`] is weaker and cheaper.
//! - **A commit** is as durable as its [`Durability`] states: by default it survives a power cut.
//! - **One process writes.** Any number of processes may read the newest checkpoint.
//! - **Bytes from a file are never trusted.** Damage is an error that names the page, never a wrong answer.
//!
//! The repository has a guide (`docs/guide/key-value.md`) and a reference (`docs/reference/`): durability, files, the
//! command line, the file format.

mod db;
mod delta;
mod error;
mod format;
mod ids;
pub mod io;
mod log;
mod merge_functions;
mod metrics;
mod monitor;
mod options;
mod pager;
#[doc(hidden)]
pub mod planted;
mod process;
mod sort;
mod sync;
mod tree;
mod txn;

#[doc(hidden)]
pub use process::{PerProcess, Stamp};

/// Typed keys and values: the encodings of [`TypedTable`] and [`MultimapTable`], and the traits for types of your own.
///
/// A type of your own implements [`keys::Key`] and [`keys::AsKey`] by means of the types that it consists of:
///
/// ```
/// use fulgurite::keys::{AsKey, Key, KeyBuffer, Reader, Result, Type};
/// use fulgurite::Database;
///
/// /// A sensor's reading, sorted by sensor and then by time.
/// #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
/// struct Reading {
///     sensor: u32,
///     unix_ms: u64,
/// }
///
/// impl AsKey<Reading> for Reading {
///     fn encode_inner(&self, out: &mut KeyBuffer) {
///         (self.sensor, self.unix_ms).encode_inner(out);
///     }
/// }
///
/// impl Key for Reading {
///     const FIXED_WIDTH: Option<usize> = <(u32, u64)>::FIXED_WIDTH;
///
///     fn key_type() -> Type {
///         <(u32, u64)>::key_type()
///     }
///
///     fn decode_inner(reader: &mut Reader<'_>) -> Result<Self> {
///         let (sensor, unix_ms) = Key::decode_inner(reader)?;
///         Ok(Self { sensor, unix_ms })
///     }
/// }
///
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let path = directory.path().join("a.ful");
/// let db = Database::create(path)?;
/// let temperatures = db.typed_table::<Reading, f64>("temperatures")?;
/// let (early, late) = (Reading { sensor: 7, unix_ms: 9 }, Reading { sensor: 7, unix_ms: 10 });
/// db.update(|txn| {
///     temperatures.put(txn, &late, &21.5)?;
///     temperatures.put(txn, &early, &21.0)
/// })?;
/// let txn = db.read()?;
/// let all: Vec<(Reading, f64)> = temperatures.iter(&txn)?.collect::<fulgurite::Result<_>>()?;
/// assert_eq!(all, [(early, 21.0), (late, 21.5)]);
/// # Ok(()) }
/// ```
pub use fulgurite_keys as keys;

pub use db::{
    BulkLoad, Change, ChangedTable, Changes, CheckReport, CloseOutcome, Commit, Damage, Database, ImageOptions,
    LoadSummary, MapMemory, MultimapTable, Pairs, Stats, TableStats, TypedRange, TypedTable, UPDATE_ATTEMPTS, Values,
};
pub use error::{ConflictReason, Error, Place, Result};
pub use format::{KeySuffix, MergeOperator};
pub use ids::{ExtentId, PageNumber, SegmentNumber, Sequence, TableId};
pub use merge_functions::{MergeFailure, MergeOperands, MergeOutcome};
pub use metrics::Conflicts;
pub use monitor::{Monitor, Phase};
pub use options::{Durability, Isolation, Options, TableOptions};
pub use pager::Value;
pub use txn::{
    BatchEntries, Cursor, CursorMut, Estimate, ExtractIf, KeyBatch, KeyBatches, KeyRange, KeySuffixes, LeafBatch,
    LeafBatches, OwnedRange, Range, Read, ReadTxn, Salvage, Savepoint, Table, WriteTxn,
};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
