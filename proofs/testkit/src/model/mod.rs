//! The model test: random sequences over the whole public API, each answer compared with ordinary ordered maps.
//!
//! A run is a pure function of its seed and options. [`run`] returns what was covered; a difference is an error whose
//! text has the command that repeats it.

mod backups;
mod check;
mod coverage;
mod edits;
mod feed;
mod keys;
mod run;
mod runs;
mod truth;
mod typed;

pub use coverage::{Call, Coverage, Situation};
pub use run::{Options, Report, run};
