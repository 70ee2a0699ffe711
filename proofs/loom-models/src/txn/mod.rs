//! The engine's `txn`, as far as it is explored: its rooms, with stand-ins for the log, large values and what is
//! spilled.
#![allow(dead_code, reason = "the models use a part of it")]

pub mod commit;
pub mod coordination;
pub mod reads;
pub mod snapshot;
pub mod writes;
