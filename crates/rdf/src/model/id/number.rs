//! Payloads that are numbers: integers of all kinds, decimals, floats and doubles.

use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;
use oxsdatatypes::Decimal;

/// A datatype of integers and its values.
pub struct IntegerType {
    name: &'static str,
    pub datatype: NamedNodeRef<'static>,
    low: i64,
    high: i64,
}

const fn integers(name: &'static str, datatype: NamedNodeRef<'static>, low: i64, high: i64) -> IntegerType {
    IntegerType { name, datatype, low, high }
}

/// In the order of their tags: never reorder.
pub const INTEGERS: [IntegerType; 13] = [
    integers("integer", xsd::INTEGER, i64::MIN, i64::MAX),
    integers("long", xsd::LONG, i64::MIN, i64::MAX),
    integers("int", xsd::INT, i32::MIN as i64, i32::MAX as i64),
    integers("short", xsd::SHORT, i16::MIN as i64, i16::MAX as i64),
    integers("byte", xsd::BYTE, i8::MIN as i64, i8::MAX as i64),
    integers("nonNegativeInteger", xsd::NON_NEGATIVE_INTEGER, 0, i64::MAX),
    integers("positiveInteger", xsd::POSITIVE_INTEGER, 1, i64::MAX),
    integers("unsignedLong", xsd::UNSIGNED_LONG, 0, i64::MAX),
    integers("unsignedInt", xsd::UNSIGNED_INT, 0, u32::MAX as i64),
    integers("unsignedShort", xsd::UNSIGNED_SHORT, 0, u16::MAX as i64),
    integers("unsignedByte", xsd::UNSIGNED_BYTE, 0, u8::MAX as i64),
    integers("nonPositiveInteger", xsd::NON_POSITIVE_INTEGER, i64::MIN, 0),
    integers("negativeInteger", xsd::NEGATIVE_INTEGER, i64::MIN, -1),
];

/// The row of a type and the payload of a value, if the value is in the range of the type and in 56 bits, and is
/// written without a superfluous sign or zeros.
pub fn parse_integer(name: &str, value: &str) -> Option<(u8, u64)> {
    let index = INTEGERS.iter().position(|row| row.name == name)?;
    let number = parse_digits(value)?;
    let row = &INTEGERS[index];
    let fits = (row.low..=row.high).contains(&number) && (-INTEGER_ZERO..INTEGER_ZERO).contains(&number);
    fits.then_some((index as u8, (number + INTEGER_ZERO) as u64))
}

fn parse_digits(value: &str) -> Option<i64> {
    let digits = value.strip_prefix('-').unwrap_or(value).as_bytes();
    let leading = *digits.first()?;
    if digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) || (leading == b'0' && value != "0") {
        return None;
    }
    value.parse().ok()
}

pub fn integer(payload: u64) -> i64 {
    payload as i64 - INTEGER_ZERO
}

/// Millionths, and how many digits stand after the point; 0 for no point.
pub fn parse_decimal(value: &str) -> Option<u64> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let digits = fraction.len();
    let has_empty_fraction = digits == 0 && whole.len() < value.len();
    if has_empty_fraction || digits > DECIMAL_DIGITS || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let is_negative = whole.starts_with('-');
    // A zero keeps its sign only in the text.
    let magnitude = parse_digits(whole.strip_prefix('-').unwrap_or(whole)).filter(|&number| number >= 0)?;
    let fraction: i64 = if digits == 0 { 0 } else { fraction.parse().ok()? };
    let fraction = fraction * 10_i64.pow((DECIMAL_DIGITS - digits) as u32);
    let millionths = magnitude.checked_mul(1_000_000)?.checked_add(fraction)?;
    if (is_negative && millionths == 0) || millionths >= DECIMAL_ZERO {
        return None;
    }
    let signed = if is_negative { -millionths } else { millionths };
    Some(((signed + DECIMAL_ZERO) as u64) << 4 | digits as u64)
}

fn millionths(payload: u64) -> i64 {
    (payload >> 4) as i64 - DECIMAL_ZERO
}

pub fn decimal(payload: u64) -> Option<Decimal> {
    Decimal::new(millionths(payload).into(), DECIMAL_DIGITS as u32).ok()
}

pub fn format_decimal(payload: u64) -> Option<String> {
    let digits = (payload & 15) as usize;
    let millionths = millionths(payload);
    let (whole, fraction) = (millionths.unsigned_abs() / 1_000_000, millionths.unsigned_abs() % 1_000_000);
    let sign = if millionths < 0 { "-" } else { "" };
    let dropped = 10_u64.pow(DECIMAL_DIGITS.checked_sub(digits)? as u32);
    if fraction % dropped != 0 {
        return None;
    }
    Some(match digits {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{:0digits$}", fraction / dropped),
    })
}

/// The bits of a float or double, made to order as the values do, below them how it is written. NaN is one.
pub fn parse_double(value: &str) -> Option<u64> {
    let number: f64 = parse_real(value)?;
    if number.to_bits() & DOUBLE_BITS_LEFT_OUT != 0 {
        return None;
    }
    let bits = ordered(number.to_bits());
    let form = FORMS.iter().position(|form| form.write_double(number).as_deref() == Some(value))?;
    Some((bits >> DOUBLE_BITS_LEFT_OUT.count_ones()) << 2 | form as u64)
}

pub fn double(payload: u64) -> f64 {
    f64::from_bits(unordered((payload >> 2) << DOUBLE_BITS_LEFT_OUT.count_ones()) & !DOUBLE_BITS_LEFT_OUT)
}

pub fn format_double(payload: u64) -> Option<String> {
    FORMS[(payload & 3) as usize].write_double(double(payload))
}

pub fn parse_float(value: &str) -> Option<u64> {
    let number: f32 = parse_real(value)?;
    let bits = ordered((number.to_bits() as u64) << 32) >> 32;
    let form = FORMS.iter().position(|form| form.write_float(number).as_deref() == Some(value))?;
    Some(bits << 2 | form as u64)
}

pub fn float(payload: u64) -> Option<f32> {
    let bits = u32::try_from(payload >> 2).ok()?;
    Some(f32::from_bits((unordered((bits as u64) << 32) >> 32) as u32))
}

pub fn format_float(payload: u64) -> Option<String> {
    FORMS[(payload & 3) as usize].write_float(float(payload)?)
}

/// What XSD says is a number, and what Rust reads.
fn parse_real<T: std::str::FromStr>(value: &str) -> Option<T> {
    match value {
        "INF" | "-INF" | "NaN" => value.parse().ok(),
        _ if value.len() <= REAL_BYTES_MAX && value.bytes().all(|byte| b"+-.eE0123456789".contains(&byte)) => {
            value.parse().ok()
        }
        _ => None,
    }
}

/// Turns the bits of a double into a number that orders as the double does.
fn ordered(bits: u64) -> u64 {
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn unordered(bits: u64) -> u64 {
    if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits }
}

/// How a float or double is written; a value has the first that fits.
#[derive(Clone, Copy)]
enum Form {
    /// As XSD says is canonical: `1.5E0`.
    Canonical,
    /// Digits and a point if need be: `1.5`, `100`.
    Digits,
    /// Always with a point: `100.0`.
    Point,
    /// With the shortest mantissa: `1E2`.
    Short,
}

/// In the order of their numbers: never reorder.
const FORMS: [Form; 4] = [Form::Canonical, Form::Digits, Form::Point, Form::Short];

impl Form {
    fn write_double(self, number: f64) -> Option<String> {
        if !number.is_finite() {
            return self.write_odd(number);
        }
        self.write(&format!("{number:E}"), || number.to_string())
    }

    fn write_float(self, number: f32) -> Option<String> {
        if !number.is_finite() {
            return self.write_odd(number.into());
        }
        self.write(&format!("{number:E}"), || number.to_string())
    }

    fn write_odd(self, number: f64) -> Option<String> {
        match self {
            Self::Canonical if number.is_nan() => Some("NaN".into()),
            Self::Canonical => Some(if number > 0.0 { "INF".into() } else { "-INF".into() }),
            _ => None,
        }
    }

    fn write(self, scientific: &str, plain: impl FnOnce() -> String) -> Option<String> {
        Some(match self {
            Self::Canonical => {
                let (mantissa, exponent) = scientific.split_once('E')?;
                let point = if mantissa.contains('.') { "" } else { ".0" };
                format!("{mantissa}{point}E{exponent}")
            }
            Self::Digits => plain(),
            Self::Point => {
                let digits = plain();
                if digits.contains('.') { digits } else { format!("{digits}.0") }
            }
            Self::Short => scientific.to_owned(),
        })
    }
}

/// What stands for the integer 0, so that negative ones come before it.
const INTEGER_ZERO: i64 = 1 << 55;
const DECIMAL_ZERO: i64 = 1 << 51;
const DECIMAL_DIGITS: usize = 6;
/// Bits of a double that must be zero.
const DOUBLE_BITS_LEFT_OUT: u64 = (1 << 10) - 1;
/// Longer forms are none that is written here.
const REAL_BYTES_MAX: usize = 400;
