//! A task in a process of its own, whose memory, processor time and written bytes are those of the engine alone.
//!
//! The parent starts this same program with the arguments of a [`Task`] and reads [`Finding`]s, one in a line.

use crate::error::{Error, Result};
use crate::measure::child;
use crate::suites::sustained::engine::{Entry, named};
use crate::suites::sustained::task::{Finding, Task};

/// The word after the program's name that asks for a task.
pub const VERB: &str = "sustained-task";

/// Does a task in a process of its own.
pub fn spawn(engine: &Entry, task: &Task) -> Result<Vec<Finding>> {
    let mut arguments = vec![VERB.to_owned(), engine.name.to_owned()];
    arguments.extend(task.arguments());
    let what = format!("{} of {}", task.workload.name(), engine.name);
    let findings = child::answers(&what, &arguments, None, Finding::parse)?;
    match findings.iter().find_map(|finding| if let Finding::Wrong(what) = finding { Some(what) } else { None }) {
        Some(reason) => Err(wrong(engine, task, reason)),
        None => Ok(findings),
    }
}

fn wrong(engine: &Entry, task: &Task, reason: &str) -> Error {
    Error::Wrong { workload: task.workload.name(), what: format!("{}: {reason}", engine.name) }
}

/// What the process of its own does: the arguments are the engine and the task's.
pub fn work(arguments: &[String]) -> Result<()> {
    let unreadable =
        || Error::Usage(format!("`{VERB}` takes the arguments that the suite `sustained` passes to its own processes"));
    let (engine, rest) = arguments.split_first().ok_or_else(unreadable)?;
    let engine = named(engine).ok_or_else(unreadable)?;
    let findings = match (engine.perform)(&Task::parse(rest).ok_or_else(unreadable)?) {
        Err(Error::Wrong { workload, what }) => vec![Finding::Wrong(format!("{workload}: {what}"))],
        outcome => outcome?,
    };
    findings.iter().for_each(|finding| println!("{}", finding.line()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_no_task_are_refused() {
        assert!(matches!(work(&["lmdb".to_owned()]), Err(Error::Usage(_))));
    }
}
