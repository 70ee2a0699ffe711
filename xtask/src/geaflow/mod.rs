//! `cargo xtask geaflow-tests`: GeaFlow's own tests of its RocksDB states, run on our store.

mod command;
mod reports;

pub use command::GEAFLOW_TESTS;
