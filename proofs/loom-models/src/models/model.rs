//! What a model is.

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
