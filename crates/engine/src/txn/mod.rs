//! Transactions: snapshots to read from, private changes to write, and commits.

pub mod changes;
pub mod check;
pub mod commit;
pub mod core;
pub mod exclusive;
pub mod footprints;
pub mod group_sync;
pub mod history;
pub mod in_place;
pub mod journal;
pub mod large;
pub mod layers;
pub mod merges;
pub mod note;
pub mod prefix;
pub mod range;
pub mod read;
pub mod read_set;
pub mod reads;
pub mod schema;
pub mod slots;
pub mod spill_walk;
pub mod spilled;
pub mod state;
pub mod take_in;
pub mod turn;
pub mod versions;
pub mod walk;
pub mod write;
pub mod write_set;

pub use range::{BatchEntries, Cursor, LeafBatch, LeafBatches, OwnedRange, Range};
pub use read::{Estimate, ReadTxn};
pub use reads::Read;
pub use state::Table;
pub use write::{Savepoint, WriteTxn};
