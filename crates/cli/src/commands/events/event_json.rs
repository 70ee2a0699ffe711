//! Events as NDJSON.

use std::fmt::Write;

use fulgurite_events::{EventId, RecordedEvent, Timestamp};
use serde_json::value::RawValue;

use crate::json::push_string;

/// Adds an event as one line.
pub fn push_event(event: &RecordedEvent, out: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(out, "{{\"position\":{},\"version\":{},\"stream\":", event.position, event.version);
    push_string(&String::from_utf8_lossy(&event.stream), out);
    out.push_str(",\"type\":");
    push_string(&event.kind, out);
    if event.schema > 0 {
        let _ = write!(out, ",\"schema\":{}", event.schema);
    }
    let _ = write!(out, ",\"time\":\"{}\"", time(event.time));
    if let Some(id) = &event.id {
        let _ = write!(out, ",\"id\":\"{}\"", uuid(id));
    }
    if !event.tags.is_empty() {
        out.push_str(",\"tags\":[");
        for (index, tag) in event.tags.iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            push_string(tag, out);
        }
        out.push(']');
    }
    push_bytes("data", &event.payload, out);
    if !event.metadata.is_empty() {
        push_bytes("metadata", &event.metadata, out);
    }
    out.push_str("}\n");
}

/// Adds bytes as a member: JSON as it is, on one line; other bytes as hex digits, under another name.
fn push_bytes(name: &str, bytes: &[u8], out: &mut String) {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains(['\n', '\r']));
    match text.and_then(|text| serde_json::from_str::<&RawValue>(text).ok()) {
        Some(json) => {
            let _ = write!(out, ",\"{name}\":{}", json.get());
        }
        None => {
            let _ = write!(out, ",\"{name}_hex\":\"");
            for byte in bytes {
                let _ = write!(out, "{byte:02x}");
            }
            out.push('"');
        }
    }
}

/// An id in the form of a UUID.
fn uuid(id: &EventId) -> String {
    let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| &digits[from..to];
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// A time as in RFC 3339, in UTC.
fn time(time: Timestamp) -> String {
    let (days, in_day) = ((time.0 / DAY_US) as i64, time.0 % DAY_US);
    let (seconds, micros) = (in_day / 1_000_000, in_day % 1_000_000);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// The date of a day since 1970: years begin in March here, so that leap days are at their ends.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

const DAY_US: u64 = 86_400_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        assert_eq!(time(Timestamp(0)), "1970-01-01T00:00:00.000000Z");
        assert_eq!(time(Timestamp(951_782_400_000_001)), "2000-02-29T00:00:00.000001Z");
        assert_eq!(time(Timestamp(1_709_251_199_999_999)), "2024-02-29T23:59:59.999999Z");
        assert_eq!(time(Timestamp(1_735_689_600_000_000)), "2025-01-01T00:00:00.000000Z");
    }
}
