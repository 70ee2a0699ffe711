//! How a query was evaluated, in the words of its text.

pub(crate) mod explanation;
pub(crate) mod plan_node;
pub(crate) mod written;
