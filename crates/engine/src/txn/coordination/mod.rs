//! What the threads of transactions wait for and share: turns, flushes, the newest visible commit, slots, budgets.
//!
//! These files know no table and no state of the database, so that each can be explored alone by the model checker.

pub mod budget;
pub mod epoch;
pub mod group_sync;
pub mod slots;
pub mod turn;
pub mod visible;
