//! Other engines behind two small interfaces, so that the benchmarks can set them beside Fulgurite: [`Engine`] for
//! reads, loads and single puts, [`WritingEngine`] for transactions from several threads.
//!
//! This is the only crate of the workspace that depends on another engine. Nothing here is measured: an adapter
//! forwards each call as directly as the rival's own interface allows, because its overhead counts against the rival.

#[cfg(feature = "bf-tree")]
mod bf_tree;
mod c_interface;
#[cfg(feature = "fjall")]
mod fjall;
mod interface;
mod leveldb;
#[cfg(feature = "libmdbx")]
mod libmdbx;
mod lmdb;
#[cfg(feature = "redb")]
mod redb;
mod rocksdb;
#[cfg(feature = "sqlite")]
mod sqlite;
mod versions;

#[cfg(feature = "fjall")]
pub use crate::fjall::{
    Fjall, FjallSingleWriter, FjallSingleWriterStore, FjallSingleWriterTransaction, FjallSnapshot, FjallStore,
    FjallTransaction,
};
#[cfg(feature = "redb")]
pub use crate::redb::{Redb, RedbSnapshot, RedbStore, RedbTransaction};
#[cfg(feature = "bf-tree")]
pub use bf_tree::{BfTree, BfTreeReader, BfTreeStore};
pub use interface::engine::{Engine, Failure, Purpose, Reader, Store};
pub use interface::writing::{
    Level, NoTransaction, Refusal, Settings, Snapshot, Transaction, Usage, WritingEngine, WritingStore,
};
pub use leveldb::{LevelDb, LevelDbReader, LevelDbStore};
#[cfg(feature = "libmdbx")]
pub use libmdbx::{Mdbx, MdbxSnapshot, MdbxStore, MdbxTransaction};
pub use lmdb::{Lmdb, LmdbReader, LmdbSnapshot, LmdbStore, LmdbTransaction, LmdbWriteMap, LmdbWritingStore};
/// A store of quads has no interface of its own here: the benchmark of quads calls Oxigraph's.
#[cfg(feature = "oxigraph")]
pub use oxigraph;
pub use rocksdb::{RocksDb, RocksDbSnapshot, RocksDbStore, RocksDbTransaction};
#[cfg(feature = "sqlite")]
pub use sqlite::{Sqlite, SqliteSnapshot, SqliteStore, SqliteTransaction};
