//! `SERVICE`: patterns that other endpoints evaluate, through a handler of the program.

mod answer;
mod clause;
mod handler;
mod nesting;
mod response;

pub(crate) use clause::{Clause, number_pattern, number_query};
pub(crate) use handler::{Handler, asking, asking_nobody};
pub use handler::{ServiceHandler, ServiceRequest};
pub use response::{ServiceError, ServiceResponse};
