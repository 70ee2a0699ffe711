//! One engine and one measurement: what a process is asked for.

use std::path::PathBuf;
use std::time::Duration;

use crate::suites::quads::data::files::Files;
use crate::suites::quads::measure::{BATCH_STATEMENTS, Measure};

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

    /// Reads [`Task::arguments`].
    pub fn parse(arguments: &[String]) -> Option<Self> {
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
    }
}
