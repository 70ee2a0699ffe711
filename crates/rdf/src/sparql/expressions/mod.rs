//! Values of expressions: numbers of any length, the total order, regular expressions, aggregates.

pub(crate) mod accumulator;
pub(crate) mod aggregates;
pub(crate) mod functions;
pub(crate) mod ill_typed;
pub(crate) mod numeric;
pub(crate) mod order;
pub(crate) mod xpath;
