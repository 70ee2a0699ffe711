//! What the report claims, table by table, of Lightning DB 1.0.0 on 64 cores with 256 GB of memory.

use crate::harness::row::{Claim, claim};

const LIGHTNING: &str = "lightning";

pub const READ: &[Claim] = &[
    claim(LIGHTNING, 20_423_156.0, "ops/s"),
    claim(LIGHTNING, 0.042, "µs p50"),
    claim(LIGHTNING, 0.089, "µs p99"),
    claim(LIGHTNING, 0.124, "µs p99.9"),
    claim("rocksdb", 2.8e6, "ops/s"),
    claim("leveldb", 1.2e6, "ops/s"),
    claim("lmdb", 15.2e6, "ops/s"),
    claim("badger", 3.5e6, "ops/s"),
];
pub const WRITE: &[Claim] = &[
    claim(LIGHTNING, 1_142_857.0, "ops/s"),
    claim(LIGHTNING, 0.771, "µs p50"),
    claim(LIGHTNING, 1.234, "µs p99"),
    claim(LIGHTNING, 2.156, "µs p99.9"),
    claim("rocksdb", 450_000.0, "ops/s"),
    claim("leveldb", 180_000.0, "ops/s"),
    claim("lmdb", 890_000.0, "ops/s"),
    claim("badger", 520_000.0, "ops/s"),
];
pub const MIXED: &[Claim] = &[
    claim(LIGHTNING, 5_234_521.0, "ops/s"),
    claim(LIGHTNING, 0.098, "µs p99 of gets"),
    claim(LIGHTNING, 1.456, "µs p99 of puts"),
];
pub const SCAN_FORWARD: &[Claim] =
    &[claim(LIGHTNING, 142_857.0, "scans/s of 100M records"), claim(LIGHTNING, 142.857_143, "M records/s")];
pub const SCAN_REVERSE: &[Claim] =
    &[claim(LIGHTNING, 138_461.0, "scans/s of 100M records"), claim(LIGHTNING, 138.461_538, "M records/s")];
pub const SCAN_PREFIX: &[Claim] =
    &[claim(LIGHTNING, 156_000.0, "scans/s of 100M records"), claim(LIGHTNING, 78.125, "M records/s")];
pub const READ_TXN: &[Claim] = &[
    claim(LIGHTNING, 2_823_529.0, "transactions/s"),
    claim(LIGHTNING, 0.178, "µs p99"),
    claim(LIGHTNING, 0.0, "% refused"),
];
pub const WRITE_TXN: &[Claim] = &[
    claim(LIGHTNING, 412_371.0, "transactions/s"),
    claim(LIGHTNING, 3.234, "µs p99"),
    claim(LIGHTNING, 0.12, "% refused"),
];
pub const BANK: &[Claim] = &[
    claim(LIGHTNING, 687_234.0, "transactions/s"),
    claim(LIGHTNING, 2.156, "µs p99"),
    claim(LIGHTNING, 0.08, "% refused"),
];
pub const BULK_LOAD: &[Claim] = &[
    claim(LIGHTNING, 1_158_301.0, "ops/s of 1 billion records, compressed"),
    claim(LIGHTNING, 2.8, "bytes written by each byte put"),
];
pub const BLOOM: &[Claim] = &[claim(LIGHTNING, -60.0, "% of the latency by Bloom filters")];
pub const WITHOUT_LOG: &[Claim] = &[claim(LIGHTNING, 45.0, "% more puts/s than with a log")];
pub const LARGE_WRITE: &[Claim] = &[claim(LIGHTNING, 237.0, "MB/s, compressed"), claim(LIGHTNING, 12_300.0, "µs p99")];
pub const LARGE_READ: &[Claim] = &[claim(LIGHTNING, 1823.0, "MB/s, compressed"), claim(LIGHTNING, 234.0, "µs p99")];
pub const CONTENTION: &[Claim] = &[
    claim(LIGHTNING, 8_234_567.0, "ops/s"),
    claim(LIGHTNING, 2.3, "% that met a lock"),
    claim(LIGHTNING, 3.456, "µs p99"),
];
pub const MEMORY: &[Claim] =
    &[claim(LIGHTNING, 164.0, "bytes of memory per key of 100M"), claim(LIGHTNING, 94.3, "% of gets from the cache")];
pub const SYNCED: &[Claim] = &[claim(LIGHTNING, 89_234.0, "ops/s"), claim(LIGHTNING, 14.5, "µs p99")];
pub const RECOVERY: &[Claim] = &[claim(LIGHTNING, 1230.0, "ms to recover")];
pub const TIME_SERIES_WRITE: &[Claim] = &[claim(LIGHTNING, 2.3e6, "ops/s")];
pub const TIME_SERIES_READ: &[Claim] =
    &[claim(LIGHTNING, 45.0, "M records/s"), claim(LIGHTNING, 12_000.0, "µs for an hour")];
pub const GRAPH_NODES: &[Claim] = &[claim(LIGHTNING, 18e6, "ops/s of 10M nodes")];
pub const GRAPH_EDGES: &[Claim] = &[claim(LIGHTNING, 8.2, "M edges/s of 100M edges")];
pub const GRAPH_TWO_HOPS: &[Claim] = &[claim(LIGHTNING, 234.0, "µs p99 of 100M edges")];
pub const CACHE: &[Claim] = &[
    claim(LIGHTNING, 89.2, "% of gets from the cache"),
    claim(LIGHTNING, 0.043, "µs p99 of hits"),
    claim(LIGHTNING, 0.891, "µs p99 of misses"),
    claim(LIGHTNING, 1.123, "µs p99 of puts"),
];
pub const THREAD_SCALING: &[Claim] = &[
    claim(LIGHTNING, 1.234_567, "M ops/s by 1 thread"),
    claim(LIGHTNING, 2.345_678, "by 2"),
    claim(LIGHTNING, 4.567_89, "by 4"),
    claim(LIGHTNING, 8.765_432, "by 8"),
    claim(LIGHTNING, 15.234_567, "by 16"),
    claim(LIGHTNING, 28.456_789, "by 32"),
    claim(LIGHTNING, 52.345_678, "by 64"),
    claim(LIGHTNING, 89.234_567, "by 128"),
];
pub const DATA_1M: &[Claim] =
    &[claim(LIGHTNING, 22.3e6, "ops/s"), claim(LIGHTNING, 0.076, "µs p99"), claim(LIGHTNING, 156.0, "MB of memory")];
pub const DATA_10M: &[Claim] = &[
    claim(LIGHTNING, 21.8e6, "ops/s"),
    claim(LIGHTNING, 0.082, "µs p99"),
    claim(LIGHTNING, 1400.0, "MB of memory"),
    claim(LIGHTNING, 20.4e6, "ops/s of 100M records"),
    claim(LIGHTNING, 18.7e6, "ops/s of 1 billion"),
    claim(LIGHTNING, 16.2e6, "ops/s of 10 billion"),
];
pub const SUSTAINED: &[Claim] = &[
    claim(LIGHTNING, 1.3, "µs p99, and the same after 24 hours"),
    claim(LIGHTNING, 16.2, "GB of memory, and no more"),
];
pub const KILLS: &[Claim] = &[
    claim(LIGHTNING, 0.0, "bytes lost"),
    claim(LIGHTNING, 0.0, "records corrupted"),
    claim(LIGHTNING, 800.0, "to 2,100 ms to recover"),
    claim(LIGHTNING, 100.0, "% of the rate after it"),
];
pub const LZ4: &[Claim] = &[claim(LIGHTNING, -8.0, "% of the rate")];
pub const ZSTD: &[Claim] = &[claim(LIGHTNING, -22.0, "% of the rate")];
pub const ENCRYPTION: &[Claim] = &[claim(LIGHTNING, -15.0, "% of the rate")];
