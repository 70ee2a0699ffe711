//! An evaluator of common queries whose rows are ids of terms. The library (`spareval`) evaluates all other queries.
//!
//! [`recognise`](recognition::recognise) turns the algebra of a query into a tree of
//! [operators](tree::operator::Operator), or leaves the query to the library. Rows stay ids up to the results
//! ([`rows`]): terms are read for results, for sorting, and for values that ids do not decide.
//!
//! | file | owns |
//! |---|---|
//! | `recognition` | the forms of queries, and the clauses above the `WHERE` |
//! | `fragment` | the check of the `WHERE` by its text |
//! | `groups` | the parts of the `WHERE` |
//! | `join_order` | the order of the patterns of a group |
//! | `condition` | filters |
//! | `scope` | the places of variables |
//! | `tree` | the operators |
//! | `row_table` | sets of rows |
//! | `context` | the state that operators share: limits, terms |
//! | `rows` | an evaluation, and its rows as terms |
//!
//! Invariants: (1) An evaluation has the same solutions as the library's. (2) Operators share one row, in which each
//! variable has a place. An operator changes only the places of variables that it binds, and sets those that it leaves
//! unbound. (3) Each operator returns, with or without a row, after it has read the allowed number of index keys. (4)
//! Operators can be sent to other threads; the monitor that ends an evaluation is borrowed for each call.

mod condition;
mod context;
mod fragment;
mod groups;
mod join_order;
mod recognition;
mod row_table;
pub(crate) mod rows;
mod scope;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use recognition::{Request, recognise};
