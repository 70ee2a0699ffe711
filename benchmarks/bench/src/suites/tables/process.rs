//! A task in a process of its own, whose memory, processor time and written bytes are those of the engine alone.
//!
//! The parent starts this same program with the arguments of a [`Task`] and reads [`Figures`], one in a line.

use crate::error::{Error, Result};
use crate::harness::row::Figures;
use crate::measure::child;
use crate::suites::tables::definition::TableSuite;
use crate::suites::tables::engine::{Entry, named};
use crate::suites::tables::perform::crashes;
use crate::suites::tables::task::{LEVELS, Task};
use crate::suites::tables::workloads::{GEAFLOW, LIGHTNING, YCSB};

/// The word after the program's name that asks for a task.
pub const VERB: &str = "table-task";

/// The suites whose workloads a process can be asked for.
const SUITES: [TableSuite; 3] = [GEAFLOW, LIGHTNING, YCSB];

/// Reads [`Task::arguments`].
fn parse(arguments: &[String]) -> Option<Task> {
    let [suite, workload, level, quick, records, cache_bytes, seed, directory] = arguments else { return None };
    let suite = SUITES.iter().find(|known| known.name == suite)?;
    let records: usize = records.parse().ok()?;
    Some(Task {
        suite: suite.name,
        definition: *suite.definitions.iter().find(|definition| definition.name == workload)?,
        quick: quick != "0",
        records: (records > 0).then_some(records),
        level: LEVELS.into_iter().find(|candidate| candidate.name() == level)?,
        cache_bytes: cache_bytes.parse().ok()?,
        seed: seed.parse().ok()?,
        directory: directory.into(),
    })
}

/// How a task is done: in a process of its own, or for tests in this one.
pub type Runner = fn(&Entry, &Task) -> Result<Figures>;

/// What a process of its own says instead of figures if the engine answered wrongly.
const WRONG: &str = "wrong";

/// Does a task in a process of its own.
pub fn spawn(entry: &Entry, task: &Task) -> Result<Figures> {
    let mut arguments = vec![VERB.to_owned(), entry.engine.name.to_owned()];
    arguments.extend(task.arguments());
    let what = format!("{} of {}", task.definition.name, entry.engine.name);
    let mut figures = Figures::default();
    for (name, value) in child::answers(&what, &arguments, None, parse_line)? {
        match value {
            Some(value) => figures.set(&name, value),
            None => {
                return Err(Error::Wrong {
                    workload: task.definition.name,
                    what: format!("{}: {name}", entry.engine.name),
                });
            }
        }
    }
    Ok(figures)
}

/// A figure and its name, or what is wrong.
fn parse_line(line: &str) -> Option<(String, Option<f64>)> {
    let (first, rest) = line.split_once(' ')?;
    match first {
        WRONG => Some((rest.to_owned(), None)),
        number => Some((rest.to_owned(), Some(number.parse().ok()?))),
    }
}

/// What the process of its own does: the arguments are the engine and the task's.
///
/// # Errors
/// [`Error::Usage`] if they are not a task's; what the engine met, but not that it answered wrongly, which is said on
/// stdout.
pub fn work(arguments: &[String]) -> Result<()> {
    let unreadable =
        || Error::Usage(format!("`{VERB}` takes the arguments that suites of tables pass to their own processes"));
    let (engine, rest) = arguments.split_first().ok_or_else(unreadable)?;
    let entry = named(engine).ok_or_else(unreadable)?;
    match (entry.perform)(&parse(rest).ok_or_else(unreadable)?) {
        Err(Error::Wrong { workload, what }) => println!("{WRONG} {workload}: {what}"),
        outcome => outcome?.iter().for_each(|(name, value)| println!("{value} {name}")),
    }
    Ok(())
}

/// What a writer does who will be killed: the arguments are the engine, the put to begin with, and the task's.
///
/// # Errors
/// As [`work`].
pub fn write(arguments: &[String]) -> Result<()> {
    let unreadable = || {
        Error::Usage(format!(
            "`{}` takes the arguments that suites of tables pass to their own processes",
            crashes::VERB
        ))
    };
    let [engine, first, rest @ ..] = arguments else { return Err(unreadable()) };
    let entry = named(engine).ok_or_else(unreadable)?;
    let first = first.parse().map_err(|_| unreadable())?;
    (entry.write)(&parse(rest).ok_or_else(unreadable)?, first)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fulgurite_rivals::Level;

    use super::*;
    use crate::suites::tables::task::tests::small;

    #[test]
    fn a_task_survives_the_command_line() {
        let mut task = small(&GEAFLOW.definitions[2], Path::new("/a b/c"));
        task.records = Some(77);
        task.seed = u64::MAX;
        let again = parse(&task.arguments()).unwrap();
        assert_eq!(again.arguments(), task.arguments());
        assert_eq!((again.directory, again.records, again.level), (task.directory.clone(), Some(77), Level::Log));
        assert!(parse(&task.arguments()[1..]).is_none());
        assert!(matches!(work(&["lmdb".to_owned()]), Err(Error::Usage(_))));
        let writer = [&["lmdb".to_owned(), "7".to_owned()], &task.arguments()[..]].concat();
        assert!(matches!(write(&writer), Err(Error::Usage(message)) if message.contains("that kill their writer")));
        assert!(matches!(write(&writer[1..]), Err(Error::Usage(_))));
    }

    #[test]
    fn lines_of_figures_and_of_what_is_wrong_are_told_apart() {
        assert_eq!(parse_line("1.5 ops_per_s"), Some(("ops_per_s".to_owned(), Some(1.5))));
        assert_eq!(parse_line("2 KiB after a batch"), Some(("KiB after a batch".to_owned(), Some(2.0))));
        assert_eq!(parse_line("wrong it: gone"), Some(("it: gone".to_owned(), None)));
        assert_eq!(parse_line("nonsense"), None);
        assert_eq!(parse_line("some nonsense"), None);
    }
}
