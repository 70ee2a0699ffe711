//! Suites of tables: each workload is a row of a table of somebody else's report, done by every engine in a process of its own, with
//! what the report claims beside what is measured.
//!
//! Reading order: `definition` says what a workload is made of; `geaflow`, `lightning` and `ycsb` are the suites, one file of workloads
//! each; `content` is what is stored, `perform` does a workload with one engine, by a file for each kind: `steps`, which `script` has drawn,
//! `ranges`, `bulk`, `scaling`, `graph`, `cache`, `open_loop`, `crashes`, `stability`; `meter` takes the figures; `task` is that in a process of its own, and `suite` runs the rounds and gathers
//! the `row`s.

mod bulk;
mod cache;
mod content;
mod crashes;
pub mod definition;
mod engine;
mod geaflow;
mod graph;
mod lengths;
mod lightning;
mod meter;
mod open_loop;
mod perform;
mod ranges;
pub mod row;
mod scaling;
mod script;
mod self_test;
mod stability;
mod steps;
mod suite;
mod task;
mod ycsb;

pub use crashes::VERB as WRITER;
pub use geaflow::Geaflow;
pub use lightning::Lightning;
pub use task::{VERB, work, write};
pub use ycsb::Ycsb;
