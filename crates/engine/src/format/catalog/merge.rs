//! What the merge operators of tables do to values, pure. See `docs/reference/file-format.md`, "Catalog".

use std::fmt;

/// How [`crate::WriteTxn::merge`] changes the values of a table; see [`crate::TableOptions::merge`].
///
/// A transaction combines its operands for a key in the order of its calls. Its commit merges the result into the
/// key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum MergeOperator {
    // On disk: never renumber, only append.
    /// The sum of both, modulo the range of the type. The value type is an integer type, or the table has no value
    /// type; values are then unsigned big-endian integers of 8 bytes. A missing value counts as 0.
    Add = 1,
    /// The greater of both. Integer types compare as numbers, all others as byte strings.
    Max = 2,
    /// The value followed by the operand, for byte strings and texts.
    Append = 3,
    /// As [`MergeOperator::Add`], but a sum outside the range of the type becomes the nearest number in the range.
    AddSaturating = 4,
    /// As [`MergeOperator::Add`], but a sum outside the range of the type is the error [`crate::Error::Unmergeable`].
    /// The call returns it if the operands of the transaction alone are outside the range, otherwise the commit does.
    AddChecked = 5,
    /// The lesser of both, compared as for [`MergeOperator::Max`].
    Min = 6,
    /// The bits that are set in both, for the types of [`MergeOperator::Add`].
    And = 7,
    /// The bits that are set in at least one, for the same types.
    Or = 8,
    /// The bits that are set in exactly one, for the same types.
    Xor = 9,
}

impl MergeOperator {
    /// All operators.
    pub const ALL: [Self; 9] = [
        Self::Add,
        Self::Max,
        Self::Append,
        Self::AddSaturating,
        Self::AddChecked,
        Self::Min,
        Self::And,
        Self::Or,
        Self::Xor,
    ];

    /// The operator with this number on disk.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&operator| operator as u8 == number)
    }

    /// Whether the first version of the format has it.
    pub fn is_first(self) -> bool {
        self as u8 <= Self::Append as u8
    }

    /// The values that it takes, for messages.
    pub fn needs(self) -> &'static str {
        match self {
            Self::Max | Self::Min => "integers, strings or bytes",
            Self::Append => "strings or bytes",
            _ => "integers, or plain bytes",
        }
    }
}

impl fmt::Display for MergeOperator {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Add => "add",
            Self::Max => "max",
            Self::Append => "append",
            Self::AddSaturating => "add-saturating",
            Self::AddChecked => "add-checked",
            Self::Min => "min",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
        })
    }
}

/// How the values of a table can be merged, as its descriptor says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merging {
    /// By an operator of the engine.
    Operator(MergeOperator),
    /// By the function that the program registers under this name.
    Function(String),
}

impl Merging {
    /// Whether this can be said of values of this type.
    pub fn fits(&self, value_type: &str) -> bool {
        match self {
            Self::Operator(operator) => MergeRule::of(*operator, value_type).is_some(),
            Self::Function(_) => true,
        }
    }

    /// The operator of the engine, if it is one.
    #[inline]
    pub fn operator(&self) -> Option<MergeOperator> {
        match self {
            Self::Operator(operator) => Some(*operator),
            Self::Function(_) => None,
        }
    }

    /// The name of the program's function, if it is one.
    #[inline]
    pub fn function(&self) -> Option<&str> {
        match self {
            Self::Operator(_) => None,
            Self::Function(name) => Some(name),
        }
    }

    /// Its number on disk.
    pub fn number(&self) -> u8 {
        match self {
            Self::Operator(operator) => *operator as u8,
            Self::Function(_) => Self::FUNCTION,
        }
    }

    /// The number on disk of every function: a name follows. On disk: never renumber.
    pub const FUNCTION: u8 = 10;
}

impl fmt::Display for Merging {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator(operator) => operator.fmt(out),
            Self::Function(name) => write!(out, "function `{name}`"),
        }
    }
}

/// A merge operator as it applies to the values of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRule {
    /// The sum.
    Sum(Integer, Overflow),
    /// The greater number.
    GreaterNumber(Integer),
    /// The lesser number.
    LesserNumber(Integer),
    /// The greater by bytes.
    GreaterBytes,
    /// The lesser by bytes.
    LesserBytes,
    /// One after the other.
    Joined,
    /// Bit by bit.
    Bits(Integer, Bitwise),
}

/// What becomes of a sum that the type cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// It is taken modulo 2 to the power of its bits.
    Wraps,
    /// It is as near as it gets.
    Saturates,
    /// There is none.
    Fails,
}

/// What becomes of two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bitwise {
    /// Both.
    And,
    /// Either.
    Or,
    /// One of both.
    Xor,
}

/// A sum that the type cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflowed;

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
        let plain = Integer { width_bytes: 8, signed: false, big_endian: true };
        let integer = || if value_type.is_empty() { Some(plain) } else { Integer::of_type(value_type) };
        match operator {
            MergeOperator::Add => integer().map(|integer| Self::Sum(integer, Overflow::Wraps)),
            MergeOperator::AddSaturating => integer().map(|integer| Self::Sum(integer, Overflow::Saturates)),
            MergeOperator::AddChecked => integer().map(|integer| Self::Sum(integer, Overflow::Fails)),
            MergeOperator::Max if is_text => Some(Self::GreaterBytes),
            MergeOperator::Max => Integer::of_type(value_type).map(Self::GreaterNumber),
            MergeOperator::Min if is_text => Some(Self::LesserBytes),
            MergeOperator::Min => Integer::of_type(value_type).map(Self::LesserNumber),
            MergeOperator::Append => is_text.then_some(Self::Joined),
            MergeOperator::And => integer().map(|integer| Self::Bits(integer, Bitwise::And)),
            MergeOperator::Or => integer().map(|integer| Self::Bits(integer, Bitwise::Or)),
            MergeOperator::Xor => integer().map(|integer| Self::Bits(integer, Bitwise::Xor)),
        }
    }

    /// The one length that values have, if there is one.
    #[inline]
    pub fn width_bytes(self) -> Option<usize> {
        match self {
            Self::Sum(integer, _)
            | Self::GreaterNumber(integer)
            | Self::LesserNumber(integer)
            | Self::Bits(integer, _) => Some(integer.width_bytes),
            Self::GreaterBytes | Self::LesserBytes | Self::Joined => None,
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
    ///
    /// # Errors
    /// [`Overflowed`]; the value is as it was then.
    pub fn apply(self, value: &mut Vec<u8>, operand: &[u8]) -> Result<(), Overflowed> {
        let takes_operand = match self {
            Self::Sum(integer, overflow) => return integer.add(value, operand, overflow),
            Self::Bits(integer, bitwise) => {
                integer.combine(value, operand, bitwise);
                return Ok(());
            }
            Self::Joined => {
                value.extend_from_slice(operand);
                return Ok(());
            }
            Self::GreaterNumber(integer) => integer.ordered(value) < integer.ordered(operand),
            Self::LesserNumber(integer) => integer.ordered(value) > integer.ordered(operand),
            Self::GreaterBytes => &**value < operand,
            Self::LesserBytes => &**value > operand,
        };
        if takes_operand {
            value.clear();
            value.extend_from_slice(operand);
        }
        Ok(())
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

    /// Adds to `value`, which is as it was if the sum is none.
    fn add(self, value: &mut [u8], operand: &[u8], overflow: Overflow) -> Result<(), Overflowed> {
        let mut sum = [0; INTEGER_BYTES_MAX];
        let mut carry = false;
        for step in 0..self.width_bytes {
            let at = self.place(step);
            let digit = u16::from(value[at]) + u16::from(operand[at]) + u16::from(carry);
            (sum[at], carry) = (digit as u8, digit > u16::from(u8::MAX));
        }
        let top = self.place(self.width_bytes - 1);
        let is_negative = |bytes: &[u8]| bytes[top] >= 0x80;
        let overflows = match self.signed {
            true => is_negative(value) == is_negative(operand) && is_negative(&sum) != is_negative(value),
            false => carry,
        };
        match overflow {
            Overflow::Fails if overflows => return Err(Overflowed),
            Overflow::Saturates if overflows => self.fill_extreme(value, self.signed && is_negative(operand)),
            _ => value.copy_from_slice(&sum[..self.width_bytes]),
        }
        Ok(())
    }

    /// The least number, or the greatest.
    fn fill_extreme(self, value: &mut [u8], least: bool) {
        value.fill(if least { 0 } else { u8::MAX });
        if self.signed {
            value[self.place(self.width_bytes - 1)] = if least { 0x80 } else { 0x7f };
        }
    }

    fn combine(self, value: &mut [u8], operand: &[u8], bitwise: Bitwise) {
        for (byte, operand) in value.iter_mut().zip(operand).take(self.width_bytes) {
            *byte = match bitwise {
                Bitwise::And => *byte & operand,
                Bitwise::Or => *byte | operand,
                Bitwise::Xor => *byte ^ operand,
            };
        }
    }

    /// Where the byte of this weight is, the lowest first.
    fn place(self, step: usize) -> usize {
        if self.big_endian { self.width_bytes - 1 - step } else { step }
    }

    /// Numbers that compare as the integers do.
    fn ordered(self, bytes: &[u8]) -> u128 {
        let byte = |step: usize| bytes[self.place(step)];
        let number = (0..self.width_bytes).fold(0, |number, step| number | u128::from(byte(step)) << (8 * step));
        // With the sign bit flipped the numbers from the least to the greatest rise from 0.
        number ^ (u128::from(self.signed) << (8 * self.width_bytes - 1))
    }
}

/// Bytes of the widest integer.
const INTEGER_BYTES_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(operator: MergeOperator, value_type: &str, before: &[u8], operand: &[u8]) -> Vec<u8> {
        let rule = MergeRule::of(operator, value_type).unwrap();
        assert!(rule.takes(before.len()) && rule.takes(operand.len()));
        let mut value = before.to_vec();
        rule.apply(&mut value, operand).unwrap();
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
    fn sums_that_a_type_cannot_hold_saturate_or_fail_and_leave_the_value() {
        let rule = |operator, value_type| MergeRule::of(operator, value_type).unwrap();
        let values = [0, 1, 2, 100, 127, 128, 200, 255].map(|value| value as u8);
        for a in values {
            for b in values {
                for signed in [false, true] {
                    let name = if signed { "i8" } else { "u8" };
                    let (sum, fits) = match signed {
                        true => ((a as i8).saturating_add(b as i8) as u8, (a as i8).checked_add(b as i8).is_some()),
                        false => (a.saturating_add(b), a.checked_add(b).is_some()),
                    };
                    assert_eq!(merged(MergeOperator::AddSaturating, name, &[a], &[b]), [sum], "{a} and {b} of {name}");
                    let mut value = vec![a];
                    let checked = rule(MergeOperator::AddChecked, name).apply(&mut value, &[b]);
                    assert_eq!(checked, if fits { Ok(()) } else { Err(Overflowed) }, "{a} and {b} of {name}");
                    assert_eq!(value, [if fits { sum } else { a }]);
                }
            }
        }
        let (most, one) = (u64::MAX.to_be_bytes(), 1_u64.to_be_bytes());
        assert_eq!(merged(MergeOperator::AddSaturating, "", &most, &one), most);
        assert!(rule(MergeOperator::AddChecked, "").apply(&mut most.to_vec(), &one).is_err());
        let least = i64::MIN.to_le_bytes();
        assert_eq!(merged(MergeOperator::AddSaturating, "i64", &least, &(-1_i64).to_le_bytes()), least);
        assert_eq!(
            merged(MergeOperator::AddSaturating, "i64", &least, &1_i64.to_le_bytes()),
            (i64::MIN + 1).to_le_bytes()
        );
    }

    #[test]
    fn least_values_and_bits_are_those_of_the_type() {
        assert_eq!(
            merged(MergeOperator::Min, "i16", &(-5_i16).to_le_bytes(), &3_i16.to_le_bytes()),
            (-5_i16).to_le_bytes()
        );
        assert_eq!(
            merged(MergeOperator::Min, "u16", &500_u16.to_le_bytes(), &3_u16.to_le_bytes()),
            3_u16.to_le_bytes()
        );
        assert_eq!(merged(MergeOperator::Min, "string", b"ab", b"abc"), b"ab");
        let (a, b) = (0b1100_u64, 0b1010_u64);
        for (operator, expected) in
            [(MergeOperator::And, a & b), (MergeOperator::Or, a | b), (MergeOperator::Xor, a ^ b)]
        {
            assert_eq!(merged(operator, "", &a.to_be_bytes(), &b.to_be_bytes()), expected.to_be_bytes());
            assert_eq!(merged(operator, "u64", &a.to_le_bytes(), &b.to_le_bytes()), expected.to_le_bytes());
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
            for operator in MergeOperator::ALL {
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
        let numbers = MergeOperator::ALL.map(|operator| operator as u8);
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!((0..=255).filter_map(MergeOperator::from_number).map(|operator| operator as u8).sum::<u8>(), 45);
    }
}
