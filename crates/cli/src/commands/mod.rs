//! The verbs, one file each.

mod completions;
mod database;
mod entries;
mod man;
#[cfg(feature = "rdf")]
mod rdf;
mod run;

pub use run::run;
