//! Reads the data directory of an `LmdbStore` of RDF4J 4 or 5, without Java and without LMDB, and copies it into a
//! Fulgurite RDF store.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use fulgurite_lmdbstore::{LmdbStore, Migration};
//!
//! # fn main() -> fulgurite_lmdbstore::Result<()> {
//! let source = LmdbStore::open(Path::new("old/people"))?;
//! let report = Migration::new(&source).run(Path::new("people.ful"))?;
//! println!("{} explicit statements", report.explicit);
//! # Ok(()) }
//! ```
//!
//! The directory is only read. LMDB's own library trusts the pages that it maps: a damaged page ends the process. This
//! reader checks every number that it finds in a file, so damage is an [`Error::Damaged`].

mod error;
mod migration;
mod pages;
mod store;

pub use error::{Error, Result};
pub use migration::{Migration, MigrationReport, Progress, Stage};
pub use store::{LmdbStore, StatementIds, Statements};
