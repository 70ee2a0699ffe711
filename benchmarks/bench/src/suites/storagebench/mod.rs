//! The suite `storagebench`: the scenarios of StorageBench, which compares Protocol Buffers and FlatBuffers over LMDB.
//!
//! Reading order: `workload` names what is measured; `bins` and `auctions` are the data; `stores` says what is asked of
//! an engine, and `contestant` does it. `inventory`, `entities`, `replay`, `append` and `follow` are the workloads,
//! which `run` starts and a `suite` passes to
//! each other. `bars` judges.

mod append;
mod auctions;
mod bars;
mod bins;
mod command;
mod contestant;
mod entities;
mod follow;
mod inventory;
mod replay;
mod run;
mod stores;
mod suite;
mod workload;

pub use command::StorageBench;
pub use follow::{VERB, work};
