//! One transaction of the engine and what it does: `step` names the steps, and `steps` makes one; `transaction` reads
//! and changes lists and registers, `ranges` works on ranges of them, and `named` on tables that are created and
//! dropped. `keys` turns the numbers of a history into keys and values; `halt` says why a transaction cannot go on.

pub(super) mod halt;
pub(super) mod keys;
pub(super) mod named;
mod ranges;
pub(super) mod step;
mod steps;
pub(super) mod transaction;
