//! Counts of ranges against what the registers held: the checker knows no counts, because a number names no versions.
//!
//! With the numbers of the commits, what was present at each is known. A count must be that of its transaction's
//! snapshot; and where its transaction committed as a serializable one, that of the commit before its own.

use std::collections::{BTreeMap, HashMap};

use super::super::history::{History, Key, Operation, Outcome, Sequence, Transaction};
use super::record::{Count, Note};

/// When each register was present.
struct Presence(BTreeMap<Key, Vec<(Sequence, bool)>>);

/// Counts that are not what they must be, in words; `notes` are those of the history's transactions.
pub(super) fn wrong(history: &History, notes: &[Note]) -> Vec<String> {
    let presence = Presence::of(history);
    let mut wrong = Vec::new();
    for (transaction, note) in history.transactions.iter().zip(notes) {
        let Some(snapshot) = transaction.snapshot.filter(|_| transaction.outcome != Outcome::Indeterminate) else {
            continue;
        };
        for count in &note.counts {
            let expected = presence.count(count, transaction, snapshot);
            if expected != count.counted {
                wrong.push(told(transaction, count, expected, snapshot, "its snapshot"));
            }
            let Some(sequence) = transaction.sequence.filter(|_| note.serializable) else { continue };
            let before = Sequence(sequence.0 - 1);
            let expected = presence.count(count, transaction, before);
            if expected != count.counted {
                wrong.push(told(transaction, count, expected, before, "a phantom: the state that it committed on"));
            }
        }
    }
    wrong
}

impl Presence {
    fn of(history: &History) -> Self {
        let mut presence: BTreeMap<Key, Vec<(Sequence, bool)>> = BTreeMap::new();
        for key in history.initial.registers.keys() {
            presence.entry(*key).or_default().push((Sequence(0), true));
        }
        for transaction in history.transactions.iter().filter(|transaction| transaction.outcome != Outcome::Aborted) {
            let Some(sequence) = transaction.sequence else { continue };
            for (key, present) in written(&transaction.operations) {
                presence.entry(key).or_default().push((sequence, present));
            }
        }
        presence.values_mut().for_each(|moments| moments.sort_unstable());
        Self(presence)
    }

    fn count(&self, count: &Count, transaction: &Transaction, at: Sequence) -> u64 {
        let own = written(&transaction.operations[..count.after]);
        let present = |moments: &[(Sequence, bool)]| {
            let until = moments.partition_point(|(sequence, _)| *sequence <= at);
            until.checked_sub(1).is_some_and(|last| moments[last].1)
        };
        let others = self.0.range(count.low..count.high).filter(|(key, _)| !own.contains_key(key));
        let others = others.filter(|(_, moments)| present(moments)).count() as u64;
        let range = count.low..count.high;
        others + own.iter().filter(|(key, present)| range.contains(key) && **present).count() as u64
    }
}

/// The final state of registers after operations: present or not.
fn written(operations: &[Operation]) -> HashMap<Key, bool> {
    operations
        .iter()
        .filter_map(|operation| match operation {
            Operation::Write { key, .. } => Some((*key, true)),
            Operation::Delete { key } => Some((*key, false)),
            _ => None,
        })
        .collect()
}

fn told(transaction: &Transaction, count: &Count, expected: u64, at: Sequence, what: &str) -> String {
    let Count { low, high, counted, .. } = count;
    let mut text = format!(
        "{counted} registers from {} up to {} were counted, but {what} ({}) holds {expected}\n  process {}: ",
        low.0, high.0, at.0, transaction.process.0
    );
    text.extend(transaction.operations.iter().take(40).map(|operation| format!("{operation}; ")));
    text
}

#[cfg(test)]
mod tests {
    use super::super::super::history::{Durability, Process, Tick, Value};
    use super::*;

    fn transaction(operations: Vec<Operation>, snapshot: u64, sequence: Option<u64>) -> Transaction {
        Transaction {
            process: Process(0),
            operations,
            outcome: Outcome::Committed,
            begin: Tick(0),
            end: Tick(1),
            snapshot: Some(Sequence(snapshot)),
            sequence: sequence.map(Sequence),
            durability: Durability::Memory,
        }
    }

    fn put(key: u64) -> Operation {
        Operation::Write { key: Key(key), value: Value(key) }
    }

    /// Counts 10..20 in a last transaction that has written 12 before, after others put 11 and deleted 10.
    fn wrong_of(snapshot: u64, sequence: Option<u64>, counted: u64, serializable: bool) -> Vec<String> {
        let mut history = History::default();
        history.initial.registers.insert(Key(10), Value(1));
        history.initial.registers.insert(Key(20), Value(1));
        history.transactions = vec![
            transaction(vec![put(11)], 0, Some(1)),
            transaction(vec![Operation::Delete { key: Key(10) }], 1, Some(2)),
            transaction(vec![put(12), put(13)], snapshot, sequence),
        ];
        let count = Count { low: Key(10), high: Key(20), counted, after: 1 };
        let note = |counts| Note { counts, began: Tick(0), serializable, stale: false, snapshot: 0 };
        wrong(&history, &[note(Vec::new()), note(Vec::new()), note(vec![count])])
    }

    #[test]
    fn a_count_is_that_of_its_snapshot_and_of_what_its_transaction_wrote() {
        for (snapshot, expected) in [(0, 2), (1, 3), (2, 2)] {
            assert!(wrong_of(snapshot, None, expected, true).is_empty());
            assert_eq!(wrong_of(snapshot, None, expected + 1, true).len(), 1);
            assert_eq!(wrong_of(snapshot, None, expected - 1, true).len(), 1);
        }
    }

    #[test]
    fn what_came_in_between_is_a_phantom_for_a_serializable_transaction_alone() {
        assert!(wrong_of(2, Some(3), 2, true).is_empty());
        assert!(wrong_of(1, Some(3), 3, false).is_empty());
        let found = wrong_of(1, Some(3), 3, true);
        assert!(found.len() == 1 && found[0].contains("phantom"), "{found:?}");
    }
}
