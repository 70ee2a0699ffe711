//! The verbs, one file each.

mod backup;
mod changes;
mod check;
mod compact;
mod completions;
mod count;
mod del;
mod export;
mod get;
mod import;
mod man;
mod put;
#[cfg(feature = "rdf")]
mod rdf;
mod run;
mod scan;
mod stats;
mod tables;

pub use run::run;
