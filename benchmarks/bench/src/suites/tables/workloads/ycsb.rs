//! The suite `ycsb`: the core workloads A to F of the Yahoo! Cloud Serving Benchmark (B. F. Cooper and others,
//! "Benchmarking cloud serving systems with YCSB", SoCC 2010), from one thread. Records of ten fields of 100 bytes
//! are one value of 1,000, under keys of `user` and a number. Frequencies follow Zipf's law, and the frequent records
//! are spread over all.

use crate::data::shape::Shape;
use crate::suites::tables::definition::{Definition, Grouping, Kind, Mixture, Order, Steps, TableSuite};
use crate::suites::tables::lengths::Lengths;

/// The suite.
pub const SUITE: TableSuite = TableSuite {
    name: "ycsb",
    about: "Measures the workloads A to F of the Yahoo! Cloud Serving Benchmark, with every engine.",
    details: "All operations come from one thread. Needs 6 GB of memory and of disk.",
    records: "Records that are loaded first, and operations [default: 1,000,000]",
    definitions: DEFINITIONS,
};

/// Records before, and operations.
const RECORDS: usize = 1_000_000;

/// Every workload.
const DEFINITIONS: &[Definition] = &[
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
