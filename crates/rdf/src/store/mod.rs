//! A store: opening it, its snapshots and transactions, and the state that they share.

pub(crate) mod database;
pub(crate) mod isolation;
mod observed;
pub(crate) mod recorded;
pub(crate) mod snapshot;
pub(crate) mod transaction;
