//! Payloads that are points in time: dates with times, dates, times, years.
//!
//! A payload is an instant, with what has no zone taken as UTC, and below it the zone as it is written. Years are 0001
//! to 9999.

/// Milliseconds since 1970, and the zone. Fractions of seconds have at most three digits, and no zero at the end.
pub fn parse_date_time(value: &str) -> Option<u64> {
    let (day, rest) = take_date(value)?;
    let (millis, rest) = take_clock(rest.strip_prefix('T')?)?;
    let zone = Zone::parse(rest)?;
    let instant = day * DAY_MS + millis - zone.minutes() * MINUTE_MS;
    in_range(instant, DATE_TIME_ZERO).map(|instant| instant << ZONE_BITS | zone.0)
}

/// Appends the form; `None` if there is none. So do all that write.
pub fn write_date_time(payload: u64, out: &mut String) -> Option<()> {
    let zone = Zone::of(payload)?;
    let local = (payload >> ZONE_BITS) as i64 - DATE_TIME_ZERO + zone.minutes() * MINUTE_MS;
    write_day(local.div_euclid(DAY_MS), out)?;
    out.push('T');
    write_clock(local.rem_euclid(DAY_MS), out);
    zone.write(out);
    Some(())
}

/// Minutes from 1970 to where the day begins, and the zone.
pub fn parse_date(value: &str) -> Option<u64> {
    let (day, rest) = take_date(value)?;
    let zone = Zone::parse(rest)?;
    in_range(day * DAY_MINUTES - zone.minutes(), DATE_ZERO).map(|instant| instant << ZONE_BITS | zone.0)
}

pub fn write_date(payload: u64, out: &mut String) -> Option<()> {
    let zone = Zone::of(payload)?;
    let local = (payload >> ZONE_BITS) as i64 - DATE_ZERO + zone.minutes();
    if local.rem_euclid(DAY_MINUTES) != 0 {
        return None;
    }
    write_day(local.div_euclid(DAY_MINUTES), out)?;
    zone.write(out);
    Some(())
}

/// Milliseconds since midnight, and the zone.
pub fn parse_time(value: &str) -> Option<u64> {
    let (millis, rest) = take_clock(value)?;
    let zone = Zone::parse(rest)?;
    in_range(millis - zone.minutes() * MINUTE_MS, TIME_ZERO).map(|instant| instant << ZONE_BITS | zone.0)
}

pub fn write_time(payload: u64, out: &mut String) -> Option<()> {
    let zone = Zone::of(payload)?;
    let local = (payload >> ZONE_BITS) as i64 - TIME_ZERO + zone.minutes() * MINUTE_MS;
    (0..DAY_MS).contains(&local).then(|| {
        write_clock(local, out);
        zone.write(out);
    })
}

pub fn parse_year(value: &str) -> Option<u64> {
    if value.len() != 4 || value == "0000" {
        return None;
    }
    digits(value).map(|year| year as u64)
}

pub fn write_year(payload: u64, out: &mut String) -> Option<()> {
    (1..=9999).contains(&payload).then(|| write_digits::<4>(payload as i64, out))
}

/// A zone as it is written: 0 for none, 1 for `Z`, else minutes from `-14:00` on.
struct Zone(u64);

impl Zone {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "" => return Some(Self(0)),
            "Z" => return Some(Self(1)),
            _ => {}
        }
        let (sign, rest) = text.split_at_checked(1)?;
        let (hours, minutes) = rest.split_once(':')?;
        if hours.len() != 2 || minutes.len() != 2 {
            return None;
        }
        let (hours, minutes) = (digits(hours)?, digits(minutes)?);
        let offset = hours * 60 + minutes;
        let offset = match sign {
            "+" => offset,
            // Minus nothing is written otherwise.
            "-" if offset > 0 => -offset,
            _ => return None,
        };
        (minutes < 60 && offset.abs() <= ZONE_MINUTES).then(|| Self((offset + ZONE_MINUTES) as u64 + 2))
    }

    fn of(payload: u64) -> Option<Self> {
        let zone = payload & ((1 << ZONE_BITS) - 1);
        (zone <= 2 + 2 * ZONE_MINUTES as u64).then_some(Self(zone))
    }

    fn minutes(&self) -> i64 {
        if self.0 < 2 { 0 } else { self.0 as i64 - 2 - ZONE_MINUTES }
    }

    fn write(&self, out: &mut String) {
        let minutes = self.minutes();
        match self.0 {
            0 => {}
            1 => out.push('Z'),
            _ => {
                out.push(if minutes < 0 { '-' } else { '+' });
                write_digits::<2>(minutes.abs() / 60, out);
                out.push(':');
                write_digits::<2>(minutes.abs() % 60, out);
            }
        }
    }
}

fn in_range(instant: i64, zero: i64) -> Option<u64> {
    (-zero..zero).contains(&instant).then(|| (instant + zero) as u64)
}

fn digits(text: &str) -> Option<i64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// The day since 1970 of `YYYY-MM-DD`, and what follows.
fn take_date(text: &str) -> Option<(i64, &str)> {
    let (date, rest) = text.split_at_checked(10)?;
    let bytes = date.as_bytes();
    if bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (digits(date.get(..4)?)?, digits(date.get(5..7)?)?, digits(date.get(8..)?)?);
    let known = year >= 1 && (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    known.then(|| (day_of(year, month, day), rest))
}

/// The milliseconds of `hh:mm:ss` or `hh:mm:ss.fff`, and what follows.
fn take_clock(text: &str) -> Option<(i64, &str)> {
    let (clock, rest) = text.split_at_checked(8)?;
    let bytes = clock.as_bytes();
    if bytes[2] != b':' || bytes[5] != b':' {
        return None;
    }
    let (hour, minute, second) = (digits(clock.get(..2)?)?, digits(clock.get(3..5)?)?, digits(clock.get(6..)?)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let millis = ((hour * 60 + minute) * 60 + second) * 1000;
    let Some(fraction) = rest.strip_prefix('.') else { return Some((millis, rest)) };
    let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let (fraction, rest) = fraction.split_at(length);
    if !(1..=3).contains(&length) || fraction.ends_with('0') {
        return None;
    }
    Some((millis + digits(fraction)? * 10_i64.pow(3 - length as u32), rest))
}

fn write_day(day: i64, out: &mut String) -> Option<()> {
    let (year, month, day) = date_of(day);
    (1..=9999).contains(&year).then(|| {
        write_digits::<4>(year, out);
        out.push('-');
        write_digits::<2>(month, out);
        out.push('-');
        write_digits::<2>(day, out);
    })
}

fn write_clock(millis: i64, out: &mut String) {
    let (seconds, fraction) = (millis / 1000, millis % 1000);
    for (mark, part) in [("", seconds / 3600), (":", seconds / 60 % 60), (":", seconds % 60)] {
        out.push_str(mark);
        write_digits::<2>(part, out);
    }
    if fraction != 0 {
        out.push('.');
        write_digits::<3>(fraction, out);
        while out.ends_with('0') {
            out.pop();
        }
    }
}

/// The last digits of a number.
fn write_digits<const DIGITS: usize>(mut number: i64, out: &mut String) {
    let mut digits = [0; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    digits.into_iter().for_each(|digit| out.push(char::from(digit)));
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970 in the Gregorian calendar. Years are counted from March, so that the leap day is the last of its
/// year.
fn day_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - DAYS_TO_1970
}

fn date_of(day: i64) -> (i64, i64, i64) {
    let day = day + DAYS_TO_1970;
    // 400 years have 146,097 days. The first guess is at most one year too late.
    let mut year = (day * 400).div_euclid(146_097);
    let first = |year: i64| 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    while first(year + 1) <= day {
        year += 1;
    }
    while first(year) > day {
        year -= 1;
    }
    let day_of_year = day - first(year);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (if month <= 2 { year + 1 } else { year }, month, day)
}

const ZONE_BITS: u32 = 11;
const ZONE_MINUTES: i64 = 14 * 60;
const MINUTE_MS: i64 = 60_000;
const DAY_MINUTES: i64 = 24 * 60;
const DAY_MS: i64 = DAY_MINUTES * MINUTE_MS;
/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;
/// What stands for 1970 or midnight, so that what is before it comes before it.
const DATE_TIME_ZERO: i64 = 1 << 44;
const DATE_ZERO: i64 = 1 << 44;
const TIME_ZERO: i64 = 1 << 30;
