//! The suite `geaflow`: every table of the report on the LMDB backend of Apache GeaFlow, at the sizes of that report.
//!
//! The report says what a workload does, but not how a put is committed. Its rates tell: ten thousand puts in 15 ms are one transaction.
//! So `sequential_write` and the like are one transaction, and `…_put1` besides are one for each put. Its figures of RocksDB are
//! estimates, as it says itself.

use std::path::Path;

use crate::arguments::{Grammar, Options};
use crate::error::Result;
use crate::house::Suite;
use crate::report::Report;
use crate::shape::Shape;
use crate::tables::definition::{Claim, Definition, Grouping, Kind, Mixture, Order, Steps, claim};
use crate::tables::lengths::Lengths;
use crate::tables::suite::{self, Tables};
use crate::tables::{definition, self_test};

/// Name of the suite.
pub const SUITE: &str = "geaflow";

/// The suite.
pub const TABLES: Tables = Tables { suite: SUITE, definitions: DEFINITIONS };

/// Records of the small tables.
const RECORDS: usize = 10_000;

/// Keys and values of the most tables.
const SMALL: (Shape, Lengths) = (Shape::Sequential, Lengths::Fixed(100));

/// Records of the large ones.
const LARGE: usize = 100_000;

/// Every workload, in the order of the report.
pub const DEFINITIONS: &[Definition] = &[
    writes("sequential_write", "10,000 rising keys in one transaction", Order::Rising, Grouping::All, SEQUENTIAL_WRITE),
    writes("sequential_write_put1", "the same, each in a transaction of its own", Order::Rising, Grouping::Each, &[]),
    writes("random_write", "10,000 keys in no order in one transaction", Order::Shuffled, Grouping::All, RANDOM_WRITE),
    writes("random_write_put1", "the same, each in a transaction of its own", Order::Shuffled, Grouping::Each, &[]),
    writes(
        "batch_write",
        "10,000 rising keys, 1,000 in a transaction",
        Order::Rising,
        Grouping::Every(1000),
        BATCH_WRITE,
    ),
    reads("sequential_read", "10,000 gets in the order of the keys", RECORDS, Order::Rising, SEQUENTIAL_READ),
    reads("random_read", "10,000 gets in no order", RECORDS, Order::Uniform, RANDOM_READ),
    mixed("mixed_70_30", "10,000 operations, 70 % gets and 30 % puts of stored keys", RECORDS, RECORDS, 30, MIXED),
    Definition {
        kind: Kind::Steps(Steps {
            loaded: 0,
            count: LARGE,
            mixture: Mixture::INSERTS,
            order: Order::Rising,
            grouping: Grouping::All,
            threads: 1,
        }),
        claims: LARGE_INSERT,
        ..writes("large_insert", "100,000 rising keys in one transaction", Order::Rising, Grouping::All, &[])
    },
    Definition {
        kind: Kind::Steps(Steps {
            loaded: LARGE,
            count: RECORDS,
            mixture: Mixture::GETS,
            order: Order::Uniform,
            grouping: Grouping::Each,
            threads: 1,
        }),
        claims: LARGE_READ,
        ..reads("large_read", "10,000 gets in no order of 100,000 records", LARGE, Order::Uniform, &[])
    },
    special(
        "checkpoint",
        "a copy of the synced files of 1,000 records, and its opening",
        100,
        Kind::Checkpoint(1000),
        CHECKPOINT,
    ),
    mixed("stability_mixed", "100,000 operations, half gets and half puts", RECORDS, LARGE, 50, STABILITY),
    special(
        "stability_checkpoints",
        "20 times 100 puts, a checkpoint, its opening and comparison",
        100,
        Kind::Cycles(20, 100),
        CYCLES,
    ),
    special(
        "stability_growth",
        "10 transactions of 1,000 records, and the space they take",
        100,
        Kind::Growth(10, 1000),
        GROWTH,
    ),
    special(
        "stability_memory",
        "50 times 100 puts and 100 gets of values of 500 bytes",
        500,
        Kind::Memory(50, 200),
        MEMORY,
    ),
    values("value_1k_write", 1 << 10, true),
    values("value_1k_read", 1 << 10, false),
    values("value_10k_write", 10 << 10, true),
    values("value_10k_read", 10 << 10, false),
    values("value_100k_write", 100 << 10, true),
    values("value_100k_read", 100 << 10, false),
];

const LMDB: &str = "lmdb";
const ESTIMATE: &str = "rocksdb (its estimate)";

const SEQUENTIAL_WRITE: &[Claim] = &[
    claim(LMDB, 658_812.0, "ops/s"),
    claim(LMDB, 1.52, "µs"),
    claim(ESTIMATE, 700_000.0, "ops/s"),
    claim(ESTIMATE, 1.4, "µs"),
];
const RANDOM_WRITE: &[Claim] = &[
    claim(LMDB, 95_963.0, "ops/s"),
    claim(LMDB, 10.42, "µs"),
    claim(ESTIMATE, 115_000.0, "ops/s"),
    claim(ESTIMATE, 8.7, "µs"),
];
const BATCH_WRITE: &[Claim] = &[claim(LMDB, 55_122.0, "ops/s"), claim(ESTIMATE, 60_000.0, "ops/s")];
const SEQUENTIAL_READ: &[Claim] = &[
    claim(LMDB, 762_697.0, "ops/s"),
    claim(LMDB, 1.31, "µs"),
    claim(ESTIMATE, 500_000.0, "ops/s"),
    claim(ESTIMATE, 2.0, "µs"),
];
const RANDOM_READ: &[Claim] = &[
    claim(LMDB, 505_569.0, "ops/s"),
    claim(LMDB, 1.98, "µs"),
    claim(ESTIMATE, 380_000.0, "ops/s"),
    claim(ESTIMATE, 2.6, "µs"),
];
const MIXED: &[Claim] = &[claim(LMDB, 344_480.0, "ops/s"), claim(ESTIMATE, 310_000.0, "ops/s")];
const LARGE_INSERT: &[Claim] = &[claim(LMDB, 407_054.0, "ops/s")];
const LARGE_READ: &[Claim] = &[claim(LMDB, 80_734.0, "ops/s"), claim(LMDB, 12.39, "µs")];
const CHECKPOINT: &[Claim] = &[
    claim(LMDB, 235.05, "ms to make a checkpoint"),
    claim(LMDB, 55.91, "ms to open it"),
    claim(ESTIMATE, 300.0, "to 400 ms to make a checkpoint"),
];
/// 100,000 operations in 509 ms.
const STABILITY: &[Claim] = &[claim(LMDB, 196_464.0, "ops/s"), claim(LMDB, 509.0, "µs for 100 operations")];
const CYCLES: &[Claim] = &[claim(LMDB, 20.0, "checkpoints made and verified")];
const GROWTH: &[Claim] =
    &[claim(LMDB, 228.0, "KiB at first"), claim(LMDB, 1164.0, "KiB after half"), claim(LMDB, 2236.0, "KiB after all")];
const MEMORY: &[Claim] = &[claim(LMDB, 13.0, "MiB before"), claim(LMDB, 90.0, "MiB after")];

const fn writes(
    name: &'static str,
    about: &'static str,
    order: Order,
    grouping: Grouping,
    claims: &'static [Claim],
) -> Definition {
    let kind = Kind::Steps(Steps { loaded: 0, count: RECORDS, mixture: Mixture::INSERTS, order, grouping, threads: 1 });
    Definition::new(name, about, SMALL, kind, claims)
}

const fn reads(
    name: &'static str,
    about: &'static str,
    loaded: usize,
    order: Order,
    claims: &'static [Claim],
) -> Definition {
    let kind = Kind::Steps(Steps {
        loaded,
        count: RECORDS,
        mixture: Mixture::GETS,
        order,
        grouping: Grouping::Each,
        threads: 1,
    });
    Definition::new(name, about, SMALL, kind, claims)
}

const fn mixed(
    name: &'static str,
    about: &'static str,
    loaded: usize,
    count: usize,
    updates: u8,
    claims: &'static [Claim],
) -> Definition {
    let mixture = Mixture { updates, ..Mixture::GETS };
    let kind =
        Kind::Steps(Steps { loaded, count, mixture, order: Order::Uniform, grouping: Grouping::Each, threads: 1 });
    Definition::new(name, about, SMALL, kind, claims)
}

const fn special(
    name: &'static str,
    about: &'static str,
    value_bytes: usize,
    kind: Kind,
    claims: &'static [Claim],
) -> Definition {
    Definition::new(name, about, (Shape::Sequential, Lengths::Fixed(value_bytes)), kind, claims)
}

/// Ten records with long values, as many as in the report, which says of them only that all went well.
const fn values(name: &'static str, value_bytes: usize, written: bool) -> Definition {
    const COUNT: usize = 10;
    let (about, loaded, mixture) = match written {
        true => ("10 puts, each in a transaction of its own", 0, Mixture::INSERTS),
        false => ("10 gets", COUNT, Mixture::GETS),
    };
    let kind = Kind::Steps(Steps {
        loaded,
        count: COUNT,
        mixture,
        order: Order::Rising,
        grouping: Grouping::Each,
        threads: 1,
    });
    Definition::new(name, about, (Shape::Sequential, Lengths::Fixed(value_bytes)), kind, &[])
}

/// What `geaflow --help` prints first.
const HELP: &str = "\
Measures every table of the report on the LMDB backend of Apache GeaFlow, with every engine.

Usage: fulgurite-bench geaflow [OPTIONS]

Each engine does each workload in a process of its own and a fresh directory, in turn; every answer is
checked, and all content is compared in the end. What the report claims stands below what was measured
here. docs/internals/benchmarks.md says how each figure is measured. Needs 2 GB of memory and of disk.

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
pub struct Geaflow;

impl Suite for Geaflow {
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
    use fulgurite_rivals::Level;

    use super::*;
    use crate::arguments::Wanted;
    use crate::arguments::tests::{names_what_it_does_not_understand, parsed};

    #[test]
    fn sizes_are_those_of_the_report() {
        let find = |name| DEFINITIONS.iter().find(|definition| definition.name == name).unwrap();
        let extent = |name| find(name).kind.extent();
        assert_eq!(extent("sequential_write"), (10_000, 10_000));
        assert_eq!(extent("large_read"), (100_000, 10_000));
        assert_eq!(extent("stability_mixed"), (10_000, 100_000));
        assert_eq!(extent("value_100k_write"), (10, 10));
        assert_eq!(find("value_100k_write").lengths, Lengths::Fixed(102_400));
        assert_eq!(find("large_read").kind.quick().extent(), (10_000, 1000));
    }

    #[test]
    fn options_are_read() {
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
        assert_eq!(parsed::<Geaflow>(line).unwrap(), Wanted::Run(Box::new(expected)));
        let help = Geaflow::grammar().full_help();
        assert!(["value_10k_read", "bf-tree", "leveldb", "100,000 rising keys"].iter().all(|name| help.contains(name)));
        names_what_it_does_not_understand::<Geaflow>(&[
            ("--only swim", "`swim`"),
            ("--engines oracle", "`oracle`"),
            ("--level tape", "`tape`"),
            ("--shape iris", "`--shape`"),
        ]);
    }
}
