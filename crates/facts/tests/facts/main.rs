//! Tests of the store of facts, by its public API. `tests/lmdb` runs those of them that do not depend on the backend
//! once more.

use fulgurite_facts::Backend;

mod concurrent;
mod engine;
mod evolved;
mod model;
mod owners;
mod stacked;
mod store;
mod support;

/// What stores the databases of these tests.
const BACKEND: Backend = Backend::Fulgurite;

/// What stores each database of a stack.
fn backend_of(_layer: usize) -> Backend {
    BACKEND
}
