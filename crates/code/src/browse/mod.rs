//! Answers about indexed code: from typed searches by prefix, without queries in between.

pub mod describe;
pub mod reader;
pub mod search;
mod similar;
