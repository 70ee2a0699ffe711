//! Tests of trees against a model: a `BTreeMap`.

mod faults;
mod model;
mod sharing;
mod store;
