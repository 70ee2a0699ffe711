//! The suite of quads as a command: its options, its runs, and their judgement.

use std::path::Path;

use crate::error::Result;
use crate::harness::arguments::{self, Counted, Grammar};
use crate::harness::judge;
use crate::harness::report::Report;
use crate::harness::suite::Suite;
use crate::suites::quads::data::files::{DATA_SEED, generate_file};
use crate::suites::quads::engines::engine::ENGINE_NAMES;
use crate::suites::quads::measure::Measure;
use crate::suites::quads::{bars, run, self_test};

/// Options of the suite.
pub type Options = arguments::Options<Measure>;

/// Rounds of each measurement if nothing is said.
const ROUNDS: usize = 3;

/// What `rdf4j --help` prints.
const HELP: &str = "\
Measures Fulgurite's RDF store, from Rust and from RDF4J, beside RDF4J's LmdbStore and NativeStore, and Oxigraph.

Usage: fulgurite-bench rdf4j [OPTIONS]

Generates universities as N-Triples. Every engine loads them and answers the same lookups and SPARQL queries, each
measurement in its own process. The suite compares all answers, and the figures with the bars.
docs/internals/benchmarks.md says how each figure is measured. Measure with 10,000,000 statements: that needs 16 GB of
memory and 30 GB of disk. A million statements need a tenth of it.

Options:
      --quick            Use few statements and short passes, and judge nothing
      --only WORKLOADS   Run only these, separated by commas; `threads` means all that begin with it
      --engines ENGINES  Measure only these engines, separated by commas
      --statements N     Statements to load, at least 10,000 [default: 1,000,000]
      --generate FILE    Only write the statements to FILE
      --rounds NUMBER    Rounds of each measurement; the median counts [default: 3]
      --seed NUMBER      Seed of the lookups, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each result [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --json FILE        Also write them to FILE, after a line about the machine, versions and settings
      --directory DIR    Where data and stores go; use a real disk [default: target/bench]
      --keep             Keep them
      --self-test        Measure engines with planted faults in answers; every fault must be found
  -h, --help             Print this
";

/// The suite of quads.
#[derive(Debug)]
pub struct Rdf4j;

impl Suite for Rdf4j {
    type Workload = Measure;

    fn grammar(&self) -> Grammar<Measure> {
        let workloads = Measure::ALL.map(Measure::name).to_vec();
        Grammar {
            engines: &ENGINE_NAMES,
            self_test: true,
            counted: Counted::Statements,
            // Queries ask for things of the second department.
            records: 10_000..=usize::MAX,
            ..Grammar::new(HELP, workloads, Measure::named, ROUNDS)
        }
    }

    fn run(&self, options: &Options, directory: &Path, seed: u64) -> Result<Report> {
        run::run(options, directory, seed)
    }

    fn judgement(&self, options: &Options, report: &Report) -> (String, bool) {
        let (mut text, good) = judge::judgement(&bars::bars(), options.quick, report);
        for wrong in &report.wrong {
            text.push_str(&format!("{wrong}\n"));
        }
        let right = if report.wrong.is_empty() { "all are the same" } else { "some differ: no figure counts" };
        text.push_str(&format!("answers: {right}\n"));
        (text, good && report.wrong.is_empty())
    }

    fn generate(&self, options: &Options, file: &Path) -> Result<()> {
        generate_file(file, run::statements(options), DATA_SEED)
    }

    fn self_test(&self, _options: &Options, directory: &Path, seed: u64) -> Option<Result<(String, bool)>> {
        Some(self_test::run(directory, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::arguments::Wanted;
    use crate::harness::arguments::tests::{names_what_it_does_not_understand, parsed};

    #[test]
    fn options_are_read() {
        let line = "--only threads,open --engines lmdbstore --statements 5_000_000 --rounds=2 --generate a.nt";
        let threads = [1, 2, 4, 8].map(Measure::Threads);
        let expected = Options {
            only: threads.into_iter().chain([Measure::Open]).collect(),
            engines: vec!["lmdbstore"],
            records: Some(5_000_000),
            rounds: 2,
            generate: Some("a.nt".into()),
            ..Options::all(ROUNDS)
        };
        assert_eq!(parsed(&Rdf4j, line).unwrap(), Wanted::Run(Box::new(expected)));
        let help = Rdf4j.grammar().full_help();
        assert!(help.contains("by_predicate_object") && help.contains("nativestore"), "{help}");
    }

    #[test]
    fn what_is_not_understood_is_named() {
        names_what_it_does_not_understand(
            &Rdf4j,
            &[
                ("--only swim", "`swim`"),
                ("--engines oracle", "`oracle`"),
                ("--records 5", "`--records`"),
                ("--level disk", "`--level`"),
            ],
        );
    }

    #[test]
    fn an_answer_that_differs_fails_the_run() {
        let options = Options { quick: true, ..Options::all(1) };
        assert!(Rdf4j.judgement(&options, &Report::default()).1);
        let report = Report { wrong: vec!["WRONG star_1".to_owned()], ..Report::default() };
        let (text, good) = Rdf4j.judgement(&options, &report);
        assert!(!good && text.contains("WRONG star_1") && text.ends_with("no figure counts\n"), "{text}");
    }
}
