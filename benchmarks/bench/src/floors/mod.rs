//! What the machine can do at best, whatever engine runs on it. The suite `limits` measures all floors; six of them,
//! which explain engines, are measured before and after each run of every other suite.
//!
//! Reading order: `floor` names what is measured, and `probe` says what a measurement is; `memory`, `files` and
//! `calls` are the measurements, and `memory` loads from a `block`. `rounds` repeats them and fills the `row`s;
//! `around` is what other suites print.

pub mod around;
mod block;
mod calls;
mod files;
pub mod floor;
mod memory;
pub mod probe;
pub mod rounds;
pub mod row;
