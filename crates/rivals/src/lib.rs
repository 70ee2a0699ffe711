//! Other engines behind two small interfaces, so that the benchmarks can set them beside Fulgurite: [`Engine`] for reads,
//! loads and single puts, [`WritingEngine`] for transactions from several threads.
//!
//! This is the only crate of the workspace that depends on another engine. Nothing here is measured: an adapter
//! forwards each call as directly as the rival's own interface allows, because its overhead counts against the rival.

mod engine;
#[cfg(feature = "fjall")]
mod fjall_single_writer;
#[cfg(feature = "fjall")]
mod fjall_writing;
mod lmdb;
mod lmdb_writing;
mod rocksdb;
mod writing;
#[cfg(test)]
mod writing_checks;

pub use engine::{Engine, Failure, Purpose, Reader, Store};
#[cfg(feature = "fjall")]
pub use fjall_single_writer::{FjallSingleWriter, FjallSingleWriterStore, FjallSingleWriterTransaction};
#[cfg(feature = "fjall")]
pub use fjall_writing::{Fjall, FjallSnapshot, FjallStore, FjallTransaction};
pub use lmdb::{Lmdb, LmdbReader, LmdbStore, LmdbWriteMap};
pub use lmdb_writing::{LmdbSnapshot, LmdbTransaction, LmdbWritingStore};
pub use rocksdb::{RocksDb, RocksDbSnapshot, RocksDbStore, RocksDbTransaction};
pub use writing::{Level, Refusal, Settings, Snapshot, Transaction, Usage, WritingEngine, WritingStore};
