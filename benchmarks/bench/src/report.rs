//! Results, and how they are printed: a table for people, lines of JSON for programs.
//!
//! Other scripts rely on the fields of a line; docs/internals/benchmarks/method.md describes them. No field is renamed,
//! removed or added.

use std::fmt::Write;

use crate::clock::Sample;
use crate::dataset::Dataset;
use crate::limits;
use crate::limits::around::Around;
use crate::single_rounds;
use crate::statistics::{median, spread};
use crate::tables::row::{self, Row};

/// All rounds of one workload on one data set: the measured engine first, then its rivals.
#[derive(Debug)]
pub struct Contest {
    /// The suite it belongs to.
    pub suite: &'static str,
    /// What was done.
    pub workload: &'static str,
    /// Threads that did it.
    pub threads: usize,
    /// Kind of key.
    pub shape: &'static str,
    /// Records in the store.
    pub records: u64,
    /// Bytes of a key, rounded if they differ.
    pub key_bytes: u64,
    /// Bytes of a value.
    pub value_bytes: u64,
    /// Each engine's name and rounds.
    pub entries: Vec<(&'static str, Vec<Sample>)>,
}

impl Contest {
    /// Of one thread of the core suite, on `data`.
    pub fn new(workload: &'static str, data: &Dataset, entries: Vec<(&'static str, Vec<Sample>)>) -> Self {
        Self {
            suite: "core",
            workload,
            threads: 1,
            shape: data.spec.shape.name(),
            records: data.stored.len() as u64,
            key_bytes: data.key_bytes(),
            value_bytes: data.values.length() as u64,
            entries,
        }
    }

    /// How many times less processor time the first engine needs than its best rival: the median over the rounds, in
    /// each of which they ran side by side.
    pub fn ratio(&self) -> f64 {
        let Some(((_, ours), rivals)) = self.entries.split_first() else { return f64::NAN };
        let best = rivals.iter().min_by(|a, b| cpu_ns(&a.1).total_cmp(&cpu_ns(&b.1)));
        let Some((_, theirs)) = best else { return f64::NAN };
        paired_ratio(ours, theirs)
    }

    /// The same for one rival, `None` if it was not measured.
    pub fn ratio_to(&self, rival: &str) -> Option<f64> {
        let ((_, ours), rivals) = self.entries.split_first()?;
        let (_, theirs) = rivals.iter().find(|(name, _)| *name == rival)?;
        Some(paired_ratio(ours, theirs))
    }

    /// How many times more operations in a second of wall time the first engine does than one rival: the median over the rounds.
    pub fn wall_ratio_to(&self, rival: &str) -> Option<f64> {
        let ((_, ours), rivals) = self.entries.split_first()?;
        let (_, theirs) = rivals.iter().find(|(name, _)| *name == rival)?;
        let ratio = |(ours, theirs): (&Sample, &Sample)| ours.operations_per_second() / theirs.operations_per_second();
        Some(median(&ours.iter().zip(theirs).map(ratio).collect::<Vec<_>>()))
    }

    /// Data set as the table shows it, such as `hashed 32/100 10,000,000`.
    pub fn data_name(&self) -> String {
        if self.key_bytes == 0 && self.value_bytes == 0 {
            return format!("{} × {}", self.shape, self.records);
        }
        format!("{} {}/{} × {}", self.shape, self.key_bytes, self.value_bytes, self.records)
    }

    fn lines(&self, out: &mut String) {
        for (position, (engine, samples)) in self.entries.iter().enumerate() {
            let of = |field: fn(&Sample) -> f64| median(&samples.iter().map(field).collect::<Vec<_>>());
            let cpu: Vec<f64> = samples.iter().map(Sample::cpu_ns_per_operation).collect();
            let ratio = if position == 0 { number(self.ratio(), 3) } else { "null".to_owned() };
            writeln!(
                out,
                "{{\"suite\":\"{}\",\"workload\":\"{}\",\"shape\":\"{}\",\"engine\":\"{engine}\",\"records\":{},\
                 \"key_bytes\":{},\"value_bytes\":{},\"threads\":{},\"ops_per_s\":{},\"cpu_ns_per_op\":{},\
                 \"p50_ns\":{},\"p99_ns\":{},\"rounds\":{},\"spread\":{},\"ratio\":{ratio}}}",
                self.suite,
                self.workload,
                self.shape,
                self.records,
                self.key_bytes,
                self.value_bytes,
                self.threads,
                number(of(Sample::operations_per_second), 1),
                number(of(Sample::cpu_ns_per_operation), 2),
                number(of(|sample| sample.p50_ns), 2),
                number(of(|sample| sample.p99_ns), 2),
                samples.len(),
                number(spread(&cpu), 3),
            )
            .expect("writing to memory does not fail");
        }
    }
}

/// The median over the rounds of how many times more processor time `theirs` needed.
fn paired_ratio(ours: &[Sample], theirs: &[Sample]) -> f64 {
    let ratio = |(ours, theirs): (&Sample, &Sample)| theirs.cpu_ns_per_operation() / ours.cpu_ns_per_operation();
    median(&ours.iter().zip(theirs).map(ratio).collect::<Vec<_>>())
}

/// The median over the rounds of the processor time of an operation.
pub fn cpu_ns(samples: &[Sample]) -> f64 {
    median(&samples.iter().map(Sample::cpu_ns_per_operation).collect::<Vec<_>>())
}

/// A JSON number, which cannot be infinite or undefined.
pub fn number(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "null".to_owned() }
}

/// A JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            letter if letter.is_control() => out.push_str(&format!("\\u{:04x}", letter as u32)),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// A figure that is not a time: it has a row in the table, and no line of JSON.
#[derive(Debug)]
pub struct Amount {
    /// What was measured.
    pub workload: &'static str,
    /// Of which data set, as the table shows it.
    pub data: String,
    /// Of the measured engine.
    pub value: f64,
    /// The same of a rival, where it has one.
    pub rival: Option<f64>,
    /// Such as `bytes`.
    pub unit: &'static str,
}

/// An engine that was measured.
#[derive(Clone, Debug)]
pub struct EngineNote {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: String,
    /// What was chosen for it.
    pub settings: String,
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
    pub floors: Vec<limits::row::Row>,
    /// The same before and after the run of every other suite.
    pub limits: Option<Around>,
    /// Other figures.
    pub amounts: Vec<Amount>,
    /// Remarks, such as how the files were mapped.
    pub notes: Vec<String>,
    /// Which instructions the measured engine searches with, where it says so.
    pub search: Option<&'static str>,
    /// Answers that are not what they should be, of suites that compare them in the end: no figure counts then.
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

    /// The same, behind a line about what it was measured on: `machine` in words, its floors, the engines' versions and settings, remarks; and
    /// before a line for each figure that is not a time, and one with the single rounds of each engine in each contest or row.
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
        single_rounds::lines(self, &mut out);
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
        out.push_str(&limits::row::table(&self.floors));
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
pub mod tests {
    use super::*;

    /// A round that took so much processor time for an operation.
    pub fn sample(cpu_ns: f64) -> Sample {
        Sample { operations: 100, cpu_ns: cpu_ns * 100.0, wall_ns: 1000.0, p50_ns: 1.0, p99_ns: 2.0 }
    }

    /// The rounds of these engines.
    pub fn contest(entries: Vec<(&'static str, Vec<Sample>)>) -> Contest {
        Contest {
            suite: "core",
            workload: "get_hit",
            threads: 1,
            shape: "hashed",
            records: 1000,
            key_bytes: 32,
            value_bytes: 100,
            entries,
        }
    }

    #[test]
    fn the_ratio_is_the_median_over_paired_rounds_to_the_best_rival() {
        let ours = vec![sample(100.0), sample(200.0), sample(100.0)];
        let slow = vec![sample(900.0); 3];
        let best = vec![sample(300.0), sample(800.0), sample(500.0)];
        let contest = contest(vec![("ours", ours), ("slow", slow), ("best", best)]);
        assert_eq!(contest.ratio(), 4.0);
        assert_eq!(contest.ratio_to("slow"), Some(9.0));
        assert_eq!(contest.ratio_to("unknown"), None);
        assert_eq!(contest.wall_ratio_to("slow"), Some(1.0));
    }

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
