//! The suite of writers: transactions of one and of several threads, at every level of durability, beside other
//! engines that write: `cargo xtask bench writers`.
//!
//! Reading order: `workload` names what is measured and how; `script` draws what a round does, and `ledger` keeps
//! what the store must hold afterwards; `contestant` lets an engine do it, and `run` does the rounds. `kills` fills
//! stores whose process is killed, and `recovery` measures how long they take to open. `command` has the options and
//! `bars` the judgement.

mod bars;
mod command;
mod contestant;
mod kills;
mod ledger;
mod recovery;
mod run;
mod script;
mod workload;

pub use command::Writers;
pub use kills::{VERB, fill};
