//! The bulk loader.
//!
//! 1. Several threads parse the inputs into batches (`feeder`, `parse`, `batch`). The batches are kept until all inputs
//!    are parsed (`stash`, in `scratch`).
//! 2. Other writers are excluded (`sink`).
//! 3. Terms are merged, looked up and numbered (`merge`), and quads are sorted (`sort`).
//! 4. Tables are filled (`build`) and committed together.
//!
//! Invariants: (1) The load does not use the store, and no transaction waits for it, before all inputs are parsed
//! without an error, or their errors are skipped. (2) If the load fails, panics or is killed, none of it is visible.
//! (3) Readers never wait.

mod formats;
mod options;
mod pipeline;
#[cfg(test)]
mod tests;

pub use formats::document::{DocumentQuads, parse_document};
pub use formats::input::{Document, decompress};
pub use formats::quad_parser::parser_of;
pub use options::{BadStatement, LoadInput, LoadOptions, LoadProgress, LoadReport};
