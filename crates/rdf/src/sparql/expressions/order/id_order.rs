//! The order of values that are in their ids, by their ids: what [`Key`](super::Key) says, without a key.
//!
//! Only values of one [`Class`] compare so. The layout of ids is that of [`id`](crate::model::id).

use crate::model::id::Tag;
use crate::{InlineValue, TermId};

/// A tag, and whether the value has a time zone.
pub(crate) type Class = (u8, bool);

/// The place of a value in its class: numbers of one class order as the values do. `None` for NaN, for values of other
/// kinds, and for values that their ids do not hold.
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
}
