//! The suite `sustained` as a command: its options, its runs, its test of itself, and the judgement of runs.

use std::path::Path;

use crate::error::Result;
use crate::harness::arguments::Grammar;
use crate::harness::judge;
use crate::harness::report::Report;
use crate::harness::suite::Suite;
use crate::suites::sustained::engine::ENGINE_NAMES;
use crate::suites::sustained::self_test;
use crate::suites::sustained::workload::{Options, ROUNDS, Workload};
use crate::suites::sustained::{bars, run};

/// What `sustained --help` prints.
const HELP: &str = "\
Measures puts that outlast every buffer, beside other engines.

Usage: fulgurite-bench sustained [OPTIONS]

Each engine makes the same puts, in its own process, until its deferred work is done. The suite measures speed,
processor time, bytes written, space, pauses, and gets beside the puts; compares all content with the puts at the
end; and compares the figures with the bars. docs/internals/benchmarks.md says how each figure is measured. Needs
24 GB of memory, 40 GB of disk and most of an hour for each round.

Options:
      --quick            Use few records, and judge nothing
      --only WORKLOADS   Run only these workloads, separated by commas
      --engines ENGINES  Measure only these engines, separated by commas; gets of LMDB at rest are always measured
      --records NUMBER   Records to load first, 1,000 to 20,000,000 [default: 10,000,000]; twice as many are put.
                         `skewed` and `sequential` load five times as many, or as many as memory allows;
                         `bounded` loads at least four million
      --rounds NUMBER    Rounds of each workload; the median counts [default: 1]
      --seed NUMBER      Seed of the puts and gets, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each result [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --json FILE        Also write them to FILE, after a line about the machine, versions and settings
      --directory DIR    Where the stores go; use a real disk [default: target/bench]
      --keep             Keep the stores
      --self-test        Measure engines with planted faults; every fault must be found
  -h, --help             Print this
";

/// Fewer records make no sense of the bounds of a run.
const RECORDS_MIN: usize = 1000;

/// More have more keys than there are.
const RECORDS_MAX: usize = 20_000_000;

/// The suite of sustained writes.
#[derive(Debug)]
pub struct Sustained;

impl Suite for Sustained {
    type Workload = Workload;

    fn grammar(&self) -> Grammar<Workload> {
        let workloads = Workload::ALL.map(Workload::name).to_vec();
        let named = |name: &str| Workload::from_name(name).map(|workload| vec![workload]);
        Grammar {
            engines: &ENGINE_NAMES,
            self_test: true,
            records: RECORDS_MIN..=RECORDS_MAX,
            ..Grammar::new(HELP, workloads, named, ROUNDS)
        }
    }

    fn run(&self, options: &Options, directory: &Path, seed: u64) -> Result<Report> {
        run::run(options, directory, seed)
    }

    fn judgement(&self, options: &Options, report: &Report) -> (String, bool) {
        judge::judgement(&bars::bars(), options.quick, report)
    }

    fn self_test(&self, options: &Options, directory: &Path, seed: u64) -> Option<Result<(String, bool)>> {
        Some(self_test::run(options, directory, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::arguments::Wanted;
    use crate::harness::arguments::tests::{names_what_it_does_not_understand, parsed};

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
        assert_eq!(parsed(&Sustained, line).unwrap(), Wanted::Run(Box::new(expected)));
        assert_eq!(parsed(&Sustained, "").unwrap(), Wanted::Run(Box::default()));
        assert_eq!(parsed(&Sustained, "--only put1 --help").unwrap(), Wanted::Help);
        assert!(
            Sustained.grammar().full_help().contains("sequential")
                && Sustained.grammar().full_help().contains("rocksdb")
        );
    }

    #[test]
    fn what_is_not_understood_is_named() {
        names_what_it_does_not_understand(
            &Sustained,
            &[
                ("--only swim", "`swim`"),
                ("--engines oracle", "`oracle`"),
                ("--speed", "`--speed`"),
                ("--shape iris", "`--shape`"),
            ],
        );
    }
}
