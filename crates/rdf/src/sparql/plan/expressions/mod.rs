//! Expressions in the form in which the evaluator computes what SPARQL says of them.

pub(crate) mod exact;
pub(crate) mod forms;
mod kinds;
pub(crate) mod operations;
pub(crate) mod sort_keys;
pub(crate) mod triple_terms;
