//! fjall: with optimistic transactions, and with a single writer at a time.

mod optimistic;
mod single_writer;

pub use optimistic::{Fjall, FjallSnapshot, FjallStore, FjallTransaction};
pub use single_writer::{FjallSingleWriter, FjallSingleWriterStore, FjallSingleWriterTransaction};
