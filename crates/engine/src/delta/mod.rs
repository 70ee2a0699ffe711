//! Commits that are in the log and not yet in a tree: ordered by key, versioned by sequence, in memory.
//!
//! A [`Delta`] belongs to one table. Commits insert into it before they become visible. Reads search it first: its
//! changes, deletes included, override the table's runs and tree. A checkpoint walks it in key order and drops it.
//!
//! Any number of threads insert and read at once. A commit has its sequence before it inserts, so versions of one key
//! can be inserted in any order: each goes to its place among the others.
//!
//! Invariants: (1) Nothing is removed: reads at a sequence return the same as long as the delta lives, whatever is
//! inserted at later sequences. (2) Borrowed bytes live as long as the borrow of the delta. (3) Reads take no lock and
//! never wait for a commit; at most they read a node again that a commit is changing. (4) When an insert returns, reads
//! find its change: in its record's chain, by its key through the index, and at its place in the order of keys; and it
//! is counted.
//!
//! A read at sequence `s` sees all inserts at or before `s` only if they all happened before it: the caller reads `s`
//! by an acquiring load of the database's visible sequence, which advances by releasing stores when no earlier commit
//! is still inserting. Later inserts have later sequences, and the read skips them.
//!
//! From the lowest: `lanes` gives threads separate cache lines, `arena` is memory, `record` has keys and their
//! versions, `btree` their order, `index` is the filter and hash table in front of the tree, `counts` has numbers,
//! `table_delta` puts them together, and `inserts` are those of a large commit.

mod arena;
mod btree;
mod change;
mod counts;
mod index;
mod inserts;
mod lanes;
mod record;
mod table_delta;
#[cfg(test)]
mod tests;

pub use btree::Position;
pub use change::Change;
pub use inserts::Inserts;
#[cfg(model_checked)]
pub use table_delta::Trail;
pub use table_delta::{Approach, Delta};
