//! Benchmarks of Fulgurite beside other engines: `cargo xtask bench` and the name of a suite.
//!
//! The rooms, lowest first: `data` is what is stored and asked for; `measure` measures a piece of work; `floors` are
//! what the machine can do at best; `engines` has Fulgurite and the list of engines; `harness` has what suites share.
//! `suites` has the suites, which are registered here. `compare` compares the results of two runs, and
//! `compare_proof` shows that it finds slowdowns.

mod compare;
mod compare_proof;
mod data;
mod engines;
mod error;
mod floors;
mod harness;
mod json;
mod measure;
mod suites;

use std::process::ExitCode;

use error::Error;
use harness::program::Program;
use harness::suite::execute;
use suites::core::{self as core_suite, Core};
use suites::limits::Limits;
use suites::quads::{self, Rdf4j};
use suites::storagebench::{self, StorageBench};
use suites::sustained::{self, Sustained};
use suites::tables::{self, GEAFLOW, LIGHTNING, YCSB};
use suites::writers::{self, Writers};

/// Every suite, command and task of this program.
const PROGRAM: Program = Program {
    suites: &[
        ("core", |arguments| execute(&Core, arguments)),
        ("writers", |arguments| execute(&Writers, arguments)),
        ("sustained", |arguments| execute(&Sustained, arguments)),
        ("geaflow", |arguments| execute(&GEAFLOW, arguments)),
        ("lightning", |arguments| execute(&LIGHTNING, arguments)),
        ("ycsb", |arguments| execute(&YCSB, arguments)),
        ("rdf4j", |arguments| execute(&Rdf4j, arguments)),
        ("storagebench", |arguments| execute(&StorageBench, arguments)),
        ("limits", |arguments| execute(&Limits, arguments)),
    ],
    commands: &[
        (compare::NAME, |arguments| compare::execute(arguments, compare_proof::run)),
        ("glean", suites::facts::execute),
        ("graph", suites::graph::execute),
    ],
    tasks: &[
        (storagebench::VERB, storagebench::work),
        (sustained::VERB, sustained::work),
        (writers::VERB, writers::fill),
        (core_suite::VERB, core_suite::work),
        (tables::VERB, tables::work),
        (tables::WRITER, tables::write),
        (quads::VERB, quads::work),
        (compare_proof::VERB, compare_proof::work),
    ],
    help: HELP,
};

/// What the program prints without arguments, and for `--help`.
const HELP: &str = "\
Measures Fulgurite beside other engines.

Usage: fulgurite-bench SUITE [OPTIONS]
       fulgurite-bench compare [OPTIONS] A B

Suites:
  core       Reads, scans, loads and single puts beside LMDB
  writers    Transactions of one and of several threads, at every level of durability
  sustained  Puts that last longer than any buffer: speed, bytes written, space, pauses, and gets beside them
  geaflow    Every table of a report on the LMDB backend of Apache GeaFlow
  lightning  Every table of a report on Lightning DB
  ycsb       The workloads A to F of the Yahoo! Cloud Serving Benchmark
  rdf4j      The store of quads beside RDF4J's LmdbStore and NativeStore, and Oxigraph
  glean      A store of facts beside one on LMDB that is laid out as Glean's
  graph      A graph of a million vertices: loads, traversals, checkpoints
  storagebench
             An inventory in Protocol Buffers and in FlatBuffers, and logs of events: replays, appends, followers
  limits     What this machine can do at best, whatever engine runs on it

`fulgurite-bench SUITE --help` and `fulgurite-bench compare --help` describe the options. By cargo:
`cargo xtask bench SUITE -- --help`.
";

fn main() -> ExitCode {
    match PROGRAM.start(std::env::args().skip(1)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            match error {
                Error::Usage(_) | Error::Input { .. } => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_suite_is_named_and_help_is_no_error() {
        let started = |line: &str| PROGRAM.start(line.split_ascii_whitespace().map(str::to_owned));
        assert!(matches!(started("fast"), Err(Error::Usage(message)) if message.contains("`fast`")));
        for line in ["", "--help", "-h", "core --help", "core --quick -h", "writers --only bank --help", "compare -h"] {
            assert!(matches!(started(line), Ok(true)), "{line}");
        }
    }

    #[test]
    fn a_file_for_results_that_cannot_be_written_is_an_error_before_anything_is_measured() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("missing").join("results.json");
        for suite in ["limits", "graph", "glean"] {
            let line =
                [suite, "--quick", "--directory", &directory.path().to_string_lossy(), "--json"].map(str::to_owned);
            let outcome = PROGRAM.start(line.into_iter().chain([file.to_string_lossy().into_owned()]));
            assert!(matches!(outcome, Err(Error::Io { operation: "open", .. })), "{suite}: {outcome:?}");
        }
    }

    #[test]
    fn the_help_names_every_suite_and_command() {
        for (name, _) in PROGRAM.suites.iter().chain(PROGRAM.commands) {
            assert!(
                HELP.contains(&format!("  {name} "))
                    || HELP.contains(&format!("  {name}\n"))
                    || HELP.contains(&format!("fulgurite-bench {name} ")),
                "{name}"
            );
        }
    }
}
