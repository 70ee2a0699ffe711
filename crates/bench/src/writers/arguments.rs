//! The command line of the suite of writers.

use std::path::PathBuf;

use crate::arguments::{Command, Format, Wanted, each, format, list, number};
use crate::error::{Error, Result};
use crate::writers::contestant::ENGINE_NAMES;
use crate::writers::workload::Workload;

/// What `writers --help` prints.
const HELP: &str = "\
Measures Fulgurite's write transactions beside other engines.

Usage: fulgurite-bench writers [OPTIONS]

Lets each engine make the same changes in turn, from one thread and from several, at every level of
durability, compares what it holds in the end with what was written, and judges by the bars.
docs/benchmarks.md says how each figure is measured. Needs 8 GB of memory and 15 GB of disk.

Options:
      --quick            Few records and transactions; nothing is judged
      --only WORKLOADS   Only these workloads, separated by commas; `sync` stands for all that begin so
      --engines ENGINES  Only these engines, separated by commas
      --records NUMBER   Records that a store begins with [default: 1,000,000]
      --rounds NUMBER    Rounds of each workload; the median counts [default: 5]
      --seed NUMBER      Seed of the changes, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each result [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --directory DIR    Where the stores go; a real disk [default: target/bench]
      --keep             Leave the stores there
  -h, --help             Print this
";

/// Options of `writers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Few records and transactions.
    pub quick: bool,
    /// Workloads to run; empty for all.
    pub only: Vec<Workload>,
    /// Names of the engines to run; empty for all.
    pub engines: Vec<&'static str>,
    /// Records that a store begins with.
    pub records: Option<usize>,
    /// Rounds of each workload.
    pub rounds: usize,
    /// Seed of the changes.
    pub seed: Option<u64>,
    /// How results are printed.
    pub format: Format,
    /// A file for lines of JSON.
    pub out: Option<PathBuf>,
    /// Where stores go.
    pub directory: Option<PathBuf>,
    /// Whether they stay there.
    pub keep: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            quick: false,
            only: Vec::new(),
            engines: Vec::new(),
            records: None,
            rounds: 5,
            seed: None,
            format: Format::Table,
            out: None,
            directory: None,
            keep: false,
        }
    }
}

/// Reads the arguments that follow the suite's name.
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Command> {
    let mut options = Options::default();
    let wanted = each(arguments, |name, value| {
        match name {
            "--quick" => options.quick = true,
            "--keep" => options.keep = true,
            "--only" => options.only = list("workload", &value()?, Workload::named)?.concat(),
            "--engines" => options.engines = list("engine", &value()?, engine)?,
            "--records" => options.records = Some(number(name, &value()?)?.max(1000) as usize),
            "--rounds" => options.rounds = number(name, &value()?)?.max(1) as usize,
            "--seed" => options.seed = Some(number(name, &value()?)?),
            "--format" => options.format = format(&value()?)?,
            "--out" => options.out = Some(value()?.into()),
            "--directory" => options.directory = Some(value()?.into()),
            _ => return Err(Error::Usage(format!("there is no option `{name}`"))),
        }
        Ok(())
    })?;
    Ok(if wanted == Wanted::Help { Command::HelpWriters } else { Command::Writers(options) })
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
        let line = "--quick --only bank,sync --engines lmdb,fulgurite --records 5_000 --rounds=2 --seed 7";
        let expected = Options {
            quick: true,
            only: vec![Workload::Bank, Workload::Sync1, Workload::Sync8, Workload::Sync32, Workload::Sync100],
            engines: vec!["lmdb", "fulgurite"],
            records: Some(5000),
            rounds: 2,
            seed: Some(7),
            ..Options::default()
        };
        assert_eq!(parsed(line).unwrap(), Command::Writers(expected));
        assert_eq!(parsed("").unwrap(), Command::Writers(Options::default()));
        assert_eq!(parsed("--only bank --help").unwrap(), Command::HelpWriters);
        assert!(help().contains("put1_log") && help().contains("rocksdb"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (line, named) in [("--only swim", "`swim`"), ("--engines oracle", "`oracle`"), ("--speed", "`--speed`")] {
            let message = parsed(line).unwrap_err().to_string();
            assert!(message.contains(named), "{message}");
        }
    }
}
