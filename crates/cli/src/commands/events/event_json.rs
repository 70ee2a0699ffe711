//! Events as NDJSON.

use std::fmt::Write;

use fulgurite_events::{EventId, RecordedEvent, Timestamp};
use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use crate::json::push_string;

/// Adds an event as one line.
pub fn push_event(event: &RecordedEvent, out: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(out, "{{\"position\":{},\"version\":{}", event.position, event.version);
    match std::str::from_utf8(&event.stream) {
        Ok(name) => {
            out.push_str(",\"stream\":");
            push_string(name, out);
        }
        Err(_) => push_hex("stream", &event.stream, out),
    }
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
    let json = text.and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
    // Without the blanks around it, it would not be what was appended.
    match json.filter(|json| json.get().len() == bytes.len()) {
        Some(json) => {
            let _ = write!(out, ",\"{name}\":{}", json.get());
        }
        None => push_hex(name, bytes, out),
    }
}

/// Adds bytes as a member of hex digits.
fn push_hex(name: &str, bytes: &[u8], out: &mut String) {
    let _ = write!(out, ",\"{name}_hex\":\"");
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out.push('"');
}

/// An id in the form of a UUID.
fn uuid(id: &EventId) -> String {
    let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| &digits[from..to];
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// A time as in RFC 3339, in UTC.
fn time(time: Timestamp) -> String {
    let nanoseconds = i128::from(time.0) * 1000;
    match OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).map(|time| time.format(RFC_3339)) {
        Ok(Ok(text)) => text,
        // After the year 9999.
        _ => format!("{}.{:06}", time.0 / 1_000_000, time.0 % 1_000_000),
    }
}

const RFC_3339: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");

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
