//! Results, and how they are printed: a table for people, lines of JSON for programs.
//!
//! Other scripts rely on the fields of a line; docs/internals/benchmarks/method.md describes them. No field is renamed,
//! removed or added.

use std::fmt::Write;

use crate::engines::known::EngineNote;
use crate::floors;
use crate::floors::around::Around;
use crate::floors::row::Row as FloorRow;
use crate::harness::contest::Contest;
use crate::harness::row::{self, Row};
use crate::harness::single_rounds;
use crate::json::{number, quoted};
use crate::measure::clock::Sample;
use crate::measure::statistics::{median, spread};

/// A figure that is not a time: it has a row in the table, and no line of JSON.
#[derive(Debug)]
pub struct Amount {
    /// What was measured.
    pub workload: &'static str,
    /// The data set, as the table shows it.
    pub data: String,
    /// Of the measured engine.
    pub value: f64,
    /// The same of LMDB, where it was measured.
    pub rival: Option<f64>,
    /// Such as `bytes`.
    pub unit: &'static str,
}

/// Everything a run has found.
#[derive(Debug, Default)]
pub struct Report {
    /// The engines that were measured. The table names them for suites of tables alone.
    pub engines: Vec<EngineNote>,
    /// Rows of suites of tables.
    pub rows: Vec<Row>,
    /// Times.
    pub contests: Vec<Contest>,
    /// What the machine can do at best, of the suite that measures that.
    pub floors: Vec<FloorRow>,
    /// The same before and after the run of every other suite.
    pub limits: Option<Around>,
    /// Other figures.
    pub amounts: Vec<Amount>,
    /// Remarks, such as how the files were mapped.
    pub notes: Vec<String>,
    /// Which instructions the measured engine searches with, where it says so.
    pub search: Option<&'static str>,
    /// Wrong answers, of suites that compare answers at the end: no figure counts then.
    pub wrong: Vec<String>,
}

impl Report {
    /// The contest of `workload` on the data set that has this shape, record size and count.
    pub fn contest(&self, workload: &str, shape: &str, value_bytes: u64, records: u64) -> Option<&Contest> {
        self.contests.iter().find(|contest| {
            contest.workload == workload
                && contest.shape == shape
                && contest.value_bytes == value_bytes
                && contest.records == records
        })
    }

    /// One line of JSON for each engine in each contest.
    pub fn json(&self) -> String {
        let mut out = String::new();
        self.contests.iter().for_each(|contest| contest.lines(&mut out));
        self.rows.iter().for_each(|row| row.line(&mut out));
        self.floors.iter().for_each(|row| row.line(&mut out));
        out
    }

    /// The same, behind a line about what it was measured on: `machine` in words, its floors, the engines' versions
    /// and settings, remarks; and before a line for each figure that is not a time, and one with the single rounds of
    /// each engine in each contest or row.
    pub fn json_with_machine(&self, machine: &str, seed: u64) -> String {
        let engine = |note: &EngineNote| {
            let (version, settings) = (quoted(&note.version), quoted(&note.settings));
            format!("{{\"name\":\"{}\",\"version\":{version},\"settings\":{settings}}}", note.name)
        };
        let engines: Vec<String> = self.engines.iter().map(engine).collect();
        let notes: Vec<String> = self.notes.iter().map(|note| quoted(note)).collect();
        let (engines, notes, machine) = (engines.join(","), notes.join(","), quoted(machine));
        let version = env!("CARGO_PKG_VERSION");
        let limits = self.limits.as_ref().map_or("null".to_owned(), Around::json);
        let mut out = format!(
            "{{\"machine\":{machine},\"seed\":{seed},\"fulgurite\":\"{version}\",\"limits\":{limits},\
             \"engines\":[{engines}],\"notes\":[{notes}]}}\n"
        );
        out.push_str(&self.json());
        for amount in &self.amounts {
            let (name, data, unit) = (amount.workload, quoted(&amount.data), quoted(amount.unit));
            let (value, rival) =
                (number(amount.value, 3), amount.rival.map_or("null".to_owned(), |rival| number(rival, 3)));
            out.push_str(&format!(
                "{{\"amount\":\"{name}\",\"of\":{data},\"value\":{value},\"rival\":{rival},\"unit\":{unit}}}\n"
            ));
        }
        single_rounds::lines(&self.contests, &self.rows, &mut out);
        out
    }

    /// Tables of all figures, then the remarks.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let mut rows = vec![
            ["workload", "data", "engine", "CPU ns/op", "ops/s", "p50 ns", "p99 ns", "spread", "ratio"]
                .map(str::to_owned),
        ];
        for contest in &self.contests {
            for (position, (engine, samples)) in contest.entries.iter().enumerate() {
                rows.push(row(contest, position, engine, samples));
            }
        }
        if !self.contests.is_empty() {
            aligned(&rows, TEXT_COLUMNS, &mut out);
        }
        out.push_str(&row::table(&self.rows));
        out.push_str(&floors::row::table(&self.floors));
        let named = if self.rows.is_empty() { &[] } else { &self.engines[..] };
        for note in named {
            writeln!(out, "{} {}: {}", note.name, note.version, note.settings)
                .expect("writing to memory does not fail");
        }
        for amount in &self.amounts {
            let rival = amount.rival.map_or(String::new(), |rival| format!(" (lmdb {rival:.2})"));
            let (name, data) = (amount.workload, &amount.data);
            writeln!(out, "{name}, {data}: {:.2} {}{rival}", amount.value, amount.unit)
                .expect("writing to memory does not fail");
        }
        for note in &self.notes {
            writeln!(out, "{note}").expect("writing to memory does not fail");
        }
        out
    }
}

fn row(contest: &Contest, position: usize, engine: &str, samples: &[Sample]) -> [String; 9] {
    let of = |field: fn(&Sample) -> f64| median(&samples.iter().map(field).collect::<Vec<_>>());
    let cpu: Vec<f64> = samples.iter().map(Sample::cpu_ns_per_operation).collect();
    [
        match contest.threads {
            1 => contest.workload.to_owned(),
            threads => format!("{}, {threads} threads", contest.workload),
        },
        contest.data_name(),
        engine.to_owned(),
        format!("{:.1}", median(&cpu)),
        format!("{:.0}", of(Sample::operations_per_second)),
        format!("{:.1}", of(|sample| sample.p50_ns)),
        format!("{:.1}", of(|sample| sample.p99_ns)),
        format!("{:.0} %", 100.0 * spread(&cpu)),
        match contest.ratio() {
            ratio if position == 0 && ratio.is_finite() => format!("{ratio:.2} ×"),
            _ => String::new(),
        },
    ]
}

/// Columns of the table that are no numbers, before those that are.
const TEXT_COLUMNS: usize = 3;

/// Rows of a table: so many columns of text to the left, numbers to the right.
pub fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]], text_columns: usize, out: &mut String) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let written = match column < text_columns {
                true => write!(line, "{cell:<width$}  "),
                false => write!(line, "{cell:>width$}  "),
            };
            written.expect("writing to memory does not fail");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::contest::tests::{contest, sample};

    #[test]
    fn a_line_of_json_has_exactly_the_promised_fields() {
        let report = Report {
            contests: vec![contest(vec![("ours", vec![sample(100.0)]), ("lmdb", vec![sample(300.0)])])],
            ..Report::default()
        };
        let lines: Vec<String> = report.json().lines().map(str::to_owned).collect();
        assert_eq!(
            lines[0],
            "{\"suite\":\"core\",\"workload\":\"get_hit\",\"shape\":\"hashed\",\"engine\":\"ours\",\"records\":1000,\
             \"key_bytes\":32,\"value_bytes\":100,\"threads\":1,\"ops_per_s\":100000000.0,\"cpu_ns_per_op\":100.00,\
             \"p50_ns\":1.00,\"p99_ns\":2.00,\"rounds\":1,\"spread\":0.000,\"ratio\":3.000}"
        );
        assert!(lines[1].contains("\"engine\":\"lmdb\"") && lines[1].ends_with("\"ratio\":null}"));
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn the_table_has_a_row_for_each_engine_and_amount() {
        let report = Report {
            contests: vec![contest(vec![("ours", vec![sample(100.0)]), ("lmdb", vec![sample(300.0)])])],
            amounts: vec![Amount {
                workload: "open",
                data: "hashed".to_owned(),
                value: 1.5,
                rival: Some(2.0),
                unit: "ms",
            }],
            notes: vec!["a remark".to_owned()],
            ..Report::default()
        };
        let table = report.table();
        assert_eq!(table.lines().count(), 5);
        let lines = report.json_with_machine("a \"fast\" one", 7);
        assert!(lines.starts_with("{\"machine\":\"a \\\"fast\\\" one\",\"seed\":7,\"fulgurite\":\""), "{lines}");
        assert!(lines.lines().next().unwrap().ends_with("\"engines\":[],\"notes\":[\"a remark\"]}"), "{lines}");
        assert_eq!(
            lines.lines().nth(3),
            Some("{\"amount\":\"open\",\"of\":\"hashed\",\"value\":1.500,\"rival\":2.000,\"unit\":\"ms\"}")
        );
        assert_eq!(lines.matches("\n{\"rounds_of\":\"get_hit\"").count(), 2);
        assert_eq!(lines.lines().count(), 6);
        assert!(table.contains("3.00 ×") && table.contains("open, hashed: 1.50 ms (lmdb 2.00)"));
    }
}
