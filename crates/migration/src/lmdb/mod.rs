//! [`LmdbStore`]: the data directory of an `LmdbStore`.
//!
//! | file | content |
//! |---|---|
//! | `values/data.mdb` | the values by their ids |
//! | `triples/data.mdb` | the statements as four ids, in each index; explicit and inferred apart |
//! | `triples/triples.prop` | the version of the format, and the indexes |
//!
//! RDF4J 4.0 to 5.2 write the same format, of version 1.

mod pages;
mod statements;
mod store;
mod values;
mod varint;

pub use statements::Statements;
pub use store::LmdbStore;
