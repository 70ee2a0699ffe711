//! [`NativeStore`]: the data directory of a `NativeStore`. Numbers are big-endian.
//!
//! | file | content |
//! |---|---|
//! | `values.dat` | the values, each with its length |
//! | `values.id` | for each id the place of its value in `values.dat` |
//! | `triples-spoc.dat`, … | the statements of an index, in a B-tree |
//! | `triples.prop` | the version of the format, and the indexes |
//! | `txn-status` | how far the last transaction was, if it did not end |
//!
//! RDF4J 2 to 5 write the same format; its statements have the version 10. Files that lead from values to ids, and
//! lists of unused nodes, are not needed here.

mod file;
mod statements;
mod status;
mod store;
mod tree;
mod values;

pub use statements::Statements;
pub use store::NativeStore;
