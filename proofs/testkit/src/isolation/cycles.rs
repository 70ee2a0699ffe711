//! Cycles of the dependency graph, found and named by the kinds of their edges.
//!
//! Whether there is a cycle that a level forbids is decided exactly: for serializability by the strongly connected
//! components, for snapshot isolation by those of a graph that has each node twice, as reached by an anti-dependency or
//! not, and has no edges for two anti-dependencies in a row. Which one to show is searched for, from the worst kind on.

use super::anomaly::{AnomalyKind, Beside, Findings};
use super::graph::{Dependencies, Dependency, Edge, Graph};
use super::observations::Place;
use super::roles::Cast;
use super::text::{named, short};

/// Adds the cycles of the graph: of each strongly connected component one of each kind.
pub(super) fn report(graph: &Graph, besides: &[Beside], cast: &Cast<'_, '_>, findings: &mut Findings) {
    let mut numbers = vec![0; graph.node_count()];
    for nodes in graph.components(kinds_of_all(besides)) {
        let part = graph.induced(&nodes, &mut numbers);
        let mut found: Vec<(AnomalyKind, Beside)> = Vec::new();
        for cycle in cycles(&part, besides) {
            let class = classify(&cycle);
            if found.contains(&class) {
                continue;
            }
            found.push(class);
            let outside = |edge: &Edge| Edge { from: nodes[edge.from as usize], to: nodes[edge.to as usize], ..*edge };
            let cycle: Vec<Edge> = cycle.iter().map(outside).collect();
            let transactions: Vec<u32> = cycle.iter().map(|edge| edge.from).collect();
            findings.add_beside(class.0, class.1, &transactions, || text(&cycle, cast));
        }
    }
}

fn kinds_of(beside: Beside) -> Dependencies {
    let all = Dependencies::WW | Dependencies::WR | Dependencies::RW;
    match beside {
        Beside::Nothing => all,
        Beside::Session => all | Dependencies::SESSION,
        Beside::RealTime => all | Dependencies::REAL_TIME,
    }
}

fn kinds_of_all(besides: &[Beside]) -> Dependencies {
    besides.iter().map(|beside| kinds_of(*beside)).fold(kinds_of(Beside::Nothing), |all, kinds| all | kinds)
}

/// A cycle of each kind, worst first, if there is one; some come twice.
fn cycles(graph: &Graph, besides: &[Beside]) -> Vec<Vec<Edge>> {
    let mut cycles = Vec::new();
    for beside in [Beside::Nothing].iter().chain(besides) {
        let order = match beside {
            Beside::Nothing => Dependencies::WW,
            Beside::Session => Dependencies::SESSION,
            Beside::RealTime => Dependencies::REAL_TIME,
        };
        let (writes, information) = (Dependencies::WW | order, Dependencies::WW | Dependencies::WR | order);
        let stages = [
            (Dependencies::WW, writes),
            (Dependencies::WR, information),
            (Dependencies::RW_ITEM, information),
            (Dependencies::RW_PREDICATE, information),
        ];
        cycles.extend(stages.into_iter().filter_map(|(first, rest)| graph.short_cycle(first, rest)));
        cycles.extend(nonadjacent_cycle(graph, kinds_of(*beside)));
        let stages = [
            (Dependencies::RW_ITEM, information | Dependencies::RW_ITEM),
            (Dependencies::RW_PREDICATE, information | Dependencies::RW),
        ];
        cycles.extend(stages.into_iter().filter_map(|(first, rest)| graph.short_cycle(first, rest)));
    }
    cycles
}

/// A cycle without two anti-dependencies in a row.
fn nonadjacent_cycle(graph: &Graph, kinds: Dependencies) -> Option<Vec<Edge>> {
    // Node n as reached by an anti-dependency is 2n + 1, else 2n.
    let mut doubled = Vec::new();
    for edge in graph.edges() {
        let to = 2 * edge.to + u32::from(edge.dependency.is_anti());
        doubled.push(Edge { from: 2 * edge.from, to, ..*edge });
        if !edge.dependency.is_anti() {
            doubled.push(Edge { from: 2 * edge.from + 1, to, ..*edge });
        }
    }
    let cycle = Graph::new(2 * graph.node_count(), doubled).short_cycle(kinds, kinds)?;
    let cycle = cycle.iter().map(|edge| Edge { from: edge.from / 2, to: edge.to / 2, ..*edge }).collect();
    Some(without_detours(cycle))
}

/// Of a closed walk without two anti-dependencies in a row, a part that is closed, has none either and meets no node
/// twice.
///
/// Where a walk meets a node twice it can be cut there into two closed walks. One of them may have anti-dependencies
/// at both ends; the other one then has none at either.
fn without_detours(mut cycle: Vec<Edge>) -> Vec<Edge> {
    'cut: loop {
        for first in 0..cycle.len() {
            for second in first + 1..cycle.len() {
                if cycle[first].from == cycle[second].from {
                    let inner: Vec<Edge> = cycle[first..second].to_vec();
                    if has_adjacent(&inner) {
                        cycle.drain(first..second);
                    } else {
                        cycle = inner;
                    }
                    continue 'cut;
                }
            }
        }
        return cycle;
    }
}

/// Whether two anti-dependencies of a cycle follow each other; in a cycle of one edge that one follows itself.
fn has_adjacent(cycle: &[Edge]) -> bool {
    let next = cycle.iter().cycle().skip(1);
    cycle.iter().zip(next).any(|(edge, next)| edge.dependency.is_anti() && next.dependency.is_anti())
}

fn classify(cycle: &[Edge]) -> (AnomalyKind, Beside) {
    let has = |dependency: Dependency| cycle.iter().any(|edge| edge.dependency == dependency);
    let beside = match (has(Dependency::RealTime), has(Dependency::Session)) {
        (true, _) => Beside::RealTime,
        (false, true) => Beside::Session,
        (false, false) => Beside::Nothing,
    };
    let predicate = has(Dependency::PredicateReadWrite);
    let kind = match cycle.iter().filter(|edge| edge.dependency.is_anti()).count() {
        0 if has(Dependency::WriteRead) => AnomalyKind::G1c,
        0 => AnomalyKind::G0,
        1 if predicate => AnomalyKind::GSinglePredicate,
        1 => AnomalyKind::GSingle,
        _ if !has_adjacent(cycle) => AnomalyKind::GNonadjacent,
        _ if predicate => AnomalyKind::G2,
        _ => AnomalyKind::G2Item,
    };
    (kind, beside)
}

/// The cycle in its order, with the operations that prove each step.
fn text(cycle: &[Edge], cast: &Cast<'_, '_>) -> String {
    let transactions = cast.transactions;
    let mut text = format!("a cycle of {} transactions", cycle.len());
    if let [one, other] = cycle {
        let kinds = [one.dependency, other.dependency];
        if kinds.contains(&Dependency::WriteRead) && kinds.iter().any(|kind| kind.is_anti()) {
            text.push_str(", a fractured read: one sees a part of the other");
        } else if kinds.contains(&Dependency::WriteWrite) && kinds.iter().any(|kind| kind.is_anti()) {
            text.push_str(", an update that is lost if both are of one key");
        }
    }
    for edge in cycle.iter().take(STEPS_MAX) {
        let (from, to) = (short(transactions, edge.from), short(transactions, edge.to));
        let from_operation = Place { transaction: edge.from, operation: edge.from_operation };
        let to_operation = Place { transaction: edge.to, operation: edge.to_operation };
        let (sign, why) = match edge.dependency {
            Dependency::WriteWrite => ("ww", "was replaced or followed by"),
            Dependency::WriteRead => ("wr", "was seen by"),
            Dependency::ReadWrite => ("rw", "did not see"),
            Dependency::PredicateReadWrite => ("rw by predicate", "did not have in its range"),
            Dependency::Session => ("session", ""),
            Dependency::RealTime => ("real time", ""),
        };
        text.push_str(&format!("\n  {from} -{sign}-> {to}: "));
        match edge.dependency {
            Dependency::Session => text.push_str("the same process ran it before"),
            Dependency::RealTime => text.push_str("it had ended when the other one began"),
            _ => {
                let (from, to) = (cast.operation(from_operation), cast.operation(to_operation));
                text.push_str(&format!("`{from}` {why} `{to}`"));
            }
        }
    }
    if cycle.len() > STEPS_MAX {
        text.push_str(&format!("\n  and {} more steps", cycle.len() - STEPS_MAX));
    }
    for edge in cycle.iter().take(STEPS_MAX) {
        text.push_str(&format!("\n  {}", named(transactions, edge.from)));
    }
    text
}

/// Steps of a cycle that a report shows.
const STEPS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn random_edges(random: &mut Random, nodes: usize, count: usize) -> Vec<Edge> {
        let kinds =
            [Dependency::WriteWrite, Dependency::WriteRead, Dependency::ReadWrite, Dependency::PredicateReadWrite];
        (0..count)
            .map(|_| (random.index(nodes) as u32, random.index(nodes) as u32, kinds[random.index(4)]))
            .filter(|(from, to, _)| from != to)
            .map(|(from, to, kind)| Edge::of_order(from, to, kind))
            .collect()
    }

    /// All simple cycles, by trying every path.
    fn simple_cycles(graph: &Graph, path: &mut Vec<Edge>, cycles: &mut Vec<Vec<Edge>>) {
        for edge in graph.edges() {
            let begins = path.is_empty();
            if !begins && edge.from != path[path.len() - 1].to {
                continue;
            }
            if !begins && edge.to == path[0].from {
                path.push(*edge);
                cycles.push(path.clone());
                path.pop();
            } else if begins || path.iter().all(|step| step.from != edge.to && step.to != edge.to) {
                path.push(*edge);
                simple_cycles(graph, path, cycles);
                path.pop();
            }
        }
    }

    #[test]
    fn a_cycle_is_found_for_snapshot_isolation_exactly_if_there_is_one_without_adjacent_anti_dependencies() {
        let mut random = Random::new(23);
        let mut outcomes = [0; 2];
        for _ in 0..600 {
            let (nodes, count) = (2 + random.index(5), 2 + random.index(9));
            let graph = Graph::new(nodes, random_edges(&mut random, nodes, count));
            let mut all = Vec::new();
            simple_cycles(&graph, &mut Vec::new(), &mut all);
            let forbidden = |cycle: &&Vec<Edge>| !has_adjacent(cycle);
            let expected = all.iter().filter(forbidden).count() > 0;
            let found = nonadjacent_cycle(&graph, kinds_of(Beside::Nothing));
            assert_eq!(found.is_some(), expected, "{:?}", graph.edges());
            outcomes[usize::from(expected)] += 1;
            if let Some(cycle) = found {
                assert!(all.contains(&cycle), "{cycle:?} is not a simple cycle of {:?}", graph.edges());
                assert!(!has_adjacent(&cycle), "{cycle:?}");
            }
        }
        assert!(outcomes.iter().all(|count| *count > 100), "{outcomes:?}");
    }

    #[test]
    fn the_worst_kinds_of_a_graph_are_all_found() {
        use AnomalyKind::{G0, G1c, GSingle, GSinglePredicate};
        let mut random = Random::new(29);
        let mut counts = [0; 4];
        for _ in 0..600 {
            let (nodes, count) = (2 + random.index(5), 2 + random.index(9));
            let graph = Graph::new(nodes, random_edges(&mut random, nodes, count));
            let mut all = Vec::new();
            simple_cycles(&graph, &mut Vec::new(), &mut all);
            let found: Vec<AnomalyKind> = cycles(&graph, &[]).iter().map(|cycle| classify(cycle).0).collect();
            for (index, kind) in [G0, G1c, GSingle, GSinglePredicate].into_iter().enumerate() {
                let expected = all.iter().any(|cycle| classify(cycle).0 == kind);
                assert_eq!(found.contains(&kind), expected, "{kind:?}: {:?}", graph.edges());
                counts[index] += usize::from(expected);
            }
            assert_eq!(found.is_empty(), all.is_empty());
        }
        assert!(counts.iter().all(|count| *count > 30), "{counts:?}");
    }

    #[test]
    fn a_detour_is_cut_so_that_no_anti_dependencies_meet() {
        use Dependency::{ReadWrite, WriteWrite};
        let walk = [(0, 1, ReadWrite), (1, 2, WriteWrite), (2, 0, ReadWrite), (0, 3, WriteWrite), (3, 0, WriteWrite)];
        let walk: Vec<Edge> = walk.iter().map(|(from, to, kind)| Edge::of_order(*from, *to, *kind)).collect();
        assert!(!has_adjacent(&walk));
        assert_eq!(without_detours(walk.clone()), walk[3..]);
        assert_eq!(without_detours([&walk[3..], &walk[..3]].concat()), walk[3..]);
    }

    #[test]
    fn cycles_have_the_names_of_the_literature() {
        use Dependency::{
            PredicateReadWrite as Rwp, ReadWrite as Rw, RealTime, Session, WriteRead as Wr, WriteWrite as Ww,
        };
        let named = |kinds: &[Dependency]| {
            let count = kinds.len() as u32;
            let edges = (0..).zip(kinds).map(|(from, kind)| Edge::of_order(from, (from + 1) % count, *kind));
            classify(&edges.collect::<Vec<_>>())
        };
        assert_eq!(named(&[Ww, Ww]), (AnomalyKind::G0, Beside::Nothing));
        assert_eq!(named(&[Ww, Wr]), (AnomalyKind::G1c, Beside::Nothing));
        assert_eq!(named(&[Wr, Session]), (AnomalyKind::G1c, Beside::Session));
        assert_eq!(named(&[Rw, Wr]), (AnomalyKind::GSingle, Beside::Nothing));
        assert_eq!(named(&[Rw, RealTime]), (AnomalyKind::GSingle, Beside::RealTime));
        assert_eq!(named(&[Rwp, Wr, Ww]), (AnomalyKind::GSinglePredicate, Beside::Nothing));
        assert_eq!(named(&[Rw, Wr, Rw, Wr]), (AnomalyKind::GNonadjacent, Beside::Nothing));
        assert_eq!(named(&[Rw, Wr, Rw]), (AnomalyKind::G2Item, Beside::Nothing));
        assert_eq!(named(&[Rw, Rw]), (AnomalyKind::G2Item, Beside::Nothing));
        assert_eq!(named(&[Rw, Rwp]), (AnomalyKind::G2, Beside::Nothing));
    }
}
