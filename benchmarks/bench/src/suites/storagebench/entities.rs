//! How the cost of reads and changes grows with the number of entities: stores of four sizes.

use std::time::Instant;

use fulgurite_rivals::Level;

use crate::data::random::{Random, mix};
use crate::error::{Error, Result};
use crate::harness::judge::MEASURED;
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
    let own_bytes = value_bytes(Bins { count: 1, seed: suite.seed, padding: 0 }, FLATBUFFERS);
    let padding = suite.options.entity_bytes.unwrap_or(0).saturating_sub(own_bytes);
    let largest = largest(suite, padding)?;
    let (name, mut laws) = (Workload::Entities.name(), Vec::new());
    for entry in suite.engines.clone().into_iter().filter(|entry| ENGINES.contains(&entry.engine.name)) {
        let (mut reads, mut changes) = (Vec::new(), Vec::new());
        for entities in SIZES.map(|divisor| (largest / divisor).max(1)) {
            let row = of_size(suite, &entry, Bins { count: entities, seed: suite.seed, padding })?;
            reads.push((entities, row.median("cpu_ns_per_op").unwrap_or(f64::NAN)));
            changes.push((entities, row.median(CHANGE).unwrap_or(f64::NAN)));
            suite.add(row);
        }
        let engine = entry.engine.name;
        for (what, costs) in [("a read", reads), ("a change", changes)] {
            let law = Law::of(&costs);
            suite.note(format!("{name}: {what} of {engine} takes {}", law.in_words(&costs)));
            laws.push((engine, what, law));
        }
    }
    for (_, what, law) in laws.iter().filter(|(engine, ..)| *engine == MEASURED) {
        let rival = laws.iter().find(|(engine, of, _)| *engine == "lmdb" && of == what).map(|(.., law)| law);
        let figures_of = |law: &Law| [law.slope, law.r2, law.worst.1.abs()];
        let titles = [
            ("for each doubling of the entities", "ns CPU"),
            ("r² of this law", ""),
            ("residual of this law, at most", "ns CPU"),
        ];
        for (place, (title, unit)) in titles.into_iter().enumerate() {
            let (data, rival) = (format!("{what}, {title}"), rival.map(|rival| figures_of(rival)[place]));
            suite.report.amounts.push(Amount { workload: name, data, value: figures_of(law)[place], rival, unit });
        }
    }
    Ok(())
}

/// How many entities the largest store has.
fn largest(suite: &mut Suite<'_>, padding: usize) -> Result<u64> {
    let wanted = match (suite.options.quick, suite.options.full) {
        (true, _) => return Ok(4 * 64),
        (_, true) => ENTITIES_FULL,
        _ => ENTITIES,
    };
    let space_bytes = SPACE_BYTES + COPIES * padding as u64;
    let fitting = space::available_bytes(suite.places.path())? / space_bytes;
    if fitting < wanted {
        suite.note(format!("entities: {fitting} entities, not {wanted}: the disk has no room for more"));
    }
    Ok(wanted.min(fitting))
}

fn of_size(suite: &mut Suite<'_>, entry: &Entry, bins: Bins) -> Result<Row> {
    let (name, entities, seed) = (Workload::Entities.name(), bins.count, suite.seed);
    suite.progress(&format!("{name}: loading {entities} entities into {}", entry.engine.name));
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

/// The straight line through costs over the logarithm of the size, by least squares.
#[derive(Debug)]
struct Law {
    /// How much each doubling costs.
    slope: f64,
    /// The part of the variance that the line explains: 1 if all costs are on it.
    r2: f64,
    /// The size whose cost is furthest from the line, and how far above the line it is.
    worst: (u64, f64),
}

impl Law {
    fn of(costs: &[(u64, f64)]) -> Self {
        let points: Vec<(f64, f64)> = costs.iter().map(|&(size, cost)| ((size as f64).log2(), cost)).collect();
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| of(x - x_mean, y - y_mean)).sum::<f64>();
        let slope = sum(&|x, y| x * y) / sum(&|x, _| x * x);
        let residual = |x: f64, y: f64| y - slope * x;
        let (unexplained, all) = (sum(&|x, y| residual(x, y).powi(2)), sum(&|_, y| y * y));
        let r2 = if all > 0.0 { 1.0 - unexplained / all } else { 1.0 };
        let residuals = costs.iter().zip(&points).map(|((size, _), (x, y))| (*size, residual(x - x_mean, y - y_mean)));
        let worst = residuals.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap_or((0, f64::NAN));
        Self { slope, r2, worst }
    }

    /// The cost at each size, how it grows, and how well the law describes it.
    fn in_words(&self, costs: &[(u64, f64)]) -> String {
        let costs_of_sizes: Vec<String> = costs.iter().map(|(size, cost)| format!("{cost:.0} at {size}")).collect();
        let (size, residual) = self.worst;
        format!(
            "{} entities (ns of processor time): {:.1} more for each doubling; r² {:.3}, worst residual {residual:+.1} \
             at {size}",
            costs_of_sizes.join(", "),
            self.slope,
            self.r2,
        )
    }
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
/// Disk space that a store takes for an entity without padding, at most.
const SPACE_BYTES: u64 = 400;
/// How often an entity is on the disk, at most: in the file, in the log, and in a second tree during a checkpoint.
const COPIES: u64 = 3;
/// Reads and changes of a round.
const OPERATIONS: usize = 256_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithm_fits_and_a_cost_off_the_line_is_named() {
        let mut costs: Vec<(u64, f64)> =
            [10, 40, 160, 640].map(|size: u64| (size, 5.0 + 7.0 * (size as f64).log2())).into();
        let law = Law::of(&costs);
        assert!((law.slope - 7.0).abs() < 1e-9 && (law.r2 - 1.0).abs() < 1e-9 && law.worst.1.abs() < 1e-9, "{law:?}");
        let words = law.in_words(&costs);
        assert!(words.starts_with("28 at 10, 42 at 40, 56 at 160, 70 at 640 entities"), "{words}");
        assert!(words.contains(": 7.0 more for each doubling; r² 1.000, worst residual "), "{words}");
        // A cost that is 10 too high moves the line, which passes 7 below it.
        costs[1].1 += 10.0;
        let law = Law::of(&costs);
        assert_eq!((law.worst.0, law.worst.1.round()), (40, 7.0));
        assert!(law.r2 < 0.97, "{law:?}");
    }
}
