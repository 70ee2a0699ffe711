//! The command line of the benchmarks.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::sustained;
use crate::workload::Workload;
use crate::writers;

/// What `--help` prints.
pub const HELP: &str = "\
Measures Fulgurite beside other engines.

Usage: fulgurite-bench core [OPTIONS]
       fulgurite-bench writers [OPTIONS], described by fulgurite-bench writers --help
       fulgurite-bench sustained [OPTIONS], described by fulgurite-bench sustained --help

Loads the same records into Fulgurite and LMDB, asks both the same questions in turn, checks every
answer, and judges the ratios by the bars. docs/benchmarks.md says how each figure is measured.
Needs 8 GB of memory and 10 GB of disk.

Options:
      --quick            Small data sets; nothing is judged
      --only WORKLOADS   Only these workloads, separated by commas (see below)
      --shape SHAPES     Only data sets with these shapes of key
      --records NUMBER   Only data sets of this many records
      --rounds NUMBER    Rounds of each workload; the median counts [default: 5]
      --seed NUMBER      Seed of the queries, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each result [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --directory DIR    Where the data sets go; a real disk [default: target/bench]
      --keep             Leave the data sets there
      --self-test        LMDB on both sides: every ratio should be 1
  -h, --help             Print this
";

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Options of `core`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Small data sets.
    pub quick: bool,
    /// Workloads to run; empty for all.
    pub only: Vec<Workload>,
    /// Shapes to run; empty for all.
    pub shapes: Vec<Shape>,
    /// Size of data set to run; none for all.
    pub records: Option<usize>,
    /// Rounds of each workload.
    pub rounds: usize,
    /// Seed of the queries.
    pub seed: Option<u64>,
    /// How results are printed.
    pub format: Format,
    /// A file for lines of JSON.
    pub out: Option<PathBuf>,
    /// Where data sets go.
    pub directory: Option<PathBuf>,
    /// Whether they stay there.
    pub keep: bool,
    /// LMDB on both sides.
    pub self_test: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            quick: false,
            only: Vec::new(),
            shapes: Vec::new(),
            records: None,
            rounds: 5,
            seed: None,
            format: Format::Table,
            out: None,
            directory: None,
            keep: false,
            self_test: false,
        }
    }
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Print the help.
    Help,
    /// Run the core suite.
    Core(Options),
    /// Print the help of the suite of writers.
    HelpWriters,
    /// Run the suite of writers.
    Writers(writers::Options),
    /// Print the help of the suite of sustained writes.
    HelpSustained,
    /// Run the suite of sustained writes.
    Sustained(sustained::Options),
    /// One task of that suite on behalf of another process of this program; its arguments are its own.
    SustainedTask(Vec<String>),
    /// Fill a store for a process that will end this one.
    Fill(Vec<String>),
    /// One measurement on behalf of another process of this program; its arguments are its own.
    Worker(Vec<String>),
}

/// Reads the arguments that follow the program's name.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Command> {
    let mut arguments = arguments.into_iter();
    match arguments.next().as_deref() {
        None | Some("-h" | "--help" | "help") => Ok(Command::Help),
        Some("core") => parse_core(arguments),
        Some("writers") => writers::arguments::parse(arguments),
        Some("sustained") => sustained::arguments::parse(arguments),
        Some(sustained::VERB) => Ok(Command::SustainedTask(arguments.collect())),
        Some("fill") => Ok(Command::Fill(arguments.collect())),
        Some("worker") => Ok(Command::Worker(arguments.collect())),
        Some(other) => Err(Error::Usage(format!("there is no suite `{other}`"))),
    }
}

fn parse_core(arguments: impl Iterator<Item = String>) -> Result<Command> {
    let mut options = Options::default();
    let wanted = each(arguments, |name, value| {
        match name {
            "--quick" => options.quick = true,
            "--keep" => options.keep = true,
            "--self-test" => options.self_test = true,
            "--only" => options.only = list("workload", &value()?, Workload::from_name)?,
            "--shape" => options.shapes = list("shape", &value()?, Shape::from_name)?,
            "--records" => options.records = Some(number(name, &value()?)? as usize),
            "--rounds" => options.rounds = number(name, &value()?)?.max(1) as usize,
            "--seed" => options.seed = Some(number(name, &value()?)?),
            "--format" => options.format = format(&value()?)?,
            "--out" => options.out = Some(value()?.into()),
            "--directory" => options.directory = Some(value()?.into()),
            _ => return Err(Error::Usage(format!("there is no option `{name}`"))),
        }
        Ok(())
    })?;
    Ok(if wanted == Wanted::Help { Command::Help } else { Command::Core(options) })
}

/// Whether the options ask for a run or only for the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A run.
    Run,
    /// The help.
    Help,
}

/// Hands every option to `apply`, with a way to take its value, which follows a space or an equals sign.
pub fn each(
    mut arguments: impl Iterator<Item = String>,
    mut apply: impl FnMut(&str, &mut dyn FnMut() -> Result<String>) -> Result<()>,
) -> Result<Wanted> {
    while let Some(argument) = arguments.next() {
        let (name, inline) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        if matches!(name.as_str(), "-h" | "--help") {
            return Ok(Wanted::Help);
        }
        apply(&name, &mut || {
            let found = inline.clone().or_else(|| arguments.next());
            found.ok_or_else(|| Error::Usage(format!("{name} needs a value")))
        })?;
    }
    Ok(Wanted::Run)
}

/// Reads names separated by commas.
pub fn list<T>(kind: &str, text: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
    text.split(',').map(|name| read(name).ok_or_else(|| Error::Usage(format!("there is no {kind} `{name}`")))).collect()
}

/// Reads a number, in which underscores may group digits.
pub fn number(option: &str, text: &str) -> Result<u64> {
    text.replace('_', "").parse().map_err(|_| Error::Usage(format!("{option} needs a number, not `{text}`")))
}

/// Reads the name of a format.
pub fn format(text: &str) -> Result<Format> {
    match text {
        "table" => Ok(Format::Table),
        "json" => Ok(Format::Json),
        _ => Err(Error::Usage(format!("there is no format `{text}`"))),
    }
}

/// The help with the names of all workloads and shapes.
pub fn help() -> String {
    let workloads = Workload::ALL.map(Workload::name).join(", ");
    let shapes = Shape::ALL.map(Shape::name).join(", ");
    format!("{HELP}\nWorkloads: {workloads}\n\nShapes: {shapes}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command> {
        parse(line.split_ascii_whitespace().map(str::to_owned))
    }

    #[test]
    fn no_options_mean_the_whole_suite_in_five_rounds() {
        assert_eq!(parsed("core").unwrap(), Command::Core(Options::default()));
        assert_eq!(Options::default().rounds, 5);
    }

    #[test]
    fn options_are_read_with_a_space_or_an_equals_sign() {
        let line = "core --quick --only get_hit,scan --shape=iris --records 10_000 --rounds=3 --seed 7 --format json \
                    --out a.json --directory /d --keep --self-test";
        let expected = Options {
            quick: true,
            only: vec![Workload::GetHit, Workload::Scan],
            shapes: vec![Shape::Iris],
            records: Some(10_000),
            rounds: 3,
            seed: Some(7),
            format: Format::Json,
            out: Some("a.json".into()),
            directory: Some("/d".into()),
            keep: true,
            self_test: true,
        };
        assert_eq!(parsed(line).unwrap(), Command::Core(expected));
    }

    #[test]
    fn help_is_printed_on_request_or_without_arguments() {
        for line in ["", "--help", "core --help", "core --quick -h"] {
            assert_eq!(parsed(line).unwrap(), Command::Help);
        }
        assert!(help().contains("get_hit_no_huge_pages") && help().contains("domains"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (line, named) in [
            ("fast", "`fast`"),
            ("core --speed", "`--speed`"),
            ("core --only swim", "`swim`"),
            ("core --shape round", "`round`"),
            ("core --rounds many", "`many`"),
            ("core --rounds", "--rounds needs a value"),
            ("core --format xml", "`xml`"),
        ] {
            let message = parsed(line).unwrap_err().to_string();
            assert!(message.contains(named), "{message}");
        }
    }
}
