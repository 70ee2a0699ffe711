//! The suite `core` as a command: its options, and its runs and judgements, with LMDB on both sides for its test of
//! itself.

use std::path::Path;

use fulgurite_rivals::Lmdb;

use crate::engines::fulgurite::Fulgurite;
use crate::error::Result;
use crate::harness::arguments::Grammar;
use crate::harness::judge;
use crate::harness::report::Report;
use crate::harness::suite::Suite;
use crate::suites::core::bars;
use crate::suites::core::run::run;
use crate::suites::core::self_test::{self, LmdbControl};
use crate::suites::core::workload::{Options, ROUNDS, Workload};

/// What `core --help` prints.
const HELP: &str = "\
Measures Fulgurite beside LMDB.

Usage: fulgurite-bench core [OPTIONS]

Loads the same records into Fulgurite and LMDB, runs the same queries on both in turn, checks every answer, and
compares the ratios with the bars. docs/internals/benchmarks.md says how each figure is measured. Needs 8 GB of
memory and 10 GB of disk.

Options:
      --quick            Use small data sets, and judge nothing
      --only WORKLOADS   Run only these workloads, separated by commas (see below)
      --shape SHAPES     Run only data sets with these shapes of key
      --records NUMBER   Run only data sets of this many records
      --rounds NUMBER    Rounds of each workload; the median counts [default: 5]
      --seed NUMBER      Seed of the queries, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each result [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --json FILE        Also write them to FILE, after a line about the machine, versions and settings
      --directory DIR    Where the data sets go; use a real disk [default: target/bench]
      --keep             Keep the data sets
      --self-test        Measure LMDB on both sides: every ratio should be 1
  -h, --help             Print this
";

/// The suite of reads, loads and single puts beside LMDB.
#[derive(Debug)]
pub struct Core;

impl Suite for Core {
    type Workload = Workload;

    fn grammar(&self) -> Grammar<Workload> {
        let workloads = Workload::ALL.map(Workload::name).to_vec();
        let named = |name: &str| Workload::from_name(name).map(|workload| vec![workload]);
        Grammar { shapes: true, self_test: true, ..Grammar::new(HELP, workloads, named, ROUNDS) }
    }

    fn run(&self, options: &Options, directory: &Path, seed: u64) -> Result<Report> {
        match options.self_test {
            true => run::<LmdbControl, Lmdb>(options, directory, seed),
            false => run::<Fulgurite, Lmdb>(options, directory, seed),
        }
    }

    fn judgement(&self, options: &Options, report: &Report) -> (String, bool) {
        match options.self_test {
            true => self_test::judgement(report),
            false => judge::judgement(&bars::bars(), options.quick, report),
        }
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::Level;

    use super::*;
    use crate::data::shape::Shape;
    use crate::harness::arguments::tests::{names_what_it_does_not_understand, parsed};
    use crate::harness::arguments::{Format, Wanted};

    #[test]
    fn no_options_mean_the_whole_suite_in_five_rounds() {
        assert_eq!(parsed(&Core, "").unwrap(), Wanted::Run(Box::default()));
        assert_eq!(Options::default().rounds, 5);
        assert!(Options::default().wants(&Workload::Put1) && Options::default().shapes == [] as [Shape; 0]);
    }

    #[test]
    fn options_are_read_with_a_space_or_an_equals_sign() {
        let line = "--quick --only get_hit,scan --shape=iris --records 10_000 --rounds=3 --seed 7 --format json \
                    --out a.json --json b.json --directory /d --keep --self-test";
        let expected = Options {
            quick: true,
            full: false,
            only: vec![Workload::GetHit, Workload::Scan],
            shapes: vec![Shape::Iris],
            engines: Vec::new(),
            records: Some(10_000),
            events: None,
            entity_bytes: None,
            rounds: 3,
            seed: Some(7),
            format: Format::Json,
            level: Level::Log,
            out: Some("a.json".into()),
            json: Some("b.json".into()),
            directory: Some("/d".into()),
            keep: true,
            self_test: true,
            generate: None,
        };
        assert_eq!(parsed(&Core, line).unwrap(), Wanted::Run(Box::new(expected)));
    }

    #[test]
    fn help_is_printed_on_request() {
        for line in ["--help", "--quick -h"] {
            assert_eq!(parsed(&Core, line).unwrap(), Wanted::Help);
        }
        let help = Core.grammar().full_help();
        assert!(help.contains("get_hit_no_huge_pages") && help.contains("domains"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        names_what_it_does_not_understand(
            &Core,
            &[
                ("--speed", "`--speed`"),
                ("--only swim", "`swim`"),
                ("--shape round", "`round`"),
                ("--engines lmdb", "`--engines`"),
                ("--rounds many", "`many`"),
                ("--rounds", "--rounds needs a value"),
                ("--format xml", "`xml`"),
            ],
        );
    }
}
