//! LMDB: `reading` for reads, loads and single puts, `writing` for transactions from several threads, `facts` for a
//! store of facts on it.

mod facts;
mod reading;
mod writing;

pub use facts::{LmdbFacts, LmdbFactsReader};
pub use reading::{Lmdb, LmdbReader, LmdbStore, LmdbWriteMap};
pub use writing::{LmdbSnapshot, LmdbTransaction, LmdbWritingStore};
