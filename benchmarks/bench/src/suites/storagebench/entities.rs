//! How the cost of reads and changes grows with the number of entities: stores of four sizes.

use std::time::Instant;

use fulgurite_rivals::Level;

use crate::data::random::{Random, mix};
use crate::error::{Error, Result};
use crate::harness::report::Amount;
use crate::harness::row::Row;
use crate::measure::space;
use crate::suites::storagebench::bins::Bins;
use crate::suites::storagebench::contestant::{Entry, PIECES};
use crate::suites::storagebench::inventory::{figures, value_bytes};
use crate::suites::storagebench::suite::Suite;
use crate::suites::storagebench::workload::{FLATBUFFERS, SUITE, Workload};

/// Measures Fulgurite and LMDB.
///
/// # Errors
/// A wrong answer; what an engine answered.
pub fn measure(suite: &mut Suite<'_>) -> Result<()> {
    let largest = largest(suite)?;
    for entry in suite.engines.clone().into_iter().filter(|entry| ENGINES.contains(&entry.engine.name)) {
        let (mut reads, mut changes) = (Vec::new(), Vec::new());
        for entities in SIZES.map(|divisor| (largest / divisor).max(1)) {
            let row = of_size(suite, &entry, entities)?;
            reads.push((entities, row.median("cpu_ns_per_op").unwrap_or(f64::NAN)));
            changes.push((entities, row.median(CHANGE).unwrap_or(f64::NAN)));
            suite.add(row);
        }
        let (name, engine) = (Workload::Entities.name(), entry.engine.name);
        for (what, costs) in [("a read", reads), ("a change", changes)] {
            suite.note(format!("{name}: {what} of {engine} takes {}", law(&costs)));
            suite.report.amounts.push(Amount {
                workload: name,
                data: format!("{engine}, {what}, for each doubling of the entities"),
                value: for_each_doubling(&costs),
                rival: None,
                unit: "ns CPU",
            });
        }
    }
    Ok(())
}

/// How many entities the largest store has.
fn largest(suite: &mut Suite<'_>) -> Result<u64> {
    let wanted = match (suite.options.quick, suite.options.full) {
        (true, _) => return Ok(4 * 64),
        (_, true) => ENTITIES_FULL,
        _ => ENTITIES,
    };
    let fitting = space::available_bytes(suite.places.path())? / SPACE_BYTES;
    if fitting < wanted {
        suite.note(format!("entities: {fitting} entities, not {wanted}: the disk has no room for more"));
    }
    Ok(wanted.min(fitting))
}

fn of_size(suite: &mut Suite<'_>, entry: &Entry, entities: u64) -> Result<Row> {
    let (name, seed) = (Workload::Entities.name(), suite.seed);
    suite.progress(&format!("{name}: loading {entities} entities into {}", entry.engine.name));
    let bins = Bins { count: entities, seed };
    let directory = suite.places.fresh(name, entry.engine.name)?;
    let begun = Instant::now();
    let contestant = (entry.flatbuffers)(&directory, Level::Log, bins)?;
    let loaded = entities as f64 / begun.elapsed().as_secs_f64();
    let size = space::bytes_below(&directory)?;
    let mut row = Row {
        suite: SUITE,
        workload: name,
        shape: "u64",
        value_bytes: value_bytes(bins, FLATBUFFERS),
        claims: &[],
        records: entities as usize,
        level: Level::Log.name(),
        engine: entry.engine.name,
        rounds: Vec::new(),
        left_out: None,
    };
    let mut pieces = bins.pieces();
    let operations = if suite.options.quick { 128 } else { OPERATIONS };
    for round in 0..suite.options.rounds {
        let choices = bins.choices(&mut Random::new(seed, mix(round as u64)), operations);
        let reads = contestant.turn(Workload::Read, &choices)?;
        let changes = contestant.turn(Workload::Add, &choices)?;
        pieces += PIECES * operations as i64;
        let mut figures = figures(&reads.sample);
        figures.set("size_bytes", size as f64);
        figures.set("entities", entities as f64);
        figures.set(CHANGE, changes.sample.cpu_ns_per_operation());
        figures.set("entities loaded a second", loaded);
        row.rounds.push(figures);
    }
    let found = contestant.pieces(name)?;
    if found != pieces {
        let what = format!("{} has {found} pieces in {entities} bins, not {pieces}", entry.engine.name);
        return Err(Error::Wrong { workload: name, what });
    }
    contestant.close()?;
    suite.places.remove(name)?;
    Ok(row)
}

/// The cost at each size, and how it grows.
fn law(costs: &[(u64, f64)]) -> String {
    let costs_of_sizes: Vec<String> = costs.iter().map(|(size, cost)| format!("{cost:.0} at {size}")).collect();
    format!(
        "{} entities (ns of processor time): {:.1} more for each doubling",
        costs_of_sizes.join(", "),
        for_each_doubling(costs)
    )
}

/// The slope of the costs over the logarithm of the size, by least squares.
fn for_each_doubling(costs: &[(u64, f64)]) -> f64 {
    let points: Vec<(f64, f64)> = costs.iter().map(|&(size, cost)| ((size as f64).log2(), cost)).collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    covariance / points.iter().map(|(x, _)| (x - x_mean) * (x - x_mean)).sum::<f64>()
}

/// The name of a figure.
const CHANGE: &str = "ns CPU of a change";
/// The engines that are measured.
const ENGINES: [&str; 2] = ["fulgurite", "lmdb"];
/// By what the largest size is divided.
const SIZES: [u64; 4] = [64, 16, 4, 1];
/// Entities of the largest store.
const ENTITIES: u64 = 4_000_000;
/// The same with `--full`.
const ENTITIES_FULL: u64 = 200_000_000;
/// Disk space that a store takes for an entity, at most: the file, the log, and a second tree during a checkpoint.
const SPACE_BYTES: u64 = 400;
/// Reads and changes of a round.
const OPERATIONS: usize = 256_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_logarithm_is_constant() {
        let costs: Vec<(u64, f64)> =
            [10, 40, 160, 640].map(|size: u64| (size, 5.0 + 7.0 * (size as f64).log2())).into();
        assert!((for_each_doubling(&costs) - 7.0).abs() < 1e-9);
        let law = law(&costs);
        assert!(law.starts_with("28 at 10, 42 at 40, 56 at 160, 70 at 640 entities"), "{law}");
        assert!(law.ends_with(": 7.0 more for each doubling"), "{law}");
    }
}
