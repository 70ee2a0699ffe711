//! Reading SCIP, the format of rust-analyzer, scip-typescript and others.

mod convert;
mod details;
mod frames;
pub mod names;
mod packed;
mod ranges;
pub mod reader;
