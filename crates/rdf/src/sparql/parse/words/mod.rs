//! Error messages for texts that the parser has refused.
//!
//! The parser reports the furthest place that its grammar has tried, white space included, and the rules that it has
//! tried there. So this module follows the tokens of the text through a [grammar](grammar) that decides by one token,
//! and names the first token that does not fit. A text that fits breaks a rule outside the grammar, which [`meaning`]
//! searches for. If neither finds a fault, the parser's message is reported. All of this runs only after a failure and
//! does not change the parser's decision, except that [`aggregates`] also checks texts that the parser accepts.

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
