//! Proof of databases of facts: no power cut, and no death of the process, leaves half of a batch, of a completion or
//! of a backup.

mod contents;
mod power;
mod workload;

pub use contents::Contents;
pub use power::FactSession;
