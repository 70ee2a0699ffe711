//! What the handles of RDF stores stand for (open results, recorded changes, running loads), and how terms cross.

mod load_state;
mod observed;
mod pattern;
mod recorded;
mod rows;
mod statements;
pub mod terms;

pub use load_state::Load;
pub use pattern::Graphs;
pub use recorded::{Change, Recorded};
pub use rows::Rows;
pub use statements::{Scratch, Statements};
