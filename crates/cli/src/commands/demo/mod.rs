//! `demo`: the main job on real data: load WordNet, ask it, change it, crash it, recover it.

mod change;
mod crash;
mod load;
mod questions;
mod report;
mod run;
mod schema;

pub use run::run;
