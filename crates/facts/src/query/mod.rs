//! Queries: types, plans, and their evaluation over a view of a database.

pub mod checker;
pub mod continuation;
pub mod execution;
pub mod inference;
pub mod lowering;
pub mod matcher;
pub mod plan;
pub mod prepared;
pub mod primitives;
pub mod reads;
pub mod steps;
pub mod store;
pub mod typed;
pub mod types;
