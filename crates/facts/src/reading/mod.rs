//! Reading a stack of databases: snapshots, seeks, statistics and owners. Nothing here writes.

pub mod claims;
pub mod counts;
pub mod enumerate;
pub mod layer;
pub mod owners;
pub mod owning;
pub mod packed;
pub mod seek;
pub mod snapshot;
pub mod statistics;
pub mod view;
