//! Other engines behind two small interfaces, so that the benchmarks can set them beside Fulgurite: [`Engine`] for
//! reads, loads and single puts, [`WritingEngine`] for transactions from several threads.
//!
//! This is the only crate of the workspace that depends on another engine. Nothing here is measured: an adapter
//! forwards each call as directly as the rival's own interface allows, because its overhead counts against the rival.

#[cfg(feature = "bf-tree")]
mod bf_tree;
mod dynamic;
mod engine;
#[cfg(feature = "fjall")]
mod fjall_single_writer;
#[cfg(feature = "fjall")]
mod fjall_writing;
mod leveldb;
#[cfg(feature = "libmdbx")]
mod libmdbx;
mod lmdb;
mod lmdb_writing;
#[cfg(feature = "redb")]
mod redb;
mod rocksdb;
#[cfg(feature = "sqlite")]
mod sqlite;
mod versions;
mod walk;
mod writing;
#[cfg(test)]
mod writing_checks;

#[cfg(feature = "bf-tree")]
pub use bf_tree::{BfTree, BfTreeReader, BfTreeStore};
pub use engine::{Engine, Failure, Purpose, Reader, Store};
#[cfg(feature = "fjall")]
pub use fjall_single_writer::{FjallSingleWriter, FjallSingleWriterStore, FjallSingleWriterTransaction};
#[cfg(feature = "fjall")]
pub use fjall_writing::{Fjall, FjallSnapshot, FjallStore, FjallTransaction};
pub use leveldb::{LevelDb, LevelDbReader, LevelDbStore};
#[cfg(feature = "libmdbx")]
pub use libmdbx::{Mdbx, MdbxSnapshot, MdbxStore, MdbxTransaction};
pub use lmdb::{Lmdb, LmdbReader, LmdbStore, LmdbWriteMap};
pub use lmdb_writing::{LmdbSnapshot, LmdbTransaction, LmdbWritingStore};
/// A store of quads has no interface of its own here: the benchmark of quads calls Oxigraph's.
#[cfg(feature = "oxigraph")]
pub use oxigraph;
#[cfg(feature = "redb")]
pub use redb::{Redb, RedbSnapshot, RedbStore, RedbTransaction};
pub use rocksdb::{RocksDb, RocksDbSnapshot, RocksDbStore, RocksDbTransaction};
#[cfg(feature = "sqlite")]
pub use sqlite::{Sqlite, SqliteSnapshot, SqliteStore, SqliteTransaction};
pub use writing::{Level, NoTransaction, Refusal, Settings, Snapshot, Transaction, Usage, WritingEngine, WritingStore};
