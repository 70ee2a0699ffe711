//! Reads the data directories of stores of RDF4J, `LmdbStore` and `NativeStore`, without Java, and copies them into
//! Fulgurite RDF stores.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use fulgurite_migration::{Migration, Rdf4jStore};
//!
//! # fn main() -> fulgurite_migration::Result<()> {
//! let source = Rdf4jStore::open(Path::new("old/people"))?;
//! let report = Migration::new(&source).run(Path::new("people.ful"))?;
//! println!("{} explicit statements", report.explicit);
//! # Ok(()) }
//! ```
//!
//! The directory is only read. Every number in a file is checked before it is used, so damage is an
//! [`Error::Damaged`]. (LMDB's own library trusts the pages that it maps: a damaged page ends the process.)

mod directory;
mod error;
mod lmdb;
mod migration;
mod native;
mod store;

pub use directory::StatementIds;
pub use error::{Error, Result};
pub use migration::{Migration, MigrationReport, Progress, Stage};
pub use store::{Rdf4jStore, Statements};
