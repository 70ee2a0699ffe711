//! `compare` as a command: its options, and its exit code.

use std::path::{Path, PathBuf};

use crate::compare::changes::{Comparison, Question, Side};
use crate::compare::results::Results;
use crate::error::{Error, Result};
use crate::harness::arguments::{self, Format};
use crate::harness::single_rounds;
use crate::harness::suite::{default_directory, seed_of_the_clock};

/// The word that asks for it.
pub const NAME: &str = "compare";

/// What `compare --help` prints, before the figures.
const HELP: &str = "\
Shows what changed from one result to another beyond noise.

Usage: fulgurite-bench compare [OPTIONS] A B
       fulgurite-bench compare --self-test [--seed NUMBER] [--directory DIR]

A and B are files that `--json FILE` of any suite wrote. Rows are paired by suite, workload, keys, sizes, threads, level
and engine. Each round of a row is divided by LMDB's figure of the same round, or by that of another engine that both
files have; without such an engine, the figure itself is compared. A row is slower or faster if it changed by the
threshold or more, and if chance is unlikely to explain the change. docs/internals/benchmarks.md says how that is judged.

Exits with 0 if nothing is slower, 1 if something is, and 2 if the files cannot be compared.

Options:
      --all                 Also show rows that did not change, and rows that are too noisy
      --threshold PERCENT   The smallest change that counts [default: 5]
      --figure NAME         The figure to compare (see below) [default: cpu_ns_per_op]
      --engines NAMES       Compare only rows of these engines, separated by commas [default: fulgurite and its forms]
      --format FORMAT       table, or json: one line for each row [default: table]
      --self-test           Plant a slowdown of 20 % in gets ten times, and nothing ten times, and count the findings
      --seed NUMBER         Seed of the test's queries [default: from the clock]
      --directory DIR       Where its stores go; use a real disk [default: target/bench]
  -h, --help                Print this

Example: two versions of the program
      cargo xtask bench core --only get_hit,get_miss --json before.json
      git checkout my-change
      cargo xtask bench core --only get_hit,get_miss --json after.json
      cargo xtask bench compare before.json after.json
";

/// What the arguments ask for.
#[derive(Debug, PartialEq)]
enum Wanted {
    Help,
    SelfTest { seed: Option<u64>, directory: Option<PathBuf> },
    Comparison { files: [PathBuf; 2], question: Question, format: Format, all: bool },
}

/// The test of `compare` by itself, in a directory and with a seed: its outcome in words, and whether it is good.
pub type SelfTest = fn(&Path, u64) -> Result<(String, bool)>;

/// Does what the arguments ask for, and returns whether nothing is slower.
///
/// # Errors
/// [`Error::Usage`] if they are not understood, [`Error::Input`] if the files cannot be compared.
pub fn execute(arguments: Vec<String>, self_test: SelfTest) -> Result<bool> {
    match parse(arguments.into_iter())? {
        Wanted::Help => {
            let figures = single_rounds::FIGURES.map(|(name, _)| name);
            print!("{HELP}\nFigures: {}\n", figures.join(", "));
            Ok(true)
        }
        Wanted::SelfTest { seed, directory } => {
            let directory = directory.map_or_else(default_directory, Ok)?;
            let (text, good) = self_test(&directory, seed.unwrap_or_else(seed_of_the_clock))?;
            print!("{text}");
            Ok(good)
        }
        Wanted::Comparison { files, question, format, all } => {
            let comparison = compare(files, question)?;
            match format {
                Format::Table => print!("{}", comparison.text(all)),
                Format::Json => print!("{}", comparison.json()),
            }
            Ok(comparison.is_good())
        }
    }
}

/// Reads two files and compares them.
///
/// # Errors
/// [`Error::Input`] if they cannot be compared.
pub fn compare([old, new]: [PathBuf; 2], question: Question) -> Result<Comparison> {
    let read = |path: PathBuf| -> Result<Side> {
        let results = Results::read(&path)?;
        Ok(Side { path, results })
    };
    Comparison::new(question, [read(old)?, read(new)?])
}

fn parse(arguments: impl Iterator<Item = String>) -> Result<Wanted> {
    let (mut question, mut format, mut all) = (Question::default(), Format::Table, false);
    let (mut self_test, mut seed, mut directory) = (false, None, None);
    let mut files: Vec<PathBuf> = Vec::new();
    let help = arguments::each(arguments, |name, value| {
        match name {
            "--all" => all = true,
            "--threshold" => question.threshold_percent = threshold(&value()?)?,
            "--figure" => question.figure = figure(&value()?)?,
            "--engines" => question.engines = value()?.split(',').map(str::to_owned).collect(),
            "--format" => format = arguments::format(&value()?)?,
            "--self-test" => self_test = true,
            "--seed" => seed = Some(arguments::number(name, &value()?)?),
            "--directory" => directory = Some(value()?.into()),
            _ if name.starts_with('-') => return Err(Error::Usage(format!("unknown option `{name}`"))),
            _ => files.push(Path::new(name).to_owned()),
        }
        Ok(())
    })?;
    if help {
        return Ok(Wanted::Help);
    }
    let count = files.len();
    match (self_test, <[PathBuf; 2]>::try_from(files)) {
        (true, _) if count == 0 => Ok(Wanted::SelfTest { seed, directory }),
        (true, _) => Err(Error::Usage("--self-test makes its own files: name none".to_owned())),
        (false, Ok(files)) if seed.is_none() && directory.is_none() => {
            Ok(Wanted::Comparison { files, question, format, all })
        }
        (false, Ok(_)) => Err(Error::Usage("--seed and --directory apply to --self-test only".to_owned())),
        (false, Err(_)) => Err(Error::Usage(format!("compare needs two files, A and B; {count} were named"))),
    }
}

fn threshold(text: &str) -> Result<f64> {
    let refused = || Error::Usage(format!("--threshold needs a percentage above 0; it is `{text}`"));
    text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent > 0.0).ok_or_else(refused)
}

fn figure(text: &str) -> Result<&'static str> {
    let known = single_rounds::FIGURES.iter().map(|(name, _)| *name).find(|name| *name == text);
    known.ok_or_else(|| Error::Usage(format!("unknown figure `{text}`")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::results::tests::report;

    fn parsed(line: &str) -> Result<Wanted> {
        parse(line.split_ascii_whitespace().map(str::to_owned))
    }

    #[test]
    fn files_and_options_are_read_in_any_order() {
        let wanted =
            parsed("a=1.json --threshold 2.5 --all --format=json b.json --figure p99_ns --engines lmdb,redb").unwrap();
        let question =
            Question { figure: "p99_ns", threshold_percent: 2.5, engines: vec!["lmdb".to_owned(), "redb".to_owned()] };
        let files = ["a=1.json", "b.json"].map(PathBuf::from);
        assert_eq!(wanted, Wanted::Comparison { files, question, format: Format::Json, all: true });
        let usual = Question { figure: "cpu_ns_per_op", threshold_percent: 5.0, engines: Vec::new() };
        assert!(matches!(parsed("a b").unwrap(), Wanted::Comparison { question, all: false, .. } if question == usual));
        assert_eq!(parsed("a -h").unwrap(), Wanted::Help);
        let directory = Some(PathBuf::from("/d"));
        assert_eq!(
            parsed("--self-test --seed 7 --directory /d").unwrap(),
            Wanted::SelfTest { seed: Some(7), directory }
        );
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let lines = [
            ("", "needs two files, A and B; 0 were named"),
            ("a", "; 1 were named"),
            ("a b c", "; 3 were named"),
            ("a b --loud", "`--loud`"),
            ("a b --threshold none", "`none`"),
            ("a b --threshold 0", "above 0"),
            ("a b --threshold", "--threshold needs a value"),
            ("a b --figure speed", "`speed`"),
            ("a b --seed 1", "--self-test only"),
            ("--self-test a b", "name none"),
        ];
        for (line, named) in lines {
            match parsed(line) {
                Err(Error::Usage(message)) => assert!(message.contains(named), "{message}"),
                other => panic!("`{line}` is understood: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_slower_makes_it_fail_and_what_cannot_be_read_is_an_error_of_input() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_string_lossy().into_owned()
        };
        let times = |factor: f64| [100.0, 101.0, 99.0].map(|time| time * factor).to_vec();
        let run = |factor| report(&[("get_hit", times(factor), vec![300.0; 3])]).json_with_machine("m", 1);
        let (old, slower) = (write("a", run(1.0)), write("b", run(1.5)));
        let outcome = |files: [&String; 2]| {
            execute(files.map(String::clone).to_vec(), |_, _| unreachable!("it was not asked for"))
        };
        assert!(outcome([&old, &old]).unwrap() && outcome([&slower, &old]).unwrap());
        assert!(!outcome([&old, &slower]).unwrap());
        for bad in [write("c", "no JSON".to_owned()), directory.path().join("none").to_string_lossy().into_owned()] {
            match outcome([&old, &bad]) {
                Err(Error::Input { path, .. }) => assert_eq!(path.to_string_lossy(), bad),
                other => panic!("{other:?}"),
            }
        }
    }
}
