//! Numbers of all types as places on one line: integers, decimals, floats and doubles, of any length.
//!
//! Invariant: comparing never rounds. A float is compared by the value that its bits have.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use num_bigint::BigUint;
use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;
use oxsdatatypes::{Decimal, Double, Float};

/// Digits of a number that is computed with, or of a date or a duration that is taken as a value: one operation takes
/// no more than some milliseconds.
pub(crate) const DIGITS_MAX: usize = 100_000;

/// A number's place. `-0` is `0`, and NaN comes last.
#[derive(Clone, Debug)]
pub(crate) enum NumberKey {
    Integer(i64),
    /// In units of 10⁻¹⁸.
    Fixed(i128),
    /// Infinite, or NaN, or finite.
    Double(f64),
    Long(Digits),
}

/// A finite number by its decimal digits: `0.d₁d₂… · 10^exponent`, without zeros at either end. Zero has no digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digits {
    is_negative: bool,
    exponent: i64,
    digits: Box<[u8]>,
}

/// The datatypes whose values are integers, with the least and the greatest value. The extremes of `i128` stand for no
/// bound.
const INTEGER_TYPES: [(NamedNodeRef<'_>, RangeInclusive<i128>); 13] = [
    (xsd::INTEGER, i128::MIN..=i128::MAX),
    (xsd::LONG, i64::MIN as i128..=i64::MAX as i128),
    (xsd::INT, i32::MIN as i128..=i32::MAX as i128),
    (xsd::SHORT, i16::MIN as i128..=i16::MAX as i128),
    (xsd::BYTE, i8::MIN as i128..=i8::MAX as i128),
    (xsd::NON_NEGATIVE_INTEGER, 0..=i128::MAX),
    (xsd::POSITIVE_INTEGER, 1..=i128::MAX),
    (xsd::UNSIGNED_LONG, 0..=u64::MAX as i128),
    (xsd::UNSIGNED_INT, 0..=u32::MAX as i128),
    (xsd::UNSIGNED_SHORT, 0..=u16::MAX as i128),
    (xsd::UNSIGNED_BYTE, 0..=u8::MAX as i128),
    (xsd::NON_POSITIVE_INTEGER, i128::MIN..=0),
    (xsd::NEGATIVE_INTEGER, i128::MIN..=-1),
];

/// Whether values of the datatype are integers.
pub(crate) fn is_integer_type(datatype: NamedNodeRef<'_>) -> bool {
    INTEGER_TYPES.iter().any(|(of_integers, _)| *of_integers == datatype)
}

/// Whether an integer with this form is a value of the datatype, if that is one of integers.
///
/// Requires: the form is that of an integer.
pub(crate) fn is_within_bounds(form: &str, datatype: NamedNodeRef<'_>) -> bool {
    if datatype == xsd::INTEGER {
        return true;
    }
    let Some((_, bounds)) = INTEGER_TYPES.iter().find(|(of_integers, _)| *of_integers == datatype) else {
        return false;
    };
    let value = form.parse().unwrap_or(if form.starts_with('-') { i128::MIN } else { i128::MAX });
    bounds.contains(&value)
}

/// Whether a form of a float or a double is one of XML Schema's, if the parser takes it: that takes `inf`, `nan` and
/// the like in any case.
pub(crate) fn is_double_form(text: &str) -> bool {
    matches!(text, "INF" | "+INF" | "-INF" | "NaN") || !text.contains(['n', 'N'])
}

impl NumberKey {
    /// The key of a literal's form; `None` if the datatype is not numeric, or the form stands for none of its values.
    pub(crate) fn parse(text: &str, datatype: NamedNodeRef<'_>) -> Option<Self> {
        match datatype {
            xsd::DECIMAL => match text.parse::<Decimal>() {
                Ok(value) => Some(value.into()),
                Err(_) => Digits::parse(text).map(Self::Long),
            },
            xsd::DOUBLE if is_double_form(text) => text.parse::<Double>().ok().map(|value| Self::Double(value.into())),
            xsd::FLOAT if is_double_form(text) => {
                text.parse::<Float>().ok().map(|value| Self::Double(f32::from(value).into()))
            }
            _ if is_integer_type(datatype) => match text.parse::<i64>() {
                Ok(value) => Some(Self::Integer(value)),
                Err(_) if text.contains('.') => None,
                Err(_) => Digits::parse(text).map(Self::Long),
            }
            .filter(|_| is_within_bounds(text, datatype)),
            _ => None,
        }
    }

    pub(crate) fn is_nan(&self) -> bool {
        matches!(self, Self::Double(value) if value.is_nan())
    }

    /// The total order, NaN last.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        use NumberKey as N;
        match (self, other) {
            (N::Integer(left), N::Integer(right)) => left.cmp(right),
            (N::Fixed(left), N::Fixed(right)) => left.cmp(right),
            (N::Integer(left), N::Fixed(right)) => (i128::from(*left) * FIXED_UNITS).cmp(right),
            (N::Fixed(left), N::Integer(right)) => left.cmp(&(i128::from(*right) * FIXED_UNITS)),
            (N::Double(left), N::Double(right)) => compare_doubles(*left, *right),
            (N::Double(left), right) => right.compare_to_double(*left).reverse(),
            (left, N::Double(right)) => left.compare_to_double(*right),
            (left, right) => left.digits().compare(&right.digits()),
        }
    }

    /// As [`NumberKey::compare`], of what is not a double.
    fn compare_to_double(&self, double: f64) -> Ordering {
        if double.is_nan() || double == f64::INFINITY {
            return Ordering::Less;
        }
        if double == f64::NEG_INFINITY {
            return Ordering::Greater;
        }
        if let Self::Integer(value) = self {
            return compare_integer(*value, double);
        }
        self.digits().compare(&Digits::of_double(double))
    }

    /// Requires: it is finite.
    fn digits(&self) -> Digits {
        match self {
            Self::Integer(value) => Digits::of_units((*value).into(), 0),
            Self::Fixed(units) => Digits::of_units(*units, FIXED_DIGITS),
            Self::Double(value) => Digits::of_double(*value),
            Self::Long(digits) => digits.clone(),
        }
    }
}

impl From<Decimal> for NumberKey {
    fn from(value: Decimal) -> Self {
        Self::Fixed(i128::from_be_bytes(value.to_be_bytes()))
    }
}

fn compare_doubles(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// Requires: `double` is finite.
fn compare_integer(value: i64, double: f64) -> Ordering {
    /// The least double above all integers of 64 bits.
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    if double >= ABOVE {
        return Ordering::Less;
    }
    if double < -ABOVE {
        return Ordering::Greater;
    }
    let whole = double.trunc();
    value.cmp(&(whole as i64)).then_with(|| whole.partial_cmp(&double).unwrap_or(Ordering::Equal))
}

impl Digits {
    /// Reads `[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        Some(Self::of_parts(text.starts_with('-'), whole, fraction))
    }

    fn of_parts(is_negative: bool, whole: &str, fraction: &str) -> Self {
        let whole = whole.trim_start_matches('0');
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        let significant = digits.trim_start_matches('0');
        let leading_zeros = (digits.len() - significant.len()) as i64;
        let significant = significant.trim_end_matches('0');
        if significant.is_empty() {
            return Self { is_negative: false, exponent: 0, digits: Box::default() };
        }
        let exponent = whole.len() as i64 - leading_zeros;
        Self { is_negative, exponent, digits: significant.as_bytes().into() }
    }

    fn of_units(units: i128, fraction_digits: usize) -> Self {
        Self::of_scaled(units < 0, &units.unsigned_abs().to_string(), fraction_digits)
    }

    fn of_scaled(is_negative: bool, digits: &str, fraction_digits: usize) -> Self {
        match digits.len().checked_sub(fraction_digits) {
            Some(point) => Self::of_parts(is_negative, &digits[..point], &digits[point..]),
            None => Self::of_parts(is_negative, "", &format!("{digits:0>fraction_digits$}")),
        }
    }

    /// The exact value of a double, which has at most 1,075 digits. Requires: it is finite.
    fn of_double(value: f64) -> Self {
        const FRACTION_BITS: u32 = 52;
        let bits = value.to_bits();
        let (fraction, biased) = (bits & ((1 << FRACTION_BITS) - 1), (bits >> FRACTION_BITS) & 0x7ff);
        let significand = if biased == 0 { fraction } else { fraction | 1 << FRACTION_BITS };
        let power = biased.max(1) as i32 - 1075;
        let significand = BigUint::from(significand);
        let is_negative = value.is_sign_negative();
        if power >= 0 {
            let whole = significand << power.unsigned_abs();
            return Self::of_scaled(is_negative, &whole.to_string(), 0);
        }
        // s · 2⁻ᵖ = s · 5ᵖ · 10⁻ᵖ.
        let places = power.unsigned_abs();
        let scaled = significand * BigUint::from(5_u8).pow(places);
        Self::of_scaled(is_negative, &scaled.to_string(), places as usize)
    }

    fn compare(&self, other: &Self) -> Ordering {
        let (sign, other_sign) = (self.sign(), other.sign());
        if sign != other_sign || sign == 0 {
            return sign.cmp(&other_sign);
        }
        let magnitude = self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits));
        if self.is_negative { magnitude.reverse() } else { magnitude }
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

const FIXED_DIGITS: usize = 18;
const FIXED_UNITS: i128 = 1_000_000_000_000_000_000;
