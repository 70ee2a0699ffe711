//! The suite of writers: transactions of one and of several threads, at every level of durability, beside other engines that
//! write: `cargo xtask bench writers`.
//!
//! Reading order: `workload` names what is measured and how; `script` draws what a round does and `ledger` remembers what
//! must come of it; `contestant` lets an engine do it; `suite` runs the rounds; `recovery` measures opening after a kill.

mod arguments;
mod bars;
mod contestant;
mod fulgurite;
mod ledger;
pub mod recovery;
mod script;
mod suite;
mod workload;

pub use arguments::Writers;
pub use fulgurite::FulguriteWritingStore;
