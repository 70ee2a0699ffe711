//! Histories of the length that a run has: made as fast as they are checked, by executing transactions one after the
//! other and letting them overlap in time.

use super::*;
use crate::random::Random;

/// Processes that run at the same time.
const PROCESSES: usize = 8;

/// Keys of each kind that are in use at one time. They move on, so that lists stay short.
const KEYS: u64 = 64;

/// Transactions after which the keys move on by one.
const TRANSACTIONS_PER_KEY: u64 = 40;

fn long_history(transactions: u64, seed: u64) -> History {
    let mut random = Random::new(seed);
    let mut content = Content::default();
    let mut history = History::default();
    let mut begins = [0; PROCESSES];
    let mut value = 0;
    for number in 0..transactions {
        let process = random.index(PROCESSES);
        let (mut operations, mut writes) = (Vec::new(), false);
        for _ in 0..2 + random.index(5) {
            let key = Key(number / TRANSACTIONS_PER_KEY + random.below(KEYS));
            value += 1;
            let element = Value(value);
            let operation = match random.below(8) {
                0 | 1 => {
                    let elements = content.lists.get(&key).cloned().unwrap_or_default();
                    Operation::ReadList { key, elements }
                }
                2 | 3 => {
                    content.lists.entry(key).or_default().push(element);
                    Operation::Append { key, element }
                }
                4 => Operation::Read { key, value: content.registers.get(&key).copied() },
                5 => {
                    let high = Key(key.0 + 8);
                    let entries = content.registers.range(key..high).map(|(key, value)| (*key, *value)).collect();
                    Operation::ReadRange { low: key, high, entries }
                }
                6 => {
                    content.registers.insert(key, element);
                    Operation::Write { key, value: element }
                }
                _ => {
                    content.registers.remove(&key);
                    Operation::Delete { key }
                }
            };
            writes |= operation.is_write();
            operations.push(operation);
        }
        history.transactions.push(Transaction {
            process: Process(process as u32),
            operations,
            outcome: Outcome::Committed,
            begin: Tick(begins[process]),
            end: Tick(2 * number + 1),
            snapshot: Some(Sequence(number)),
            sequence: writes.then_some(Sequence(number + 1)),
            durability: Durability::Disk,
        });
        begins[process] = 2 * number + 2;
    }
    history.end = End::Closed(content);
    history
}

#[test]
fn one_stale_answer_among_many_transactions_is_found() {
    let mut history = long_history(TRANSACTIONS, 1);
    let options = Options { sessions: true, ..Options::new(Level::StrictSerializable) };
    let checked = |history: &History| check(history, &options).expect("it follows the rules");
    let report = checked(&history);
    assert!(report.is_sound(), "{report}");
    assert_eq!(report.transactions, TRANSACTIONS);
    let elements =
        history.transactions[TRANSACTIONS as usize / 2..].iter_mut().find_map(|transaction| {
            match transaction.operations.as_mut_slice() {
                [Operation::ReadList { elements, .. }, Operation::ReadRange { .. }, ..] if elements.len() > 2 => {
                    Some(elements)
                }
                _ => None,
            }
        });
    elements.expect("there are many").pop();
    let report = checked(&history);
    assert!(report.has(AnomalyKind::GSingle) || report.has(AnomalyKind::G2Item), "{report}");
}

/// Transactions of the test.
const TRANSACTIONS: u64 = 20_000;
