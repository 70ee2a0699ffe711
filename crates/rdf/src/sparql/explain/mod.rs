//! Explanations: how a query was evaluated, with the names of its text.

pub(crate) mod explanation;
pub(crate) mod plan_node;
pub(crate) mod written;
