//! What data directories of both stores have.
//!
//! | file | content |
//! |---|---|
//! | `triples.prop` | the version of the format of statements, and the indexes |
//! | `namespaces.dat` | the namespaces |
//! | `lock/` | the process that has the store open |

pub mod index;
mod lock;
pub mod namespaces;
mod properties;
mod statement;

pub use index::Index;
pub use lock::Lock;
pub use statement::StatementIds;
