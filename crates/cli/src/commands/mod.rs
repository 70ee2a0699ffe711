//! The verbs, one file each.

mod completions;
mod database;
mod entries;
#[cfg(feature = "events")]
mod events;
#[cfg(feature = "facts")]
mod facts;
mod man;
#[cfg(feature = "rdf")]
mod rdf;
mod run;
mod scratch;
#[cfg(any(feature = "facts", feature = "rdf"))]
mod serving;
mod skipped;
mod squashfs;
mod unfinished;

pub use run::run;
