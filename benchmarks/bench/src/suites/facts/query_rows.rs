//! The rows of queries.

use std::path::Path;

use fulgurite_facts::{Backend, Error, Result};

use super::queries::{BenchQuery, Databases, QUERIES, Run};
use super::report::Row;
use super::store_rows::options;
use crate::measure::clock::{Charge, Stopwatch};

/// Glean's figures on LMDB and the bars, in microseconds, in the order of [`QUERIES`].
const FIGURES: [(f64, f64); 11] = [
    (31.8, 10.0),
    (49.2, 16.0),
    (350.0, 100.0),
    (97.0, 30.0),
    (48.0, 15.0),
    (15_300.0, 5_000.0),
    (24_900.0, 8_000.0),
    (312_000.0, 60_000.0),
    (3_060_000.0, 800_000.0),
    (19_700.0, f64::NAN),
    (22_000.0, f64::NAN),
];

/// How much longer a query may take on an empty database that is stacked on its facts.
const STACKED: f64 = 1.1;

/// The rows of the queries, and two more: how much longer stacked queries take.
pub fn rows() -> Vec<Row> {
    let of = |(query, (glean, bar)): (&BenchQuery, (f64, f64))| {
        let row = Row::new(format!("{}, µs", query.name)).glean(glean);
        if bar.is_finite() { row.at_most(bar) } else { row }
    };
    let mut rows: Vec<Row> = QUERIES.iter().zip(FIGURES).map(of).collect();
    rows.push(Row::new("stacked/page, times page").at_most(STACKED));
    rows.push(Row::new("stacked/pagenested, times pagenested").at_most(STACKED));
    rows
}

/// The figures of one backend.
///
/// # Errors
/// Those of [`Databases::run`].
pub fn measure(backend: Backend, count: u64, directory: &Path) -> Result<Vec<f64>> {
    let databases = Databases::create(directory, &options(backend), count)?;
    let mut took = QUERIES.iter().map(|query| time(&databases, query)).collect::<Result<Vec<f64>>>()?;
    let of = |name: &str| QUERIES.iter().position(|query| query.name == name).map(|at| took[at]);
    let times = |stacked, alone| of(stacked).zip(of(alone)).map_or(f64::NAN, |(stacked, alone)| stacked / alone);
    let stacked = [times("stacked/page", "page"), times("stacked/pagenested", "pagenested")];
    took.extend(stacked);
    Ok(took)
}

/// Microseconds of a query: processor time, or wall time of those that run on all processors; the median of rounds.
fn time(databases: &Databases, query: &BenchQuery) -> Result<f64> {
    let once = |runs: u64| {
        let watch = Stopwatch::start(Charge::Process);
        (0..runs).try_for_each(|_| databases.run(query))?;
        let sample = watch.pause(runs);
        let ns = if query.run == Run::Parallel { sample.wall_ns } else { sample.cpu_ns };
        Ok::<_, Error>(ns / runs as f64)
    };
    // The first run reads what the others find in memory.
    once(1)?;
    let runs = ((ROUND_NS / once(1)?) as u64).clamp(1, RUNS_MAX);
    let mut rounds = (0..ROUNDS).map(|_| once(runs)).collect::<Result<Vec<f64>>>()?;
    rounds.sort_unstable_by(f64::total_cmp);
    Ok(rounds[ROUNDS / 2] / 1e3)
}

/// How long a round lasts, unless one run is longer.
const ROUND_NS: f64 = 5e7;
/// Runs of a round.
const RUNS_MAX: u64 = 10_000;
/// Rounds of a query; rounds of the whole suite come on top.
const ROUNDS: usize = 5;
