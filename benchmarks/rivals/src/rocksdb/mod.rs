//! RocksDB: `engine` is the adapter, `library` the C interface.

mod engine;
mod library;

pub use engine::{RocksDb, RocksDbSnapshot, RocksDbStore, RocksDbTransaction};
