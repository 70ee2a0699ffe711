//! The suite `lightning`: every table of the report on Lightning DB, each with as many records as a machine of 24 GB of memory holds.
//!
//! The report is of 128 hardware threads and 256 GB of memory, and of up to ten billion records: what it says of more records, or of more
//! threads, than there are here stands beside what fewer do. Where it does not say how long records are, or how many threads there
//! were, its point operations are the model: keys of 32 bytes, values of 1,024, 16 threads.

use std::path::Path;

use crate::arguments::{Grammar, Options};
use crate::error::Result;
use crate::house::Suite;
use crate::report::Report;
use crate::shape::Shape;
use crate::tables::definition::{Claim, Definition, Grouping, Kind, Mixture, Order, Ranges, Span, Steps, claim};
use crate::tables::lengths::Lengths;
use crate::tables::suite::{self, Tables};
use crate::tables::{definition, self_test};

use fulgurite_rivals::Level;

/// Name of the suite.
pub const SUITE: &str = "lightning";

/// The suite.
pub const TABLES: Tables = Tables { suite: SUITE, definitions: DEFINITIONS };

/// Records of most tables, and operations.
const RECORDS: usize = 1_000_000;

/// Records of a bulk load.
const LOADED: usize = 10_000_000;

/// Accounts of the bank.
const ACCOUNTS: usize = 100_000;

/// Threads of the report's point operations.
const THREADS: usize = 16;

/// Keys of 32 bytes in no order, values of 1,024.
const POINT: (Shape, Lengths) = (Shape::Hashed, Lengths::Fixed(1024));

/// The same keys, with values so long that a record is as large as one of the report's bulk load.
const SMALL: (Shape, Lengths) = (Shape::Hashed, Lengths::Fixed(100));

/// Rising keys of 8 bytes, of which 256 are the same but for their last byte.
const RISING: (Shape, Lengths) = (Shape::Sequential, Lengths::Fixed(100));

/// Every workload, in the order of the report.
pub const DEFINITIONS: &[Definition] = &[
    point("read_1", "1M gets of 1M records of 32/1,024, one thread", Mixture::GETS, 1, &[]),
    point("read_16", "the same by 16 threads", Mixture::GETS, THREADS, READ),
    point("write_1", "1M puts of stored keys, one thread", Mixture::UPDATES, 1, &[]),
    point("write_16", "the same by 16 threads, each on keys of its own", Mixture::UPDATES, THREADS, WRITE),
    point("mixed_1", "1M operations, 80 % gets and 20 % puts of stored keys, one thread", MIXED_80_20, 1, &[]),
    point("mixed_16", "the same by 16 threads, each on keys of its own", MIXED_80_20, THREADS, MIXED),
    scans("scan_forward", "2,000 scans of 1,000 records, rising", 2000, Span::Forward(1000), SCAN_FORWARD),
    scans("scan_reverse", "2,000 scans of 1,000 records, falling", 2000, Span::Back(1000), SCAN_REVERSE),
    scans("scan_prefix", "8,000 scans of the 256 records whose keys begin alike", 8000, Span::Prefix, SCAN_PREFIX),
    grouped("read_txn_5", "read transactions of 5 gets, 16 threads", Mixture::GETS, Grouping::Snapshots(5), READ_TXN),
    grouped(
        "write_txn_5",
        "serializable transactions of 5 puts, 16 threads, each on keys of its own",
        Mixture::UPDATES,
        Grouping::Transactions(5),
        WRITE_TXN,
    ),
    Definition::new(
        "bank",
        "serializable transfers between 100,000 accounts, 2 gets and 2 puts, 16 threads",
        SMALL,
        Kind::Steps(Steps {
            loaded: ACCOUNTS,
            count: 2 * ACCOUNTS,
            threads: THREADS,
            mixture: Mixture::TRANSFERS,
            order: Order::Uniform,
            grouping: Grouping::Transactions(2),
        }),
        BANK,
    ),
    Definition::new(
        "bulk_load",
        "10M records of 32/100 in the order of their keys, by each engine's own way",
        SMALL,
        Kind::BulkLoad(LOADED),
        BULK_LOAD,
    ),
    Definition::new(
        "bulk_load_batches",
        "1M records of 32/100 in no order, 10,000 in a transaction",
        SMALL,
        Kind::Steps(Steps {
            loaded: 0,
            count: RECORDS,
            threads: 1,
            mixture: Mixture::INSERTS,
            order: Order::Shuffled,
            grouping: Grouping::Every(10_000),
        }),
        BULK_LOAD,
    ),
    point("read_absent", "1M gets of keys that are not stored, one thread", ABSENT, 1, BLOOM),
    Definition {
        level: Some(Level::Memory),
        ..point("write_without_log", "1M puts, one thread, at the level `memory`", Mixture::UPDATES, 1, WITHOUT_LOG)
    },
];

const MIXED_80_20: Mixture = Mixture { updates: 20, ..Mixture::GETS };
const ABSENT: Mixture = Mixture { misses: 100, ..Mixture::GETS };

const LIGHTNING: &str = "lightning";

const READ: &[Claim] = &[
    claim(LIGHTNING, 20_423_156.0, "ops/s"),
    claim(LIGHTNING, 0.042, "µs p50"),
    claim(LIGHTNING, 0.089, "µs p99"),
    claim(LIGHTNING, 0.124, "µs p99.9"),
    claim("rocksdb", 2.8e6, "ops/s"),
    claim("leveldb", 1.2e6, "ops/s"),
    claim("lmdb", 15.2e6, "ops/s"),
    claim("badger", 3.5e6, "ops/s"),
];
const WRITE: &[Claim] = &[
    claim(LIGHTNING, 1_142_857.0, "ops/s"),
    claim(LIGHTNING, 0.771, "µs p50"),
    claim(LIGHTNING, 1.234, "µs p99"),
    claim(LIGHTNING, 2.156, "µs p99.9"),
    claim("rocksdb", 450_000.0, "ops/s"),
    claim("leveldb", 180_000.0, "ops/s"),
    claim("lmdb", 890_000.0, "ops/s"),
    claim("badger", 520_000.0, "ops/s"),
];
const MIXED: &[Claim] = &[
    claim(LIGHTNING, 5_234_521.0, "ops/s"),
    claim(LIGHTNING, 0.098, "µs p99 of gets"),
    claim(LIGHTNING, 1.456, "µs p99 of puts"),
];
const SCAN_FORWARD: &[Claim] =
    &[claim(LIGHTNING, 142_857.0, "scans/s of 100M records"), claim(LIGHTNING, 142.857_143, "M records/s")];
const SCAN_REVERSE: &[Claim] =
    &[claim(LIGHTNING, 138_461.0, "scans/s of 100M records"), claim(LIGHTNING, 138.461_538, "M records/s")];
const SCAN_PREFIX: &[Claim] =
    &[claim(LIGHTNING, 156_000.0, "scans/s of 100M records"), claim(LIGHTNING, 78.125, "M records/s")];
const READ_TXN: &[Claim] = &[
    claim(LIGHTNING, 2_823_529.0, "transactions/s"),
    claim(LIGHTNING, 0.178, "µs p99"),
    claim(LIGHTNING, 0.0, "% refused"),
];
const WRITE_TXN: &[Claim] = &[
    claim(LIGHTNING, 412_371.0, "transactions/s"),
    claim(LIGHTNING, 3.234, "µs p99"),
    claim(LIGHTNING, 0.12, "% refused"),
];
const BANK: &[Claim] = &[
    claim(LIGHTNING, 687_234.0, "transactions/s"),
    claim(LIGHTNING, 2.156, "µs p99"),
    claim(LIGHTNING, 0.08, "% refused"),
];
const BULK_LOAD: &[Claim] = &[
    claim(LIGHTNING, 1_158_301.0, "ops/s of 1 billion records, compressed"),
    claim(LIGHTNING, 2.8, "bytes written by each byte put"),
];
const BLOOM: &[Claim] = &[claim(LIGHTNING, -60.0, "% of the latency by Bloom filters")];
const WITHOUT_LOG: &[Claim] = &[claim(LIGHTNING, 45.0, "% more puts/s than with a log")];

/// As many single operations as records.
const fn point(
    name: &'static str,
    about: &'static str,
    mixture: Mixture,
    threads: usize,
    claims: &'static [Claim],
) -> Definition {
    Definition::new(name, about, POINT, operations(mixture, threads, Grouping::Each), claims)
}

/// As many operations in transactions.
const fn grouped(
    name: &'static str,
    about: &'static str,
    mixture: Mixture,
    grouping: Grouping,
    claims: &'static [Claim],
) -> Definition {
    Definition::new(name, about, POINT, operations(mixture, THREADS, grouping), claims)
}

const fn operations(mixture: Mixture, threads: usize, grouping: Grouping) -> Kind {
    Kind::Steps(Steps { loaded: RECORDS, count: RECORDS, threads, mixture, order: Order::Uniform, grouping })
}

const fn scans(
    name: &'static str,
    about: &'static str,
    count: usize,
    span: Span,
    claims: &'static [Claim],
) -> Definition {
    Definition::new(name, about, RISING, Kind::Ranges(Ranges { loaded: RECORDS, count, span }), claims)
}

/// What `lightning --help` prints first.
const HELP: &str = "\
Measures every table of the report on Lightning DB, with every engine.

Usage: fulgurite-bench lightning [OPTIONS]

Each engine does each workload in a process of its own and a fresh directory, in turn; every answer is
checked, and all content is compared in the end. What the report claims stands below what was measured
here; an engine that cannot do a workload says so in its row. docs/benchmarks.md says how each figure is
measured. Needs 16 GB of memory and 30 GB of disk.

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

    fn judgement(_options: &Options<&'static str>, _report: &Report) -> (String, bool) {
        (definition::NO_BARS.to_owned(), true)
    }

    fn self_test(_options: &Options<&'static str>, directory: &Path, seed: u64) -> Option<Result<(String, bool)>> {
        Some(self_test::run(TABLES, directory, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Wanted;
    use crate::arguments::tests::{names_what_it_does_not_understand, parsed};

    fn find(name: &str) -> &'static Definition {
        DEFINITIONS.iter().find(|definition| definition.name == name).unwrap()
    }

    #[test]
    fn sizes_are_what_the_descriptions_say() {
        let extent = |name| find(name).kind.extent();
        assert_eq!(extent("read_16"), (1_000_000, 1_000_000));
        assert_eq!(extent("scan_reverse"), (1_000_000, 2000));
        assert_eq!(extent("bank"), (100_000, 200_000));
        assert_eq!(extent("bulk_load"), (10_000_000, 10_000_000));
        assert_eq!(find("bulk_load").kind.quick().extent(), (1_000_000, 1_000_000));
        assert_eq!(find("scan_prefix").kind.with_records(5000).extent(), (5000, 8000));
        assert_eq!(find("write_without_log").level, Some(Level::Memory));
    }

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
}
