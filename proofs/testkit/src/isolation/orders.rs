//! Orders beside the dependencies: that of one process, and that of real time.

use super::graph::{Dependency, Edge};
use super::history::{Outcome, Tick};
use super::roles::Cast;

/// From each transaction to the next one of its process. One in doubt may have happened at any later time: nobody
/// follows it.
pub(super) fn session_edges(cast: &Cast<'_, '_>) -> Vec<Edge> {
    let mut numbers = judged(cast);
    numbers.sort_by_key(|number| {
        let transaction = cast.transactions[*number as usize];
        (transaction.process, transaction.begin)
    });
    let process = |number: u32| cast.transactions[number as usize].process;
    let mut edges = Vec::with_capacity(numbers.len());
    let mut certain: Option<u32> = None;
    for number in numbers {
        let before = certain.filter(|before| process(*before) == process(number));
        edges.extend(before.map(|before| Edge::of_order(before, number, Dependency::Session)));
        if cast.outcome(number) != Outcome::Indeterminate {
            certain = Some(number);
        }
    }
    edges
}

/// From each transaction to those that began after its end, without the edges that others imply. There are at most as
/// many for each transaction as ran at the same time, twice over.
pub(super) fn real_time_edges(cast: &Cast<'_, '_>) -> Vec<Edge> {
    let numbers = judged(cast);
    let mut moments: Vec<(Tick, bool, u32)> = Vec::with_capacity(2 * numbers.len());
    for number in numbers {
        let transaction = cast.transactions[number as usize];
        moments.push((transaction.begin, false, number));
        // What was in doubt may have happened at any time.
        if transaction.outcome != Outcome::Indeterminate {
            moments.push((transaction.end, true, number));
        }
    }
    // At the same tick nothing is known: a transaction that begins then does not come after one that ends then.
    moments.sort_unstable();
    let mut edges = Vec::new();
    // Those that have ended, without those that had ended when another of these began.
    let mut ended: Vec<u32> = Vec::new();
    for (_, is_end, number) in moments {
        if !is_end {
            edges.extend(ended.iter().map(|before| Edge::of_order(*before, number, Dependency::RealTime)));
            continue;
        }
        let begin = cast.transactions[number as usize].begin;
        ended.retain(|before| cast.transactions[*before as usize].end >= begin);
        ended.push(number);
    }
    edges
}

fn judged(cast: &Cast<'_, '_>) -> Vec<u32> {
    (0..cast.transactions.len() as u32).filter(|number| cast.reads(*number) && cast.ending != Some(*number)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::history::{Durability, End, History, Process, Transaction};
    use super::super::observations::Observations;
    use super::*;
    use crate::random::Random;

    #[test]
    fn reduced_real_time_edges_imply_the_whole_order_and_nothing_else() {
        let mut random = Random::new(5);
        for _ in 0..200 {
            let count = 1 + random.index(15);
            let transactions: Vec<Transaction> = (0..count)
                .map(|_| {
                    let begin = random.below(40);
                    Transaction {
                        process: Process(0),
                        operations: Vec::new(),
                        outcome: if random.chance(1, 8) { Outcome::Aborted } else { Outcome::Committed },
                        begin: Tick(begin),
                        end: Tick(begin + random.below(12)),
                        snapshot: None,
                        sequence: None,
                        durability: Durability::Disk,
                    }
                })
                .collect();
            let history = History { transactions, ..History::default() };
            let all: Vec<&Transaction> = history.transactions.iter().collect();
            let cast = Cast::new(&End::Open, &all, &Observations { lists: Vec::new(), registers: Vec::new() }, false);
            let edges = real_time_edges(&cast);
            let mut reach = vec![vec![false; all.len()]; all.len()];
            for edge in &edges {
                reach[edge.from as usize][edge.to as usize] = true;
            }
            for middle in 0..all.len() {
                for from in 0..all.len() {
                    for to in 0..all.len() {
                        reach[from][to] |= reach[from][middle] && reach[middle][to];
                    }
                }
            }
            for (from, reached) in reach.iter().enumerate() {
                for (to, reached) in reached.iter().enumerate() {
                    let judged = |number: usize| all[number].outcome == Outcome::Committed;
                    let expected = judged(from) && judged(to) && all[from].end < all[to].begin;
                    assert_eq!(*reached, expected, "{from} {to} {all:?}");
                }
            }
        }
    }
}
