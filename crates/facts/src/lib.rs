//! A store of facts about code in a Fulgurite database.
//!
//! A **fact** belongs to a predicate, and has a key and a value. A predicate has at most one fact with a given key.
//! Each fact has an id, and the ids of a database are dense. Facts, keys and ids are those of Glean, a system for facts
//! about code.
//!
//! ```
//! use fulgurite_facts::{PredicateId, Store};
//!
//! # fn main() -> fulgurite_facts::Result<()> {
//! # let directory = tempfile::tempdir().expect("a temporary directory");
//! # let path = directory.path().join("code.ful");
//! let file = PredicateId::FIRST;
//! let store = Store::create(path)?;
//! let mut batch = store.batch()?;
//! let main = batch.define(file, b"src/main.rs", b"")?;
//! batch.define(file, b"tests/all.rs", b"")?;
//! batch.own("src/main.rs", [main]);
//! // Another batch may have been committed first: then ids are others.
//! let main = batch.commit(None)?.id(main);
//!
//! // Nothing is added any more. The function appends the ids that a fact refers to.
//! store.complete(|_fact, _references| Ok(()))?;
//! let snapshot = store.snapshot()?;
//! assert_eq!(snapshot.id_by_key(file, b"src/main.rs")?, Some(main));
//! let found: Vec<_> = snapshot.seek(file, b"src/")?.collect::<fulgurite_facts::Result<_>>()?;
//! assert_eq!(found[0].key(), b"src/main.rs");
//! # Ok(()) }
//! ```
//!
//! | you want to | begin at |
//! |---|---|
//! | create or open a database, or stack it on another | [`Store::options`], [`StoreOptions`] |
//! | add facts | [`Store::batch`], [`Batch`] |
//! | find facts | [`Store::snapshot`], [`Snapshot`] |
//! | end the writing | [`Store::complete`], [`State`] |
//! | hide facts of some files | [`Snapshot::slice_of`], [`StoreOptions::hide_units`] |
//!
//! `docs/reference/facts.md` has the guarantees and the bytes.

mod error;
mod ids;
mod layout;
mod ownership;
mod reading;
mod state;
mod store;

pub use error::{Error, OtherValue, Result};
pub use ids::{FactId, PredicateId};
pub use layout::fact::Fact;
pub use ownership::slice::Slice;
pub use reading::enumerate::Enumerate;
pub use reading::seek::Seek;
pub use reading::snapshot::Snapshot;
pub use reading::statistics::Statistics;
pub use state::State;
pub use store::batch::Batch;
pub use store::commit::{Committed, Substitute};
pub use store::handle::Store;
pub use store::open::StoreOptions;
