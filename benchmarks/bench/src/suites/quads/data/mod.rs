//! What the suite of quads stores and asks for: `generate` makes universities of any size, `files` writes them and
//! the questions of a run, and `queries` has the SPARQL.

pub mod files;
mod generate;
pub mod queries;
