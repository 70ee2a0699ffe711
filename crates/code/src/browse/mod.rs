//! Answers about indexed code, by typed searches by prefix instead of queries.

pub mod asked;
pub mod describe;
pub mod diagnostics;
pub mod limits;
pub mod located;
pub mod outline;
pub mod reader;
pub mod search;
mod similar;
