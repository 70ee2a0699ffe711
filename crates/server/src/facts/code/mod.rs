//! Indexes of code over HTTP: the results of the verbs of the command line, as JSON.

mod answers;
mod asked;
mod list;
pub mod routes;
