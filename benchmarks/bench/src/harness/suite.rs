//! What a suite is, and how a run of one goes: options are parsed, the machine is measured, the suite runs, and its
//! report is completed, printed and judged.

use std::path::{Path, PathBuf};

use fulgurite_rivals::{Level, Settings, Usage};

use crate::data::random;
use crate::engines::known;
use crate::error::{Error, Result};
use crate::floors::around::{Around, Floors};
use crate::harness::arguments::{Format, Grammar, Options, Wanted};
use crate::harness::report::Report;
use crate::measure::machine;

/// A suite of workloads.
pub trait Suite {
    /// Its workloads.
    type Workload: Copy + PartialEq + 'static;

    /// Whether the machine's floors are measured before and after a run.
    fn measures_floors(&self) -> bool {
        true
    }

    /// The options that it understands.
    fn grammar(&self) -> Grammar<Self::Workload>;

    /// Runs the workloads that the options choose.
    ///
    /// # Errors
    /// A wrong answer, or why the run had to stop.
    fn run(&self, options: &Options<Self::Workload>, directory: &Path, seed: u64) -> Result<Report>;

    /// The verdicts in words, with a last line that counts them, and whether all are good.
    fn judgement(&self, options: &Options<Self::Workload>, report: &Report) -> (String, bool);

    /// Writes only the suite's data to a file, if its grammar has that option.
    ///
    /// # Errors
    /// What the disk answers.
    fn generate(&self, _options: &Options<Self::Workload>, _file: &Path) -> Result<()> {
        Ok(())
    }

    /// The suite's test of itself: its outcome in words, and whether it is good. `None` if that test is a run like
    /// others.
    ///
    /// # Errors
    /// Why the test had to stop.
    fn self_test(
        &self,
        _options: &Options<Self::Workload>,
        _directory: &Path,
        _seed: u64,
    ) -> Option<Result<(String, bool)>> {
        None
    }
}

/// Runs a suite with the arguments that follow its name. Returns whether everything that was judged is good.
///
/// # Errors
/// [`Error::Usage`] if the arguments are not understood; what the suite met otherwise.
pub fn execute<S: Suite>(suite: &S, arguments: Vec<String>) -> Result<bool> {
    let grammar = suite.grammar();
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
        return suite.generate(&options, file).map(|()| true);
    }
    if options.self_test
        && let Some(outcome) = suite.self_test(&options, &directory, seed)
    {
        let (judgement, good) = outcome?;
        print!("{judgement}");
        return Ok(good);
    }
    [&options.json, &options.out].into_iter().flatten().try_for_each(|path| ensure_writable(path))?;
    let measure = |when: &str| {
        let floors = Floors::measure(&directory, seed, options.quick);
        eprintln!("limits {when} the run: {}", floors.in_words());
        floors
    };
    let before = suite.measures_floors().then(|| measure("before"));
    let mut report = suite.run(&options, &directory, seed)?;
    report.limits = before.map(|before| Around { before, after: measure("after") });
    report.notes.extend(report.limits.iter().flat_map(Around::notes));
    complete(&mut report, seed, &options)?;
    print_report(&report, options.format, suite.judgement(&options, &report))
}

/// Makes sure that a file can be written at the end of a run, which may be hours away. What it has stays.
///
/// # Errors
/// What the disk answers.
pub fn ensure_writable(path: &Path) -> Result<()> {
    let opened = std::fs::File::options().create(true).append(true).open(path);
    opened.map(drop).map_err(|error| Error::io("open", path, error))
}

/// Notes what the figures were measured on, and writes their lines to the files that the options name.
///
/// # Errors
/// What the disk answers.
pub fn complete<W>(report: &mut Report, seed: u64, options: &Options<W>) -> Result<()> {
    let machine = machine::summary(report.search);
    if report.engines.is_empty() {
        let names: Vec<&str> =
            report.contests.iter().flat_map(|contest| contest.entries.iter().map(|(name, _)| *name)).collect();
        let usual = Settings { level: Level::Log, usage: Usage::SingleOperations };
        report.engines = known::notes(&names, usual);
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

/// Prints the report and its judgement, and returns whether the judgement is good.
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
/// If the system does not know where this program is.
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
