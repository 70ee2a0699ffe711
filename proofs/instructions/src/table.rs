//! The committed table of counts, and what differs from it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::callgrind::Count;
use crate::error::{Error, Result};

/// A count may be so much larger than the table says, in percent: new compilers and unrelated changes move counts a
/// little.
const RISE_PERCENT: f64 = 3.0;
/// From so much less on, the table should be lowered, or it would let the count rise again unseen.
const FALL_PERCENT: f64 = 5.0;

/// The table: for each search and operation, instructions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    search: String,
    operation: String,
    instructions: f64,
}

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// A line for each count, and what it is to be compared with.
    pub report: String,
    /// Counts that have risen too much, or are not in the table.
    pub wrong: usize,
    /// Counts that have fallen so much that the table should be lowered.
    pub fallen: usize,
}

impl Table {
    /// Reads the table; one that does not exist is empty.
    pub fn read(path: &Path) -> Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|line| Error::Table { path: path.to_path_buf(), line }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(Error::io("read", path, source)),
        }
    }

    /// Writes the table.
    pub fn write(&self, path: &Path) -> Result<()> {
        fs::write(path, self.text()).map_err(|source| Error::io("write", path, source))
    }

    /// The number of the line that is wrong, if one is.
    fn parse(text: &str) -> Result<Self, usize> {
        let mut rows = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [search, operation, instructions] = words[..] else { return Err(number) };
            let instructions = instructions.parse().ok().filter(|count: &f64| *count > 0.0).ok_or(number)?;
            rows.push(Row { search: search.into(), operation: operation.into(), instructions });
        }
        Ok(Self { rows })
    }

    fn text(&self) -> String {
        let mut text = String::from(HEAD);
        for row in &self.rows {
            let written = writeln!(text, "{:<9} {:<15} {:>10.1}", row.search, row.operation, row.instructions);
            written.expect("a string takes everything");
        }
        text
    }

    fn instructions(&self, count: &Count) -> Option<f64> {
        let of_count = |row: &&Row| row.search == count.search && row.operation == count.operation;
        self.rows.iter().find(of_count).map(|row| row.instructions)
    }

    /// Takes counts in place of what the table says of their operations.
    pub fn accept(&mut self, counts: &[Count]) {
        for count in counts {
            let row = Row {
                search: count.search.into(),
                operation: count.operation.into(),
                instructions: (count.instructions * 10.0).round() / 10.0,
            };
            match self.rows.iter_mut().find(|known| known.search == row.search && known.operation == row.operation) {
                Some(known) => *known = row,
                None => self.rows.push(row),
            }
        }
    }

    /// Compares counts with the table.
    pub fn compare(&self, counts: &[Count]) -> Comparison {
        let mut comparison = Comparison::default();
        for count in counts {
            let verdict = match self.instructions(count).map(|known| (count.instructions / known - 1.0) * 100.0) {
                None => {
                    comparison.wrong += 1;
                    "NOT in the table".to_owned()
                }
                Some(change) if change > RISE_PERCENT => {
                    comparison.wrong += 1;
                    format!("{change:+.1} %: MORE than the table allows")
                }
                Some(change) if change < -FALL_PERCENT => {
                    comparison.fallen += 1;
                    format!("{change:+.1} %: lower the table")
                }
                Some(change) => format!("{change:+.1} %"),
            };
            let Count { search, operation, instructions, mispredicted } = count;
            let written = writeln!(
                comparison.report,
                "{search:<9} {operation:<15} {instructions:>10.1} instructions {mispredicted:>6.2} mispredicted  {verdict}"
            );
            written.expect("a string takes everything");
        }
        comparison
    }
}

const HEAD: &str = "\
# Instructions of an operation, by page search: what `cargo xtask instructions` compares.
# docs/internals/testing.md says how they are counted. After a change that is worth its price,
# `cargo xtask instructions --accept` writes the new counts here.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn count(instructions: f64) -> Count {
        Count { search: "avx2", operation: "get", instructions, mispredicted: 0.5 }
    }

    fn table_of(instructions: f64) -> Table {
        let mut table = Table::default();
        table.accept(&[count(instructions)]);
        table
    }

    #[test]
    fn a_count_may_rise_by_three_percent_and_no_more() {
        let table = table_of(1000.0);
        assert_eq!(table.compare(&[count(1029.0)]).wrong, 0);
        let risen = table.compare(&[count(1031.0)]);
        assert_eq!((risen.wrong, risen.fallen), (1, 0));
        assert!(risen.report.contains("+3.1 %: MORE"), "{}", risen.report);
    }

    #[test]
    fn a_count_that_has_fallen_by_more_than_five_percent_asks_to_lower_the_table() {
        let table = table_of(1000.0);
        assert_eq!(table.compare(&[count(951.0)]).fallen, 0);
        let fallen = table.compare(&[count(949.0)]);
        assert_eq!((fallen.wrong, fallen.fallen), (0, 1));
        assert!(fallen.report.contains("lower the table"), "{}", fallen.report);
    }

    #[test]
    fn an_operation_that_the_table_does_not_have_is_wrong() {
        assert_eq!(Table::default().compare(&[count(1.0)]).wrong, 1);
    }

    #[test]
    fn a_table_is_read_as_it_was_written_and_what_is_accepted_takes_the_place_of_what_was() {
        let mut table = table_of(449.04);
        table.accept(&[Count { operation: "put", ..count(4422.1) }, count(300.0)]);
        let read = Table::parse(&table.text()).expect("it was written just now");
        assert_eq!(read, table);
        assert_eq!(read.instructions(&count(0.0)), Some(300.0));
        assert_eq!(read.rows.len(), 2);
    }

    #[test]
    fn a_line_that_is_no_count_is_named() {
        for line in ["avx2 get", "avx2 get many", "avx2 get 0", "avx2 get 1 2"] {
            assert_eq!(Table::parse(&format!("# counts\n\n{line}\n")), Err(3), "{line}");
        }
    }
}
