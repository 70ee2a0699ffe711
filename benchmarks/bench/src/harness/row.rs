//! Figures of a run, and the rows that a suite of tables prints of all its runs.

use std::fmt::Write;

use crate::json::{number, quoted};
use crate::measure::statistics::{median, spread};

/// Figures by their names, in the order in which they were noted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(Vec<(String, f64)>);

impl Figures {
    /// Notes a figure, or changes it.
    pub fn set(&mut self, name: &str, value: f64) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The figure of this name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, value)| (&name[..], *value))
    }
}

/// What one engine did of one workload, round by round.
#[derive(Clone, Debug)]
pub struct Row {
    /// The suite.
    pub suite: &'static str,
    /// The workload.
    pub workload: &'static str,
    /// Kind of key.
    pub shape: &'static str,
    /// Mean length of the values.
    pub value_bytes: usize,
    /// What the report that the workload is from claims of it.
    pub claims: &'static [Claim],
    /// Records that are loaded first, or all records if none are.
    pub records: usize,
    /// Level of durability.
    pub level: &'static str,
    /// The engine.
    pub engine: &'static str,
    /// What each round found.
    pub rounds: Vec<Figures>,
    /// Why there were no rounds.
    pub left_out: Option<String>,
}

/// A figure that a report claims.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The engine, and whether it was measured.
    pub of: &'static str,
    /// The figure.
    pub value: f64,
    /// Its unit, such as `ops/s`.
    pub unit: &'static str,
}

/// A claim.
pub const fn claim(of: &'static str, value: f64, unit: &'static str) -> Claim {
    Claim { of, value, unit }
}

/// Columns of the table: title, figure, by what it is divided, digits.
const COLUMNS: [(&str, &str, f64, usize); 13] = [
    ("ops/s", "ops_per_s", 1.0, 0),
    ("CPU ns/op", "cpu_ns_per_op", 1.0, 0),
    ("p50 µs", "p50_ns", 1e3, 2),
    ("p90 µs", "p90_ns", 1e3, 2),
    ("p99 µs", "p99_ns", 1e3, 2),
    ("p99.9 µs", "p99.9_ns", 1e3, 2),
    ("max µs", "max_ns", 1e3, 1),
    ("written ×", "written_per_user_byte", 1.0, 2),
    ("private MiB", "private_bytes", 1_048_576.0, 1),
    ("mapped MiB", "mapped_bytes", 1_048_576.0, 1),
    ("size MiB", "size_bytes", 1_048_576.0, 1),
    ("size ×", "size_per_raw_byte", 1.0, 2),
    ("settle ms", "settle_ns", 1e6, 1),
];

impl Row {
    /// The median over the rounds that have the figure.
    pub fn median(&self, name: &str) -> Option<f64> {
        let values = self.values(name);
        (!values.is_empty()).then(|| median(&values))
    }

    fn values(&self, name: &str) -> Vec<f64> {
        self.rounds.iter().filter_map(|figures| figures.get(name)).collect()
    }

    /// Names of the figures, in the order of the first round.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rounds.first().into_iter().flat_map(|figures| figures.iter().map(|(name, _)| name))
    }

    /// Cells of the table.
    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.workload.to_owned(), self.engine.to_owned()];
        for (_, name, divisor, digits) in COLUMNS {
            cells.push(self.median(name).map_or(String::new(), |value| format!("{:.digits$}", value / divisor)));
            if name == "ops_per_s" {
                cells.push(format!("{:.0} %", 100.0 * spread(&self.values(name))));
            }
        }
        cells
    }

    /// One line of JSON: what was done, then the median and the spread of each figure.
    pub fn line(&self, out: &mut String) {
        let rounds = self.rounds.len();
        let fields = format!(
            "{{\"suite\":\"{}\",\"workload\":\"{}\",\"engine\":\"{}\",\"level\":\"{}\",\"shape\":\"{}\",\"records\":{},\
             \"value_bytes\":{},\"rounds\":{rounds}",
            self.suite, self.workload, self.engine, self.level, self.shape, self.records, self.value_bytes,
        );
        out.push_str(&fields);
        for name in self.names() {
            let values = self.values(name);
            let (middle, spread) = (number(median(&values), 3), number(spread(&values), 3));
            write!(out, ",\"{name}\":{middle},\"{name}_spread\":{spread}").expect("writing to memory does not fail");
        }
        if let Some(reason) = &self.left_out {
            write!(out, ",\"not_measured\":{}", quoted(reason)).expect("writing to memory does not fail");
        }
        out.push_str(",\"claims\":[");
        for (position, claim) in self.claims.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            let (of, value, unit) = (claim.of, claim.value, claim.unit);
            write!(out, "{comma}{{\"of\":\"{of}\",\"value\":{value},\"unit\":\"{unit}\"}}")
                .expect("writing to memory does not fail");
        }
        out.push_str("]}\n");
    }
}

/// The table of all rows, with what the report claims below the rows of each workload.
pub fn table(rows: &[Row]) -> String {
    let mut titles = vec!["workload".to_owned(), "engine".to_owned()];
    for (title, name, _, _) in COLUMNS {
        titles.push(title.to_owned());
        if name == "ops_per_s" {
            titles.push("spread".to_owned());
        }
    }
    let cells: Vec<Vec<String>> = std::iter::once(titles).chain(rows.iter().map(Row::cells)).collect();
    let widths: Vec<usize> = (0..cells[0].len())
        .map(|column| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    let line = |row: &[String]| {
        let aligned: Vec<String> = (row.iter().zip(&widths).enumerate())
            .map(
                |(column, (cell, width))| {
                    if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        format!("{}\n", aligned.join("  ").trim_end())
    };
    if rows.is_empty() {
        return out;
    }
    out.push_str(&line(&cells[0]));
    for (position, row) in rows.iter().enumerate() {
        match &row.left_out {
            None => out.push_str(&line(&cells[position + 1])),
            Some(reason) => {
                let [name, engine] = [&cells[position + 1][0], &cells[position + 1][1]];
                out.push_str(&format!("{name:0$}  {engine:1$}  {reason}\n", widths[0], widths[1]));
            }
        }
        out.push_str(&extras(row));
        let last = rows.get(position + 1).is_none_or(|next| next.workload != row.workload);
        if last && !row.claims.is_empty() {
            out.push_str(&format!("  the report claims: {}\n", claims(row.claims)));
        }
    }
    out
}

/// Figures that have no column, below their row.
fn extras(row: &Row) -> String {
    let own = |name: &&str| name.contains(' ');
    let told: Vec<String> =
        row.names().filter(own).filter_map(|name| Some(format!("{:.2} {name}", row.median(name)?))).collect();
    if told.is_empty() { String::new() } else { format!("  {}: {}\n", row.engine, told.join(", ")) }
}

fn claims(claims: &[Claim]) -> String {
    let told: Vec<String> =
        claims.iter().map(|claim| format!("{} {} {}", claim.of, grouped(claim.value), claim.unit)).collect();
    told.join("; ")
}

/// The number with commas between groups of three digits, and a fraction only if it has one.
fn grouped(value: f64) -> String {
    let text = format!("{value}");
    let (whole, fraction) = text.split_once('.').map_or((&text[..], None), |(whole, rest)| (whole, Some(rest)));
    let mut out = String::new();
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{out}.{fraction}"),
        None => out,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A row with these rates.
    pub fn row(engine: &'static str, rates: &[f64]) -> Row {
        const CLAIMS: &[Claim] = &[claim("lmdb", 762_697.0, "ops/s"), claim("rocksdb (est.)", 2.0, "µs")];
        let figures = |&rate: &f64| {
            let mut figures = Figures::default();
            figures.set("ops_per_s", rate);
            figures.set("p99_ns", 1500.0);
            figures.set("KiB after the last batch", 12.0);
            figures
        };
        Row {
            suite: "geaflow",
            workload: "sequential_read",
            shape: "sequential",
            value_bytes: 100,
            claims: CLAIMS,
            records: 10_000,
            level: "Log",
            engine,
            rounds: rates.iter().map(figures).collect(),
            left_out: None,
        }
    }

    #[test]
    fn medians_stand_beside_the_claims() {
        let text = table(&[row("fulgurite", &[3e6, 1e6, 2e6]), row("lmdb", &[1e6])]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 6, "{text}");
        assert!(lines[1].contains(" 2000000 ") && lines[1].contains("100 %") && lines[1].contains("1.50"), "{text}");
        assert_eq!(lines[2], "  fulgurite: 12.00 KiB after the last batch");
        assert_eq!(lines[5], "  the report claims: lmdb 762,697 ops/s; rocksdb (est.) 2 µs");
        assert_eq!(grouped(1234.5) + &grouped(12.0), "1,234.512");
        assert_eq!(table(&[]), "");
    }

    #[test]
    fn a_row_without_figures_says_why() {
        let absent = Row { left_out: Some("it has no transactions".to_owned()), ..row("leveldb", &[]) };
        let text = table(&[row("fulgurite", &[1e6]), absent.clone()]);
        assert_eq!(text.lines().nth(3), Some("sequential_read  leveldb    it has no transactions"), "{text}");
        let mut line = String::new();
        absent.line(&mut line);
        assert!(line.contains("\"rounds\":0,\"not_measured\":\"it has no transactions\",\"claims\":["), "{line}");
    }

    #[test]
    fn a_line_of_json_has_every_figure_with_its_spread() {
        let mut line = String::new();
        row("lmdb", &[1.0, 3.0]).line(&mut line);
        assert_eq!(
            line,
            "{\"suite\":\"geaflow\",\"workload\":\"sequential_read\",\"engine\":\"lmdb\",\"level\":\"Log\",\
             \"shape\":\"sequential\",\"records\":10000,\"value_bytes\":100,\"rounds\":2,\"ops_per_s\":2.000,\
             \"ops_per_s_spread\":1.000,\"p99_ns\":1500.000,\"p99_ns_spread\":0.000,\"KiB after the last batch\":12.000,\
             \"KiB after the last batch_spread\":0.000,\"claims\":[{\"of\":\"lmdb\",\"value\":762697,\"unit\":\"ops/s\"},\
             {\"of\":\"rocksdb (est.)\",\"value\":2,\"unit\":\"µs\"}]}\n"
        );
    }
}
