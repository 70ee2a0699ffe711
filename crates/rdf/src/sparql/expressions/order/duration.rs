//! Durations on one line: by where one that begins at 1903-03-01T00:00:00 ends, then by their months, then by their
//! seconds.
//!
//! XSD compares durations from four beginnings. This is one of them: if all four agree, so does the order here.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;

use super::number::DIGITS_MAX;
use super::time::{CYCLE_YEARS, days_before_month};

/// A duration: months and seconds, both of the same sign.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// Units of a second from the beginning to the end.
    end: BigInt,
    months: BigInt,
    seconds: BigInt,
    /// Decimal digits of a second that are in `end` and `seconds`.
    fraction_digits: u32,
}

impl Span {
    /// The duration of a form; `None` if the datatype has no such form, or the form is too long.
    pub(crate) fn parse(text: &str, datatype: NamedNodeRef<'_>) -> Option<Self> {
        if text.len() > DIGITS_MAX {
            return None;
        }
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, text),
        };
        let fields = unsigned.strip_prefix('P')?;
        let (date, time) = match fields.split_once('T') {
            Some((_, "")) => return None,
            Some((date, time)) => (date, time),
            None => (fields, ""),
        };
        if date.is_empty() && time.is_empty() {
            return None;
        }
        let mut rest = date;
        let [years, months, days] = ['Y', 'M', 'D'].map(|unit| field(&mut rest, unit));
        let mut time_rest = time;
        let [hours, minutes] = ['H', 'M'].map(|unit| field(&mut time_rest, unit));
        let (seconds, fraction) = second_field(&mut time_rest)?;
        let has_months = years.is_some() || months.is_some();
        let has_seconds = days.is_some() || !time.is_empty();
        let is_allowed = match datatype {
            xsd::YEAR_MONTH_DURATION => !has_seconds,
            xsd::DAY_TIME_DURATION => !has_months,
            _ => true,
        };
        if !rest.is_empty() || !time_rest.is_empty() || !is_allowed {
            return None;
        }
        let number =
            |part: Option<&str>| -> Option<BigInt> { part.map_or(Some(BigInt::ZERO), |digits| digits.parse().ok()) };
        let months: BigInt = number(years)? * 12 + number(months)?;
        let whole: BigInt = ((number(days)? * 24 + number(hours)?) * 60 + number(minutes)?) * 60 + number(seconds)?;
        let fraction = fraction.trim_end_matches('0');
        let fraction_digits = u32::try_from(fraction.len()).ok()?;
        let fraction = if fraction.is_empty() { BigInt::ZERO } else { fraction.parse().ok()? };
        let seconds = whole * BigInt::from(10).pow(fraction_digits) + fraction;
        let (months, seconds) = if is_negative { (-months, -seconds) } else { (months, seconds) };
        Some(Self::new(months, seconds, fraction_digits))
    }

    fn new(months: BigInt, seconds: BigInt, fraction_digits: u32) -> Self {
        let end = end_from(BEGINNINGS[0], &months, &seconds, fraction_digits);
        Self { end, months, seconds, fraction_digits }
    }

    /// The order where XSD defines one: from whichever of the four beginnings, the durations end in this order.
    pub(crate) fn compare_defined(&self, other: &Self) -> Option<Ordering> {
        let digits = self.fraction_digits.max(other.fraction_digits);
        let (seconds, other_seconds) = (self.scaled(&self.seconds, digits), other.scaled(&other.seconds, digits));
        let [first, rest @ ..] = BEGINNINGS.map(|beginning| {
            let end = end_from(beginning, &self.months, &seconds, digits);
            end.cmp(&end_from(beginning, &other.months, &other_seconds, digits))
        });
        rest.iter().all(|order| *order == first).then_some(first)
    }

    /// A value of this duration in units of so many digits of a second. Requires: it has no more.
    fn scaled(&self, value: &BigInt, fraction_digits: u32) -> BigInt {
        value * BigInt::from(10).pow(fraction_digits - self.fraction_digits)
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        if self.fraction_digits == other.fraction_digits {
            return (&self.end, &self.months, &self.seconds).cmp(&(&other.end, &other.months, &other.seconds));
        }
        let digits = self.fraction_digits.max(other.fraction_digits);
        (self.scaled(&self.end, digits), &self.months, self.scaled(&self.seconds, digits)).cmp(&(
            other.scaled(&other.end, digits),
            &other.months,
            other.scaled(&other.seconds, digits),
        ))
    }
}

/// Where a duration that begins at the first of a month ends, in units of so many digits of a second.
fn end_from(beginning: i64, months: &BigInt, seconds: &BigInt, fraction_digits: u32) -> BigInt {
    const CYCLE_MONTHS: i64 = CYCLE_YEARS * 12;
    let at = months + beginning;
    let mut within = &at % CYCLE_MONTHS;
    if within < BigInt::ZERO {
        within += CYCLE_MONTHS;
    }
    let cycle = (at - &within) / CYCLE_MONTHS;
    let within = within.to_i64().expect("a month of a cycle is in 64 bits");
    let days = cycle * 146_097 + days_before_month(within / 12, within % 12 + 1);
    days * 86_400 * BigInt::from(10).pow(fraction_digits) + seconds
}

/// Months from the year 0 to March 1903, September 1696, February 1697 and July 1903: where XSD has durations begin.
const BEGINNINGS: [i64; 4] = [1903 * 12 + 2, 1696 * 12 + 8, 1697 * 12 + 1, 1903 * 12 + 6];

/// The digits of the next field, if it has this unit.
fn field<'t>(rest: &mut &'t str, unit: char) -> Option<&'t str> {
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let after = rest[end..].strip_prefix(unit).filter(|_| end > 0)?;
    let digits = &rest[..end];
    *rest = after;
    Some(digits)
}

/// The field of seconds and its fraction, if there is one. `None` if it is ill-formed.
fn second_field<'t>(rest: &mut &'t str) -> Option<(Option<&'t str>, &'t str)> {
    let Some(fields) = rest.strip_suffix('S') else { return Some((None, "")) };
    *rest = "";
    let (whole, fraction) = match fields.split_once('.') {
        Some((_, "")) => return None,
        Some((whole, fraction)) => (whole, fraction),
        None => (fields, ""),
    };
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    (!whole.is_empty() && are_digits(whole) && are_digits(fraction)).then_some((Some(whole), fraction))
}
