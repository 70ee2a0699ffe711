//! The data directory of an `LmdbStore`: values, statements, namespaces, and the lock of RDF4J.
//!
//! | file | content |
//! |---|---|
//! | `values/data.mdb` | the values by their ids |
//! | `triples/data.mdb` | the statements as four ids, in each index; explicit and inferred apart |
//! | `triples/triples.prop` | the version of the format, and the indexes |
//! | `namespaces.dat` | the namespaces |
//! | `lock/` | the process that has the store open |
//!
//! RDF4J 4.0 to 5.2 write the same format, of version 1.

mod directory;
mod index;
mod lock;
mod namespaces;
mod properties;
mod statements;
mod values;
mod varint;

pub use directory::LmdbStore;
pub use statements::{StatementIds, Statements};
