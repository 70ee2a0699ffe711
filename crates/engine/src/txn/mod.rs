//! Transactions: snapshots to read from, private changes to write, and commits.
//!
//! Submodules, lowest first. Each imports only from those above it in this list, which tidy enforces:
//!
//! 1. [`coordination`]: how threads wait for each other, and the state that they share. Independent of tables and
//!    snapshots.
//! 2. [`snapshot`]: one state of the database, and how the next one replaces it.
//! 3. [`writes`]: the private changes of one write transaction, in memory and spilled.
//! 4. [`reads`]: every way to read a table through a transaction's changes, the deltas, the runs and the tree.
//! 5. [`commit`]: the shared state of a database's transactions, and how changes become a commit.
//! 6. [`transaction`]: the read and write transactions of the public API.

pub mod commit;
pub mod coordination;
pub mod reads;
pub mod snapshot;
pub mod transaction;
pub mod writes;

pub use reads::count::Estimate;
pub use reads::cursor::Cursor;
pub use reads::key_batches::{KeyBatch, KeyBatches, KeySuffixes};
pub use reads::key_range::KeyRange;
pub use reads::leaf_batches::{BatchEntries, LeafBatch, LeafBatches};
pub use reads::owned_range::OwnedRange;
pub use reads::range::Range;
pub use reads::read_methods::Read;
pub use reads::salvage::Salvage;
pub use snapshot::table::Table;
pub use transaction::cursor_mut::CursorMut;
pub use transaction::extract_if::ExtractIf;
pub use transaction::read_txn::ReadTxn;
pub use transaction::write_txn::{Savepoint, WriteTxn};
