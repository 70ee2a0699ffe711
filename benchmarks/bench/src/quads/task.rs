//! One engine and one measurement in a process of its own: this same program, or Java.

use std::path::PathBuf;
use std::time::Duration;

use crate::child;
use crate::error::{Error, Result};
use crate::quads::answer::Line;
use crate::quads::data::Files;
use crate::quads::engine::{Entry, named};
use crate::quads::java;
use crate::quads::measure::{BATCH_STATEMENTS, Measure};

/// The word after the program's name that asks for a task.
pub const VERB: &str = "quads-task";

/// What to do.
#[derive(Clone, Debug)]
pub struct Task {
    /// What is measured.
    pub measure: Measure,
    /// The directory with the files of the run.
    pub run: PathBuf,
    /// The directory of the store.
    pub store: PathBuf,
    /// Statements of the file.
    pub statements: u64,
    /// What a pass lasts at least, and its warming up.
    pub milliseconds: u64,
}

impl Task {
    /// The files of the run.
    pub fn files(&self) -> Files {
        Files { directory: self.run.clone() }
    }

    /// What a pass lasts at least.
    pub fn least(&self) -> Duration {
        Duration::from_millis(self.milliseconds)
    }

    /// The arguments of the process; the Java program's are the same.
    pub fn arguments(&self) -> Vec<String> {
        vec![
            self.measure.verb().to_owned(),
            self.run.to_string_lossy().into_owned(),
            self.store.to_string_lossy().into_owned(),
            self.statements.to_string(),
            self.measure.threads().to_string(),
            self.milliseconds.to_string(),
            BATCH_STATEMENTS.to_string(),
        ]
    }

    fn parse(arguments: &[String]) -> Option<Self> {
        let [verb, run, store, statements, threads, milliseconds, _] = arguments else { return None };
        Some(Self {
            measure: Measure::of_verb(verb, threads.parse().ok()?)?,
            run: run.into(),
            store: store.into(),
            statements: statements.parse().ok()?,
            milliseconds: milliseconds.parse().ok()?,
        })
    }
}

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
        None => child::answers_of(&what, java::command(task)?, Line::parse)?,
    };
    match lines.iter().find_map(|line| if let Line::Wrong(what) = line { Some(what) } else { None }) {
        Some(wrong) => Err(Error::Wrong { workload: task.measure.name(), what: format!("{}: {wrong}", entry.name) }),
        None => Ok(lines),
    }
}

/// What the process of its own does: the arguments are the engine and the task's.
///
/// # Errors
/// [`Error::Usage`] if they are not a task's; what the engine met, but not that it answered wrongly, which is said on stdout.
pub fn work(arguments: &[String]) -> Result<()> {
    let unreadable = || Error::Usage(format!("`{VERB}` is started by the suite of quads alone"));
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
    fn a_task_survives_the_command_line() {
        for measure in [Measure::Verify, Measure::Threads(4), Measure::Sparql] {
            let (run, store) = (PathBuf::from("/a run"), PathBuf::from("/a run/store"));
            let task = Task { measure, run, store, statements: 7, milliseconds: 9 };
            let again = Task::parse(&task.arguments()).unwrap();
            assert_eq!(again.arguments(), task.arguments());
            assert_eq!((again.measure, again.least()), (measure, Duration::from_millis(9)));
            assert!(Task::parse(&task.arguments()[1..]).is_none());
        }
        assert!(matches!(work(&["fulgurite".to_owned()]), Err(Error::Usage(_))));
    }
}
