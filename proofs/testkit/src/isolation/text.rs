//! How transactions are shown in a report.

use std::fmt::Write as _;

use super::history::{Operation, Outcome, Transaction};

/// The transaction in one line: number, process, end, and what it did.
pub(super) fn named(transactions: &[&Transaction], number: u32) -> String {
    let transaction = transactions[number as usize];
    let mut line = short(transactions, number);
    if !transaction.is_ending() {
        let _ = write!(line, " (process {}, ", transaction.process.0);
        match (transaction.outcome, transaction.sequence) {
            (Outcome::Committed, Some(sequence)) => {
                let _ = write!(line, "committed as {}", sequence.0);
            }
            (Outcome::Committed, None) => line.push_str("committed"),
            (Outcome::Aborted, _) => line.push_str("aborted"),
            (Outcome::Indeterminate, _) => line.push_str("its commit in doubt"),
        }
        if let Some(snapshot) = transaction.snapshot {
            let _ = write!(line, ", reads snapshot {}", snapshot.0);
        }
        line.push(')');
        line.push_str(": ");
        let operations = transaction.operations.iter().take(OPERATIONS_MAX).map(Operation::to_string);
        line.push_str(&operations.collect::<Vec<_>>().join("; "));
        if let Some(hidden) = transaction.operations.len().checked_sub(OPERATIONS_MAX + 1) {
            let _ = write!(line, "; {} more", hidden + 1);
        }
    }
    line
}

/// The transaction by its number.
pub(super) fn short(transactions: &[&Transaction], number: u32) -> String {
    if transactions[number as usize].is_ending() { "the content at the end".into() } else { format!("T{number}") }
}

/// Operations shown of one transaction.
const OPERATIONS_MAX: usize = 40;
