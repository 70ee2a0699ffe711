//! The suite `geaflow`: every table of the report on the LMDB backend of Apache GeaFlow, at the sizes of that report.
//!
//! The report says what a workload does, but not how a put is committed. Its rates show it: ten thousand puts in 15
//! ms are one transaction. So `sequential_write` and its kin are one transaction, and the added `…_put1` commit each
//! put. The report says itself that its figures of RocksDB are estimates.

use crate::data::shape::Shape;
use crate::harness::row::{Claim, claim};
use crate::suites::tables::definition::{Definition, Grouping, Kind, Mixture, Order, Steps, TableSuite};
use crate::suites::tables::lengths::Lengths;

/// The suite.
pub const SUITE: TableSuite = TableSuite {
    name: "geaflow",
    about: "Measures every table of the report on the LMDB backend of Apache GeaFlow, with every engine.",
    details: "The claims of the report stand below the figures measured here. Needs 2 GB of memory and of disk.",
    records: "Records that are loaded first, where any are, and operations",
    definitions: DEFINITIONS,
};

/// Records of the small tables.
const RECORDS: usize = 10_000;

/// Keys and values of the most tables.
const SMALL: (Shape, Lengths) = (Shape::Sequential, Lengths::Fixed(100));

/// Records of the large ones.
const LARGE: usize = 100_000;

/// Every workload, in the order of the report.
const DEFINITIONS: &[Definition] = &[
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
