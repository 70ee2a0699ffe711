//! The suite as a command, and its judgement: what was acknowledged must outlive a kill.

use std::path::Path;

use fulgurite_rivals::Level;

use crate::arguments::{Grammar, Options};
use crate::error::Result;
use crate::house::Suite;
use crate::report::Report;
use crate::tables::crashes::{CORRUPTED, LOST};
use crate::tables::lightning::workloads::DEFINITIONS;
use crate::tables::row::Row;
use crate::tables::suite::{self, Tables};
use crate::tables::{definition, self_test};

/// The suite.
pub const TABLES: Tables = Tables { suite: "lightning", definitions: DEFINITIONS };

/// What `lightning --help` prints first.
const HELP: &str = "\
Measures every table of the report on Lightning DB, with every engine.

Usage: fulgurite-bench lightning [OPTIONS]

Each engine does each workload in a process of its own and a fresh directory, in turn; every answer is
checked, and all content is compared in the end. What the report claims stands below what was measured
here; an engine that cannot do a workload says so in its row. docs/internals/benchmarks.md says how each figure is
measured. Exits with 1 if an engine loses a commit that it has acknowledged, at a level that outlives its
process. Needs 16 GB of memory and 30 GB of disk.

Options:
      --quick            A tenth of the operations and records
      --only WORKLOADS   Only these workloads, separated by commas (see below)
      --engines ENGINES  Only these engines, separated by commas; those that are missing are named
      --level LEVEL      What a commit survives: memory (nothing), log (the process), disk (the machine)
                         [default: log]
      --records NUMBER   So many records before, where there are any, and as many operations
      --rounds NUMBER    Rounds of each workload; the median counts [default: 5]
      --seed NUMBER      Seed of what is done, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each result [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --json FILE        Also write them to FILE behind a line about the machine, versions and settings
      --directory DIR    Where the stores go; a real disk [default: target/bench]
      --keep             Leave the last stores there
      --self-test        Engines with planted faults instead, each of which must be found
  -h, --help             Print this
";

/// The suite as a command.
#[derive(Debug)]
pub struct Lightning;

impl Suite for Lightning {
    type Workload = &'static str;

    fn grammar() -> Grammar<&'static str> {
        definition::grammar(HELP, DEFINITIONS)
    }

    fn run(options: &Options<&'static str>, directory: &Path, seed: u64) -> Result<Report> {
        suite::run(TABLES, options, directory, seed)
    }

    fn judgement(_options: &Options<&'static str>, report: &Report) -> (String, bool) {
        let broken: String = report.rows.iter().filter_map(broken_promise).collect();
        match broken.is_empty() {
            true => (definition::NO_BARS.to_owned(), true),
            false => (broken, false),
        }
    }

    fn self_test(_options: &Options<&'static str>, directory: &Path, seed: u64) -> Option<Result<(String, bool)>> {
        Some(self_test::run(TABLES, directory, seed))
    }
}

/// What an engine lost that it had acknowledged at a level that outlives its process.
fn broken_promise(row: &Row) -> Option<String> {
    let worst = |name| row.rounds.iter().filter_map(|figures| figures.get(name)).fold(0.0, f64::max);
    let (lost, corrupted) = (worst(LOST), worst(CORRUPTED));
    let is_promised = row.level != Level::Memory.name();
    (is_promised && lost + corrupted > 0.0)
        .then(|| format!("BROKEN {} {}: {lost} {LOST}, {corrupted} {CORRUPTED}\n", row.definition.name, row.engine))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Wanted;
    use crate::arguments::tests::{names_what_it_does_not_understand, parsed};
    use crate::tables::row::Figures;
    use crate::tables::row::tests::row;

    #[test]
    fn options_are_read() {
        let line = "--quick --only bank,scan_reverse --engines redb,fulgurite --records 5_000 --self-test";
        let expected = Options {
            quick: true,
            only: vec!["bank", "scan_reverse"],
            engines: vec!["redb", "fulgurite"],
            records: Some(5000),
            self_test: true,
            ..Options::all(5)
        };
        assert_eq!(parsed::<Lightning>(line).unwrap(), Wanted::Run(Box::new(expected)));
        let help = Lightning::grammar().full_help();
        assert!(["scan_prefix", "bf-tree", "2,000 scans of 1,000"].iter().all(|name| help.contains(name)));
        names_what_it_does_not_understand::<Lightning>(&[("--only swim", "`swim`"), ("--shape iris", "`--shape`")]);
    }

    #[test]
    fn a_lost_commit_is_a_broken_promise_where_one_was_given() {
        let row = |level, lost, corrupted| {
            let mut figures = Figures::default();
            figures.set(LOST, lost);
            figures.set(CORRUPTED, corrupted);
            Row { level, rounds: vec![Figures::default(), figures], ..row("redb", &[]) }
        };
        let judged = |row| Lightning::judgement(&Options::all(1), &Report { rows: vec![row], ..Report::default() });
        assert_eq!(judged(row("Log", 0.0, 0.0)), (definition::NO_BARS.to_owned(), true));
        assert!(judged(row("Memory", 5.0, 0.0)).1);
        let (text, good) = judged(row("Log", 3.0, 0.0));
        assert!(!good && text.contains("redb: 3 acknowledged commits lost, 0 records corrupted"), "{text}");
        assert!(!judged(row("Disk", 0.0, 1.0)).1);
    }
}
