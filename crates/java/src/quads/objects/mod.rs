//! What the handles of RDF stores stand for (open results, recorded changes, running loads), and how terms cross.

mod load_state;
mod observed;
mod pattern;
mod query;
mod recorded;
mod rows;
mod statements;
pub mod terms;
mod workers;

pub use load_state::Load;
pub use pattern::Graphs;
pub use query::{OpenQuery, RunningQuery};
pub use recorded::{Change, Recorded};
pub use rows::Rows;
pub use statements::{Scratch, Statements};
