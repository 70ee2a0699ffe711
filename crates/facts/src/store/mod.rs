//! The store: its files, snapshots, seeks, batches and completion.

pub mod batch;
pub mod commit;
pub mod enumerate;
pub mod fold;
pub mod folding;
pub mod handle;
pub mod layer;
pub mod open;
pub mod owning;
pub mod packed;
pub mod pending;
pub mod seek;
pub mod snapshot;
pub mod statistics;
