//! The storage engine: ordered key-value tables in one memory-mapped file.

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
    BulkLoad, Change, ChangedTable, Changes, CheckReport, CloseOutcome, Commit, Damage, Database, LoadSummary,
    MultimapTable, Pairs, Stats, TableStats, TypedRange, TypedTable, UPDATE_ATTEMPTS, Values,
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
    LeafBatches, OwnedRange, Range, Read, ReadTxn, Savepoint, Table, WriteTxn,
};
