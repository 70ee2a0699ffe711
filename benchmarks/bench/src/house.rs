//! What is the same for all suites: how one is started, where its stores lie, and how its report is completed, printed and judged.
//!
//! A suite is an implementation of [`Suite`] and a row of [`SUITES`]; what it runs in processes of their own has a row of [`TASKS`].

use std::path::{Path, PathBuf};

use fulgurite_rivals::{Level, Settings, Usage};

use crate::arguments::{Format, Grammar, Options, Wanted};
use crate::compare;
use crate::core_suite::Core;
use crate::engines;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::limits::around::{Around, Floors};
use crate::machine;
use crate::quads::{self, Rdf4j};
use crate::random;
use crate::report::Report;
use crate::sustained::{self, Sustained};
use crate::tables::{self, Geaflow, Lightning, Ycsb};
use crate::worker;
use crate::writers::{self, Writers};

/// A suite of workloads.
pub trait Suite {
    /// Its workloads.
    type Workload: Copy + PartialEq + 'static;

    /// Whether the machine's floors are measured before and after a run.
    const FLOORS_AROUND: bool = true;

    /// The options that it understands.
    fn grammar() -> Grammar<Self::Workload>;

    /// Runs what the options want.
    ///
    /// # Errors
    /// A wrong answer, or why it could not go on.
    fn run(options: &Options<Self::Workload>, directory: &Path, seed: u64) -> Result<Report>;

    /// The verdicts in words, a last line that counts them, and whether all is well.
    fn judgement(options: &Options<Self::Workload>, report: &Report) -> (String, bool);

    /// Writes the suite's data to a file, and nothing else, where its options have that.
    ///
    /// # Errors
    /// What the disk answers.
    fn generate(_options: &Options<Self::Workload>, _file: &Path) -> Result<()> {
        Ok(())
    }

    /// The suite's test of itself, where that is no run like others: its outcome in words, and whether all is well.
    ///
    /// # Errors
    /// Why it could not go on.
    fn self_test(_options: &Options<Self::Workload>, _directory: &Path, _seed: u64) -> Option<Result<(String, bool)>> {
        None
    }
}

/// Does what the arguments after a suite's name ask for, and says whether all that was judged is as it should be.
type Execute = fn(Vec<String>) -> Result<bool>;

/// Every suite by its name. Without one, the first one's help is printed.
const SUITES: [(&str, Execute); 8] = [
    ("core", execute::<Core>),
    ("writers", execute::<Writers>),
    ("sustained", execute::<Sustained>),
    ("geaflow", execute::<Geaflow>),
    ("lightning", execute::<Lightning>),
    ("ycsb", execute::<Ycsb>),
    ("rdf4j", execute::<Rdf4j>),
    ("limits", execute::<Limits>),
];

/// What is done with the results of suites, by its name.
const COMMANDS: [(&str, Execute); 1] = [(compare::NAME, compare::execute)];

/// Does a part of a suite, as the arguments say.
type Work = fn(&[String]) -> Result<()>;

/// What processes of this program do for others of it, by the word that asks for it.
const TASKS: [(&str, Work); 7] = [
    (sustained::VERB, sustained::work),
    ("fill", writers::recovery::fill),
    ("worker", worker::work),
    (tables::VERB, tables::work),
    (tables::WRITER, tables::write),
    (quads::VERB, quads::work),
    (compare::VERB, compare::work),
];

/// Reads the arguments that follow the program's name, and does what they ask for.
///
/// # Errors
/// [`Error::Usage`] if they are not understood; what the suite met otherwise.
pub fn start(arguments: impl IntoIterator<Item = String>) -> Result<bool> {
    let mut arguments = arguments.into_iter();
    let name = match arguments.next() {
        None => "--help".to_owned(),
        Some(name) => name,
    };
    let rest: Vec<String> = arguments.collect();
    if matches!(name.as_str(), "-h" | "--help" | "help") {
        return SUITES[0].1(vec!["--help".to_owned()]);
    }
    if let Some((_, execute)) = SUITES.iter().chain(&COMMANDS).find(|(known, _)| *known == name) {
        return execute(rest);
    }
    match TASKS.iter().find(|(known, _)| *known == name) {
        Some((_, work)) => work(&rest).map(|()| true),
        None => Err(Error::Usage(format!("there is no suite or command `{name}`"))),
    }
}

fn execute<S: Suite>(arguments: Vec<String>) -> Result<bool> {
    let grammar = S::grammar();
    let options = match grammar.parse(arguments.into_iter())? {
        Wanted::Help => {
            print!("{}", grammar.full_help());
            return Ok(true);
        }
        Wanted::Run(options) => *options,
    };
    let seed = options.seed.unwrap_or_else(seed_of_the_clock);
    let directory = options.directory.clone().map_or_else(default_directory, Ok)?;
    eprintln!("{}; queries: --seed {seed}", machine::summary(None));
    if let Some(file) = &options.generate {
        return S::generate(&options, file).map(|()| true);
    }
    if options.self_test
        && let Some(outcome) = S::self_test(&options, &directory, seed)
    {
        let (judgement, good) = outcome?;
        print!("{judgement}");
        return Ok(good);
    }
    let measure = |when: &str| {
        let floors = Floors::measure(&directory, seed, options.quick);
        eprintln!("limits {when} the run: {}", floors.in_words());
        floors
    };
    let before = S::FLOORS_AROUND.then(|| measure("before"));
    let mut report = S::run(&options, &directory, seed)?;
    report.limits = before.map(|before| Around { before, after: measure("after") });
    report.notes.extend(report.limits.iter().flat_map(Around::notes));
    complete(&mut report, seed, &options)?;
    print_report(&report, options.format, S::judgement(&options, &report))
}

/// Notes what the figures were measured on, and writes their lines to the files that were asked for.
///
/// # Errors
/// What the disk answers.
pub fn complete<W>(report: &mut Report, seed: u64, options: &Options<W>) -> Result<()> {
    let machine = machine::summary(report.search);
    if report.engines.is_empty() {
        let names: Vec<&str> =
            report.contests.iter().flat_map(|contest| contest.entries.iter().map(|(name, _)| *name)).collect();
        let usual = Settings { level: Level::Log, usage: Usage::SingleOperations };
        report.engines = engines::notes(&names, usual);
    }
    let write = |path: &Path, text: String| std::fs::write(path, text).map_err(|error| Error::io("write", path, error));
    if let Some(path) = &options.json {
        write(path, report.json_with_machine(&machine, seed))?;
    }
    report.notes.push(format!("{machine}; queries: --seed {seed}"));
    match &options.out {
        Some(path) => write(path, report.json()),
        None => Ok(()),
    }
}

/// Prints what was found and how it is judged; passes on whether all is well.
fn print_report(report: &Report, format: Format, (judgement, good): (String, bool)) -> Result<bool> {
    match format {
        Format::Table => print!("{}\n{judgement}", report.table()),
        Format::Json => {
            print!("{}", report.json());
            eprint!("{judgement}");
        }
    }
    Ok(good)
}

/// `bench` beside the directory of this program, which cargo puts into `target/release`.
///
/// # Errors
/// If the system cannot tell where this program is.
pub fn default_directory() -> Result<PathBuf> {
    let program = std::env::current_exe().map_err(|error| Error::io("find", Path::new("this program"), error))?;
    let target = program.ancestors().nth(2).unwrap_or(Path::new("."));
    Ok(target.join("bench"))
}

/// A seed that no earlier run had.
pub fn seed_of_the_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| random::mix(since.as_nanos() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_suite_is_named_and_help_is_no_error() {
        let started = |line: &str| start(line.split_ascii_whitespace().map(str::to_owned));
        assert!(matches!(started("fast"), Err(Error::Usage(message)) if message.contains("`fast`")));
        for line in ["", "--help", "-h", "core --help", "core --quick -h", "writers --only bank --help"] {
            assert!(matches!(started(line), Ok(true)), "{line}");
        }
    }
}
