//! The store: handles, transactions that append, changes of streams, retention, rebuilding of indexes.

pub mod append;
pub mod batch;
pub mod bell;
pub mod folding;
pub mod handle;
pub mod heads;
pub mod id_window;
pub mod options;
pub mod reindex;
pub mod retention;
pub mod shared;
pub mod streams;
pub mod transaction;
pub mod writer;
