//! Tests of the store of facts, by its public API.

mod concurrent;
mod model;
mod owners;
mod stacked;
mod store;
mod support;
