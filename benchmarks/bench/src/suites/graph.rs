//! The command `graph`: loads, traversals and checkpoints of a graph.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::data::random::Random;
use fulgurite::{Database, Durability, ReadTxn};
use fulgurite_graph::{Checkpoints, DirectoryStorage, Edge, EdgeQuery, Graph, GraphOptions};
use fulgurite_rivals::Failure;

use crate::error::{Error, Result};
use crate::floors::around::Floors;
use crate::harness::command_options::CommandOptions;
use crate::measure::machine;

/// What `graph --help` prints.
const HELP: &str = "\
Measures a graph of fulgurite-graph: its loading, traversals and checkpoints.

Usage: fulgurite-bench graph [OPTIONS]

Every vertex has a value of 8 bytes and ten edges to random vertices. Times are by the clock.

Options:
      --vertices N       Vertices [default: 1000000]
      --quick            10,000 vertices and few queries, to see that everything works; bars are not judged
      --seed NUMBER      Seed of the edges and queries, to repeat a run [default: from the clock]
      --directory DIR    Where files go; use a real disk [default: target/bench]
  -h, --help             Print this
";

const DEGREE: u64 = 10;
const VERTICES: u64 = 1_000_000;
/// The bars: edges a second of a traversal, the time of two steps, and the share of a checkpoint after changes.
const EDGES_PER_SECOND: f64 = 8.2e6;
const TWO_STEPS: Duration = Duration::from_micros(234);
const CHANGED_SHARE: f64 = 0.03;

struct Options {
    vertices: u64,
    quick: bool,
    seed: u64,
    directory: PathBuf,
}

/// Runs the command. Returns whether all bars are met.
///
/// # Errors
/// [`Error::Usage`]; what the engine or the disk reports.
pub fn execute(arguments: Vec<String>) -> Result<bool> {
    let Some(options) = parse(arguments)? else {
        print!("{HELP}");
        return Ok(true);
    };
    eprintln!("{}; --seed {}", machine::summary(None), options.seed);
    let floors = Floors::measure(&options.directory, options.seed, options.quick);
    eprintln!("limits: {}", floors.in_words());
    let directory = options.directory.join("graph");
    // Of an earlier run.
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).map_err(|error| Error::io("create", &directory, error))?;
    let is_met = measure(&options, &directory).map_err(|error| Failure::new("fulgurite", "graph", error).into());
    let _ = std::fs::remove_dir_all(&directory);
    is_met
}

fn parse(arguments: Vec<String>) -> Result<Option<Options>> {
    let mut vertices = None;
    let shared = CommandOptions::parse(arguments, |name, value| {
        let is_known = name == "--vertices";
        if is_known {
            vertices = Some(value()?);
        }
        Ok(is_known)
    })?;
    Ok(shared.map(|CommandOptions { quick, seed, directory }| {
        let vertices = vertices.unwrap_or(if quick { 10_000 } else { VERTICES });
        Options { vertices, quick, seed, directory }
    }))
}

type Measured = Graph<u64, u64, [u8; 0]>;

/// An error of the graph, of its checkpoints, or of the engine.
type Failed = Box<dyn std::error::Error + Send + Sync>;

fn measure(options: &Options, directory: &Path) -> Result<bool, Failed> {
    let Options { vertices, quick, seed, .. } = *options;
    let (db, graph) = load(vertices, seed, directory)?;
    let mut queries = Random::new(seed, 1);
    let (traversal, two_steps) = read(&db, &graph, vertices, &mut queries, if quick { 100 } else { 20_000 })?;
    let share = checkpoints(db, &graph, vertices, &mut queries, directory)?;
    if quick {
        println!("graph: bars are judged in whole runs only");
        return Ok(true);
    }
    let bars = [
        ("all neighbours, in order: 8.2M edges/s", traversal >= EDGES_PER_SECOND),
        ("two steps, p99: 234 µs", two_steps <= TWO_STEPS),
        ("after 1 % of the vertices: 3 %", share <= CHANGED_SHARE),
    ];
    for (name, is_met) in bars {
        println!("{} {name}", if is_met { "met   " } else { "MISSED" });
    }
    Ok(bars.iter().all(|(_, is_met)| *is_met))
}

fn print_rate(name: &str, elapsed: Duration, edges: f64) -> f64 {
    let rate = edges / elapsed.as_secs_f64();
    println!("{name:<31} {:.1}M edges/s", rate / 1e6);
    rate
}

fn open(directory: &Path, name: &str) -> fulgurite::Result<(Database, Measured)> {
    let options = Database::options().create(true).keep_log(256 << 20).durability(Durability::Memory);
    let db = options.open(directory.join(name))?;
    let graph = Graph::open(&db, "graph", GraphOptions::new())?;
    Ok((db, graph))
}

/// Loads the graph twice, and returns the one that was loaded in bulk.
fn load(vertices: u64, seed: u64, directory: &Path) -> Result<(Database, Measured), Failed> {
    let mut random = Random::new(seed, 0);
    let edges: Vec<Edge<u64, [u8; 0]>> =
        (0..vertices * DEGREE).map(|number| Edge::out(number / DEGREE, vertex(&mut random, vertices), [])).collect();
    let count = edges.len() as f64;
    let (db, graph) = open(directory, "puts.ful")?;
    let begun = Instant::now();
    for edges in edges.chunks(100_000) {
        db.update(|txn| edges.iter().try_for_each(|edge| graph.put_edge(txn, edge)))?;
    }
    print_rate("puts, 100,000 a transaction", begun.elapsed(), count);
    db.close()?;
    let (db, graph) = open(directory, "load.ful")?;
    let begun = Instant::now();
    graph.bulk_load(&db, (0..vertices).map(|id| (id, id)), edges, Duration::ZERO)?;
    print_rate("bulk load", begun.elapsed(), count);
    Ok((db, graph))
}

/// Reads the graph. Returns edges a second of a traversal in order, and the 99th percentile of two steps.
fn read(
    db: &Database,
    graph: &Measured,
    vertices: u64,
    queries: &mut Random,
    rounds: usize,
) -> Result<(f64, Duration), Failed> {
    let snapshot = db.read()?;
    let (elapsed, edges) = traverse(graph, &snapshot, 0..vertices)?;
    let traversal = print_rate("all neighbours, in order", elapsed, edges);
    let picked: Vec<u64> = (0..vertices / 4).map(|_| vertex(queries, vertices)).collect();
    let (elapsed, edges) = traverse(graph, &snapshot, picked)?;
    print_rate("all neighbours, at random", elapsed, edges);
    let (begun, query, mut scanned) = (Instant::now(), EdgeQuery::new(), 0.0);
    for edge in graph.all_edges(&snapshot, &query)? {
        edge?;
        scanned += 1.0;
    }
    print_rate("scan", begun.elapsed(), scanned);
    let [median, p99] = two_steps(graph, &snapshot, queries, vertices, rounds)?;
    println!("two steps, median, p99          {median:?}, {p99:?}");
    Ok((traversal, p99))
}

/// Creates two checkpoints. Returns what the second one has sent, as a part of the first.
fn checkpoints(
    db: Database,
    graph: &Measured,
    vertices: u64,
    queries: &mut Random,
    directory: &Path,
) -> Result<f64, Failed> {
    let mut checkpoints = Checkpoints::new(DirectoryStorage::new(directory.join("checkpoints")));
    let begun = Instant::now();
    let whole = checkpoints.create(&db, 1)?.bytes_sent;
    println!("checkpoint of all               {whole} bytes in {:?}", begun.elapsed());
    let changed: Vec<u64> = (0..vertices / 100).map(|_| vertex(queries, vertices)).collect();
    db.update(|txn| changed.iter().try_for_each(|&id| graph.put_vertex(txn, id, id + 1)))?;
    let begun = Instant::now();
    let part = checkpoints.create(&db, 2)?.bytes_sent;
    let share = part as f64 / whole as f64;
    println!("after 1 % of the vertices       {part} bytes in {:?}, {:.2} %", begun.elapsed(), share * 100.0);
    db.close()?;
    let begun = Instant::now();
    let restored = checkpoints.restore(2, directory.join("restored.ful"), Database::options())?;
    println!("restore                         {:?}", begun.elapsed());
    restored.close()?;
    Ok(share)
}

/// A random vertex.
fn vertex(random: &mut Random, vertices: u64) -> u64 {
    random.below(vertices as usize) as u64
}

/// Reads the targets of all edges of vertices: the time, and the number of edges.
fn traverse(
    graph: &Measured,
    snapshot: &ReadTxn,
    vertices: impl IntoIterator<Item = u64>,
) -> fulgurite::Result<(Duration, f64)> {
    let query = EdgeQuery::new();
    let (begun, mut edges, mut sum) = (Instant::now(), 0, 0);
    for vertex in vertices {
        for target in graph.targets(snapshot, vertex, &query)? {
            sum ^= target?;
            edges += 1;
        }
    }
    let elapsed = begun.elapsed();
    std::hint::black_box(sum);
    Ok((elapsed, edges as f64))
}

/// The median and the 99th percentile of the time of two steps from a random vertex.
fn two_steps(
    graph: &Measured,
    snapshot: &ReadTxn,
    queries: &mut Random,
    vertices: u64,
    rounds: usize,
) -> fulgurite::Result<[Duration; 2]> {
    let query = EdgeQuery::new();
    let mut times = Vec::with_capacity(rounds);
    let mut sum = 0;
    for _ in 0..rounds {
        let from = vertex(queries, vertices);
        let begun = Instant::now();
        for neighbour in graph.targets(snapshot, from, &query)? {
            for target in graph.targets(snapshot, neighbour?, &query)? {
                sum ^= target?;
            }
        }
        times.push(begun.elapsed());
    }
    std::hint::black_box(sum);
    times.sort_unstable();
    Ok([times[rounds / 2], times[rounds * 99 / 100]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<Options>> {
        parse(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn options_are_read() {
        let options = parsed("--vertices 7 --seed=3 --directory /d --quick").unwrap().unwrap();
        assert!(options.vertices == 7 && options.seed == 3 && options.quick && options.directory == Path::new("/d"));
        assert!(parsed("--quick --help").unwrap().is_none());
    }

    #[test]
    fn a_quick_run_measures_everything() {
        let directory = tempfile::tempdir().unwrap();
        let line = format!("--quick --seed 5 --vertices 2000 --directory {}", directory.path().display());
        assert!(execute(line.split_whitespace().map(str::to_owned).collect()).unwrap());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
