//! The order of a delta's keys: a B+tree that is read without locks while it grows. `node` is one node and how it is
//! read while a writer changes it, `tree` descends, `insert` writes, `cursor` walks, and `changed` finds changed keys
//! for the validation of a transaction.

mod changed;
mod cursor;
mod insert;
mod node;
#[cfg(test)]
mod tests;
mod tree;

pub(in crate::delta) use changed::first_changed;
pub use cursor::Position;
pub(in crate::delta) use cursor::{Place, Start};
pub(in crate::delta) use insert::{Approach, Entry, Inserted, Last};
pub(in crate::delta) use tree::Tree;
