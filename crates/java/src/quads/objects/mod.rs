//! What the handles of RDF stores stand for (open results, recorded changes, running loads), estimates of patterns, and
//! how terms cross.

mod estimates;
mod load_state;
mod query;
mod recorded;
mod rows;
mod statements;
pub mod terms;
mod triple_terms;
mod workers;

pub use estimates::estimate;
pub use load_state::Load;
pub use query::{OpenQuery, RunningQuery};
pub use recorded::{Change, Recorded};
pub use rows::{KEYS_MAX, Rows};
pub use statements::{Scratch, Statements};
pub use triple_terms::triples;
