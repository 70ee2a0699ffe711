//! The dependency graph: who must come before whom, and why; its strongly connected components and short cycles.

use std::collections::VecDeque;
use std::ops::{BitOr, Range};

use super::observations::Place;

/// Why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Dependency {
    /// ww: the other one replaced the version that it installed.
    WriteWrite,
    /// wr: the other one read the version that it installed.
    WriteRead,
    /// rw, anti-dependency: the other one replaced the version that it read.
    ReadWrite,
    /// rw by predicate: the other one inserted a key into a range that it had read without it.
    PredicateReadWrite,
    /// The same process ran it before the other one.
    Session,
    /// It had ended when the other one began.
    RealTime,
}

/// A set of kinds of dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dependencies(u8);

/// A dependency between two transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub from: u32,
    pub to: u32,
    pub dependency: Dependency,
    /// The operations that prove it; of no meaning for orders beside the dependencies.
    pub from_operation: u32,
    pub to_operation: u32,
}

/// A graph of `node_count` nodes, whose edges are sorted by where they come from.
#[derive(Debug)]
pub(super) struct Graph {
    starts: Vec<u32>,
    edges: Vec<Edge>,
}

impl Dependencies {
    pub(super) const WW: Self = Self(1 << Dependency::WriteWrite as u8);
    pub(super) const WR: Self = Self(1 << Dependency::WriteRead as u8);
    pub(super) const RW_ITEM: Self = Self(1 << Dependency::ReadWrite as u8);
    pub(super) const RW_PREDICATE: Self = Self(1 << Dependency::PredicateReadWrite as u8);
    pub(super) const SESSION: Self = Self(1 << Dependency::Session as u8);
    pub(super) const REAL_TIME: Self = Self(1 << Dependency::RealTime as u8);
    pub(super) const RW: Self = Self(Self::RW_ITEM.0 | Self::RW_PREDICATE.0);

    pub(super) fn contain(self, dependency: Dependency) -> bool {
        self.0 & (1 << dependency as u8) != 0
    }
}

impl BitOr for Dependencies {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Dependency {
    pub(super) fn is_anti(self) -> bool {
        Dependencies::RW.contain(self)
    }
}

impl Edge {
    pub(super) fn new(from: Place, to: Place, dependency: Dependency) -> Self {
        let (from_operation, to_operation) = (from.operation, to.operation);
        Self { from: from.transaction, to: to.transaction, dependency, from_operation, to_operation }
    }

    /// An edge that no operation proves.
    pub(super) fn of_order(from: u32, to: u32, dependency: Dependency) -> Self {
        Self { from, to, dependency, from_operation: 0, to_operation: 0 }
    }
}

impl Graph {
    /// Sorts the edges; of those of one kind between two nodes one remains.
    pub(super) fn new(node_count: usize, mut edges: Vec<Edge>) -> Self {
        edges.sort_unstable();
        edges.dedup_by_key(|edge| (edge.from, edge.to, edge.dependency));
        let mut starts = vec![0; node_count + 1];
        for edge in &edges {
            starts[edge.from as usize + 1] += 1;
        }
        for node in 0..node_count {
            starts[node + 1] += starts[node];
        }
        Self { starts, edges }
    }

    pub(super) fn node_count(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    fn range(&self, node: u32) -> Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }

    /// The strongly connected components of more than one node, by the edges of these kinds (Tarjan's algorithm, with
    /// its recursion on a stack of our own: a history may be one path of all its transactions).
    pub(super) fn components(&self, kinds: Dependencies) -> Vec<Vec<u32>> {
        const UNSEEN: u32 = u32::MAX;
        let count = self.node_count();
        let (mut order, mut lowest, mut on_stack) = (vec![UNSEEN; count], vec![0; count], vec![false; count]);
        let (mut stack, mut calls, mut components) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = 0;
        for root in 0..count as u32 {
            if order[root as usize] != UNSEEN {
                continue;
            }
            calls.push((root, self.range(root).start));
            while let Some((node, at)) = calls.last_mut() {
                let (here, range) = (*node as usize, self.range(*node));
                if order[here] == UNSEEN {
                    (order[here], lowest[here], on_stack[here]) = (next, next, true);
                    next += 1;
                    stack.push(*node);
                }
                if *at < range.end {
                    let edge = self.edges[*at];
                    *at += 1;
                    let to = edge.to as usize;
                    if !kinds.contain(edge.dependency) {
                        continue;
                    } else if order[to] == UNSEEN {
                        calls.push((edge.to, self.range(edge.to).start));
                    } else if on_stack[to] {
                        lowest[here] = lowest[here].min(order[to]);
                    }
                    continue;
                }
                calls.pop();
                if let Some((caller, _)) = calls.last() {
                    let caller = *caller as usize;
                    lowest[caller] = lowest[caller].min(lowest[here]);
                }
                if lowest[here] == order[here] {
                    let from = stack.iter().rposition(|node| *node as usize == here).expect("it is on the stack");
                    stack[from..].iter().for_each(|node| on_stack[*node as usize] = false);
                    let component = stack.split_off(from);
                    components.extend((component.len() > 1).then_some(component));
                }
            }
        }
        components
    }

    /// For each node, one of `beginnings` from which edges of these kinds lead to it, if any do; a beginning has
    /// itself.
    pub(super) fn reached_from(&self, beginnings: impl Iterator<Item = u32>, kinds: Dependencies) -> Vec<Option<u32>> {
        let mut reached = vec![None; self.node_count()];
        let mut waiting: Vec<u32> = beginnings.collect();
        waiting.iter().for_each(|node| reached[*node as usize] = Some(*node));
        while let Some(node) = waiting.pop() {
            for edge in self.edges[self.range(node)].iter().filter(|edge| kinds.contain(edge.dependency)) {
                if reached[edge.to as usize].is_none() {
                    reached[edge.to as usize] = reached[node as usize];
                    waiting.push(edge.to);
                }
            }
        }
        reached
    }

    /// The graph of these nodes and the edges between them. Its nodes are numbered by their place among `nodes`.
    pub(super) fn induced(&self, nodes: &[u32], number_of: &mut [u32]) -> Self {
        for (number, node) in nodes.iter().enumerate() {
            number_of[*node as usize] = number as u32;
        }
        let number = |node: u32| {
            let number = number_of[node as usize];
            nodes.get(number as usize).is_some_and(|inside| *inside == node).then_some(number)
        };
        let inside = |edge: &Edge| Some(Edge { from: number(edge.from)?, to: number(edge.to)?, ..*edge });
        let edges = nodes.iter().flat_map(|node| self.edges[self.range(*node)].iter().filter_map(inside)).collect();
        Self::new(nodes.len(), edges)
    }

    /// A short cycle: one edge of the kinds `first`, then edges of the kinds `rest`. The shortest there is, unless
    /// the graph is so large that looking at all its edges for each beginning would take too long; `None` only if
    /// there is none, or if it was not found within that bound.
    ///
    /// Requires: no edge leads from a node to itself.
    pub(super) fn short_cycle(&self, first: Dependencies, rest: Dependencies) -> Option<Vec<Edge>> {
        let mut search = Search { graph: self, reached: vec![NOBODY; self.node_count()], budget: BUDGET_EDGES };
        let component_of = self.component_numbers(first | rest);
        let begins = |edge: &&Edge| {
            let within = component_of[edge.from as usize];
            first.contain(edge.dependency) && within != NOBODY && within == component_of[edge.to as usize]
        };
        let beginnings: Vec<&Edge> = self.edges.iter().filter(begins).collect();
        // Deeper only if nobody has a shorter one: almost all cycles that matter have two or three edges.
        for depth in [1, 2, 3, 5, 8, 16, 64, u32::MAX] {
            let mut shortest: Option<Vec<Edge>> = None;
            for (number, beginning) in beginnings.iter().enumerate() {
                let depth = shortest.as_ref().map_or(depth, |cycle| cycle.len() as u32 - 2);
                if depth == 0 || (search.budget == 0 && number > 0) {
                    break;
                }
                if let Some(back) = search.path(beginning.to, beginning.from, rest, depth) {
                    let mut cycle = vec![**beginning];
                    cycle.extend(back);
                    shortest = Some(cycle);
                }
            }
            if shortest.is_some() {
                return shortest;
            }
            search.budget = BUDGET_EDGES;
        }
        None
    }

    /// The number of each node's component; [`NOBODY`] for a node that is on no cycle.
    fn component_numbers(&self, kinds: Dependencies) -> Vec<u32> {
        let mut numbers = vec![NOBODY; self.node_count()];
        for (number, component) in self.components(kinds).into_iter().enumerate() {
            for node in component {
                numbers[node as usize] = number as u32;
            }
        }
        numbers
    }
}

/// A breadth-first search whose memory serves again.
struct Search<'g> {
    graph: &'g Graph,
    /// The edge by which a node was reached.
    reached: Vec<u32>,
    /// Edges that it may still look at, where there is more than one beginning.
    budget: usize,
}

const NOBODY: u32 = u32::MAX;

/// Edges looked at for one depth: about a tenth of a second.
const BUDGET_EDGES: usize = 20_000_000;

impl Search<'_> {
    /// The shortest path, of at most so many edges.
    fn path(&mut self, from: u32, to: u32, kinds: Dependencies, depth_max: u32) -> Option<Vec<Edge>> {
        let mut queue = VecDeque::from([(from, 0)]);
        let mut touched = Vec::new();
        let mut found = false;
        'search: while let Some((node, depth)) = queue.pop_front() {
            if depth == depth_max {
                break;
            }
            for at in self.graph.range(node) {
                self.budget = self.budget.saturating_sub(1);
                let edge = &self.graph.edges[at];
                let unseen = edge.to != from && self.reached[edge.to as usize] == NOBODY;
                if !unseen || !kinds.contain(edge.dependency) {
                    continue;
                }
                self.reached[edge.to as usize] = at as u32;
                touched.push(edge.to);
                if edge.to == to {
                    found = true;
                    break 'search;
                }
                queue.push_back((edge.to, depth + 1));
            }
        }
        let mut path = Vec::new();
        let mut node = to;
        while found && node != from {
            let edge = self.graph.edges[self.reached[node as usize] as usize];
            path.push(edge);
            node = edge.from;
        }
        path.reverse();
        touched.into_iter().for_each(|node| self.reached[node as usize] = NOBODY);
        found.then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const ALL: Dependencies = Dependencies(u8::MAX);

    fn graph(node_count: usize, edges: &[(u32, u32, Dependency)]) -> Graph {
        let edges = edges.iter().map(|(from, to, kind)| Edge::of_order(*from, *to, *kind));
        Graph::new(node_count, edges.collect())
    }

    /// Which nodes reach which, by Warshall's algorithm.
    fn closure(graph: &Graph) -> Vec<Vec<bool>> {
        let count = graph.node_count();
        let mut reach = vec![vec![false; count]; count];
        for edge in graph.edges() {
            reach[edge.from as usize][edge.to as usize] = true;
        }
        for middle in 0..count {
            for from in 0..count {
                for to in 0..count {
                    reach[from][to] |= reach[from][middle] && reach[middle][to];
                }
            }
        }
        reach
    }

    #[test]
    fn components_are_those_that_reach_each_other() {
        let mut random = Random::new(7);
        let mut large = 0;
        for _ in 0..300 {
            let count = 1 + random.index(12);
            let edges: Vec<(u32, u32, Dependency)> = (0..random.index(20))
                .map(|_| (random.index(count) as u32, random.index(count) as u32, Dependency::WriteWrite))
                .filter(|(from, to, _)| from != to)
                .collect();
            let graph = graph(count, &edges);
            let reach = closure(&graph);
            let mut expected = vec![None; count];
            for (number, component) in graph.components(ALL).into_iter().enumerate() {
                component.into_iter().for_each(|node| expected[node as usize] = Some(number));
            }
            for a in 0..count {
                assert_eq!(expected[a].is_some(), reach[a][a], "{edges:?}");
                for b in 0..count {
                    let together = expected[a].is_some() && expected[a] == expected[b];
                    assert_eq!(together, reach[a][b] && reach[b][a], "{edges:?}");
                    large += usize::from(together && a != b);
                }
            }
        }
        assert!(large > 100, "{large}");
    }

    #[test]
    fn a_path_of_a_million_nodes_does_not_overflow_the_stack() {
        let mut edges: Vec<_> = (0..1_000_000).map(|node| (node, node + 1, Dependency::WriteWrite)).collect();
        assert!(graph(1_000_001, &edges).components(ALL).is_empty());
        edges.push((1_000_000, 0, Dependency::WriteWrite));
        let graph = graph(1_000_001, &edges);
        assert_eq!(graph.components(ALL).len(), 1);
        let cycle = graph.short_cycle(ALL, ALL).expect("there is one");
        assert_eq!(cycle.len(), 1_000_001);
    }

    #[test]
    fn the_shortest_cycle_is_found_and_its_first_edge_is_of_the_kind_asked_for() {
        use Dependency::{ReadWrite, WriteRead, WriteWrite};
        let edges = [
            (0, 1, WriteWrite),
            (1, 2, WriteWrite),
            (2, 0, WriteWrite),
            (2, 3, ReadWrite),
            (3, 4, WriteRead),
            (4, 2, WriteRead),
            (3, 2, ReadWrite),
        ];
        let graph = graph(6, &edges);
        let steps = |first, rest| {
            let cycle = graph.short_cycle(first, rest)?;
            Some(cycle.iter().map(|edge| edge.from).collect::<Vec<_>>())
        };
        assert_eq!(steps(Dependencies::WW, Dependencies::WW), Some(vec![0, 1, 2]));
        assert_eq!(steps(Dependencies::RW, Dependencies::RW), Some(vec![2, 3]));
        assert_eq!(steps(Dependencies::RW, Dependencies::WR), Some(vec![2, 3, 4]));
        assert_eq!(steps(Dependencies::WR, Dependencies::WR), None);
        assert_eq!(steps(Dependencies::RW_PREDICATE, ALL), None);
    }

    #[test]
    fn a_shorter_cycle_is_preferred_to_one_found_before() {
        let ring = |from: u32, count: u32| {
            (0..count).map(move |at| (from + at, from + (at + 1) % count, Dependency::WriteRead))
        };
        let graph = graph(16, &ring(0, 9).chain(ring(9, 7)).collect::<Vec<_>>());
        assert_eq!(graph.short_cycle(ALL, ALL).map(|cycle| cycle.len()), Some(7));
    }

    #[test]
    fn short_cycles_are_the_shortest_of_random_graphs() {
        let mut random = Random::new(11);
        for _ in 0..300 {
            let count = 2 + random.index(9);
            let edges: Vec<(u32, u32, Dependency)> = (0..random.index(22))
                .map(|_| (random.index(count) as u32, random.index(count) as u32, Dependency::WriteRead))
                .filter(|(from, to, _)| from != to)
                .collect();
            let graph = graph(count, &edges);
            let mut search = Search { graph: &graph, reached: vec![NOBODY; count], budget: usize::MAX };
            let back = |edge: &Edge| search.path(edge.to, edge.from, ALL, u32::MAX);
            let expected = graph.edges().iter().filter_map(back).map(|path| path.len() + 1).min();
            let cycle = graph.short_cycle(ALL, ALL);
            assert_eq!(cycle.as_ref().map(Vec::len), expected, "{edges:?}");
            if let Some(cycle) = cycle {
                assert!(cycle.windows(2).all(|pair| pair[0].to == pair[1].from));
                assert_eq!(cycle[0].from, cycle[cycle.len() - 1].to);
            }
        }
    }

    #[test]
    fn an_induced_graph_keeps_the_edges_between_its_nodes() {
        let whole =
            graph(5, &[(0, 1, Dependency::WriteWrite), (1, 3, Dependency::WriteRead), (3, 4, Dependency::WriteRead)]);
        let mut numbers = vec![0; 5];
        let part = whole.induced(&[3, 1], &mut numbers);
        assert_eq!(part.edges(), [Edge::of_order(1, 0, Dependency::WriteRead)]);
    }
}
