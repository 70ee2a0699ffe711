//! The storage engine: ordered key-value tables in one memory-mapped file.

mod db;
mod delta;
mod error;
mod format;
mod ids;
pub mod io;
mod log;
mod options;
mod pager;
#[doc(hidden)]
pub mod planted;
mod sort;
mod sync;
mod tree;
mod txn;

pub use db::{
    CheckReport, Damage, Database, LoadSummary, MultimapTable, Pairs, Stats, TableStats, TypedRange, TypedTable, Values,
};
pub use error::{Error, Place, Result};
pub use ids::{Birth, ExtentId, PageNumber, PageRef, SegmentNumber, Sequence, TableId};
pub use options::{Durability, Options, TableOptions};
pub use pager::Value;
pub use txn::{
    BatchEntries, Cursor, Estimate, LeafBatch, LeafBatches, OwnedRange, Range, Read, ReadTxn, Savepoint, Table,
    WriteTxn,
};
