//! The suite `lightning`: every table of the report on Lightning DB, each with as many records as a machine of 24 GB
//! of memory holds, in the order of the report.
//!
//! The report used 128 hardware threads, 256 GB of memory, and up to ten billion records. Its claims about more
//! records or threads stand beside figures of fewer. Where it does not say how long records are, or how many threads
//! ran, its point operations are the model: keys of 32 bytes, values of 1,024, 16 threads.

use fulgurite_rivals::Level;

use crate::data::shape::Shape;
use crate::harness::row::Claim;
use crate::suites::tables::definition::{
    Definition, GraphPart, Grouping, Kind, Mixture, Order, Ranges, Scaling, Span, Steps, TableSuite,
};
use crate::suites::tables::lengths::Lengths;
use crate::suites::tables::workloads::lightning_claims::*;

/// The suite.
pub const SUITE: TableSuite = TableSuite {
    name: "lightning",
    about: "Measures every table of the report on Lightning DB, with every engine.",
    details: "\
The claims of the report stand below the figures measured here. An engine that cannot do a workload says so in
its row. Exits with 1 if an engine loses a commit that it has acknowledged, at a level that survives the end of
its process. Needs 16 GB of memory and 30 GB of disk.",
    records: "Records that are loaded first, where any are, and operations",
    definitions: DEFINITIONS,
};

/// Records of most tables, and operations.
const RECORDS: usize = 1_000_000;

/// Records of a bulk load.
const LOADED: usize = 10_000_000;

/// Accounts of the bank.
const ACCOUNTS: usize = 100_000;

/// Threads of the report's point operations.
const THREADS: usize = 16;

/// Records of 32/1,024 that are 1 GiB.
const GIBIBYTE: usize = (1 << 30) / (32 + 1024);

/// Documents of 64 KiB on average: 256 MiB.
const DOCUMENTS: usize = 4096;

/// Points of a time series that are an hour, one for each second.
const HOUR: usize = 3600;

/// Nodes of the graph, of ten edges each.
const NODES: usize = 100_000;

/// Threads of the table of contention.
const CROWD: usize = 128;

/// Keys of 32 bytes in no order, values of 1,024.
const POINT: (Shape, Lengths) = (Shape::Hashed, Lengths::Fixed(1024));

/// The same keys, with values so long that a record is as large as one of the report's bulk load.
const SMALL: (Shape, Lengths) = (Shape::Hashed, Lengths::Fixed(100));

/// Rising keys of 8 bytes; 256 of them differ only in their last byte.
const RISING: (Shape, Lengths) = (Shape::Sequential, Lengths::Fixed(100));

/// Points of a time series.
const POINTS: (Shape, Lengths) = (Shape::Sequential, Lengths::Fixed(256));

/// Every workload, in the order of the report.
const DEFINITIONS: &[Definition] = &[
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
        inserts(RECORDS, Order::Shuffled, Grouping::Every(10_000)),
        BULK_LOAD,
    ),
    documents("documents_write", "4,096 puts of values of 1 KiB to 1 MiB, 64 KiB on average", true, LARGE_WRITE),
    documents("documents_read", "as many gets of as many such values", false, LARGE_READ),
    Definition::new(
        "contention",
        "200,000 serializable transactions by 128 threads: gets and puts of own keys, a tenth adds to 100 shared ones",
        POINT,
        Kind::Steps(Steps {
            loaded: RECORDS,
            count: RECORDS / 5,
            threads: CROWD,
            mixture: Mixture { updates: 45, additions: 10, ..Mixture::GETS },
            order: Order::Uniform,
            grouping: Grouping::Transactions(1),
        }),
        CONTENTION,
    ),
    Definition::new(
        "memory_per_key",
        "1M records of 32/1,024 are loaded and got, and the memory that it takes",
        POINT,
        Kind::MemoryPerKey(RECORDS),
        MEMORY,
    ),
    Definition {
        level: Some(Level::Disk),
        ..Definition::new(
            "synced_batches",
            "100,000 puts of new keys, 100 in a transaction, which waits for the disk",
            POINT,
            inserts(RECORDS / 10, Order::Shuffled, Grouping::Every(100)),
            SYNCED,
        )
    },
    Definition {
        level: Some(Level::Log),
        ..Definition::new(
            "recovery",
            "opening a store whose process was killed when it had put 1 GiB of records of 32/1,024",
            POINT,
            Kind::Recovery(GIBIBYTE),
            RECOVERY,
        )
    },
    Definition::new(
        "time_series_write",
        "1M points of 8/256 in the order of time, each a transaction",
        POINTS,
        inserts(RECORDS, Order::Rising, Grouping::Each),
        TIME_SERIES_WRITE,
    ),
    Definition::new(
        "time_series_hour",
        "2,000 scans of any 3,600 points of 1M",
        POINTS,
        Kind::Ranges(Ranges { loaded: RECORDS, count: 2000, span: Span::Forward(HOUR) }),
        TIME_SERIES_READ,
    ),
    Definition::new(
        "time_series_tail",
        "200,000 operations: new points, and one in a hundred a scan of the newest 3,600",
        POINTS,
        Kind::Steps(Steps {
            loaded: RECORDS,
            count: RECORDS / 5,
            threads: 1,
            mixture: Mixture { inserts: 99, scans: 1, ..Mixture::GETS },
            order: Order::Window(HOUR),
            grouping: Grouping::Each,
        }),
        &[],
    ),
    graph(
        "graph_edges",
        "the edges of 100,000 nodes, 10 each, in no order, 1,000 in a transaction",
        GraphPart::Put,
        &[],
    ),
    graph("graph_nodes", "100,000 gets of nodes", GraphPart::Lookups, GRAPH_NODES),
    graph("graph_neighbours", "100,000 times all edges of a node", GraphPart::Neighbours, GRAPH_EDGES),
    graph(
        "graph_two_hops",
        "10,000 times all edges of a node and of its neighbours",
        GraphPart::TwoHops,
        GRAPH_TWO_HOPS,
    ),
    Definition::new(
        "cache",
        "1M gets and puts, 90 to 10, by Zipf's law, of 1M records of 32/1,024; the cache may hold a tenth",
        POINT,
        Kind::Cache(RECORDS),
        CACHE,
    ),
    scaling(
        "threads",
        "1M gets of 1M records of 32/1,024 by 1, 2, 4 and so on to 128 threads",
        POINT,
        RECORDS,
        &UP_TO_128,
        THREAD_SCALING,
    ),
    scaling("data_100k", "1M gets of 100,000 records of 32/100, one thread", SMALL, RECORDS / 10, &[1], &[]),
    scaling("data_1m", "the same of 1M", SMALL, RECORDS, &[1], DATA_1M),
    scaling("data_10m", "the same of 10M", SMALL, LOADED, &[1], DATA_10M),
    Definition::new(
        "sustained",
        "5M operations, 80 % gets and 20 % puts, at 80 % of the rate without a pause, from when they were due",
        POINT,
        Kind::OpenLoop(Steps {
            loaded: RECORDS,
            count: 5 * RECORDS,
            threads: 1,
            mixture: MIXED_80_20,
            order: Order::Uniform,
            grouping: Grouping::Each,
        }),
        SUSTAINED,
    ),
    Definition::new(
        "kills",
        "10 writers of 100,000 records are killed at random, and every acknowledged put is looked for",
        SMALL,
        Kind::Kills(10, RECORDS / 10),
        KILLS,
    ),
    not_yet("compression_lz4", "compression by LZ4", LZ4),
    not_yet("compression_zstd", "compression by Zstandard", ZSTD),
    not_yet("encryption", "encryption by AES-256", ENCRYPTION),
    point("read_absent", "1M gets of keys that are not stored, one thread", ABSENT, 1, BLOOM),
    Definition {
        level: Some(Level::Memory),
        ..point("write_without_log", "1M puts, one thread, at the level `memory`", Mixture::UPDATES, 1, WITHOUT_LOG)
    },
];

/// The numbers of threads of the report.
const UP_TO_128: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

const MIXED_80_20: Mixture = Mixture { updates: 20, ..Mixture::GETS };
const ABSENT: Mixture = Mixture { misses: 100, ..Mixture::GETS };

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

const fn inserts(count: usize, order: Order, grouping: Grouping) -> Kind {
    Kind::Steps(Steps { loaded: 0, count, threads: 1, mixture: Mixture::INSERTS, order, grouping })
}

const fn documents(name: &'static str, about: &'static str, written: bool, claims: &'static [Claim]) -> Definition {
    let kind = match written {
        true => inserts(DOCUMENTS, Order::Shuffled, Grouping::Each),
        false => Kind::Steps(Steps {
            loaded: DOCUMENTS,
            count: DOCUMENTS,
            threads: 1,
            mixture: Mixture::GETS,
            order: Order::Uniform,
            grouping: Grouping::Each,
        }),
    };
    Definition::new(name, about, (Shape::Hashed, Lengths::Documents), kind, claims)
}

const fn graph(name: &'static str, about: &'static str, part: GraphPart, claims: &'static [Claim]) -> Definition {
    Definition::new(name, about, RISING, Kind::Graph(part, NODES), claims)
}

const fn scaling(
    name: &'static str,
    about: &'static str,
    records: (Shape, Lengths),
    loaded: usize,
    threads: &'static [usize],
    claims: &'static [Claim],
) -> Definition {
    Definition::new(name, about, records, Kind::Scaling(Scaling { loaded, count: RECORDS, threads }), claims)
}

const fn not_yet(name: &'static str, about: &'static str, claims: &'static [Claim]) -> Definition {
    Definition::new(name, about, POINT, Kind::NotYet, claims)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn every_workload_has_a_name_of_its_own() {
        let mut names: Vec<&str> = DEFINITIONS.iter().map(|definition| definition.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
