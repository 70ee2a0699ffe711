//! Places of bulk loads among the commits: a load has no number, and happens between two commits.
//!
//! Every number of the engine is multiplied, which leaves places for the loads after a commit. A snapshot at such a
//! commit may be older or younger than a load; if time does not decide it, the snapshot gets no number.

use super::super::history::{Sequence, Tick, Transaction};
use super::record::{Load, Note};

/// Gives commits, snapshots and loads new numbers. `notes` are those of the transactions.
pub(super) fn number(transactions: &mut [Transaction], notes: &[Note], mut loads: Vec<Load>) {
    loads.sort_by_key(|load| (load.sequence, load.inside));
    let of_commit = |sequence: u64| {
        let start = loads.partition_point(|load| load.sequence < sequence);
        let end = loads.partition_point(|load| load.sequence <= sequence);
        &loads[start..end]
    };
    let ends: Vec<Tick> = transactions.iter().map(|transaction| transaction.end).collect();
    for (transaction, note) in transactions.iter_mut().zip(notes) {
        transaction.sequence = transaction.sequence.map(|sequence| Sequence(sequence.0 * PLACES));
        let Some(snapshot) = transaction.snapshot else { continue };
        let beside = of_commit(snapshot.0);
        assert!((beside.len() as u64) < PLACES, "{} loads between two commits", beside.len());
        let certain = beside.iter().filter(|load| ends[load.transaction] < transaction.begin).count();
        let possible = beside.iter().filter(|load| load.inside < note.began).count();
        // A reader of the durable state may read an older state than readers before it.
        let known = certain == possible && (beside.is_empty() || !note.stale);
        transaction.snapshot = known.then_some(Sequence(snapshot.0 * PLACES + certain as u64));
    }
    for (number, load) in loads.iter().enumerate() {
        let before = loads[..number].iter().filter(|other| other.sequence == load.sequence).count() as u64;
        let transaction = &mut transactions[load.transaction];
        transaction.snapshot = Some(Sequence(load.sequence * PLACES + before));
        transaction.sequence = Some(Sequence(load.sequence * PLACES + before + 1));
    }
}

/// More than loads follow each other without a commit between.
const PLACES: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::super::super::history::{Durability, Outcome, Process};
    use super::*;

    fn transaction(ticks: (u64, u64), snapshot: Option<u64>, sequence: Option<u64>) -> Transaction {
        Transaction {
            process: Process(0),
            operations: Vec::new(),
            outcome: Outcome::Committed,
            begin: Tick(ticks.0),
            end: Tick(ticks.1),
            snapshot: snapshot.map(Sequence),
            sequence: sequence.map(Sequence),
            durability: Durability::Disk,
        }
    }

    fn note(began: u64) -> Note {
        Note { counts: Vec::new(), began: Tick(began), serializable: true, stale: false, snapshot: 0 }
    }

    #[test]
    fn a_load_stands_between_two_commits_and_snapshots_before_and_after_it() {
        let mut transactions = vec![
            transaction((1, 5), Some(6), Some(7)),
            transaction((10, 20), None, None),
            transaction((21, 30), None, None),
            // Before both loads, between them, after them; beside the first; and at another commit.
            transaction((6, 8), Some(7), None),
            transaction((20, 23), Some(7), Some(9)),
            transaction((31, 34), Some(7), Some(8)),
            transaction((13, 26), Some(7), None),
            transaction((13, 26), Some(8), None),
        ];
        transactions[4].begin = Tick(21);
        transactions[2].begin = Tick(22);
        let notes: Vec<Note> = [2, 15, 25, 7, 22, 32, 17, 17].map(note).into();
        let load = |transaction, inside| Load { transaction, sequence: 7, inside: Tick(inside) };
        number(&mut transactions, &notes, vec![load(2, 25), load(1, 15)]);
        let places = |transaction: &Transaction| {
            let split = |sequence: Sequence| (sequence.0 / PLACES, sequence.0 % PLACES);
            (transaction.snapshot.map(split), transaction.sequence.map(split))
        };
        let found: Vec<_> = transactions.iter().map(places).collect();
        assert_eq!(
            found,
            [
                (Some((6, 0)), Some((7, 0))),
                (Some((7, 0)), Some((7, 1))),
                (Some((7, 1)), Some((7, 2))),
                (Some((7, 0)), None),
                (Some((7, 1)), Some((9, 0))),
                (Some((7, 2)), Some((8, 0))),
                (None, None),
                (Some((8, 0)), None),
            ]
        );
    }
}
