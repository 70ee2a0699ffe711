//! A store: opening it, its snapshots and transactions, and what all of them share.

pub(crate) mod database;
pub(crate) mod isolation;
mod observed;
pub(crate) mod recorded;
pub(crate) mod snapshot;
pub(crate) mod transaction;
