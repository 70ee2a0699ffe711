//! Rows of the report, and their verdicts.

use crate::harness::row;
use crate::measure::statistics::median;

/// What is measured, and what it has to be.
#[derive(Clone, Debug)]
pub struct Row {
    /// With its unit.
    pub name: String,
    /// What Glean took on LMDB, as its authors or an earlier run of its storage measured it.
    pub glean: Option<f64>,
    /// At most this much.
    pub bar: Option<f64>,
    /// At least so many times less than LMDB in this run.
    pub factor: Option<f64>,
}

impl Row {
    /// A row without bars.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), glean: None, bar: None, factor: None }
    }

    /// What Glean took.
    pub fn glean(mut self, took: f64) -> Self {
        self.glean = Some(took);
        self
    }

    /// It must be at most this.
    pub fn at_most(mut self, bar: f64) -> Self {
        self.bar = Some(bar);
        self
    }

    /// LMDB must take at least so many times as much.
    pub fn times_less(mut self, factor: f64) -> Self {
        self.factor = Some(factor);
        self
    }

    /// The line of the report, and whether all bars are met: one that was not measured is not.
    fn judge(&self, ours: Option<f64>, lmdb: Option<f64>) -> (String, bool) {
        let below = self.bar.map(|bar| ours.map(|ours| ours <= bar));
        let faster = self.factor.map(|factor| ours.zip(lmdb).map(|(ours, lmdb)| lmdb >= ours * factor));
        let judged: Vec<Option<bool>> = [below, faster].into_iter().flatten().collect();
        let is_met = judged.iter().all(|is_met| *is_met == Some(true));
        let verdict = match (judged.is_empty(), is_met, judged.contains(&Some(false))) {
            (true, ..) => "",
            (_, true, _) => "met: ",
            (.., true) => "MISSED: ",
            _ => "NOT MEASURED: ",
        };
        let bars = [self.bar.map(|bar| format!("≤ {bar}")), self.factor.map(|factor| format!("≥ {factor} ×"))];
        let bars: Vec<String> = bars.into_iter().flatten().collect();
        let number = |number: Option<f64>| number.map_or(String::new(), digits);
        let ratio = ours.zip(lmdb).map_or(String::new(), |(ours, lmdb)| format!("{:.2}×", lmdb / ours));
        let line = format!(
            "{:<NAME_WIDTH$} {:>11} {:>11} {:>8}  {:>12}  {verdict}{}",
            self.name,
            ours.map_or("none".to_owned(), digits),
            number(lmdb),
            ratio,
            number(self.glean),
            bars.join(", ")
        );
        (line, is_met)
    }
}

/// Columns of the names.
const NAME_WIDTH: usize = 56;

/// A number with the digits that matter.
fn digits(number: f64) -> String {
    match number.abs() {
        large if large >= 1000.0 => format!("{number:.0}"),
        middle if middle >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.3}"),
    }
}

/// A table: its rows, and the figures of rounds, ours and LMDB's, each with a figure for every row.
#[derive(Debug)]
pub struct Table {
    /// What its rows are about.
    pub title: &'static str,
    /// Facts, or files, that were written.
    pub records: u64,
    /// The rows.
    pub rows: Vec<Row>,
    /// Ours.
    pub ours: Vec<Vec<f64>>,
    /// LMDB's, which may lack the figures of the last rows, or all.
    pub lmdb: Vec<Vec<f64>>,
}

impl Table {
    /// Prints the medians. Returns whether all bars are met.
    pub fn print(&self) -> bool {
        let title = self.title;
        println!(
            "\n{title:<NAME_WIDTH$} {:>11} {:>11} {:>8}  {:>12}  bars",
            "fulgurite", "lmdb", "ratio", "Glean's LMDB"
        );
        let of = |rounds: &[Vec<f64>], row: usize| {
            let figures: Vec<f64> = rounds.iter().filter_map(|round| round.get(row)).copied().collect();
            (!figures.is_empty()).then(|| median(&figures)).filter(|figure| figure.is_finite())
        };
        let mut all = true;
        for (number, row) in self.rows.iter().enumerate() {
            let (line, is_met) = row.judge(of(&self.ours, number), of(&self.lmdb, number));
            println!("{}", line.trim_end());
            all &= is_met;
        }
        all
    }

    /// What lines of JSON say of it: a row for each engine.
    pub fn results(&self) -> Vec<row::Row> {
        let figures = |round: &Vec<f64>| {
            let mut figures = row::Figures::default();
            self.rows.iter().zip(round).for_each(|(row, figure)| figures.set(&row.name, *figure));
            figures
        };
        let result = |(engine, rounds): (&'static str, &Vec<Vec<f64>>)| row::Row {
            suite: "glean",
            workload: self.title,
            shape: "facts",
            value_bytes: 0,
            claims: &[],
            records: self.records as usize,
            level: "Log",
            engine,
            rounds: rounds.iter().map(figures).collect(),
            left_out: None,
        };
        let engines = [("fulgurite", &self.ours), ("lmdb", &self.lmdb)];
        engines.into_iter().filter(|(_, rounds)| !rounds.is_empty()).map(result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_is_missed_by_a_figure_above_it_and_by_a_rival_that_is_near() {
        let row = Row::new("a").glean(9.0).at_most(2.0).times_less(2.5);
        assert!(row.judge(Some(2.0), Some(5.0)).1);
        for (ours, lmdb) in [(2.1, Some(50.0)), (2.0, Some(4.9)), (2.1, None)] {
            let (line, is_met) = row.judge(Some(ours), lmdb);
            assert!(!is_met && line.contains("MISSED: ≤ 2, ≥ 2.5 ×"), "{line}");
        }
        assert!(Row::new("b").judge(Some(1e9), None).1 && Row::new("b").judge(None, None).1);
    }

    #[test]
    fn bar_that_was_not_measured_is_not_met() {
        let row = Row::new("a").at_most(2.0).times_less(2.5);
        for (ours, lmdb) in [(Some(2.0), None), (None, Some(9.0)), (None, None)] {
            let (line, is_met) = row.judge(ours, lmdb);
            assert!(!is_met && line.contains("NOT MEASURED: ≤ 2, ≥ 2.5 ×"), "{line}");
        }
    }

    fn table(ours: &[f64], lmdb: &[f64]) -> Table {
        let rounds = |figures: &[f64]| figures.iter().map(|figure| vec![*figure]).collect();
        let rows = vec![Row::new("a, µs").at_most(2.0)];
        Table { title: "t", records: 7, rows, ours: rounds(ours), lmdb: rounds(lmdb) }
    }

    #[test]
    fn medians_of_rounds_are_judged() {
        assert!(table(&[1.0, 9.0, 2.0], &[]).print());
        assert!(!table(&[3.0, 9.0, 1.0], &[]).print());
    }

    #[test]
    fn every_engine_has_a_line_of_json_with_all_rows() {
        let mut lines = String::new();
        table(&[1.0, 3.0], &[8.0]).results().iter().for_each(|row| row.line(&mut lines));
        let expected =
            "\"workload\":\"t\",\"engine\":\"fulgurite\",\"level\":\"Log\",\"shape\":\"facts\",\"records\":7,";
        assert!(lines.contains(expected) && lines.contains("\"a, µs\":2.000,\"a, µs_spread\":1.000"), "{lines}");
        assert!(lines.contains("\"engine\":\"lmdb\"") && lines.contains("\"a, µs\":8.000"), "{lines}");
        assert_eq!(table(&[1.0], &[]).results().len(), 1);
    }
}
