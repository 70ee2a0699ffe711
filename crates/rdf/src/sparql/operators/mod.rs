//! An evaluator of common queries whose rows are ids of terms. All other queries go to the library.
//!
//! [`recognise`](recognition::recognise) turns the algebra of a query into a tree of
//! [operators](tree::operator::Operator), or leaves the query to the library. Rows stay ids up to the results
//! ([`rows`]): terms are read for results, for sorting, and for values that ids do not decide.
//!
//! | file | owns |
//! |---|---|
//! | `recognition` | the forms of queries, and what is above the `WHERE` |
//! | `fragment` | what the text says about the form of the `WHERE` |
//! | `groups` | what is within the `WHERE` |
//! | `join_order` | the order of the patterns of a group |
//! | `condition` | filters |
//! | `scope` | which variables have which places |
//! | `tree` | the operators |
//! | `row_table` | sets of rows |
//! | `context` | what operators share: limits, terms |
//! | `rows` | an evaluation, and its rows as terms |
//!
//! Invariants: (1) An evaluation has the solutions that the library's has. (2) Operators share one row, in which each
//! variable has a place. An operator changes only the places of variables that it binds, and sets those that it leaves
//! unbound. (3) Each operator returns after it has looked at so many keys of indexes as it may, with or without a row.
//! (4) Operators can be sent to other threads; what ends an evaluation is lent for each call.

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
