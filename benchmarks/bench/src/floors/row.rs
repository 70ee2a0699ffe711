//! What all rounds have found of one floor, and how it is shown.

use std::fmt::Write;

use crate::floors::floor::{Floor, Group};
use crate::json::{number, quoted};
use crate::measure::statistics::{median, spread};

/// A floor and what each round has found.
#[derive(Clone, Debug)]
pub struct Row {
    /// The floor.
    pub floor: Floor,
    /// The figures.
    pub rounds: Vec<f64>,
    /// Why a round is missing; or how the floor was measured, if not as usual.
    pub remark: Option<String>,
}

impl Row {
    /// The median over the rounds, if there was one.
    pub fn median(&self) -> Option<f64> {
        (!self.rounds.is_empty()).then(|| median(&self.rounds))
    }

    /// One line of JSON.
    pub fn line(&self, out: &mut String) {
        let Self { floor, rounds, .. } = self;
        let remark = self.remark.as_deref().map_or("null".to_owned(), quoted);
        writeln!(
            out,
            "{{\"suite\":\"limits\",\"workload\":\"{}\",\"group\":\"{}\",\"unit\":\"{}\",\"value\":{},\"spread\":{},\
             \"rounds\":{},\"remark\":{remark}}}",
            floor.name(),
            floor.group().name(),
            floor.unit(),
            number(median(rounds), 3),
            number(spread(rounds), 3),
            rounds.len(),
        )
        .expect("writing to memory does not fail");
    }

    /// Median, unit and spread; or that there was no round.
    fn cells(&self) -> [String; 4] {
        let name = format!("  {}", self.floor.name());
        match self.median() {
            Some(middle) => {
                let spread = format!("{:.0} %", 100.0 * spread(&self.rounds));
                [name, digits(middle), self.floor.unit().to_owned(), spread]
            }
            None => [name, "none".to_owned(), String::new(), String::new()],
        }
    }
}

/// At least three digits, and no fraction of large numbers.
pub fn digits(value: f64) -> String {
    match value.abs() {
        small if small < 100.0 => format!("{value:.2}"),
        middle if middle < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// The table of all floors, by their groups.
pub fn table(rows: &[Row]) -> String {
    let mut out = String::new();
    for group in Group::ALL {
        let of: Vec<&Row> = rows.iter().filter(|row| row.floor.group() == group).collect();
        if of.is_empty() {
            continue;
        }
        let title = [group.name().to_owned(), "median".to_owned(), "unit".to_owned(), "spread".to_owned()];
        for [name, value, unit, spread] in std::iter::once(title).chain(of.iter().map(|row| row.cells())) {
            let line = format!("{name:<24}{value:>12} {unit:<9}{spread:>7}");
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(floor: Floor, rounds: &[f64], remark: Option<&str>) -> Row {
        Row { floor, rounds: rounds.to_vec(), remark: remark.map(str::to_owned) }
    }

    #[test]
    fn floors_stand_below_their_groups_with_median_and_spread() {
        let rows = [
            row(Floor::DependentMemory, &[90.0, 100.0, 120.0], None),
            row(Floor::Read2, &[], Some("one processor")),
            row(Floor::FdatasyncP50, &[123_456.7], None),
        ];
        let text = table(&rows);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_ascii_whitespace().collect()).collect();
        assert_eq!(lines.len(), 6, "{text}");
        assert_eq!(lines[0], ["dependent", "median", "unit", "spread"]);
        assert_eq!(lines[1], ["dependent_memory", "100.0", "ns", "30", "%"]);
        assert_eq!(lines[3], ["read_2", "none"]);
        assert_eq!(lines[5], ["fdatasync_p50", "123457", "ns", "0", "%"]);
        assert_eq!(table(&[]), "");
    }

    #[test]
    fn a_line_of_json_says_why_there_is_no_figure() {
        let mut lines = String::new();
        row(Floor::DependentMemory, &[90.0, 100.0, 120.0], None).line(&mut lines);
        row(Floor::Read2, &[], Some("\"one\" processor")).line(&mut lines);
        assert_eq!(
            lines,
            "{\"suite\":\"limits\",\"workload\":\"dependent_memory\",\"group\":\"dependent\",\"unit\":\"ns\",\
             \"value\":100.000,\"spread\":0.300,\"rounds\":3,\"remark\":null}\n\
             {\"suite\":\"limits\",\"workload\":\"read_2\",\"group\":\"bandwidth\",\"unit\":\"GB/s\",\"value\":null,\
             \"spread\":null,\"rounds\":0,\"remark\":\"\\\"one\\\" processor\"}\n"
        );
    }
}
