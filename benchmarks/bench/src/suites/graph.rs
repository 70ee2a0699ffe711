//! The command `graph`: loads, traversals and checkpoints of a graph.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::data::random::Random;
use fulgurite::{Database, Durability, ReadTxn};
use fulgurite_graph::{Checkpoints, DirectoryStorage, Edge, EdgeQuery, Graph, GraphOptions};
use fulgurite_rivals::Failure;

use crate::error::Result;
use crate::harness::command_options::CommandOptions;
use crate::harness::report::Report;
use crate::harness::row::{Figures, Row};
use crate::measure::places::Places;

/// What `graph --help` prints.
const HELP: &str = "\
Measures a graph of fulgurite-graph: its loading, traversals and checkpoints.

Usage: fulgurite-bench graph [OPTIONS]

Every vertex has a value of 8 bytes and ten edges to random vertices. Times are by the clock. Between the two
checkpoints 1 % of the vertices get other values, and 1 % of the edges change: half of these edges are removed, and half
are new.

Options:
      --vertices N       Vertices [default: 1,000,000]
      --quick            10,000 vertices and few queries, to see that everything works; bars are not judged
      --seed NUMBER      Seed of the edges and queries, to repeat a run [default: from the clock]
      --json FILE        Also write the figures to FILE, after a line about the machine
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
    shared: CommandOptions,
}

/// Runs the command. Returns whether all bars are met.
///
/// # Errors
/// [`Error::Usage`](crate::error::Error::Usage); what the engine or the disk reports.
pub fn execute(arguments: Vec<String>) -> Result<bool> {
    let Some(options) = parse(arguments)? else {
        print!("{HELP}");
        return Ok(true);
    };
    let shared = &options.shared;
    let floors = shared.begin()?;
    let places = Places::new(&shared.directory, false)?;
    let mut figures = Figures::default();
    let is_met = measure(&options, places.path(), &mut figures);
    let is_met = is_met.map_err(|error| Failure::new("fulgurite", "graph", error))?;
    drop(places);
    shared.write(floors, Report { rows: vec![row(options.vertices, figures)], ..Report::default() })?;
    Ok(is_met)
}

/// What lines of JSON say.
fn row(vertices: u64, figures: Figures) -> Row {
    Row {
        suite: "graph",
        workload: "graph",
        shape: "u64",
        value_bytes: 8,
        claims: &[],
        records: vertices as usize,
        level: "Memory",
        engine: "fulgurite",
        rounds: vec![figures],
        left_out: None,
    }
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
    Ok(shared.map(|shared| {
        let vertices = vertices.unwrap_or(if shared.quick { 10_000 } else { VERTICES });
        Options { vertices, shared }
    }))
}

type Measured = Graph<u64, u64, [u8; 0]>;

/// An error of the graph, of its checkpoints, or of the engine.
type Failed = Box<dyn std::error::Error + Send + Sync>;

fn measure(options: &Options, directory: &Path, figures: &mut Figures) -> Result<bool, Failed> {
    let (vertices, quick, seed) = (options.vertices, options.shared.quick, options.shared.seed);
    let (db, graph) = load(vertices, seed, directory, figures)?;
    let mut queries = Random::new(seed, 1);
    let rounds = if quick { 100 } else { 20_000 };
    let (traversal, two_steps) = read(&db, &graph, vertices, &mut queries, rounds, figures)?;
    let share = checkpoints(db, &graph, vertices, &mut queries, directory, figures)?;
    if quick {
        println!("graph: bars are judged in whole runs only");
        return Ok(true);
    }
    let bars = [
        ("all neighbours, in order: 8.2M edges/s", traversal >= EDGES_PER_SECOND),
        ("two steps, p99: 234 µs", two_steps <= TWO_STEPS),
        ("after 1 % of the vertices and edges: 3 %", share <= CHANGED_SHARE),
    ];
    for (name, is_met) in bars {
        println!("{} {name}", if is_met { "met   " } else { "MISSED" });
    }
    Ok(bars.iter().all(|(_, is_met)| *is_met))
}

fn print_rate(name: &str, elapsed: Duration, edges: f64, figures: &mut Figures) -> f64 {
    let rate = edges / elapsed.as_secs_f64();
    figures.set(&format!("{name}, edges a second"), rate);
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
fn load(vertices: u64, seed: u64, directory: &Path, figures: &mut Figures) -> Result<(Database, Measured), Failed> {
    let mut random = Random::new(seed, 0);
    let edges: Vec<Edge<u64, [u8; 0]>> =
        (0..vertices * DEGREE).map(|number| Edge::out(number / DEGREE, vertex(&mut random, vertices), [])).collect();
    let count = edges.len() as f64;
    let (db, graph) = open(directory, "puts.ful")?;
    let begun = Instant::now();
    for edges in edges.chunks(100_000) {
        db.update(|txn| edges.iter().try_for_each(|edge| graph.put_edge(txn, edge)))?;
    }
    print_rate("puts, 100,000 a transaction", begun.elapsed(), count, figures);
    db.close()?;
    let (db, graph) = open(directory, "load.ful")?;
    let begun = Instant::now();
    graph.bulk_load(&db, (0..vertices).map(|id| (id, id)), edges, Duration::ZERO)?;
    print_rate("bulk load", begun.elapsed(), count, figures);
    Ok((db, graph))
}

/// Reads the graph. Returns edges a second of a traversal in order, and the 99th percentile of two steps.
fn read(
    db: &Database,
    graph: &Measured,
    vertices: u64,
    queries: &mut Random,
    rounds: usize,
    figures: &mut Figures,
) -> Result<(f64, Duration), Failed> {
    let snapshot = db.read()?;
    let (elapsed, edges) = traverse(graph, &snapshot, 0..vertices)?;
    let traversal = print_rate("all neighbours, in order", elapsed, edges, figures);
    let picked: Vec<u64> = (0..vertices / 4).map(|_| vertex(queries, vertices)).collect();
    let (elapsed, edges) = traverse(graph, &snapshot, picked)?;
    print_rate("all neighbours, at random", elapsed, edges, figures);
    let (begun, query, mut scanned) = (Instant::now(), EdgeQuery::new(), 0.0);
    for edge in graph.all_edges(&snapshot, &query)? {
        edge?;
        scanned += 1.0;
    }
    print_rate("scan", begun.elapsed(), scanned, figures);
    let [median, p99] = two_steps(graph, &snapshot, queries, vertices, rounds)?;
    println!("two steps, median, p99          {median:?}, {p99:?}");
    figures.set("p50_ns", median.as_nanos() as f64);
    figures.set("p99_ns", p99.as_nanos() as f64);
    Ok((traversal, p99))
}

/// Creates two checkpoints. Returns what the second one has sent, as a part of the first.
fn checkpoints(
    db: Database,
    graph: &Measured,
    vertices: u64,
    queries: &mut Random,
    directory: &Path,
    figures: &mut Figures,
) -> Result<f64, Failed> {
    let mut checkpoints = Checkpoints::new(DirectoryStorage::new(directory.join("checkpoints")));
    let begun = Instant::now();
    let whole = checkpoints.create(&db, 1)?.bytes_sent;
    println!("checkpoint of all               {whole} bytes in {:?}", begun.elapsed());
    change(&db, graph, vertices, queries)?;
    let begun = Instant::now();
    let part = checkpoints.create(&db, 2)?.bytes_sent;
    let share = part as f64 / whole as f64;
    println!("after 1 % of all                {part} bytes in {:?}, {:.2} %", begun.elapsed(), share * 100.0);
    db.close()?;
    let begun = Instant::now();
    let restored = checkpoints.restore(2, directory.join("restored.ful"), Database::options())?;
    println!("restore                         {:?}", begun.elapsed());
    restored.close()?;
    figures.set("bytes of a checkpoint of all", whole as f64);
    figures.set("% of them after 1 % of all has changed", share * 100.0);
    Ok(share)
}

/// Changes 1 % of the records: values of vertices, and edges: half of these are removed, the others are new.
fn change(db: &Database, graph: &Measured, vertices: u64, queries: &mut Random) -> Result<(), Failed> {
    let mut chosen = |count: u64| -> Vec<u64> { (0..count).map(|_| vertex(queries, vertices)).collect() };
    let (changed, moved) = (chosen(vertices / 100), chosen(vertices * DEGREE / 200));
    let targets = chosen(moved.len() as u64);
    let (snapshot, query) = (db.read()?, EdgeQuery::new());
    let mut removed = Vec::with_capacity(moved.len());
    for &source in &moved {
        if let Some(target) = graph.targets(&snapshot, source, &query)?.next() {
            removed.push(Edge::out(source, target?, []));
        }
    }
    drop(snapshot);
    db.update(|txn| {
        changed.iter().try_for_each(|&id| graph.put_vertex(txn, id, id + 1))?;
        for edge in &removed {
            graph.remove_edge(txn, edge)?;
        }
        moved.iter().zip(&targets).try_for_each(|(&from, &to)| graph.put_edge(txn, &Edge::out(from, to, [])))
    })?;
    Ok(())
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
        let shared = &options.shared;
        assert!(options.vertices == 7 && shared.seed == 3 && shared.quick && shared.directory == Path::new("/d"));
        assert!(parsed("--quick --help").unwrap().is_none());
    }

    #[test]
    fn a_quick_run_measures_everything() {
        let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let json = other.path().join("graph.jsonl");
        // The user's own folder.
        std::fs::create_dir(directory.path().join("graph")).unwrap();
        let (files, out) = (directory.path().display(), json.display());
        let line = format!("--quick --seed 5 --vertices 2000 --directory {files} --json {out}");
        assert!(execute(line.split_whitespace().map(str::to_owned).collect()).unwrap());
        let left: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["graph"]);
        let lines = std::fs::read_to_string(json).unwrap();
        assert!(lines.starts_with("{\"machine\":") && lines.contains("\"rounds_of\":\"graph\""), "{lines}");
        assert!(lines.contains("\"scan, edges a second\":[") && lines.contains("\"p99_ns\":["), "{lines}");
    }

    #[test]
    fn one_percent_of_vertices_and_edges_changes() {
        let directory = tempfile::tempdir().unwrap();
        let (db, graph) = load(2000, 7, directory.path(), &mut Figures::default()).unwrap();
        let vertices =
            |txn: &ReadTxn| -> Vec<(u64, u64)> { graph.vertices(txn).unwrap().map(|entry| entry.unwrap()).collect() };
        let query = EdgeQuery::new();
        let edges = |txn: &ReadTxn| -> std::collections::BTreeSet<(u64, u64)> {
            let all = graph.all_edges(txn, &query).unwrap().map(|edge| edge.unwrap());
            all.map(|edge| (edge.source, edge.target)).collect()
        };
        let before = db.read().unwrap();
        change(&db, &graph, 2000, &mut Random::new(7, 1)).unwrap();
        let after = db.read().unwrap();
        let pairs = vertices(&before).into_iter().zip(vertices(&after));
        let changed = pairs.filter(|(before, after)| before != after).count();
        // Some are chosen twice.
        assert!((15..=20).contains(&changed), "{changed}");
        let (old, new) = (edges(&before), edges(&after));
        let (gone, come) = (old.difference(&new).count(), new.difference(&old).count());
        assert!((80..=100).contains(&gone) && (80..=100).contains(&come), "{gone} {come}");
    }
}
