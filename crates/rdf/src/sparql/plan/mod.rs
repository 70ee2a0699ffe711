//! Planning: joins in a good order, and expressions rewritten so that the evaluator computes the values that SPARQL
//! specifies.

pub(crate) mod counts;
mod estimate;
pub(crate) mod expressions;
pub(crate) mod first_rows;
mod graphs;
mod hidden;
mod join_order;
mod names;
mod one_group;
mod paths;
mod planner;
mod rename;
mod witness;
mod zero_length;

pub(crate) use self::hidden::hidden_variable;
pub use join_order::JoinOrder;
pub(crate) use planner::{PatternPlan, Plan, explain_query, plan_pattern, plan_query};
