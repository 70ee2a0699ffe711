//! What is wrong with a text that the parser has refused, in words.
//!
//! The parser reports the furthest place that its grammar has tried, white space included, and what it has tried there.
//! So the tokens of the text are followed through a [grammar](grammar) that decides by one token: the first that does
//! not fit is the one to name. A text that fits breaks a rule that is no matter of grammar: [`meaning`] looks for that.
//! What neither finds is reported in the parser's words. All of this runs after a failure alone, and decides nothing:
//! the parser has. But [`aggregates`] also looks at texts that the parser takes.

mod advice;
mod aggregates;
mod diagnosis;
mod grammar;
mod meaning;
mod message;
mod nearest;
mod predict;
mod prefixes;
mod scope;
mod tree;

pub(crate) use aggregates::misplaced_aggregate;
pub(crate) use diagnosis::{Refusal, Surroundings, diagnose};
pub(crate) use message::Wanted;

#[cfg(test)]
mod tests;
