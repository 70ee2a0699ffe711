//! LMDB: `reading` for reads, loads and single puts, `writing` for transactions from several threads.

mod reading;
mod writing;

pub use reading::{Lmdb, LmdbReader, LmdbStore, LmdbWriteMap};
pub use writing::{LmdbSnapshot, LmdbTransaction, LmdbWritingStore};
