//! The command line of the suite of sustained writes.

use std::path::PathBuf;

use crate::arguments::{Command, Format, Wanted, each, format, list, number};
use crate::error::{Error, Result};
use crate::sustained::engine::ENGINE_NAMES;
use crate::sustained::workload::Workload;

/// What `sustained --help` prints.
const HELP: &str = "\
Measures puts that go on for longer than any buffer lasts, beside other engines.

Usage: fulgurite-bench sustained [OPTIONS]

Lets each engine take up the same puts, in a process of its own, until all that they left for later is
done; measures speed, processor time, bytes written, space, pauses, and gets on the way; compares all
that it holds in the end with what was put; and judges by the bars. docs/benchmarks.md says how each
figure is measured. Needs 24 GB of memory, 40 GB of disk and most of an hour for each round.

Options:
      --quick            Few records; nothing is judged
      --only WORKLOADS   Only these workloads, separated by commas
      --engines ENGINES  Only these engines, separated by commas; LMDB at rest is always there for gets
      --records NUMBER   Records that are loaded at first [default: 10,000,000]; twice as many are put.
                         `skewed` and `sequential` load five times as many, or what memory allows;
                         `bounded` loads four million at least
      --rounds NUMBER    Rounds of each workload; the median counts [default: 1]
      --seed NUMBER      Seed of the puts and gets, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each result [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --directory DIR    Where the stores go; a real disk [default: target/bench]
      --keep             Leave the stores there
      --self-test        Engines with planted faults instead, each of which must be found
  -h, --help             Print this
";

/// Options of `sustained`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Few records.
    pub quick: bool,
    /// Workloads to run; empty for all.
    pub only: Vec<Workload>,
    /// Names of the engines to run; empty for all.
    pub engines: Vec<&'static str>,
    /// Records that are loaded at first.
    pub records: Option<usize>,
    /// Rounds of each workload.
    pub rounds: usize,
    /// Seed of puts and gets.
    pub seed: Option<u64>,
    /// How results are printed.
    pub format: Format,
    /// A file for lines of JSON.
    pub out: Option<PathBuf>,
    /// Where stores go.
    pub directory: Option<PathBuf>,
    /// Whether they stay there.
    pub keep: bool,
    /// Engines with planted faults.
    pub self_test: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            quick: false,
            only: Vec::new(),
            engines: Vec::new(),
            records: None,
            rounds: 1,
            seed: None,
            format: Format::Table,
            out: None,
            directory: None,
            keep: false,
            self_test: false,
        }
    }
}

/// Fewer records make no sense of the bounds of a run.
const RECORDS_MIN: u64 = 1000;

/// More have more keys than there are.
const RECORDS_MAX: u64 = 20_000_000;

/// Reads the arguments that follow the suite's name.
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Command> {
    let mut options = Options::default();
    let wanted = each(arguments, |name, value| {
        match name {
            "--quick" => options.quick = true,
            "--keep" => options.keep = true,
            "--self-test" => options.self_test = true,
            "--only" => options.only = list("workload", &value()?, Workload::from_name)?,
            "--engines" => options.engines = list("engine", &value()?, engine)?,
            "--records" => options.records = Some(number(name, &value()?)?.clamp(RECORDS_MIN, RECORDS_MAX) as usize),
            "--rounds" => options.rounds = number(name, &value()?)?.max(1) as usize,
            "--seed" => options.seed = Some(number(name, &value()?)?),
            "--format" => options.format = format(&value()?)?,
            "--out" => options.out = Some(value()?.into()),
            "--directory" => options.directory = Some(value()?.into()),
            _ => return Err(Error::Usage(format!("there is no option `{name}`"))),
        }
        Ok(())
    })?;
    Ok(if wanted == Wanted::Help { Command::HelpSustained } else { Command::Sustained(options) })
}

fn engine(name: &str) -> Option<&'static str> {
    ENGINE_NAMES.into_iter().find(|known| *known == name)
}

/// The help with the names of all workloads and engines.
pub fn help() -> String {
    let workloads = Workload::ALL.map(Workload::name).join(", ");
    format!("{HELP}\nWorkloads: {workloads}\n\nEngines: {}\n", ENGINE_NAMES.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command> {
        parse(line.split_ascii_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read() {
        let line =
            "--quick --only ingest,idle --engines lmdb,fulgurite --records 50_000 --rounds=2 --seed 7 --self-test";
        let expected = Options {
            quick: true,
            only: vec![Workload::Ingest, Workload::Idle],
            engines: vec!["lmdb", "fulgurite"],
            records: Some(50_000),
            rounds: 2,
            seed: Some(7),
            self_test: true,
            ..Options::default()
        };
        assert_eq!(parsed(line).unwrap(), Command::Sustained(expected));
        assert_eq!(parsed("").unwrap(), Command::Sustained(Options::default()));
        assert_eq!(parsed("--only put1 --help").unwrap(), Command::HelpSustained);
        assert!(help().contains("sequential") && help().contains("rocksdb"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (line, named) in [("--only swim", "`swim`"), ("--engines oracle", "`oracle`"), ("--speed", "`--speed`")] {
            let message = parsed(line).unwrap_err().to_string();
            assert!(message.contains(named), "{message}");
        }
    }
}
