//! Answers about indexed code: from typed searches by prefix, without queries in between.

pub mod asked;
pub mod describe;
pub mod diagnostics;
pub mod limits;
pub mod located;
pub mod outline;
pub mod reader;
pub mod search;
mod similar;
