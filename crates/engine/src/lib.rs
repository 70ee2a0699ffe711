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

pub use db::{
    BulkLoad, Change, ChangedTable, Changes, CheckReport, CloseOutcome, Commit, Damage, Database, LoadSummary,
    MultimapTable, Pairs, Stats, TableStats, TypedRange, TypedTable, UPDATE_ATTEMPTS, Values,
};
pub use error::{ConflictReason, Error, Place, Result};
pub use format::{KeySuffix, MergeOperator};
pub use ids::{Birth, ExtentId, PageNumber, PageRef, SegmentNumber, Sequence, TableId};
pub use merge_functions::{MergeFailure, MergeOperands, MergeOutcome};
pub use metrics::Conflicts;
pub use monitor::{Monitor, Phase};
pub use options::{Durability, Isolation, Options, TableOptions};
pub use pager::Value;
pub use txn::{
    BatchEntries, Cursor, CursorMut, Estimate, ExtractIf, KeyBatch, KeyBatches, KeyRange, KeySuffixes, LeafBatch,
    LeafBatches, OwnedRange, Range, Read, ReadTxn, Savepoint, Table, WriteTxn,
};
