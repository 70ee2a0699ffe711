//! A store: opening it, its snapshots and transactions, and what all of them share.

pub(crate) mod database;
pub(crate) mod isolation;
pub(crate) mod snapshot;
pub(crate) mod transaction;
