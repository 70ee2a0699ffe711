//! The best rows of a result that is sorted and cut off: `ORDER BY ?v LIMIT n`.
//!
//! Rows are offered on their way to being sorted, by their value of the first key. A row that is worse than as many
//! others as are wanted cannot be in the result, whatever the other keys say, so it need be neither sorted nor joined
//! any further.
//!
//! Invariants: (1) only values that were offered, by rows that are sorted, make others worse. (2) A value is worse only
//! than values of its [class](Class), among which the total order is that of the numbers here; what has no class
//! passes. (3) What is worse stays worse.

use std::cell::{Cell, RefCell};
use std::collections::BinaryHeap;

use crate::TermId;
use crate::sparql::expressions::order::id_order::{Class, order};

/// Rows that a result is cut off after, at most, to be looked at here.
pub(crate) const ROWS_MAX: usize = 10_000;

/// See the module.
pub(crate) struct Best {
    rows: usize,
    is_descending: bool,
    predicate: Option<TermId>,
    /// The class of all that is held.
    class: Cell<Option<Class>>,
    /// Ranks of the best so far, the worst of them on top. Low ranks are better.
    ranks: RefCell<BinaryHeap<u64>>,
    /// What ranks above is not among them.
    rank_max: Cell<u64>,
}

impl Best {
    /// Of so many rows, sorted by the objects of `predicate` where that is known. Requires: `rows` is not 0.
    pub(crate) fn new(rows: usize, is_descending: bool, predicate: Option<TermId>) -> Self {
        assert!(rows > 0, "a result without rows has no worst one");
        Self {
            rows,
            is_descending,
            predicate,
            class: Cell::new(None),
            ranks: RefCell::default(),
            rank_max: Cell::new(u64::MAX),
        }
    }

    /// Whether the high values come first.
    pub(crate) fn is_descending(&self) -> bool {
        self.is_descending
    }

    /// The predicate of the triples whose objects the rows are sorted by first. There is no other pattern that has this
    /// predicate.
    pub(crate) fn predicate(&self) -> Option<TermId> {
        self.predicate
    }

    /// A row with this value is about to be sorted. Returns whether it has to be.
    pub(crate) fn offer(&self, value: TermId) -> bool {
        let Some((class, order)) = order(value) else { return true };
        if self.class.get().is_none() {
            self.class.set(Some(class));
        }
        if self.class.get() != Some(class) {
            return true;
        }
        let rank = self.rank(order);
        if rank > self.rank_max.get() {
            return false;
        }
        let mut ranks = self.ranks.borrow_mut();
        ranks.push(rank);
        if ranks.len() > self.rows {
            ranks.pop();
        }
        if ranks.len() == self.rows {
            self.rank_max.set(ranks.peek().copied().unwrap_or(u64::MAX));
        }
        true
    }

    /// Whether rows with this value may be in the result.
    pub(crate) fn may_have(&self, value: TermId) -> bool {
        match order(value) {
            Some((class, order)) => self.class.get() != Some(class) || self.rank(order) <= self.rank_max.get(),
            None => true,
        }
    }

    fn rank(&self, order: u64) -> u64 {
        if self.is_descending { !order } else { order }
    }
}

#[cfg(test)]
mod tests {
    use oxrdf::vocab::xsd;
    use oxrdf::{Literal, NamedNodeRef, TermRef};

    use super::*;

    fn id(value: &str, datatype: NamedNodeRef<'_>) -> TermId {
        let literal = Literal::new_typed_literal(value, datatype);
        TermId::of_inline(TermRef::Literal(literal.as_ref())).unwrap_or_else(|| panic!("{value} is not inline"))
    }

    fn integer(value: i64) -> TermId {
        id(&value.to_string(), xsd::INTEGER)
    }

    #[test]
    fn a_value_is_left_out_only_when_enough_better_ones_were_offered() {
        let best = Best::new(2, true, None);
        assert!(best.offer(integer(5)) && best.may_have(integer(1)));
        assert!(best.offer(integer(3)));
        assert!(!best.may_have(integer(2)) && best.may_have(integer(3)) && best.may_have(integer(9)));
        assert!(best.offer(integer(3)), "one that is as good as the worst may be in the result by the next key");
        assert!(!best.offer(integer(2)));
        assert!(best.offer(integer(7)) && !best.may_have(integer(4)) && best.may_have(integer(5)));
    }

    #[test]
    fn values_of_another_class_pass_and_make_none_worse() {
        let best = Best::new(1, false, None);
        assert!(best.offer(integer(5)));
        for other in [id("9.5", xsd::DECIMAL), id("x", xsd::STRING), id("2020-01-01", xsd::DATE)] {
            assert!(best.may_have(other) && best.offer(other));
        }
        assert!(best.offer(id("1.5", xsd::DECIMAL)) && best.may_have(integer(5)) && !best.may_have(integer(6)));
    }
}
