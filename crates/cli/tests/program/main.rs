//! The program as users run it: arguments in; data, messages and exit codes out.

#![allow(clippy::unwrap_used)] // A panic is a test's report; clippy sees that only inside of test functions.

mod changes;
#[cfg(unix)]
mod disks;
#[cfg(unix)]
mod documents;
#[cfg(feature = "events")]
mod events;
mod exits;
#[cfg(feature = "facts")]
mod facts;
mod fixture;
mod forms;
#[cfg(feature = "facts")]
mod index;
#[cfg(feature = "rdf")]
mod migration;
#[cfg(feature = "rdf")]
mod rdf;
#[cfg(feature = "rdf")]
mod rdf_forms;
#[cfg(feature = "rdf")]
mod serve;
mod verbs;
#[cfg(feature = "rdf")]
mod words;
