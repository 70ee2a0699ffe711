//! The best rows of a result that is sorted and cut off: `ORDER BY ?v LIMIT n`.
//!
//! Rows are offered on their way to being sorted, by their value of the first key. A row that is worse than as many
//! others as are wanted cannot be in the result, whatever the other keys say, so it need be neither sorted nor joined
//! any further.
//!
//! Invariants: (1) only values that were offered, by rows that are sorted, make others worse. (2) A value is worse only
//! than values of its [class](order), among which the total order is that of the numbers here; what has no class
//! passes. (3) What is worse stays worse.

use std::cell::{Cell, RefCell};
use std::collections::BinaryHeap;

use crate::InlineValue;
use crate::TermId;
use crate::model::id::Tag;

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

/// A tag, and whether the value has a time zone.
pub(crate) type Class = (u8, bool);

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

/// The place of a value in its class: numbers of one class order as the values do. `None` for NaN, for values of other
/// kinds, and for values that their ids do not hold. The layout of ids is that of `id`.
pub(crate) fn order(value: TermId) -> Option<(Class, u64)> {
    let (tag, payload) = (value.tag(), value.payload());
    Some(match tag {
        Tag::INTEGER_FIRST => ((tag.to_byte(), false), payload),
        Tag::DECIMAL => ((tag.to_byte(), false), payload >> DECIMAL_FORM_BITS),
        Tag::DOUBLE | Tag::FLOAT => {
            let value = match value.inline_value()? {
                InlineValue::Double(value) => f64::from(value),
                InlineValue::Float(value) => f64::from(f32::from(value)),
                _ => return None,
            };
            ((tag.to_byte(), false), order_of_double(value)?)
        }
        // A time with a zone and one without have no order.
        Tag::DATE_TIME | Tag::DATE | Tag::TIME => {
            ((tag.to_byte(), payload & ((1 << ZONE_BITS) - 1) != 0), payload >> ZONE_BITS)
        }
        _ => return None,
    })
}

/// What a value of a class has besides its [order], where equal values order by their forms otherwise than by their
/// numbers.
pub(crate) fn form(value: TermId) -> u64 {
    match value.tag() {
        Tag::DOUBLE | Tag::FLOAT => value.payload() & ((1 << REAL_FORM_BITS) - 1),
        Tag::DATE_TIME | Tag::DATE | Tag::TIME => value.payload() & ((1 << ZONE_BITS) - 1),
        _ => 0,
    }
}

fn order_of_double(value: f64) -> Option<u64> {
    const SIGN: u64 = 1 << 63;
    // Minus zero is zero, and what is not a number is nowhere.
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    (!value.is_nan()).then_some(if bits & SIGN == 0 { bits | SIGN } else { !bits })
}

const DECIMAL_FORM_BITS: u32 = 4;
const REAL_FORM_BITS: u32 = 2;
const ZONE_BITS: u32 = 11;

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

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

    /// As the evaluator compares values.
    fn compared(left: TermId, right: TermId) -> Option<Ordering> {
        use InlineValue as V;
        match (left.inline_value()?, right.inline_value()?) {
            (V::Integer(left), V::Integer(right)) => left.partial_cmp(&right),
            (V::Decimal(left), V::Decimal(right)) => left.partial_cmp(&right),
            (V::Double(left), V::Double(right)) => left.partial_cmp(&right),
            (V::Float(left), V::Float(right)) => left.partial_cmp(&right),
            (V::DateTime(left), V::DateTime(right)) => left.partial_cmp(&right),
            (V::Date(left), V::Date(right)) => left.partial_cmp(&right),
            (V::Time(left), V::Time(right)) => left.partial_cmp(&right),
            _ => None,
        }
    }

    #[test]
    fn numbers_of_a_class_compare_as_the_values_do() {
        let values: [(NamedNodeRef<'_>, &[&str]); 7] = [
            (xsd::INTEGER, &["-10", "-9", "0", "7", "8", "100000"]),
            (xsd::DECIMAL, &["-1.5", "-1.50", "-1", "0.0", "0", "0.000001", "1", "1.0", "12.25"]),
            (xsd::DOUBLE, &["-INF", "-2.5E0", "-0.0E0", "0.0E0", "0", "1", "1.0E0", "2.5", "1E9", "INF", "NaN"]),
            (xsd::FLOAT, &["-INF", "-2.5E0", "-0.0E0", "0.0E0", "0", "1", "1.0E0", "2.5", "1E9", "INF", "NaN"]),
            (
                xsd::DATE_TIME,
                &[
                    "2020-01-01T00:00:00",
                    "2020-01-01T00:00:00.5",
                    "2020-01-01T00:00:00Z",
                    "2020-01-01T02:00:00+02:00",
                    "2020-01-01T01:00:00+02:00",
                    "1969-12-31T23:00:00",
                ],
            ),
            (
                xsd::DATE,
                &["2020-01-01", "2020-01-01Z", "2020-01-01+02:00", "2019-12-31-05:00", "1959-03-01", "0001-01-01"],
            ),
            (xsd::TIME, &["00:00:00", "00:00:00Z", "01:00:00+02:00", "23:59:59", "23:59:59-05:00", "12:00:00.25Z"]),
        ];
        let mut in_order = 0;
        for (datatype, values) in values {
            let ids: Vec<TermId> = values.iter().map(|value| id(value, datatype)).collect();
            for (&left, &right) in ids.iter().flat_map(|left| ids.iter().map(move |right| (left, right))) {
                if let (Some((class, left_order)), Some((other, right_order))) = (order(left), order(right))
                    && class == other
                {
                    assert_eq!(Some(left_order.cmp(&right_order)), compared(left, right), "{left:?} and {right:?}");
                    in_order += 1;
                }
            }
        }
        assert!(in_order > 200, "{in_order}");
        assert_eq!(order(id("NaN", xsd::DOUBLE)), None);
        assert_eq!(order(id("text", xsd::STRING)), None);
        assert_eq!(order(id("5", xsd::UNSIGNED_BYTE)), None);
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
