//! A task in a process of its own: this same program, or Java.

use crate::error::{Error, Result};
use crate::measure::child;
use crate::suites::quads::answer::Line;
use crate::suites::quads::engines::java;
use crate::suites::quads::entries::{Entry, named};
use crate::suites::quads::task::Task;

/// The word after the program's name that asks for a task.
pub const VERB: &str = "quads-task";

/// Does a task in a process of its own.
///
/// # Errors
/// [`Error::Wrong`] if the engine does not answer the same question twice alike; how the process ended.
pub fn spawn(entry: &Entry, task: &Task) -> Result<Vec<Line>> {
    let what = format!("{} of {}", task.measure.name(), entry.name);
    let lines = match entry.perform {
        Some(_) => {
            let arguments = [vec![VERB.to_owned(), entry.name.to_owned()], task.arguments()].concat();
            child::answers(&what, &arguments, None, Line::parse)?
        }
        None => child::answers_of(&what, java::command(entry.name, &task.arguments())?, Line::parse)?,
    };
    match lines.iter().find_map(|line| if let Line::Wrong(what) = line { Some(what) } else { None }) {
        Some(wrong) => Err(Error::Wrong { workload: task.measure.name(), what: format!("{}: {wrong}", entry.name) }),
        None => Ok(lines),
    }
}

/// What the process of its own does: the arguments are the engine and the task's.
///
/// # Errors
/// [`Error::Usage`] if they are not a task's; what the engine met, but not that it answered wrongly, which is said on
/// stdout.
pub fn work(arguments: &[String]) -> Result<()> {
    let unreadable =
        || Error::Usage(format!("`{VERB}` takes the arguments that the suite `rdf4j` passes to its own processes"));
    let (engine, rest) = arguments.split_first().ok_or_else(unreadable)?;
    let perform = named(engine).and_then(|entry| entry.perform).ok_or_else(unreadable)?;
    match perform(&Task::parse(rest).ok_or_else(unreadable)?) {
        Err(Error::Wrong { workload, what }) => println!("{}", Line::Wrong(format!("{workload}: {what}")).text()),
        outcome => outcome?.iter().for_each(|line| println!("{}", line.text())),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_no_task_are_refused() {
        assert!(matches!(work(&["fulgurite".to_owned()]), Err(Error::Usage(_))));
    }
}
