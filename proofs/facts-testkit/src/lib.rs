//! Proof of databases of facts: no power cut, and no death of the process, leaves half of a batch, of a completion, of
//! a backup, of an image, or of a database that is stacked on another.

mod contents;
mod power;
mod workload;

pub use contents::Contents;
pub use power::FactSession;
