//! A suite of tables as a command: its options, its help, its runs, and its judgement: a commit that an engine has
//! acknowledged must survive a kill.

use std::path::Path;

use fulgurite_rivals::Level;

use crate::engines::known;
use crate::error::Result;
use crate::harness::arguments::{Grammar, Options};
use crate::harness::report::Report;
use crate::harness::row::Row;
use crate::harness::suite::Suite;
use crate::suites::tables::definition::TableSuite;
use crate::suites::tables::perform::crashes::{CORRUPTED, LOST};
use crate::suites::tables::{run, self_test};

/// Rounds of each workload unless an option says otherwise.
const ROUNDS: usize = 5;

/// What a suite of tables prints in place of verdicts.
const NO_BARS: &str = "bars: this suite has none; every answer was checked\n";

impl Suite for TableSuite {
    type Workload = &'static str;

    fn grammar(&self) -> Grammar<&'static str> {
        let definitions = self.definitions;
        let workloads = definitions.iter().map(|definition| definition.name).collect();
        let named = move |name: &str| {
            definitions.iter().find(|definition| definition.name == name).map(|definition| vec![definition.name])
        };
        Grammar {
            engines: &known::NAMES,
            levels: true,
            self_test: true,
            records: 100..=20_000_000,
            ..Grammar::new(help(self), workloads, named, ROUNDS)
        }
    }

    fn run(&self, options: &Options<&'static str>, directory: &Path, seed: u64) -> Result<Report> {
        run::run(self, options, directory, seed)
    }

    fn judgement(&self, _options: &Options<&'static str>, report: &Report) -> (String, bool) {
        let broken: String = report.rows.iter().filter_map(broken_promise).collect();
        match broken.is_empty() {
            true => (NO_BARS.to_owned(), true),
            false => (broken, false),
        }
    }

    fn self_test(
        &self,
        _options: &Options<&'static str>,
        directory: &Path,
        seed: u64,
    ) -> Option<Result<(String, bool)>> {
        Some(self_test::run(self, directory, seed))
    }
}

/// What `--help` prints before the names of workloads and engines.
fn help(suite: &TableSuite) -> String {
    let workload = |(name, about): (&str, &str)| format!("  {name:22} {about}\n");
    let workloads = suite.definitions.iter().map(|definition| workload((definition.name, definition.about)));
    format!(
        "\
{}

Usage: fulgurite-bench {} [OPTIONS]

Each engine does each workload in turn, in its own process and in a fresh directory. The suite checks every
answer, and compares all content at the end. docs/internals/benchmarks.md says how each figure is measured.
{}

Options:
      --quick            Use a tenth of the operations and records
      --only WORKLOADS   Run only these workloads, separated by commas (see below)
      --engines ENGINES  Measure only these engines, separated by commas; missing engines are named
      --level LEVEL      What a commit survives: memory (nothing), log (a killed process), disk (a power cut)
                         [default: log]
      --records NUMBER   {}; 100 to 20,000,000
      --rounds NUMBER    Rounds of each workload; the median counts [default: {ROUNDS}]
      --seed NUMBER      Seed of the operations, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each result [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --json FILE        Also write them to FILE, after a line about the machine, versions and settings
      --directory DIR    Where the stores go; use a real disk [default: target/bench]
      --keep             Keep the last stores
      --self-test        Measure engines with planted faults; every fault must be found
  -h, --help             Print this

{}",
        suite.about,
        suite.name,
        suite.details,
        suite.records,
        workloads.collect::<String>(),
    )
}

/// What an engine lost or corrupted after it had acknowledged it, at a level that survives the end of its process.
fn broken_promise(row: &Row) -> Option<String> {
    let worst = |name| row.rounds.iter().filter_map(|figures| figures.get(name)).fold(0.0, f64::max);
    let (lost, corrupted) = (worst(LOST), worst(CORRUPTED));
    let is_promised = row.level != Level::Memory.name();
    (is_promised && lost + corrupted > 0.0)
        .then(|| format!("BROKEN {} {}: {lost} {LOST}, {corrupted} {CORRUPTED}\n", row.workload, row.engine))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::arguments::Wanted;
    use crate::harness::arguments::tests::{names_what_it_does_not_understand, parsed};
    use crate::harness::row::Figures;
    use crate::harness::row::tests::row;
    use crate::suites::tables::{GEAFLOW, LIGHTNING, YCSB};

    #[test]
    fn options_are_read_by_every_suite_of_tables() {
        let line = "--quick --only random_read,checkpoint --engines redb,lmdb --level disk --json a --self-test";
        let expected = Options {
            quick: true,
            only: vec!["random_read", "checkpoint"],
            engines: vec!["redb", "lmdb"],
            level: Level::Disk,
            json: Some("a".into()),
            self_test: true,
            ..Options::all(5)
        };
        assert_eq!(parsed(&GEAFLOW, line).unwrap(), Wanted::Run(Box::new(expected)));
        let line = "--quick --only bank,scan_reverse --engines redb,fulgurite --records 5_000 --self-test";
        let expected = Options {
            quick: true,
            only: vec!["bank", "scan_reverse"],
            engines: vec!["redb", "fulgurite"],
            records: Some(5000),
            self_test: true,
            ..Options::all(5)
        };
        assert_eq!(parsed(&LIGHTNING, line).unwrap(), Wanted::Run(Box::new(expected)));
        for suite in [GEAFLOW, LIGHTNING, YCSB] {
            names_what_it_does_not_understand(
                &suite,
                &[
                    ("--only swim", "`swim`"),
                    ("--engines oracle", "`oracle`"),
                    ("--level tape", "`tape`"),
                    ("--shape iris", "`--shape`"),
                ],
            );
        }
    }

    #[test]
    fn the_help_names_the_suite_its_workloads_and_every_engine() {
        for (suite, workload) in
            [(GEAFLOW, "100,000 rising keys"), (LIGHTNING, "2,000 scans of 1,000"), (YCSB, "read-modify-write")]
        {
            let help = suite.grammar().full_help();
            assert!(help.contains(workload) && help.contains(&format!("fulgurite-bench {} [", suite.name)), "{help}");
            assert!(known::NAMES.iter().all(|name| help.contains(name)), "{help}");
            assert!(suite.definitions.iter().all(|definition| help.contains(definition.name)), "{help}");
        }
    }

    #[test]
    fn a_lost_commit_is_a_broken_promise_where_one_was_given() {
        let row = |level, lost, corrupted| {
            let mut figures = Figures::default();
            figures.set(LOST, lost);
            figures.set(CORRUPTED, corrupted);
            Row { level, rounds: vec![Figures::default(), figures], ..row("redb", &[]) }
        };
        let judged = |row| LIGHTNING.judgement(&Options::all(1), &Report { rows: vec![row], ..Report::default() });
        assert_eq!(judged(row("Log", 0.0, 0.0)), (NO_BARS.to_owned(), true));
        assert!(judged(row("Memory", 5.0, 0.0)).1);
        let (text, good) = judged(row("Log", 3.0, 0.0));
        assert!(!good && text.contains("redb: 3 acknowledged commits lost, 0 records corrupted"), "{text}");
        assert!(!judged(row("Disk", 0.0, 1.0)).1);
    }
}
