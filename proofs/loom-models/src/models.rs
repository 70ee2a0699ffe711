//! What threads do in each model, and which faults must be found there.

mod commit;
mod database;
mod delta;
mod group_sync;
mod reclaim;
mod slots;
mod turn;
mod visible;

use crate::faults::Fault;

/// Threads that use a part of the engine, and what must hold whatever they do when.
#[derive(Debug)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// What is explored.
    pub what: &'static str,
    /// Atomics that it uses, at most.
    pub atomics: usize,
    /// One schedule.
    pub run: fn(),
    /// What must be found.
    pub faults: &'static [Fault],
}

/// All models.
pub const MODELS: &[Model] = &[
    visible::MODEL,
    visible::THREE,
    visible::ABANDONED,
    group_sync::MODEL,
    group_sync::FAILING,
    turn::MODEL,
    delta::SCAN,
    delta::GET,
    delta::CHANGES,
    delta::SPLIT,
    delta::SPLIT_AGAIN,
    delta::SPLIT_INNER,
    delta::FIRST,
    delta::SAME,
    delta::NEW,
    reclaim::MODEL,
    commit::PINS,
    commit::SKEW,
    commit::MERGE,
    commit::MERGE_ROTATE,
    commit::DURABLE,
    commit::ROTATE,
    slots::READERS,
    slots::WRITERS,
    slots::CLOSING,
];
