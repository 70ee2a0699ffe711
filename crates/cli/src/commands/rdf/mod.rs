//! `rdf`: the verbs for stores of quads, one file each.

mod check;
mod dump;
mod load;
mod migrate;
mod query;
mod run;
mod serve;
mod stats;
mod store;
mod sweep;
mod update;

pub use run::run;
