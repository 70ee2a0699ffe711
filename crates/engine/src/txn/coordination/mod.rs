//! How threads with transactions wait for each other, and what they share: turns, flushes, the newest visible commit,
//! slots, budgets.
//!
//! These files do not depend on tables or snapshots, so that the model checker can explore each of them alone.

pub mod budget;
pub mod epoch;
pub mod group_sync;
pub mod slots;
pub mod turn;
pub mod visible;
