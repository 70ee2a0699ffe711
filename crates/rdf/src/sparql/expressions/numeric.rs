//! Arithmetic over numbers of any length, as SPARQL types it: what the evaluator's own numbers hold is computed with
//! these, and all else exactly.
//!
//! Invariants: (1) sums, differences and products of integers and decimals are exact, or none. (2) Integer and decimal
//! quotients are cut off behind [`QUOTIENT_DIGITS`] digits, or so many more than an operand has if that has more: the
//! same whichever way they are computed. (3) No exact number has more than [`DIGITS_MAX`] digits, so that one operation
//! takes no more than some milliseconds.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, LiteralRef, Term};
use oxsdatatypes::{Decimal, Double, Float, Integer};

use super::order::{DIGITS_MAX, is_double_form, is_integer_type, is_within_bounds};
use crate::{InlineValue, TermId};

/// Digits behind the point of a quotient whose operands have no more.
const QUOTIENT_DIGITS: u32 = 18;

/// A number and its type.
#[derive(Clone, Debug)]
pub(crate) enum Number {
    Integer(i64),
    Decimal(Decimal),
    /// An integer or a decimal that the two above do not hold.
    Long(Exact),
    Float(Float),
    Double(Double),
}

/// `units · 10^-scale`.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    units: BigInt,
    scale: u32,
    is_integer: bool,
}

/// Two numbers of the type in which they are computed with (XPath's numeric promotion).
enum Pair {
    Integers(i64, i64),
    Decimals(Decimal, Decimal),
    Exact(Exact, Exact),
    Floats(Float, Float),
    Doubles(Double, Double),
}

impl Number {
    /// The number that a term is, if it is one.
    pub(crate) fn of(term: &Term) -> Option<Self> {
        match term {
            Term::Literal(literal) => Self::of_literal(literal.as_ref()),
            _ => None,
        }
    }

    pub(crate) fn of_literal(literal: LiteralRef<'_>) -> Option<Self> {
        let text = literal.value();
        match literal.datatype() {
            xsd::STRING => None,
            xsd::DECIMAL => Self::parse_decimal(text),
            xsd::DOUBLE => Self::parse_double(text),
            xsd::FLOAT => Self::parse_float(text),
            datatype if is_integer_type(datatype) => {
                Self::parse_integer(text).filter(|_| is_within_bounds(text, datatype))
            }
            _ => None,
        }
    }

    /// The number that a term is whose number has it.
    pub(crate) fn of_inline(id: TermId) -> Option<Self> {
        Some(match id.inline_value()? {
            InlineValue::Integer(value) => Self::Integer(value),
            InlineValue::Decimal(value) => Self::Decimal(value),
            InlineValue::Double(value) => Self::Double(value),
            InlineValue::Float(value) => Self::Float(value),
            _ => return None,
        })
    }

    pub(crate) fn parse_integer(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(value) => Some(Self::Integer(value)),
            Err(_) => Exact::parse_integer(text).map(Self::Long),
        }
    }

    pub(crate) fn parse_decimal(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(value) => Some(Self::Decimal(value)),
            Err(_) => Exact::parse_decimal(text).map(Self::Long),
        }
    }

    pub(crate) fn parse_double(text: &str) -> Option<Self> {
        text.parse().ok().filter(|_| is_double_form(text)).map(Self::Double)
    }

    pub(crate) fn parse_float(text: &str) -> Option<Self> {
        text.parse().ok().filter(|_| is_double_form(text)).map(Self::Float)
    }

    pub(crate) fn into_term(self) -> Term {
        match self {
            Self::Integer(value) => Literal::from(value),
            Self::Decimal(value) => Literal::from(value),
            Self::Float(_) => Literal::new_typed_literal(self.text(), xsd::FLOAT),
            Self::Double(_) => Literal::new_typed_literal(self.text(), xsd::DOUBLE),
            Self::Long(ref value) => {
                let datatype = if value.is_integer { xsd::INTEGER } else { xsd::DECIMAL };
                Literal::new_typed_literal(self.text(), datatype)
            }
        }
        .into()
    }

    /// The number as XPath casts it to a string (XPath and XQuery Functions 3.1, 19.1.1).
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Integer(value) => value.to_string(),
            Self::Decimal(value) => value.to_string(),
            Self::Long(value) => value.text(),
            Self::Float(value) => match f32::from(*value) {
                number if has_exponent(number.into()) => with_fraction(format!("{number:E}")),
                _ => value.to_string(),
            },
            Self::Double(value) => match f64::from(*value) {
                number if has_exponent(number) => with_fraction(format!("{number:E}")),
                _ => value.to_string(),
            },
        }
    }

    /// Whether it counts as true.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Integer(value) => *value != 0,
            Self::Decimal(value) => *value != Decimal::default(),
            Self::Long(value) => !value.units.is_zero(),
            Self::Float(value) => f32::from(*value) != 0.0 && !value.is_nan(),
            Self::Double(value) => f64::from(*value) != 0.0 && !value.is_nan(),
        }
    }

    pub(crate) fn is_nan(&self) -> bool {
        match self {
            Self::Float(value) => value.is_nan(),
            Self::Double(value) => value.is_nan(),
            Self::Integer(_) | Self::Decimal(_) | Self::Long(_) => false,
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Option<Self> {
        Some(match self.with(other) {
            Pair::Integers(left, right) => match left.checked_add(right) {
                Some(sum) => Self::Integer(sum),
                None => Exact::of_integer(left).plus(&Exact::of_integer(right))?,
            },
            Pair::Decimals(left, right) => match left.checked_add(right) {
                Some(sum) => Self::Decimal(sum),
                None => Exact::of_decimal(left).plus(&Exact::of_decimal(right))?,
            },
            Pair::Exact(left, right) => left.plus(&right)?,
            Pair::Floats(left, right) => Self::Float(left + right),
            Pair::Doubles(left, right) => Self::Double(left + right),
        })
    }

    pub(crate) fn minus(&self, other: &Self) -> Option<Self> {
        match self.with(other) {
            Pair::Floats(left, right) => Some(Self::Float(left - right)),
            Pair::Doubles(left, right) => Some(Self::Double(left - right)),
            _ => self.plus(&other.negated()),
        }
    }

    pub(crate) fn times(&self, other: &Self) -> Option<Self> {
        Some(match self.with(other) {
            Pair::Integers(left, right) => match left.checked_mul(right) {
                Some(product) => Self::Integer(product),
                None => Exact::of_integer(left).times(&Exact::of_integer(right))?,
            },
            Pair::Decimals(left, right) => match left.checked_mul(right) {
                Some(product) => Self::Decimal(product),
                None => Exact::of_decimal(left).times(&Exact::of_decimal(right))?,
            },
            Pair::Exact(left, right) => left.times(&right)?,
            Pair::Floats(left, right) => Self::Float(left * right),
            Pair::Doubles(left, right) => Self::Double(left * right),
        })
    }

    /// The quotient, a decimal where both are exact. `None`: such a division by zero.
    pub(crate) fn divided_by(&self, other: &Self) -> Option<Self> {
        Some(match self.with(other) {
            Pair::Integers(left, right) => {
                return Self::Decimal(Decimal::from(left)).divided_by(&Self::Decimal(Decimal::from(right)));
            }
            Pair::Decimals(left, right) => match left.checked_div(right) {
                Some(quotient) => Self::Decimal(quotient),
                None => Exact::of_decimal(left).divided_by(&Exact::of_decimal(right))?,
            },
            Pair::Exact(left, right) => left.divided_by(&right)?,
            Pair::Floats(left, right) => Self::Float(left / right),
            Pair::Doubles(left, right) => Self::Double(left / right),
        })
    }

    pub(crate) fn negated(&self) -> Self {
        match self {
            Self::Float(value) => Self::Float(-*value),
            Self::Double(value) => Self::Double(-*value),
            exact => exact.exact().map_or_else(|| exact.clone(), |value| value.with_units(-&value.units)),
        }
    }

    pub(crate) fn absolute(&self) -> Self {
        match self {
            Self::Float(value) => Self::Float(value.abs()),
            Self::Double(value) => Self::Double(value.abs()),
            exact => exact.exact().map_or_else(|| exact.clone(), |value| value.with_units(value.units.abs())),
        }
    }

    pub(crate) fn floor(&self) -> Self {
        self.rounded(Float::floor, Double::floor, |value| value.floor_units())
    }

    pub(crate) fn ceiling(&self) -> Self {
        self.rounded(Float::ceil, Double::ceil, |value| -value.with_negated_units().floor_units())
    }

    /// Halves go up.
    pub(crate) fn round(&self) -> Self {
        self.rounded(Float::round, Double::round, Exact::rounded_units)
    }

    fn rounded(
        &self,
        of_float: fn(Float) -> Float,
        of_double: fn(Double) -> Double,
        whole_units: fn(&Exact) -> BigInt,
    ) -> Self {
        match self {
            Self::Float(value) => Self::Float(of_float(*value)),
            Self::Double(value) => Self::Double(of_double(*value)),
            exact => exact.exact().map_or_else(
                || exact.clone(),
                |value| Exact { units: whole_units(&value), scale: 0, ..value }.normalized(),
            ),
        }
    }

    /// The order of the operator `<`. `None`: one is not a number.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        match self.with(other) {
            Pair::Integers(left, right) => Some(left.cmp(&right)),
            Pair::Decimals(left, right) => Some(left.cmp(&right)),
            Pair::Exact(left, right) => {
                let (left, right) = left.aligned(&right);
                Some(left.cmp(&right))
            }
            Pair::Floats(left, right) => left.partial_cmp(&right),
            Pair::Doubles(left, right) => left.partial_cmp(&right),
        }
    }

    /// The value of an integer, or the nearest one of 64 bits. `None`: it is no integer.
    pub(crate) fn nearest_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            Self::Long(value) if value.is_integer => Some(if value.units.is_negative() { i64::MIN } else { i64::MAX }),
            _ => None,
        }
    }

    /// As an integer: without its fraction. `None`: it is infinite or no number.
    pub(crate) fn to_integer(&self) -> Option<Self> {
        let value = self.to_decimal()?.exact()?;
        let units =
            if value.units.is_negative() { -value.with_negated_units().floor_units() } else { value.floor_units() };
        Some(Exact { units, scale: 0, is_integer: true }.normalized())
    }

    /// As a decimal. `None`: it is infinite or no number.
    pub(crate) fn to_decimal(&self) -> Option<Self> {
        match self {
            Self::Float(value) => decimal_of(f32::from(*value).into(), &f32::from(*value).to_string(), WHOLE_FLOAT),
            Self::Double(value) => decimal_of(f64::from(*value), &f64::from(*value).to_string(), WHOLE_DOUBLE),
            exact => Some(Exact { is_integer: false, ..exact.exact()? }.normalized()),
        }
    }

    pub(crate) fn to_double(&self) -> Double {
        match self {
            Self::Integer(value) => Integer::from(*value).into(),
            Self::Decimal(value) => (*value).into(),
            Self::Long(value) => value.text().parse().unwrap_or_else(|_| f64::NAN.into()),
            Self::Float(value) => (*value).into(),
            Self::Double(value) => *value,
        }
    }

    pub(crate) fn to_float(&self) -> Float {
        match self {
            Self::Integer(value) => Integer::from(*value).into(),
            Self::Decimal(value) => (*value).into(),
            Self::Long(value) => value.text().parse().unwrap_or_else(|_| f32::NAN.into()),
            Self::Float(value) => *value,
            Self::Double(value) => (*value).into(),
        }
    }

    fn with(&self, other: &Self) -> Pair {
        use Number as N;
        match (self, other) {
            (N::Integer(left), N::Integer(right)) => Pair::Integers(*left, *right),
            (N::Decimal(left), N::Decimal(right)) => Pair::Decimals(*left, *right),
            (N::Integer(left), N::Decimal(right)) => Pair::Decimals((*left).into(), *right),
            (N::Decimal(left), N::Integer(right)) => Pair::Decimals(*left, (*right).into()),
            (N::Double(_), _) | (_, N::Double(_)) => Pair::Doubles(self.to_double(), other.to_double()),
            (N::Float(_), _) | (_, N::Float(_)) => Pair::Floats(self.to_float(), other.to_float()),
            _ => match (self.exact(), other.exact()) {
                (Some(left), Some(right)) => Pair::Exact(left, right),
                _ => Pair::Doubles(self.to_double(), other.to_double()),
            },
        }
    }

    /// Its exact value; `None` for floats and doubles.
    fn exact(&self) -> Option<Exact> {
        match self {
            Self::Integer(value) => Some(Exact::of_integer(*value)),
            Self::Decimal(value) => Some(Exact::of_decimal(*value)),
            Self::Long(value) => Some(value.clone()),
            Self::Float(_) | Self::Double(_) => None,
        }
    }
}

impl Exact {
    fn of_integer(value: i64) -> Self {
        Self { units: value.into(), scale: 0, is_integer: true }
    }

    fn of_decimal(value: Decimal) -> Self {
        Self { units: i128::from_be_bytes(value.to_be_bytes()).into(), scale: DECIMAL_SCALE, is_integer: false }
    }

    fn parse_integer(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        Some(Self { units: Self::parse_units(text, digits)?, scale: 0, is_integer: true })
    }

    fn parse_decimal(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let fraction = fraction.trim_end_matches('0');
        let units = Self::parse_units(text, &[whole, fraction].concat())?;
        Some(Self { units, scale: u32::try_from(fraction.len()).ok()?, is_integer: false })
    }

    /// The units of a form, with the sign that the form begins with.
    fn parse_units(form: &str, digits: &str) -> Option<BigInt> {
        if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let units: BigInt = digits.parse().ok()?;
        Some(if form.starts_with('-') { -units } else { units })
    }

    fn with_units(&self, units: BigInt) -> Number {
        Self { units, ..self.clone() }.normalized()
    }

    fn with_negated_units(&self) -> Self {
        Self { units: -&self.units, ..self.clone() }
    }

    fn plus(&self, other: &Self) -> Option<Number> {
        let (left, right) = self.aligned(other);
        let is_integer = self.is_integer && other.is_integer;
        Self { units: left + right, scale: self.scale.max(other.scale), is_integer }.bounded()
    }

    fn times(&self, other: &Self) -> Option<Number> {
        let is_integer = self.is_integer && other.is_integer;
        Self { units: &self.units * &other.units, scale: self.scale + other.scale, is_integer }.bounded()
    }

    fn divided_by(&self, other: &Self) -> Option<Number> {
        if other.units.is_zero() {
            return None;
        }
        // Zeros at the end of a fraction are none of its digits.
        let (left, right) = (self.shortened(), other.shortened());
        let operand_digits = left.scale.max(right.scale);
        let scale = if operand_digits <= QUOTIENT_DIGITS { QUOTIENT_DIGITS } else { operand_digits + QUOTIENT_DIGITS };
        let units = left.units * power_of_ten(scale + right.scale - left.scale) / right.units;
        Self { units, scale, is_integer: false }.bounded()
    }

    /// The units of both in the smaller unit.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt) {
        let scale = self.scale.max(other.scale);
        (&self.units * power_of_ten(scale - self.scale), &other.units * power_of_ten(scale - other.scale))
    }

    fn floor_units(&self) -> BigInt {
        let unit = power_of_ten(self.scale);
        let cut = &self.units / &unit;
        let has_fraction = !(&self.units % &unit).is_zero();
        if self.units.is_negative() && has_fraction { cut - 1 } else { cut }
    }

    fn rounded_units(&self) -> BigInt {
        let twice = Self { units: &self.units * 2 + power_of_ten(self.scale), ..self.clone() };
        // ⌊(2x + 1) / 2⌋
        Self { units: twice.units * 5, scale: self.scale + 1, is_integer: false }.floor_units()
    }

    /// Without the zeros at the end of its fraction.
    fn shortened(&self) -> Self {
        let mut short = self.clone();
        // A power of ten divides no more than the same power of two does.
        let twos = short.units.trailing_zeros().unwrap_or(u64::MAX);
        let mut step = short.scale.min(u32::try_from(twos).unwrap_or(u32::MAX));
        while step > 0 {
            let power = power_of_ten(step);
            if short.scale >= step && (&short.units % &power).is_zero() {
                short.units /= power;
                short.scale -= step;
            } else {
                step /= 2;
            }
        }
        short
    }

    /// `None` if it has too many digits.
    fn bounded(self) -> Option<Number> {
        // A digit takes a little less than 10/3 bits.
        let is_long = self.units.bits() > 10 * DIGITS_MAX as u64 / 3 || self.scale as usize > DIGITS_MAX;
        (!is_long).then(|| self.normalized())
    }

    /// As the shortest of the number's forms that holds it.
    fn normalized(self) -> Number {
        let short = if self.scale > DECIMAL_SCALE { self.shortened() } else { self };
        if short.is_integer {
            return match short.units.to_i64() {
                Some(value) => Number::Integer(value),
                None => Number::Long(short),
            };
        }
        let decimal = short.units.to_i128().and_then(|units| Decimal::new(units, short.scale).ok());
        decimal.map_or_else(|| Number::Long(short), Number::Decimal)
    }

    /// The canonical form.
    fn text(&self) -> String {
        let short = self.shortened();
        let sign = if short.units.sign() == Sign::Minus { "-" } else { "" };
        let digits = short.units.magnitude().to_string();
        let scale = short.scale as usize;
        if scale == 0 {
            return format!("{sign}{digits}");
        }
        let digits = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        format!("{sign}{whole}.{fraction}")
    }
}

/// The decimal that a float or a double stands for, given its shortest form without an exponent. Digits that a cast
/// does not keep are cut off. From `whole` on, all values are integers, whose shortest form may end with wrong digits.
fn decimal_of(value: f64, form: &str, whole: f64) -> Option<Number> {
    if !value.is_finite() {
        return None;
    }
    if value.abs() >= whole {
        return Exact::parse_decimal(&format!("{value:.0}")).map(Exact::normalized);
    }
    let end = form.find('.').map_or(form.len(), |point| form.len().min(point + 1 + DECIMAL_SCALE as usize));
    Exact::parse_decimal(&form[..end]).map(Exact::normalized)
}

/// Whether a float or a double is written with an exponent.
fn has_exponent(value: f64) -> bool {
    value.is_finite() && value != 0.0 && !(1e-6..1e6).contains(&value.abs())
}

/// The mantissa of a form with an exponent has a fraction.
fn with_fraction(form: String) -> String {
    match form.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => form,
    }
}

fn power_of_ten(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// Doubles from here on are whole.
const WHOLE_DOUBLE: f64 = 9_007_199_254_740_992.0;
/// Floats from here on are whole.
const WHOLE_FLOAT: f64 = 16_777_216.0;

/// Digits behind the point of the evaluator's decimals.
const DECIMAL_SCALE: u32 = 18;
