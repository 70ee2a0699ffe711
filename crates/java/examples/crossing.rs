//! Gets and scans without Java. `cargo xtask bench java` subtracts them from the same calls from Java: the rest is the
//! cost of crossing.
//!
//! `crossing DATABASE (get | scan) RECORDS SECONDS` reads a database that `bindings/java/benchmarks` has loaded with so
//! many records, as its class `Engines` does, and prints the nanoseconds of one record.

use std::error::Error;
use std::hint::black_box;
use std::ops::Bound;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fulgurite::{Database, Read, ReadTxn, Table};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Records of one scan.
const SCANNED: usize = 1000;

/// Passes that count, after one that does not.
const PASSES: usize = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match measured(&arguments) {
        Some(Ok(nanoseconds)) => println!("{nanoseconds:.3}"),
        Some(Err(error)) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
        None => {
            eprintln!("usage: crossing DATABASE (get | scan) RECORDS SECONDS");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// What the arguments ask for; `None` if they make no sense.
fn measured(arguments: &[String]) -> Option<Outcome<f64>> {
    let [path, verb, records, seconds] = arguments else { return None };
    let records: u64 = records.parse().ok().filter(|records: &u64| *records > 0)?;
    let least = Duration::from_secs(seconds.parse().ok()?);
    match verb.as_str() {
        "get" => Some(measure(path, records, least, get)),
        "scan" => Some(measure(path, records, least, scan)),
        _ => None,
    }
}

/// The nanoseconds of one record. `read` reads from a key on, and returns how many records it has read.
fn measure(
    path: &str,
    records: u64,
    least: Duration,
    read: impl Fn(&ReadTxn, &Table, &[u8]) -> Outcome<usize>,
) -> Outcome<f64> {
    let database = Database::open(path)?;
    let table = database.open_table("records")?;
    let txn = database.read()?;
    let mut random = Random(7);
    let mut total = 0.0;
    for pass in 0..=PASSES {
        let (mut count, started) = (0_usize, Instant::now());
        while started.elapsed() < least {
            // The clock costs as much as a short get.
            for _ in 0..64 {
                count += read(&txn, &table, key(random.below(records)).as_slice())?;
            }
        }
        if pass > 0 {
            total += started.elapsed().as_nanos() as f64 / count as f64;
        }
    }
    drop(txn);
    database.close()?;
    Ok(total / PASSES as f64)
}

/// Copies the value, as a get of Java does.
fn get(txn: &ReadTxn, table: &Table, key: &[u8]) -> Outcome<usize> {
    let value = txn.get(table, key)?.ok_or("a record is missing: the database does not have so many")?;
    let mut copy = [0_u8; 256];
    let target = copy.get_mut(..value.len()).ok_or("a value is longer than those of the benchmark")?;
    target.copy_from_slice(&value);
    black_box(&copy);
    Ok(1)
}

fn scan(txn: &ReadTxn, table: &Table, key: &[u8]) -> Outcome<usize> {
    let (mut count, mut sum) = (0, 0_u64);
    for record in txn.range(table, (Bound::Included(key), Bound::Unbounded))?.take(SCANNED) {
        let (key, value) = record?;
        sum += u64::from(key[0]) + u64::from(value[0]);
        count += 1;
    }
    black_box(sum);
    Ok(count)
}

/// The key of a number, as `Engines.key` makes it.
fn key(number: u64) -> [u8; 16] {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(mixed ^ (mixed >> 27)).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// SplitMix64.
struct Random(u64);

impl Random {
    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let product = u128::from(mixed ^ (mixed >> 31)) * u128::from(bound);
        (product >> 64) as u64
    }
}
