//! Dates and times as instants, of years of any length.
//!
//! An instant is the number of a cycle of 400 years, which all have the same length, and seconds within it. Parts that
//! a type does not have are those of the first day of 1972, a leap year. What has no zone is taken as UTC: where `<` is
//! defined between an instant with a zone and one without, they are more than 14 hours apart, so that this rule agrees
//! with it.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;

use super::number::DIGITS_MAX;

/// A type of dates or times. Values of one type are compared with each other alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimeType {
    DateTime,
    Date,
    Time,
    YearMonth,
    Year,
    MonthDay,
    Month,
    Day,
}

impl TimeType {
    pub(crate) fn of(datatype: NamedNodeRef<'_>) -> Option<Self> {
        Some(match datatype {
            xsd::DATE_TIME | xsd::DATE_TIME_STAMP => Self::DateTime,
            xsd::DATE => Self::Date,
            xsd::TIME => Self::Time,
            xsd::G_YEAR_MONTH => Self::YearMonth,
            xsd::G_YEAR => Self::Year,
            xsd::G_MONTH_DAY => Self::MonthDay,
            xsd::G_MONTH => Self::Month,
            xsd::G_DAY => Self::Day,
            _ => return None,
        })
    }
}

/// A place in time, by which dates and times order: cycle, second, fraction of the second, and whether there is a zone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant {
    cycle: Cycle,
    /// Less than [`CYCLE_SECONDS`].
    second: i64,
    /// Decimal digits, without zeros at their end.
    fraction: Box<[u8]>,
    has_zone: bool,
}

/// The number of a cycle of 400 years.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cycle {
    Near(i64),
    /// One that is not in 64 bits.
    Far(BigInt),
}

impl PartialOrd for Cycle {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cycle {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Near(left), Self::Near(right)) => left.cmp(right),
            (Self::Far(left), Self::Far(right)) => left.cmp(right),
            (Self::Near(_), Self::Far(far)) => BigInt::ZERO.cmp(far),
            (Self::Far(far), Self::Near(_)) => far.cmp(&BigInt::ZERO),
        }
    }
}

impl Instant {
    /// The instant of a form; `None` if the type has no such form, or the year has too many digits.
    pub(crate) fn parse(text: &str, kind: TimeType) -> Option<Self> {
        use TimeType as T;
        let mut form = Form { rest: text };
        let mut parts = Parts::default();
        if matches!(kind, T::DateTime | T::Date | T::YearMonth | T::Year) {
            (parts.cycle, parts.year) = form.year()?;
        }
        match kind {
            T::DateTime | T::Date | T::YearMonth => form.literal("-")?,
            T::MonthDay | T::Month => form.literal("--")?,
            T::Day => form.literal("---")?,
            T::Year | T::Time => {}
        }
        if matches!(kind, T::DateTime | T::Date | T::YearMonth | T::MonthDay | T::Month) {
            parts.month = form.two_digits(1..=12)?;
        }
        if matches!(kind, T::DateTime | T::Date | T::MonthDay) {
            form.literal("-")?;
        }
        if matches!(kind, T::DateTime | T::Date | T::MonthDay | T::Day) {
            parts.day = form.two_digits(1..=31)?;
        }
        if parts.day > days_in_month(parts.year, parts.month) {
            return None;
        }
        if kind == T::DateTime {
            form.literal("T")?;
        }
        let fraction = if matches!(kind, T::DateTime | T::Time) { form.time(&mut parts, kind)? } else { "" };
        let zone_minutes = form.zone()?;
        let second = parts.second_of_cycle() - zone_minutes.unwrap_or(0) * 60;
        Some(Self {
            cycle: parts.cycle.advanced_by(second.div_euclid(CYCLE_SECONDS)),
            second: second.rem_euclid(CYCLE_SECONDS),
            fraction: fraction.trim_end_matches('0').as_bytes().into(),
            has_zone: zone_minutes.is_some(),
        })
    }

    /// The order where XSD defines one: between an instant with a zone and one without only if they are more than 14
    /// hours apart.
    pub(crate) fn compare_defined(&self, other: &Self) -> Option<Ordering> {
        if self.has_zone == other.has_zone {
            return Some(self.cmp(other));
        }
        let (late, early) = (self.shifted(ZONE_SECONDS_MAX), self.shifted(-ZONE_SECONDS_MAX));
        let (after, before) = (late.compare_places(other), early.compare_places(other));
        (after == before).then_some(after)
    }

    fn compare_places(&self, other: &Self) -> Ordering {
        (&self.cycle, self.second, &self.fraction).cmp(&(&other.cycle, other.second, &other.fraction))
    }

    fn shifted(&self, seconds: i64) -> Self {
        let second = self.second + seconds;
        Self {
            cycle: self.cycle.clone().advanced_by(second.div_euclid(CYCLE_SECONDS)),
            second: second.rem_euclid(CYCLE_SECONDS),
            ..self.clone()
        }
    }
}

impl Cycle {
    fn advanced_by(self, cycles: i64) -> Self {
        match (cycles, self) {
            (0, same) => same,
            (_, Self::Near(cycle)) => match cycle.checked_add(cycles) {
                Some(cycle) => Self::Near(cycle),
                None => Self::Far(BigInt::from(cycle) + cycles),
            },
            (_, Self::Far(cycle)) => (cycle + cycles).into(),
        }
    }
}

impl From<BigInt> for Cycle {
    fn from(cycle: BigInt) -> Self {
        match cycle.to_i64() {
            Some(cycle) => Self::Near(cycle),
            None => Self::Far(cycle),
        }
    }
}

/// The parts of a date and time; those of 1972-01-01T00:00:00 where a type has none.
struct Parts {
    cycle: Cycle,
    /// Within the cycle.
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
}

impl Default for Parts {
    fn default() -> Self {
        let (cycle, year) = (Cycle::Near(1972 / CYCLE_YEARS), 1972 % CYCLE_YEARS);
        Self { cycle, year, month: 1, day: 1, hour: 0, minute: 0, second: 0 }
    }
}

impl Parts {
    fn second_of_cycle(&self) -> i64 {
        let days = days_before_month(self.year, self.month) + self.day - 1;
        ((days * 24 + self.hour) * 60 + self.minute) * 60 + self.second
    }
}

/// Days from the first of a cycle to the first of a month. Requires: the year is within the cycle.
pub(crate) fn days_before_month(year: i64, month: i64) -> i64 {
    // Year 0 of a cycle is a leap year.
    let leap_years = if year == 0 { 0 } else { 1 + (year - 1) / 4 - (year - 1) / 100 };
    365 * year + leap_years + (1..month).map(|month| days_in_month(year, month)).sum::<i64>()
}

/// Requires: the year is within the cycle.
fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// What is left of a form.
struct Form<'t> {
    rest: &'t str,
}

impl<'t> Form<'t> {
    fn literal(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    fn digits(&mut self) -> &'t str {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits
    }

    fn two_digits(&mut self, allowed: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let digits = self.rest.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        self.rest = &self.rest[2..];
        digits.parse().ok().filter(|value| allowed.contains(value))
    }

    /// The cycle, and the year within it.
    fn year(&mut self) -> Option<(Cycle, i64)> {
        let is_negative = self.rest.starts_with('-');
        if is_negative {
            self.rest = &self.rest[1..];
        }
        let digits = self.digits();
        if !(4..=DIGITS_MAX).contains(&digits.len()) || (digits.len() > 4 && digits.starts_with('0')) {
            return None;
        }
        if let Ok(year) = digits.parse::<i64>() {
            let year = if is_negative { -year } else { year };
            return Some((Cycle::Near(year.div_euclid(CYCLE_YEARS)), year.rem_euclid(CYCLE_YEARS)));
        }
        let year: BigInt = digits.parse().ok()?;
        let year = if is_negative { -year } else { year };
        let mut within = &year % CYCLE_YEARS;
        if within < BigInt::ZERO {
            within += CYCLE_YEARS;
        }
        let cycle = (year - &within) / CYCLE_YEARS;
        Some((cycle.into(), within.to_i64()?))
    }

    /// Reads `hh:mm:ss(.f+)?`, and returns the fraction.
    fn time(&mut self, parts: &mut Parts, kind: TimeType) -> Option<&'t str> {
        parts.hour = self.two_digits(0..=24)?;
        self.literal(":")?;
        parts.minute = self.two_digits(0..=59)?;
        self.literal(":")?;
        parts.second = self.two_digits(0..=59)?;
        let mut fraction = "";
        if self.literal(".").is_some() {
            fraction = self.digits();
            if fraction.is_empty() {
                return None;
            }
        }
        if parts.hour == 24 {
            let is_midnight = parts.minute == 0 && parts.second == 0 && fraction.bytes().all(|digit| digit == b'0');
            if !is_midnight {
                return None;
            }
            // A time has no day that could be the next.
            if kind == TimeType::Time {
                parts.hour = 0;
            }
        }
        Some(fraction)
    }

    /// The offset of the zone in minutes, at the end of the form. `Some(None)` if there is no zone.
    fn zone(&mut self) -> Option<Option<i64>> {
        let sign = match self.rest {
            "" => return Some(None),
            "Z" => return Some(Some(0)),
            rest if rest.starts_with('+') => 1,
            rest if rest.starts_with('-') => -1,
            _ => return None,
        };
        self.rest = &self.rest[1..];
        let hours = self.two_digits(0..=14)?;
        self.literal(":")?;
        let minutes = self.two_digits(0..=59)?;
        let total = hours * 60 + minutes;
        (self.rest.is_empty() && total <= ZONE_SECONDS_MAX / 60).then_some(Some(sign * total))
    }
}

/// The years after which the calendar repeats.
pub(crate) const CYCLE_YEARS: i64 = 400;
/// The seconds of these years.
const CYCLE_SECONDS: i64 = 146_097 * 86_400;
/// What a zone may differ from UTC.
const ZONE_SECONDS_MAX: i64 = 14 * 3_600;
