//! One engine and one workload in a process of its own: then memory, processor time and bytes written are its own. The parent starts
//! this same program with the arguments of a [`Task`] and reads [`Figures`], one in a line.

use std::path::PathBuf;

use fulgurite_rivals::{Level, Settings, Usage};

use crate::child;
use crate::error::{Error, Result};
use crate::tables::cache::CACHED_PART;
use crate::tables::content::HASHED_BYTES;
use crate::tables::definition::{Definition, Kind};
use crate::tables::engine::{Entry, named};
use crate::tables::row::Figures;
use crate::tables::{crashes, geaflow, lightning, ycsb};

/// The word after the program's name that asks for a task.
pub const VERB: &str = "table-task";

/// Engines do not take less for their caches and buffers.
const CACHE_BYTES_MIN: u64 = 16 << 20;

/// What to do.
#[derive(Clone, Debug)]
pub struct Task {
    /// The suite.
    pub suite: &'static str,
    /// The workload.
    pub definition: Definition,
    /// Whether it is a quick run.
    pub quick: bool,
    /// Records before, where there are any and not as many as the workload says.
    pub records: Option<usize>,
    /// What a commit waits for, unless the workload says.
    pub level: Level,
    /// What an engine's caches may hold.
    pub cache_bytes: u64,
    /// Seed of what is done.
    pub seed: u64,
    /// Where the store goes.
    pub directory: PathBuf,
}

/// Every level of durability.
pub const LEVELS: [Level; 3] = [Level::Memory, Level::Log, Level::Disk];

/// The workloads of a suite.
fn definitions(suite: &str) -> Option<(&'static str, &'static [Definition])> {
    let known = [geaflow::TABLES, lightning::TABLES, ycsb::TABLES];
    known.into_iter().find(|tables| tables.suite == suite).map(|tables| (tables.suite, tables.definitions))
}

impl Task {
    /// What is done, as large as the options want it.
    pub fn kind(&self) -> Kind {
        let kind = self.records.map_or(self.definition.kind, |records| self.definition.kind.with_records(records));
        if self.quick { kind.quick() } else { kind }
    }

    /// How the engine is opened.
    pub fn settings(&self) -> Settings {
        let usage = match self.kind() {
            kind if kind.has_transactions() => Usage::Transactions,
            Kind::Cache(records) => Usage::Sustained { cache_bytes: self.cached_bytes(records) },
            _ => Usage::Sustained { cache_bytes: self.cache_bytes },
        };
        Settings { level: self.definition.level.unwrap_or(self.level), usage }
    }

    /// What a cache of a part of so many records has, but for keys that are shorter than hashed ones.
    fn cached_bytes(&self, records: usize) -> u64 {
        let record = HASHED_BYTES + self.definition.lengths.mean();
        ((records * record / CACHED_PART) as u64).max(CACHE_BYTES_MIN)
    }

    /// What a process of its own is started with.
    pub fn arguments(&self) -> Vec<String> {
        let numbers = [u64::from(self.quick), self.records.unwrap_or(0) as u64, self.cache_bytes, self.seed];
        let mut arguments = vec![self.suite.to_owned(), self.definition.name.to_owned(), self.level.name().to_owned()];
        arguments.extend(numbers.map(|number| number.to_string()));
        arguments.push(self.directory.to_string_lossy().into_owned());
        arguments
    }

    fn parse(arguments: &[String]) -> Option<Self> {
        let [suite, workload, level, quick, records, cache_bytes, seed, directory] = arguments else { return None };
        let (suite, definitions) = definitions(suite)?;
        let records: usize = records.parse().ok()?;
        Some(Self {
            suite,
            definition: *definitions.iter().find(|definition| definition.name == workload)?,
            quick: quick != "0",
            records: (records > 0).then_some(records),
            level: LEVELS.into_iter().find(|candidate| candidate.name() == level)?,
            cache_bytes: cache_bytes.parse().ok()?,
            seed: seed.parse().ok()?,
            directory: directory.into(),
        })
    }
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
/// [`Error::Usage`] if they are not a task's; what the engine met, but not that it answered wrongly, which is said on stdout.
pub fn work(arguments: &[String]) -> Result<()> {
    let unreadable = || Error::Usage(format!("`{VERB}` is started by suites of tables alone"));
    let (engine, rest) = arguments.split_first().ok_or_else(unreadable)?;
    let entry = named(engine).ok_or_else(unreadable)?;
    match (entry.perform)(&Task::parse(rest).ok_or_else(unreadable)?) {
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
    let unreadable = || Error::Usage(format!("`{}` is started by suites of tables alone", crashes::VERB));
    let [engine, first, rest @ ..] = arguments else { return Err(unreadable()) };
    let entry = named(engine).ok_or_else(unreadable)?;
    let first = first.parse().map_err(|_| unreadable())?;
    (entry.write)(&Task::parse(rest).ok_or_else(unreadable)?, first)
}

#[cfg(test)]
pub mod tests {
    use std::path::Path;

    use super::*;

    /// A task that takes a moment.
    pub fn small(definition: &Definition, directory: &Path) -> Task {
        Task {
            suite: geaflow::SUITE,
            definition: *definition,
            quick: true,
            records: None,
            level: Level::Log,
            cache_bytes: 64 << 20,
            seed: 11,
            directory: directory.to_owned(),
        }
    }

    #[test]
    fn a_task_survives_the_command_line() {
        let mut task = small(&geaflow::DEFINITIONS[2], Path::new("/a b/c"));
        task.records = Some(77);
        task.seed = u64::MAX;
        let again = Task::parse(&task.arguments()).unwrap();
        assert_eq!(again.arguments(), task.arguments());
        assert_eq!((again.directory, again.records, again.level), (task.directory.clone(), Some(77), Level::Log));
        assert!(Task::parse(&task.arguments()[1..]).is_none());
        assert!(matches!(work(&["lmdb".to_owned()]), Err(Error::Usage(_))));
        let writer = [&["lmdb".to_owned(), "7".to_owned()], &task.arguments()[..]].concat();
        assert!(matches!(write(&writer), Err(Error::Usage(message)) if message.contains("that kill alone")));
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
