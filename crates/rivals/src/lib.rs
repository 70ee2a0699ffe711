//! Other engines behind one small interface, so that the benchmarks can set them beside Fulgurite.
//!
//! This is the only crate of the workspace that depends on another engine. Nothing here is measured: an adapter
//! forwards each call as directly as the rival's own interface allows, because its overhead counts against the rival.

mod engine;
mod lmdb;

pub use engine::{Engine, Failure, Purpose, Reader, Store};
pub use lmdb::{Lmdb, LmdbReader, LmdbStore, LmdbWriteMap};
