//! fjall: with optimistic transactions, and with a single writer at a time.

mod keyspace;
mod optimistic;
mod single_writer;

pub use keyspace::FjallSnapshot;
pub use optimistic::{Fjall, FjallStore, FjallTransaction};
pub use single_writer::{FjallSingleWriter, FjallSingleWriterStore, FjallSingleWriterTransaction};
