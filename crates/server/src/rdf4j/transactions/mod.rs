//! Transactions that clients begin, use and end by separate requests.

pub mod actions;
pub mod open;
pub mod registry;
