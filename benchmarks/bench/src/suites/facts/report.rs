//! Rows of the report, and their verdicts.

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

    /// The line of the report, and whether all bars are met.
    fn judge(&self, ours: f64, lmdb: Option<f64>) -> (String, bool) {
        let below = self.bar.is_none_or(|bar| ours <= bar);
        let faster = self.factor.is_none_or(|factor| lmdb.is_some_and(|lmdb| lmdb >= ours * factor));
        let is_met = below && faster;
        // Without LMDB's figure, its factor says nothing.
        let is_unknown = below && self.factor.is_some() && lmdb.is_none();
        let bars = [self.bar.map(|bar| format!("≤ {bar}")), self.factor.map(|factor| format!("≥ {factor} ×"))];
        let bars: Vec<String> = bars.into_iter().flatten().collect();
        let verdict = match (bars.is_empty(), is_met) {
            (true, _) => "",
            (_, true) => "met: ",
            (_, false) if is_unknown => "not measured: ",
            (_, false) => "MISSED: ",
        };
        let number = |number: Option<f64>| number.map_or(String::new(), digits);
        let ratio = lmdb.map_or(String::new(), |lmdb| format!("{:.2}×", lmdb / ours));
        let line = format!(
            "{:<44} {:>11} {:>11} {:>8}  {:>12}  {verdict}{}",
            self.name,
            digits(ours),
            number(lmdb),
            ratio,
            number(self.glean),
            bars.join(", ")
        );
        (line, is_met || is_unknown)
    }
}

/// A number with the digits that matter.
fn digits(number: f64) -> String {
    match number.abs() {
        large if large >= 1000.0 => format!("{number:.0}"),
        middle if middle >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.3}"),
    }
}

/// Prints the medians of rounds, each with a figure for every row. Returns whether all bars are met.
pub fn print(title: &str, rows: &[Row], ours: &[Vec<f64>], lmdb: &[Vec<f64>]) -> bool {
    println!("\n{title:<44} {:>11} {:>11} {:>8}  {:>12}  bars", "fulgurite", "lmdb", "ratio", "Glean's LMDB");
    let of = |rounds: &[Vec<f64>], row: usize| {
        let figures: Vec<f64> = rounds.iter().filter_map(|round| round.get(row)).copied().collect();
        (!figures.is_empty()).then(|| median(&figures)).filter(|figure| figure.is_finite())
    };
    let mut all = true;
    for (number, row) in rows.iter().enumerate() {
        let Some(figure) = of(ours, number) else {
            println!("{:<44} not measured", row.name);
            continue;
        };
        let (line, is_met) = row.judge(figure, of(lmdb, number));
        println!("{}", line.trim_end());
        all &= is_met;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_is_missed_by_a_figure_above_it_and_by_a_rival_that_is_near() {
        let row = Row::new("a").glean(9.0).at_most(2.0).times_less(2.5);
        assert!(row.judge(2.0, Some(5.0)).1);
        for (ours, lmdb) in [(2.1, Some(50.0)), (2.0, Some(4.9)), (2.1, None)] {
            let (line, is_met) = row.judge(ours, lmdb);
            assert!(!is_met && line.contains("MISSED: ≤ 2, ≥ 2.5 ×"), "{line}");
        }
        let (line, is_met) = row.judge(2.0, None);
        assert!(is_met && line.contains("not measured: ≤ 2, ≥ 2.5 ×"), "{line}");
        assert!(Row::new("b").judge(1e9, None).1);
    }

    #[test]
    fn medians_of_rounds_are_judged() {
        let rows = [Row::new("a").at_most(2.0)];
        assert!(print("t", &rows, &[vec![1.0], vec![9.0], vec![2.0]], &[]));
        assert!(!print("t", &rows, &[vec![3.0], vec![9.0], vec![1.0]], &[]));
    }
}
