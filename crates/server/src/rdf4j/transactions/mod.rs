//! Transactions that clients begin, use and end by requests of their own.

pub mod actions;
pub mod open;
pub mod registry;
