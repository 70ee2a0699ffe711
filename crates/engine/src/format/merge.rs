//! What the merge operators of tables do to values, pure. See `docs/file-format.md`, "Catalog".

use std::fmt;

/// How [`crate::WriteTxn::merge`] changes the values of a table; see [`crate::TableOptions::merge`].
///
/// All of them may be applied in any grouping: that is what lets transactions that merge go side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum MergeOperator {
    // On disk: never renumber, only append.
    /// The sum, which wraps around. The value type is an integer, or none: then values are numbers of 8 bytes, big-endian. A key
    /// without a value counts as 0.
    Add = 1,
    /// The greater of both: as numbers, if the value type is an integer, otherwise byte by byte.
    Max = 2,
    /// The operand after what was there: byte strings and text, one after the other.
    Append = 3,
}

impl MergeOperator {
    /// The operator with this number on disk.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Add, Self::Max, Self::Append].into_iter().find(|&operator| operator as u8 == number)
    }
}

impl fmt::Display for MergeOperator {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Add => "add",
            Self::Max => "max",
            Self::Append => "append",
        })
    }
}

/// A merge operator as it applies to the values of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRule {
    /// The sum, modulo 2 to the power of its bits.
    Sum(Integer),
    /// The greater number.
    GreaterNumber(Integer),
    /// The greater by bytes.
    GreaterBytes,
    /// One after the other.
    Joined,
}

/// How integers of fixed width are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    width_bytes: usize,
    signed: bool,
    big_endian: bool,
}

impl MergeRule {
    /// What an operator means for values of this type; `None` if it means nothing.
    pub fn of(operator: MergeOperator, value_type: &str) -> Option<Self> {
        let is_text = matches!(value_type, "" | "bytes" | "string");
        match operator {
            MergeOperator::Add if value_type.is_empty() => {
                Some(Self::Sum(Integer { width_bytes: 8, signed: false, big_endian: true }))
            }
            MergeOperator::Add => Integer::of_type(value_type).map(Self::Sum),
            MergeOperator::Max if is_text => Some(Self::GreaterBytes),
            MergeOperator::Max => Integer::of_type(value_type).map(Self::GreaterNumber),
            MergeOperator::Append => is_text.then_some(Self::Joined),
        }
    }

    /// The one length that values have, if there is one.
    #[inline]
    pub fn width_bytes(self) -> Option<usize> {
        match self {
            Self::Sum(integer) | Self::GreaterNumber(integer) => Some(integer.width_bytes),
            Self::GreaterBytes | Self::Joined => None,
        }
    }

    /// Whether a value or an operand may have this length.
    #[inline]
    pub fn takes(self, length_bytes: usize) -> bool {
        self.width_bytes().is_none_or(|width| width == length_bytes)
    }

    /// The length of what becomes of two values of these lengths, at most.
    pub fn length_bytes(self, before: usize, operand: usize) -> usize {
        if self == Self::Joined { before.saturating_add(operand) } else { before.max(operand) }
    }

    /// Merges `operand` into `value`. Requires: both have lengths that it [`takes`](Self::takes).
    pub fn apply(self, value: &mut Vec<u8>, operand: &[u8]) {
        match self {
            Self::Sum(integer) => integer.add(value, operand),
            Self::GreaterNumber(integer) if integer.ordered(value) >= integer.ordered(operand) => {}
            Self::GreaterBytes if &**value >= operand => {}
            Self::GreaterNumber(_) | Self::GreaterBytes => {
                value.clear();
                value.extend_from_slice(operand);
            }
            Self::Joined => value.extend_from_slice(operand),
        }
    }
}

impl Integer {
    /// As typed tables store their values.
    fn of_type(name: &str) -> Option<Self> {
        let (width_bytes, signed) = match name {
            "u8" => (1, false),
            "u16" => (2, false),
            "u32" => (4, false),
            "u64" => (8, false),
            "u128" => (16, false),
            "i8" => (1, true),
            "i16" => (2, true),
            "i32" => (4, true),
            "i64" => (8, true),
            "i128" => (16, true),
            _ => return None,
        };
        Some(Self { width_bytes, signed, big_endian: false })
    }

    fn add(self, value: &mut [u8], operand: &[u8]) {
        let mut carry = false;
        for step in 0..self.width_bytes {
            let at = if self.big_endian { self.width_bytes - 1 - step } else { step };
            let sum = u16::from(value[at]) + u16::from(operand[at]) + u16::from(carry);
            (value[at], carry) = (sum as u8, sum > u16::from(u8::MAX));
        }
    }

    /// Numbers that compare as the integers do.
    fn ordered(self, bytes: &[u8]) -> u128 {
        let byte = |step: usize| bytes[if self.big_endian { self.width_bytes - 1 - step } else { step }];
        let number = (0..self.width_bytes).fold(0, |number, step| number | u128::from(byte(step)) << (8 * step));
        // With the sign bit flipped the numbers from the least to the greatest rise from 0.
        number ^ (u128::from(self.signed) << (8 * self.width_bytes - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(operator: MergeOperator, value_type: &str, before: &[u8], operand: &[u8]) -> Vec<u8> {
        let rule = MergeRule::of(operator, value_type).unwrap();
        assert!(rule.takes(before.len()) && rule.takes(operand.len()));
        let mut value = before.to_vec();
        rule.apply(&mut value, operand);
        value
    }

    #[test]
    fn sums_and_greatest_numbers_are_those_of_the_type_and_wrap_around() {
        let numbers = [0, 1, -1, 255, 256, -256, 65_535, i64::MAX, i64::MIN, 1 << 40];
        // An interpreter takes half of these: none, one less, and those that carry and wrap around.
        let step = if cfg!(miri) { 2 } else { 1 };
        for a in numbers.into_iter().step_by(step) {
            for b in numbers.into_iter().step_by(step) {
                let sum = merged(MergeOperator::Add, "i64", &a.to_le_bytes(), &b.to_le_bytes());
                assert_eq!(sum, a.wrapping_add(b).to_le_bytes());
                let greater = merged(MergeOperator::Max, "i64", &a.to_le_bytes(), &b.to_le_bytes());
                assert_eq!(greater, a.max(b).to_le_bytes());
                let (c, d) = (a as u64, b as u64);
                let sum = merged(MergeOperator::Add, "", &c.to_be_bytes(), &d.to_be_bytes());
                assert_eq!(sum, c.wrapping_add(d).to_be_bytes());
                let greater = merged(MergeOperator::Max, "", &c.to_be_bytes(), &d.to_be_bytes());
                assert_eq!(greater, c.max(d).to_be_bytes(), "plain numbers compare as their bytes do");
                let sum = merged(MergeOperator::Add, "u64", &c.to_le_bytes(), &d.to_le_bytes());
                assert_eq!(sum, c.wrapping_add(d).to_le_bytes());
                let greater = merged(MergeOperator::Max, "u64", &c.to_le_bytes(), &d.to_le_bytes());
                assert_eq!(greater, c.max(d).to_le_bytes());
                let (e, f) = (i128::from(a) << 60, i128::from(b) << 60);
                let greater = merged(MergeOperator::Max, "i128", &e.to_le_bytes(), &f.to_le_bytes());
                assert_eq!(greater, e.max(f).to_le_bytes());
                let (g, h) = (a as i8, b as i8);
                let sum = merged(MergeOperator::Add, "i8", &g.to_le_bytes(), &h.to_le_bytes());
                assert_eq!(sum, g.wrapping_add(h).to_le_bytes());
                let greater = merged(MergeOperator::Max, "i8", &g.to_le_bytes(), &h.to_le_bytes());
                assert_eq!(greater, g.max(h).to_le_bytes());
            }
        }
    }

    #[test]
    fn byte_strings_are_joined_in_order_or_compared() {
        for value_type in ["", "bytes", "string"] {
            assert_eq!(merged(MergeOperator::Append, value_type, b"ab", b"c"), b"abc");
            assert_eq!(merged(MergeOperator::Max, value_type, b"ab", b"abc"), b"abc");
            assert_eq!(merged(MergeOperator::Max, value_type, b"b", b"abc"), b"b");
        }
    }

    #[test]
    fn an_operator_means_nothing_for_types_whose_values_it_would_spoil() {
        for value_type in ["f64", "bool", "char", "option<u64>", "(u64,u64)", "bytes[8]", "string "] {
            for operator in [MergeOperator::Add, MergeOperator::Max, MergeOperator::Append] {
                assert_eq!(MergeRule::of(operator, value_type), None, "{operator} of {value_type}");
            }
        }
        assert_eq!(MergeRule::of(MergeOperator::Append, "u64"), None);
        assert_eq!(MergeRule::of(MergeOperator::Add, "string"), None);
    }

    #[test]
    fn numbers_take_their_width_alone() {
        let rule = |value_type| MergeRule::of(MergeOperator::Add, value_type).unwrap();
        assert!(rule("").takes(8) && !rule("").takes(7) && !rule("").takes(0));
        assert!(rule("u16").takes(2) && !rule("u16").takes(8));
    }

    #[test]
    fn numbers_on_disk_stay_what_they_are() {
        let numbers = [MergeOperator::Add, MergeOperator::Max, MergeOperator::Append].map(|operator| operator as u8);
        assert_eq!(numbers, [1, 2, 3]);
        assert_eq!((0..=4).filter_map(MergeOperator::from_number).map(|operator| operator as u8).sum::<u8>(), 6);
    }
}
