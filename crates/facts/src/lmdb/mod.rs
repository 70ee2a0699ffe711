//! A database of facts in LMDB: the feature `lmdb`.
//!
//! One file, with a lock file beside it. It has three tables: facts by id, ids by predicate and key, and all other
//! entries. LMDB limits keys to 511 bytes; [`keys`] has the form of longer ones. `docs/reference/facts.md` specifies
//! the bytes.

pub mod changes;
pub mod environment;
pub mod keys;
pub mod shared;
pub mod view;
