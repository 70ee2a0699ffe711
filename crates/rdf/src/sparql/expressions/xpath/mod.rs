//! Regular expressions of XPath and XQuery Functions 3.1, which SPARQL's `REGEX` and `REPLACE` use (SPARQL 1.1,
//! 17.4.3.14 and 17.4.3.15).
//!
//! This module parses a pattern and rewrites it for the crate `regex`. Patterns that this crate cannot match go to a
//! bounded engine of our own ([decision
//! 29](../../../../../../docs/internals/decisions/0029-xpath-regular-expressions.md)). `calls` rewrites the calls of a
//! query, `constants` checks their constant patterns.

mod backtrack;
mod blocks;
mod calls;
mod constants;
mod engine;
mod flags;
mod pattern;
mod replacement;
mod sets;
mod write;

pub(crate) use calls::{Functions, WrittenCall, with_functions, with_functions_of_query};
pub(crate) use constants::check_constants;

#[cfg(test)]
mod tests;
