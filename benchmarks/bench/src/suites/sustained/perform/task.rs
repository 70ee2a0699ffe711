//! Which file does which workload.

use crate::engines::sustained::SustainedEngine;
use crate::error::Result;
use crate::suites::sustained::perform::{bounded, idle, ingest};
use crate::suites::sustained::task::{Finding, Part, Task};
use crate::suites::sustained::workload::Workload;

/// Does a task in this process.
pub fn perform<E: SustainedEngine>(task: &Task) -> Result<Vec<Finding>> {
    match (task.workload, task.part) {
        (Workload::Idle, _) => idle::run::<E>(task),
        (Workload::Bounded, Part::Load) => bounded::load::<E>(task),
        (Workload::Bounded, Part::Verify) => bounded::verify::<E>(task),
        (Workload::Bounded, _) => bounded::measure::<E>(task),
        (_, Part::AtRest) => ingest::run_at_rest::<E>(task),
        _ => ingest::run::<E>(task),
    }
}
