//! A graph in key order: the key of a node is its number, and the keys of its edges, which follow it, are the numbers
//! of both ends. A scan of all keys that begin with a node's number reads the node and its neighbours.

use fulgurite_rivals::{Snapshot, WritingStore};

use crate::data::random::{Random, mix};
use crate::data::values::{Ends, Values};
use crate::engines::sustained::SustainedEngine;
use crate::error::{Error, Result};
use crate::harness::row::Figures;
use crate::measure::clock::{Charge, Stopwatch};
use crate::suites::tables::definition::GraphPart;
use crate::suites::tables::meter::{Latencies, timer_ns};
use crate::suites::tables::perform::figures::{note_cost, note_memory, note_size};
use crate::suites::tables::task::Task;

/// Edges of a node: from one to so many, all equally likely, ten on average.
const DEGREE_MAX: u64 = 19;

/// Edges in a transaction when they are put.
const BATCH: usize = 1000;

/// Of the queries of one hop there are this many times those of two.
const TWO_HOPS_PART: usize = 10;

/// Bytes of the values of edges; those of nodes are as long as the workload says.
const EDGE_BYTES: usize = 8;

/// One part of the work on a graph of so many nodes.
pub fn run<E: SustainedEngine>(task: &Task, part: GraphPart, nodes: usize) -> Result<Figures> {
    let network = Network::new(nodes, task.definition.lengths.mean());
    let store = E::open(&task.directory, task.settings())?;
    let mut figures = Figures::default();
    let mut random = Random::new(task.seed, 0);
    match part {
        GraphPart::Put => put(&store, &network, &mut random, &mut figures)?,
        GraphPart::Lookups | GraphPart::Neighbours | GraphPart::TwoHops => {
            load(&store, &network)?;
            E::settle(&store)?;
            let count = if part == GraphPart::TwoHops { nodes.div_ceil(TWO_HOPS_PART) } else { nodes };
            let queries: Vec<u32> = (0..count).map(|_| random.below(nodes) as u32).collect();
            ask(&store, &network, part, &queries, &mut figures)?;
        }
    }
    figures.set("timer_ns", timer_ns());
    let settling = std::time::Instant::now();
    E::settle(&store)?;
    figures.set("settle_ns", settling.elapsed().as_nanos() as f64);
    note_memory(&mut figures);
    network.verify(&store, task.definition.name)?;
    store.close()?;
    note_size(&mut figures, &task.directory, network.raw_bytes())?;
    Ok(figures)
}

/// The nodes and where their edges lead.
struct Network {
    /// Where the edges of each node begin, and where the last end.
    first: Vec<u32>,
    /// Where they lead, rising within a node.
    targets: Vec<u32>,
    values: Values,
}

impl Network {
    fn new(nodes: usize, value_bytes: usize) -> Self {
        let (mut first, mut targets) = (vec![0], Vec::new());
        let mut own = Vec::new();
        for node in 0..nodes as u64 {
            let degree = 1 + mix(node) % DEGREE_MAX;
            own.clear();
            own.extend((0..degree).map(|edge| (mix(mix(node) ^ edge) % nodes as u64) as u32));
            own.sort_unstable();
            own.dedup();
            targets.extend_from_slice(&own);
            first.push(targets.len() as u32);
        }
        Self { first, targets, values: Values::new(value_bytes) }
    }

    fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    fn targets(&self, node: u32) -> &[u32] {
        &self.targets[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    fn node_value(&self, node: u32) -> &[u8] {
        self.values.get(node)
    }

    fn edge_value(&self, edge: usize) -> &[u8] {
        &self.values.get((self.nodes() + edge) as u32)[..EDGE_BYTES]
    }

    fn raw_bytes(&self) -> u64 {
        (self.nodes() * (4 + self.values.length()) + self.targets.len() * (8 + EDGE_BYTES)) as u64
    }

    /// Every record in the order of the keys.
    fn records(&self) -> Vec<(Vec<u8>, &[u8])> {
        let mut records = Vec::with_capacity(self.nodes() + self.targets.len());
        let mut edge = 0;
        for node in 0..self.nodes() as u32 {
            records.push((node.to_be_bytes().to_vec(), self.node_value(node)));
            for &target in self.targets(node) {
                records.push((edge_key(node, target).to_vec(), self.edge_value(edge)));
                edge += 1;
            }
        }
        records
    }

    /// Compares everything that is stored with what must be, by gets and by a scan.
    fn verify<S: WritingStore>(&self, store: &S, workload: &'static str) -> Result<()> {
        let wrong = |what: String| Error::Wrong { workload, what };
        let records = self.records();
        for (key, value) in &records {
            if !store.get(key, |found| found == Some(*value))? {
                return Err(wrong(format!("the record of key {key:?} is not what was put")));
            }
        }
        let (mut seen, mut right) = (0, true);
        store.scan(|key, value| {
            right &= records.get(seen).is_some_and(|record| record.0 == key && record.1 == value);
            seen += 1;
        })?;
        match right && seen == records.len() {
            true => Ok(()),
            false => Err(wrong(format!("a scan gives {seen} records instead of {}, or others", records.len()))),
        }
    }
}

fn edge_key(from: u32, to: u32) -> [u8; 8] {
    (u64::from(from) << 32 | u64::from(to)).to_be_bytes()
}

/// All of it, in the order of the keys, by the engine's own way.
fn load<S: WritingStore>(store: &S, network: &Network) -> Result<()> {
    Ok(store.load_sorted(network.records().iter().map(|(key, value)| (&key[..], *value)))?)
}

/// Puts the nodes, and then, timed, the edges in no order, so many in a transaction; each of these has a latency.
fn put<S: WritingStore>(store: &S, network: &Network, random: &mut Random, figures: &mut Figures) -> Result<()> {
    let nodes: Vec<[u8; 4]> = (0..network.nodes() as u32).map(u32::to_be_bytes).collect();
    for (batch, keys) in nodes.chunks(BATCH).enumerate() {
        let value = |place: usize| network.node_value((batch * BATCH + place) as u32);
        store.put_all(keys.iter().enumerate().map(|(place, key)| (&key[..], value(place))))?;
    }
    let from = |node: u32| network.targets(node).iter().map(move |&target| edge_key(node, target));
    let mut edges: Vec<([u8; 8], usize)> = (0..network.nodes() as u32).flat_map(from).zip(0..).collect();
    for last in (1..edges.len()).rev() {
        edges.swap(last, random.below(last + 1));
    }
    let mut latencies = Latencies::start();
    let watch = Stopwatch::start(Charge::Process);
    for batch in edges.chunks(BATCH) {
        store.put_all(batch.iter().map(|(key, edge)| (&key[..], network.edge_value(*edge))))?;
        latencies.lap();
    }
    note_cost(figures, &watch.pause(edges.len() as u64));
    latencies.note(figures);
    Ok(())
}

/// Asks all queries twice, without looks at the clock and with.
fn ask<S: WritingStore>(
    store: &S,
    network: &Network,
    part: GraphPart,
    queries: &[u32],
    figures: &mut Figures,
) -> Result<()> {
    let watch = Stopwatch::start(Charge::Process);
    let edges = ask_all(store, network, part, queries, || {})?;
    let sample = watch.pause(queries.len() as u64);
    note_cost(figures, &sample);
    if edges > 0 {
        figures.set("M edges/s", edges as f64 * 1e3 / sample.wall_ns);
    }
    let mut latencies = Latencies::start();
    ask_all(store, network, part, queries, || latencies.lap())?;
    latencies.note(figures);
    Ok(())
}

/// Asks all queries in their order, and calls `after` after each. Says how many edges were walked.
fn ask_all<S: WritingStore>(
    store: &S,
    network: &Network,
    part: GraphPart,
    queries: &[u32],
    mut after: impl FnMut(),
) -> Result<u64> {
    let mut edges = 0;
    for &node in queries {
        let right = match part {
            GraphPart::Put | GraphPart::Lookups => {
                let expected = network.node_value(node);
                let right = |value: &[u8]| value.len() == expected.len() && Ends::of(value) == Ends::of(expected);
                store.get(&node.to_be_bytes(), |value| value.is_some_and(right))?
            }
            GraphPart::Neighbours => neighbours(&store.snapshot()?, network, node, &mut edges)?,
            GraphPart::TwoHops => {
                let snapshot = store.snapshot()?;
                let mut right = neighbours(&snapshot, network, node, &mut edges)?;
                // They are what the store has just answered.
                for &target in network.targets(node) {
                    right &= neighbours(&snapshot, network, target, &mut edges)?;
                }
                right
            }
        };
        if !right {
            let what = format!("{part:?} of node {node} gives what was not put");
            return Err(Error::Wrong { workload: "a graph", what });
        }
        after();
    }
    Ok(edges)
}

/// Walks all edges of a node: says whether the node came first, and then each of its edges.
fn neighbours(snapshot: &impl Snapshot, network: &Network, node: u32, edges: &mut u64) -> Result<bool> {
    let targets = network.targets(node);
    let node_key = node.to_be_bytes();
    let (mut seen, mut right) = (0, true);
    snapshot.scan_prefix(&node_key, |key, _| {
        right &= match seen {
            0 => key == node_key,
            _ => targets.get(seen - 1).is_some_and(|&target| key == edge_key(node, target)),
        };
        seen += 1;
    })?;
    *edges += targets.len() as u64;
    Ok(right && seen == targets.len() + 1)
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::{Level, Lmdb, Settings, Usage, WritingEngine};

    use super::*;

    const ALL: [GraphPart; 3] = [GraphPart::Lookups, GraphPart::Neighbours, GraphPart::TwoHops];

    #[test]
    fn every_query_finds_a_lost_edge_or_a_changed_node() {
        let network = Network::new(500, 20);
        assert!((7..=11).contains(&(network.targets.len() / 500)));
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings { level: Level::Log, usage: Usage::SingleOperations };
        let store = <Lmdb as WritingEngine>::open(directory.path(), settings).unwrap();
        load(&store, &network).unwrap();
        let queries: Vec<u32> = (0..500).collect();
        let asked = |part| ask_all(&store, &network, part, &queries, || {});
        assert_eq!(ALL.map(|part| asked(part).unwrap())[..2], [0, network.targets.len() as u64]);
        network.verify(&store, "a test").unwrap();
        store.put(&7u32.to_be_bytes(), network.node_value(8)).unwrap();
        assert!(matches!(asked(GraphPart::Lookups), Err(Error::Wrong { .. })));
        store.put(&7u32.to_be_bytes(), network.node_value(7)).unwrap();
        store.put(&edge_key(7, 1_000_000), &[0; 8]).unwrap();
        for part in [GraphPart::Neighbours, GraphPart::TwoHops] {
            assert!(matches!(asked(part), Err(Error::Wrong { .. })), "{part:?}");
        }
        assert!(matches!(network.verify(&store, "a test"), Err(Error::Wrong { .. })));
    }
}
