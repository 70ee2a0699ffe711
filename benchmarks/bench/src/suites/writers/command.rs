//! The suite `writers` as a command: its options, its runs, and their judgement.

use std::path::Path;

use crate::error::Result;
use crate::harness::arguments::Grammar;
use crate::harness::judge;
use crate::harness::report::Report;
use crate::harness::suite::Suite;
use crate::suites::writers::contestant::ENGINE_NAMES;
use crate::suites::writers::workload::{Options, ROUNDS, Workload};
use crate::suites::writers::{bars, run};

/// What `writers --help` prints.
const HELP: &str = "\
Measures Fulgurite's write transactions beside other engines.

Usage: fulgurite-bench writers [OPTIONS]

Each engine makes the same changes in turn, from one thread and from several, at every level of durability. At the
end, the content of each store is compared with the changes, and the figures with the bars.
docs/internals/benchmarks.md says how each figure is measured. Needs 8 GB of memory and 15 GB of disk.

Options:
      --quick            Use few records and transactions, and judge nothing
      --only WORKLOADS   Run only these workloads, separated by commas; `sync` means all that begin with it
      --engines ENGINES  Measure only these engines, separated by commas
      --records NUMBER   Records that are loaded first, at least 1,000 [default: 1,000,000]
      --rounds NUMBER    Rounds of each workload; the median counts [default: 5]
      --seed NUMBER      Seed of the changes, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each result [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --json FILE        Also write them to FILE, after a line about the machine, versions and settings
      --directory DIR    Where the stores go; use a real disk [default: target/bench]
      --keep             Keep the stores
  -h, --help             Print this
";

/// The suite of writers.
#[derive(Debug)]
pub struct Writers;

impl Suite for Writers {
    type Workload = Workload;

    fn grammar(&self) -> Grammar<Workload> {
        let workloads = Workload::ALL.map(Workload::name).to_vec();
        Grammar {
            engines: &ENGINE_NAMES,
            records: 1000..=usize::MAX,
            ..Grammar::new(HELP, workloads, Workload::named, ROUNDS)
        }
    }

    fn run(&self, options: &Options, directory: &Path, seed: u64) -> Result<Report> {
        run::run(options, directory, seed)
    }

    fn judgement(&self, options: &Options, report: &Report) -> (String, bool) {
        judge::judgement(&bars::bars(), options.quick, report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::arguments::Wanted;
    use crate::harness::arguments::tests::{names_what_it_does_not_understand, parsed};

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
        assert_eq!(parsed(&Writers, line).unwrap(), Wanted::Run(Box::new(expected)));
        assert_eq!(parsed(&Writers, "").unwrap(), Wanted::Run(Box::default()));
        assert_eq!(parsed(&Writers, "--only bank --help").unwrap(), Wanted::Help);
        assert!(
            Writers.grammar().full_help().contains("put1_log") && Writers.grammar().full_help().contains("rocksdb")
        );
    }

    #[test]
    fn what_is_not_understood_is_named() {
        names_what_it_does_not_understand(
            &Writers,
            &[
                ("--only swim", "`swim`"),
                ("--engines oracle", "`oracle`"),
                ("--speed", "`--speed`"),
                ("--shape iris", "`--shape`"),
            ],
        );
    }
}
