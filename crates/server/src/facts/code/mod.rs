//! Indexes of code over HTTP: what the verbs of the command line print, as JSON.

mod answers;
mod asked;
mod list;
pub mod routes;
