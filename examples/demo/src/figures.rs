//! Numbers, sizes, times and lines as people read them.

use std::time::Duration;

use unicode_width::UnicodeWidthStr;

/// A number with a comma before every three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of bytes in MiB.
pub fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Entries a second, in thousands or millions.
pub fn rate(entries: u64, time: Duration) -> String {
    let rate = entries as f64 / time.as_secs_f64().max(1e-9);
    if rate < 1e6 { format!("{:.0}k/s", rate / 1e3) } else { format!("{:.1}M/s", rate / 1e6) }
}

/// A time in the largest unit that leaves a whole number before the point.
pub fn time(time: Duration) -> String {
    match time.as_millis() {
        0 => format!("{} µs", time.as_micros()),
        millis @ 1..1000 => format!("{millis} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

/// Cuts a line to `columns`. The last one is an ellipsis if the line was longer.
pub fn cut(line: &mut String, columns: usize) {
    if line.width() <= columns {
        return;
    }
    let mut width = 0;
    let end = line.char_indices().find(|(_, character)| {
        width += character.to_string().width();
        width + 1 > columns
    });
    line.truncate(end.map_or(line.len(), |(at, _)| at));
    line.push('…');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(["1", "1,234", "1,234,567"], [1, 1_234, 1_234_567].map(grouped));
        assert_eq!(size(3 << 19), "1.5 MiB");
        assert_eq!(["15k/s", "1.5M/s"], [30_000, 3_000_000].map(|entries| rate(entries, Duration::from_secs(2))));
        assert_eq!(
            ["7 µs", "70 ms", "1.2 s"],
            [7, 70_000, 1_250_000].map(|micros| time(Duration::from_micros(micros)))
        );
    }

    #[test]
    fn long_lines_are_cut() {
        let cut_to = |text: &str, columns| {
            let mut line = text.to_owned();
            cut(&mut line, columns);
            line
        };
        assert_eq!(["abc", "a…", "日…"], [cut_to("abc", 3), cut_to("abc", 2), cut_to("日本", 3)]);
    }
}
