//! libmdbx: `engine` is the adapter, `library` the C interface.

mod engine;
mod library;

pub use engine::{Mdbx, MdbxSnapshot, MdbxStore, MdbxTransaction};
