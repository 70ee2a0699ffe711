//! The workloads of events: replays, appends and followers of Fulgurite's store, and Chronicle Queue beside it.

pub mod append;
mod auctions;
mod cold;
pub mod follow;
pub mod latencies;
pub mod queue;
pub mod replay;
