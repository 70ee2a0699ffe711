//! Regular expressions as XPath and XQuery Functions 3.1 has them: what `REGEX` and `REPLACE` are by SPARQL 1.1, 17.4.3.14 and 17.4.3.15.
//!
//! A pattern is parsed here, and written for the crate `regex` or, where that cannot match it, for a bounded engine of our own
//! ([decision 29](../../../../../docs/decisions/0029-patterns-of-xpath.md)). `calls` puts that into the algebra, `constants` checks the calls of a text.

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

pub(super) use calls::{Functions, WrittenCall, with_functions, with_functions_of_query};
pub(super) use constants::check_constants;

#[cfg(test)]
mod tests;
