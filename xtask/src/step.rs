//! What a step of `cargo xtask test` is, and how one ends.

use std::path::Path;

use crate::command::Failure;
use crate::lanes::Program;

/// One thing that CI checks.
#[derive(Debug)]
pub struct Step {
    /// Its name in the report and for `--only`.
    pub name: &'static str,
    /// What it checks.
    pub what: &'static str,
    /// Whether it takes minutes.
    pub long: bool,
    /// What checks it.
    pub work: Work,
}

/// How a step does its work, in the workspace's root directory.
#[derive(Debug)]
pub enum Work {
    /// Nothing runs beside it: it measures time, or keeps all processors busy from beginning to end.
    Alone(fn(&Path) -> Outcome),
    /// Programs that keep one processor busy each. They run beside the neighbouring steps that are not `Alone`.
    SideBySide(fn(&Path) -> Result<Vec<Program>, Failure>),
    /// It leaves processors idle for some of its time, and does not measure time. It runs in a process of its own
    /// beside the neighbouring steps that are not `Alone`.
    InOneProcess(fn(&Path) -> Outcome),
}

/// How a step ended.
#[derive(Debug)]
pub enum Outcome {
    /// It checked what it names, and found nothing wrong.
    Passed,
    /// It found something wrong.
    Failed(String),
    /// It could not check anything, for this reason.
    Skipped(String),
}

/// What the end of some work says of its step.
pub fn outcome(result: Result<(), Failure>) -> Outcome {
    match result {
        Ok(()) => Outcome::Passed,
        Err(Failure::Unavailable(reason)) => Outcome::Skipped(reason),
        Err(failure) => Outcome::Failed(failure.to_string()),
    }
}
