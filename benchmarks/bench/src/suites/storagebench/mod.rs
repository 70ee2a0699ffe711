//! The suite `storagebench`: the scenarios of StorageBench, which compares Protocol Buffers and FlatBuffers over LMDB.
//!
//! Reading order: `workload` names what is measured; `bins` is the data; `stores` says what is asked of an engine, and
//! `contestant` does it. `inventory`, `entities` and those in `events` are the workloads, which `run` starts with a
//! `suite`. `bars` judges.

mod bars;
mod bins;
mod command;
mod contestant;
mod entities;
mod events;
mod inventory;
mod run;
mod stores;
mod suite;
mod workload;

pub use command::StorageBench;
pub use events::follow::{VERB, work};
