//! The suite `ycsb`: the core workloads A to F of the Yahoo! Cloud Serving Benchmark (B. F. Cooper and others, "Benchmarking cloud serving
//! systems with YCSB", SoCC 2010), from one thread: records of ten fields of 100 bytes, as one value of 1,000, under keys `user` and a
//! number; frequencies by Zipf's law, the frequent records spread over all.

use std::path::Path;

use crate::arguments::{Grammar, Options};
use crate::error::Result;
use crate::house::Suite;
use crate::report::Report;
use crate::shape::Shape;
use crate::tables::definition::{Definition, Grouping, Kind, Mixture, Order, Steps};
use crate::tables::lengths::Lengths;
use crate::tables::suite::{self, Tables};
use crate::tables::{definition, self_test};

/// Name of the suite.
pub const SUITE: &str = "ycsb";

/// The suite.
pub const TABLES: Tables = Tables { suite: SUITE, definitions: DEFINITIONS };

/// Records before, and operations.
const RECORDS: usize = 1_000_000;

/// Every workload.
pub const DEFINITIONS: &[Definition] = &[
    workload(
        "a",
        "update heavy: 50 % gets, 50 % puts of stored keys",
        Mixture { updates: 50, ..Mixture::GETS },
        Order::Zipf,
    ),
    workload(
        "b",
        "read mostly: 95 % gets, 5 % puts of stored keys",
        Mixture { updates: 5, ..Mixture::GETS },
        Order::Zipf,
    ),
    workload("c", "read only", Mixture::GETS, Order::Zipf),
    workload(
        "d",
        "read latest: 95 % gets, 5 % puts of new keys",
        Mixture { inserts: 5, ..Mixture::GETS },
        Order::Latest,
    ),
    workload(
        "e",
        "short ranges: 95 % scans of 1 to 100 records, 5 % puts of new keys",
        Mixture { scans: 95, inserts: 5, ..Mixture::GETS },
        Order::Zipf,
    ),
    workload(
        "f",
        "read-modify-write: 50 % gets, 50 % a get and a put of its key",
        Mixture { read_modify_writes: 50, ..Mixture::GETS },
        Order::Zipf,
    ),
];

const fn workload(name: &'static str, about: &'static str, mixture: Mixture, order: Order) -> Definition {
    let kind =
        Kind::Steps(Steps { loaded: RECORDS, count: RECORDS, mixture, order, grouping: Grouping::Each, threads: 1 });
    Definition::new(name, about, (Shape::User, Lengths::Fixed(1000)), kind, &[])
}

/// What `ycsb --help` prints first.
const HELP: &str = "\
Measures the workloads A to F of the Yahoo! Cloud Serving Benchmark, with every engine.

Usage: fulgurite-bench ycsb [OPTIONS]

Each engine does each workload in a process of its own and a fresh directory, in turn, with one thread;
every answer is checked, and all content is compared in the end. docs/internals/benchmarks.md says how each figure
is measured. Needs 6 GB of memory and of disk.

Options:
      --quick            A tenth of the operations and records
      --only WORKLOADS   Only these workloads, separated by commas (see below)
      --engines ENGINES  Only these engines, separated by commas; those that are missing are named
      --level LEVEL      What a commit survives: memory (nothing), log (the process), disk (the machine)
                         [default: log]
      --records NUMBER   Records before, and operations [default: 1,000,000]
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
pub struct Ycsb;

impl Suite for Ycsb {
    type Workload = &'static str;

    fn grammar() -> Grammar<&'static str> {
        definition::grammar(HELP, DEFINITIONS)
    }

    fn run(options: &Options<&'static str>, directory: &Path, seed: u64) -> Result<Report> {
        suite::run(TABLES, options, directory, seed)
    }

    fn judgement(_options: &Options<&'static str>, _report: &Report) -> (String, bool) {
        (definition::NO_BARS.to_owned(), true)
    }

    fn self_test(_options: &Options<&'static str>, directory: &Path, seed: u64) -> Option<Result<(String, bool)>> {
        Some(self_test::run(TABLES, directory, seed))
    }
}
