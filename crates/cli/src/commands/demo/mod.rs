//! `demo`: the main job on real data: load WordNet, ask it, change it, crash it, recover it;
//! then the packages of Debian as RDF, asked by SPARQL.

mod change;
mod crash;
mod load;
#[cfg(feature = "rdf")]
mod packages;
mod questions;
mod report;
mod run;
mod schema;

pub use run::run;
