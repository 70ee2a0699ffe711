//! [`RowTable`]: a set of rows of one width, each with a number.
//!
//! Rows follow each other in one list, and a table of numbers finds them: no row has an allocation of its own.

use std::hash::{BuildHasher, Hasher};

use crate::dictionary::seeded_hash::SeededHash;
use crate::sparql::evaluation::interrupt;
use crate::sparql::evaluation::value::Value;

/// See the module.
pub(super) struct RowTable {
    width: usize,
    values: Vec<Value>,
    rows: u32,
    /// By hash: the number of a row, and 1; 0 where there is none.
    places: Vec<u32>,
    hashes: SeededHash,
}

impl RowTable {
    /// An empty set of rows of so many values.
    pub(super) fn new(width: usize) -> Self {
        Self { width, values: Vec::new(), rows: 0, places: Vec::new(), hashes: SeededHash::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.rows as usize
    }

    /// The row with this number.
    pub(super) fn row(&self, number: usize) -> &[Value] {
        &self.values[number * self.width..][..self.width]
    }

    /// Adds a row, and returns its number and whether it is new. `None`: the table is full.
    pub(super) fn insert(&mut self, row: &[Value]) -> Option<(usize, bool)> {
        debug_assert_eq!(row.len(), self.width, "rows of a table have one width");
        if self.places.len() < 2 * (self.len() + 1) {
            self.grow();
        }
        let mask = self.places.len() - 1;
        let mut at = self.place(row) & mask;
        while let Some(number) = self.places[at].checked_sub(1) {
            if self.row(number as usize) == row {
                return Some((number as usize, false));
            }
            at = (at + 1) & mask;
        }
        let number = self.rows;
        self.rows = number.checked_add(1)?;
        self.places[at] = self.rows;
        self.values.extend_from_slice(row);
        Some((number as usize, true))
    }

    fn place(&self, row: &[Value]) -> usize {
        let mut hasher = self.hashes.build_hasher();
        row.iter().for_each(|value| hasher.write_u64(value.to_bits()));
        hasher.finish() as usize
    }

    /// Makes twice as many places.
    fn grow(&mut self) {
        let count = (2 * self.places.len()).max(PLACES_FIRST);
        self.places = Vec::new();
        self.places.resize(count, 0);
        for number in 0..self.rows {
            interrupt::touch();
            let mut at = self.place(self.row(number as usize)) & (count - 1);
            while self.places[at] != 0 {
                at = (at + 1) & (count - 1);
            }
            self.places[at] = number + 1;
        }
    }
}

/// A power of two.
const PLACES_FIRST: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparql::Limits;
    use crate::sparql::evaluation::limits::EvaluationMonitor;
    use crate::{CancellationToken, Error};

    #[test]
    fn a_row_is_new_once_and_keeps_its_number() {
        for width in [0, 1, 2, 5] {
            let mut table = RowTable::new(width);
            let row = |number: u32| vec![Value::computed(number); width];
            for is_first in [true, false] {
                for number in 0..1_000 {
                    let (found, is_new) = table.insert(&row(number)).expect("there is room");
                    assert_eq!(found, if width == 0 { 0 } else { number as usize });
                    assert_eq!(is_new, is_first && (width > 0 || number == 0));
                    assert_eq!(table.row(found), row(number));
                }
            }
            assert_eq!(table.len(), if width == 0 { 1 } else { 1_000 });
        }
    }

    #[test]
    fn limits_are_looked_at_while_a_table_grows() {
        let token = CancellationToken::new();
        token.cancel();
        let watch = EvaluationMonitor::start(&Limits::new().cancellation(token));
        let mut table = RowTable::new(1);
        let grown = interrupt::run(&watch, || {
            (0..10_000).for_each(|number| assert!(table.insert(&[Value::computed(number)]).is_some()));
        });
        let error = grown.expect_err("it was cancelled").into_failure(&watch);
        assert!(matches!(error, Error::Cancelled), "{error}");
        assert!(table.len() < 10_000);
    }
}
