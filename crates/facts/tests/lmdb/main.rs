//! The tests of `tests/facts` over LMDB, and what only LMDB has. They need the feature `lmdb`.

use fulgurite_facts::Backend;

#[path = "../facts/concurrent.rs"]
mod concurrent;
#[path = "../facts/evolved.rs"]
mod evolved;
mod files;
#[path = "../facts/model.rs"]
mod model;
#[path = "../facts/owners.rs"]
mod owners;
#[path = "../facts/stacked.rs"]
mod stacked;
#[path = "../facts/store.rs"]
mod store;
#[path = "../facts/support.rs"]
mod support;

/// What stores the databases of these tests.
const BACKEND: Backend = Backend::Lmdb;

/// What stores each database of a stack: stacks are mixed.
fn backend_of(layer: usize) -> Backend {
    if layer == 1 { Backend::Fulgurite } else { Backend::Lmdb }
}
