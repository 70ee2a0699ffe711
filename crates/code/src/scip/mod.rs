//! Reading SCIP, the format of rust-analyzer, scip-typescript and others.

mod convert;
mod frames;
pub mod names;
pub mod reader;
