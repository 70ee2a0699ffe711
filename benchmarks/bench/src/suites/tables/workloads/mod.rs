//! The workloads of each suite of tables.

mod geaflow;
mod lightning;
mod lightning_claims;
mod ycsb;

pub use geaflow::SUITE as GEAFLOW;
pub use lightning::SUITE as LIGHTNING;
pub use ycsb::SUITE as YCSB;
