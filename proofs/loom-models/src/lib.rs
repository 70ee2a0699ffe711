//! The engine's concurrent files, compiled as they are with a `sync` that is made of loom's parts, which explores
//! them: `cargo xtask loom`.
//!
//! `models` has what threads do, and the faults that must be found; `exploration` runs a model; `sync` replaces
//! the locks and atomics of the engine's files. `surroundings` has what these files import and the models do not
//! explore, as small as possible.
#![cfg(not(test))] // The unit tests in the engine's files are for threads of the system.

pub mod exploration;
mod faults;
mod models;
mod surroundings;
mod sync;
mod txn;

pub use surroundings::{format, log, options, pager, process, tree};

#[path = "../../../crates/engine/src/delta/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the models use a part of it")]
mod delta;
#[path = "../../../crates/engine/src/error.rs"]
#[allow(dead_code, reason = "the models use a part of it")]
mod error;
#[path = "../../../crates/engine/src/ids.rs"]
#[allow(dead_code, reason = "the models use a part of it")]
mod ids;
#[path = "../../../crates/engine/src/format/catalog/merge.rs"]
#[allow(dead_code, reason = "the models use a part of it")]
mod merge;
#[path = "../../../crates/engine/src/merge_functions.rs"]
#[allow(dead_code, reason = "the models use a part of it")]
mod merge_functions;
#[path = "../../../crates/engine/src/metrics.rs"]
#[allow(dead_code, reason = "the models use a part of it")]
mod metrics;
#[path = "../../../crates/engine/src/planted.rs"]
#[allow(dead_code, reason = "the models use a part of it")]
mod planted;
