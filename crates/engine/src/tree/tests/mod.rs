//! Tests of trees against a model: a `BTreeMap`.

mod faults;
mod model;
mod runs;
mod sharing;
mod stacks;
pub(super) mod store;
