//! Planning: joins in a good order, and expressions in the form in which the evaluator computes what SPARQL says.

mod estimate;
mod exact;
pub(crate) mod first_rows;
mod forms;
mod graphs;
mod hidden;
mod names;
mod one_group;
mod operations;
mod planner;
mod rename;
mod sort_keys;
mod triple_terms;
mod witness;
mod zero_length;

pub(crate) use self::hidden::hidden_variable;
pub use planner::JoinOrder;
pub(crate) use planner::{PatternPlan, Plan, explain_query, plan_pattern, plan_query};
