//! Reading: snapshots, cursors over events, fast scans, queries, the check of a store, and salvage of a damaged one.

pub mod check;
pub mod events;
pub mod filter;
pub mod lanes;
pub mod locate;
pub mod partition;
pub mod query;
pub mod salvage;
pub mod scan;
pub mod snapshot;
pub mod types;
pub mod upcasters;
