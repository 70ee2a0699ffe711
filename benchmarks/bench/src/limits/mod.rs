//! What the machine can do at best, whatever engine runs on it: the suite `limits`, and the six of its floors that explain engines, measured
//! before and after each run of every other suite.
//!
//! Reading order: `floor` names what is measured and `probe` says how a measurement is made; `memory`, `files` and `calls` are the
//! measurements, `memory` with the `block`s that it loads from. `suite` runs rounds of them and gathers the `row`s; `around` is what other
//! suites print.

pub mod around;
mod block;
mod calls;
mod files;
mod floor;
mod memory;
mod probe;
pub mod row;
mod suite;

pub use floor::Floor;
pub use suite::Limits;
