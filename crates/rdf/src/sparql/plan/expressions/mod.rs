//! Expressions, rewritten so that the evaluator computes the values that SPARQL specifies.

pub(crate) mod exact;
pub(crate) mod forms;
mod kinds;
pub(crate) mod operations;
pub(crate) mod sort_keys;
pub(crate) mod triple_terms;
