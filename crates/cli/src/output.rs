//! What goes to standard output: rows under named columns, as a table, JSON or CSV, written as they come.
//!
//! A table's columns are as wide as its first rows want; nothing waits for the last row.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::time::Duration;

use unicode_width::UnicodeWidthStr;

use crate::arguments::OutputFormat;
use crate::column::Column;
use crate::failure::Failure;
use crate::json;
use crate::notation::printable;
use crate::records::push_csv_field;

/// One cell of a row.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// Stored bytes of a column.
    Stored(&'a Column, &'a [u8]),
    /// A number.
    Number(u64),
    /// Words.
    Text(&'a str),
    /// A fraction of the whole.
    Share(f64),
    /// What a row does not have.
    Nothing,
}

impl Cell<'_> {
    fn push_text(&self, out: &mut String) -> Result<(), Failure> {
        match self {
            Self::Stored(column, bytes) => return column.push_text(bytes, out),
            Self::Number(number) => out.push_str(&number.to_string()),
            Self::Text(text) => out.push_str(text),
            Self::Share(share) => out.push_str(&format!("{:.1}%", share * 100.0)),
            Self::Nothing => {}
        }
        Ok(())
    }

    /// As text. In a table, digits are grouped.
    fn push_cell(&self, out: &mut String) -> Result<(), Failure> {
        match self {
            Self::Number(number) => out.push_str(&grouped(*number)),
            other => {
                let mut text = String::new();
                other.push_text(&mut text)?;
                out.push_str(&printable(&text));
            }
        }
        Ok(())
    }

    fn push_json(&self, out: &mut String) -> Result<(), Failure> {
        match self {
            Self::Stored(column, bytes) => return column.push_json(bytes, out),
            Self::Number(number) => out.push_str(&number.to_string()),
            Self::Text(text) => json::push_string(text, out),
            Self::Share(share) => out.push_str(&format!("{share:.6}")),
            Self::Nothing => out.push_str("null"),
        }
        Ok(())
    }

    fn is_number(&self) -> bool {
        match self {
            Self::Stored(column, _) => column.is_number(),
            Self::Number(_) | Self::Share(_) => true,
            Self::Text(_) | Self::Nothing => false,
        }
    }
}

/// Standard output, locked and buffered.
pub type Output = BufWriter<StdoutLock<'static>>;

/// Opens standard output.
pub fn standard_output() -> Output {
    BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock())
}

/// Whether people read standard output as it is written.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Waits this long. If the reader of standard output closes it meanwhile, it returns the error that a write would
/// return: without it, the program would find out only when there is something to print.
///
/// # Errors
/// If the reader has closed standard output.
#[cfg(unix)]
pub fn pause(time: Duration) -> Result<(), Failure> {
    use std::time::Instant;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    let (begun, out) = (Instant::now(), io::stdout());
    loop {
        let left = time.saturating_sub(begun.elapsed()).min(POLL_MAX);
        if left.is_zero() {
            return Ok(());
        }
        let limit = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ };
        // Errors and hang-ups are reported without being asked for.
        let mut outputs = [PollFd::new(&out, PollFlags::empty())];
        match poll(&mut outputs, Some(&limit)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) if outputs[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => {
                return Err(Failure::Output(io::ErrorKind::BrokenPipe.into()));
            }
            // Standard output is something that cannot be watched.
            _ => std::thread::sleep(left),
        }
    }
}

/// Waits this long.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn pause(time: Duration) -> Result<(), Failure> {
    std::thread::sleep(time);
    Ok(())
}

/// Prints rows. Call [`Printer::finish`] after the last.
#[derive(Debug)]
pub struct Printer<W: Write> {
    out: W,
    format: OutputFormat,
    names: Vec<String>,
    /// Rows whose widths are being found out.
    waiting: Vec<Vec<(String, bool)>>,
    widths: Option<Vec<usize>>,
    /// The width of the terminal, if it is one: rows are cut to it.
    cut_to: Option<usize>,
    rows: u64,
    line: String,
}

impl Printer<Output> {
    /// Prints to standard output.
    pub fn to_standard_output(format: OutputFormat, names: &[&str]) -> Self {
        let width = if is_terminal() { terminal_size::terminal_size_of(io::stdout()) } else { None };
        Self::new(standard_output(), format, names, width.map(|(width, _)| usize::from(width.0)))
    }
}

impl<W: Write> Printer<W> {
    fn new(out: W, format: OutputFormat, names: &[&str], cut_to: Option<usize>) -> Self {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Self { out, format, names, waiting: Vec::new(), widths: None, cut_to, rows: 0, line: String::new() }
    }

    /// Prints a row, with a cell for each column.
    ///
    /// # Errors
    /// If a stored value is not of its type; what standard output answers.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), Failure> {
        assert_eq!(cells.len(), self.names.len());
        self.rows += 1;
        match self.format {
            OutputFormat::Table => {
                let mut row = Vec::with_capacity(cells.len());
                for cell in cells {
                    let mut text = String::new();
                    cell.push_cell(&mut text)?;
                    row.push((text, cell.is_number()));
                }
                return self.table_row(row).map_err(Failure::Output);
            }
            OutputFormat::Json => {
                self.line.push_str(if self.rows == 1 { "[\n" } else { ",\n" });
                self.object(cells)?;
            }
            OutputFormat::Ndjson => {
                self.object(cells)?;
                self.line.push('\n');
            }
            OutputFormat::Csv => {
                if self.rows == 1 {
                    self.csv_header();
                }
                self.csv_row(cells)?;
            }
        }
        self.write_line().map_err(Failure::Output)
    }

    /// Has all rows so far seen. Not for a table, whose columns would get their widths from them, nor for one array.
    ///
    /// # Errors
    /// What standard output answers.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.write_line().and_then(|()| self.out.flush()).map_err(Failure::Output)
    }

    /// Ends the output.
    ///
    /// # Errors
    /// What standard output answers.
    pub fn finish(mut self) -> Result<(), Failure> {
        match self.format {
            OutputFormat::Table => self.fix_widths().map_err(Failure::Output)?,
            OutputFormat::Json => self.line.push_str(if self.rows == 0 { "[]\n" } else { "\n]\n" }),
            OutputFormat::Csv if self.rows == 0 => self.csv_header(),
            OutputFormat::Csv | OutputFormat::Ndjson => {}
        }
        self.write_line().and_then(|()| self.out.flush()).map_err(Failure::Output)
    }

    fn object(&mut self, cells: &[Cell<'_>]) -> Result<(), Failure> {
        for (index, (name, cell)) in self.names.iter().zip(cells).enumerate() {
            self.line.push(if index == 0 { '{' } else { ',' });
            json::push_string(name, &mut self.line);
            self.line.push(':');
            cell.push_json(&mut self.line)?;
        }
        self.line.push('}');
        Ok(())
    }

    fn csv_header(&mut self) {
        for (index, name) in self.names.iter().enumerate() {
            self.line.push_str(if index == 0 { "" } else { "," });
            push_csv_field(name, &mut self.line);
        }
        self.line.push('\n');
    }

    fn csv_row(&mut self, cells: &[Cell<'_>]) -> Result<(), Failure> {
        let mut text = String::new();
        for (index, cell) in cells.iter().enumerate() {
            self.line.push_str(if index == 0 { "" } else { "," });
            text.clear();
            cell.push_text(&mut text)?;
            match &*text {
                // Readers skip empty lines.
                "" if cells.len() == 1 => self.line.push_str("\"\""),
                field => push_csv_field(field, &mut self.line),
            }
        }
        self.line.push('\n');
        Ok(())
    }

    fn write_line(&mut self) -> io::Result<()> {
        self.out.write_all(self.line.as_bytes())?;
        self.line.clear();
        Ok(())
    }

    fn table_row(&mut self, row: Vec<(String, bool)>) -> io::Result<()> {
        if self.widths.is_some() {
            return self.aligned(&row);
        }
        self.waiting.push(row);
        if self.waiting.len() < ROWS_MEASURED { Ok(()) } else { self.fix_widths() }
    }

    /// Prints the rows that waited, under the columns' names.
    fn fix_widths(&mut self) -> io::Result<()> {
        if self.widths.is_some() || self.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        let width = |column: usize| {
            let cells = waiting.iter().map(|row| row[column].0.width().min(CELL_WIDTH_MAX));
            cells.max().unwrap_or(0).max(self.names[column].width())
        };
        self.widths = Some((0..self.names.len()).map(width).collect());
        let header = waiting.first().into_iter().flatten().zip(&self.names);
        let header: Vec<_> = header.map(|((_, number), name)| (name.clone(), *number)).collect();
        self.aligned(&header)?;
        waiting.iter().try_for_each(|row| self.aligned(row))
    }

    fn aligned(&mut self, row: &[(String, bool)]) -> io::Result<()> {
        let widths = self.widths.as_deref().unwrap_or_default();
        for (index, ((text, number), width)) in row.iter().zip(widths).enumerate() {
            let space = width.saturating_sub(text.width());
            self.line.push_str(if index == 0 { "" } else { "  " });
            if *number {
                self.line.extend(std::iter::repeat_n(' ', space));
            }
            self.line.push_str(text);
            if !number && index + 1 < row.len() {
                self.line.extend(std::iter::repeat_n(' ', space));
            }
        }
        if let Some(columns) = self.cut_to
            && self.line.width() > columns
        {
            cut(&mut self.line, columns);
        }
        self.line.push('\n');
        self.write_line()
    }
}

/// A number with its digits in groups of three.
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

/// A number of things, in words.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A number of entries, in words.
pub fn entries(count: u64) -> String {
    counted(count, "entry", "entries")
}

/// What follows the result of a check if changes are in the log only: no page has them, and no `count` of entries.
pub fn in_log_only(changes: u64) -> String {
    match changes {
        0 => String::new(),
        changes => format!("; {} in the log only", counted(changes, "changed key", "changed keys")),
    }
}

/// A number of bytes in the largest unit that leaves a whole number before the point.
pub fn size(bytes: u64) -> String {
    let mut amount = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if amount < 1024.0 {
            break;
        }
        amount /= 1024.0;
        unit = larger;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{amount:.1} {unit}") }
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

/// Bytes that gather before they are written.
const BUFFER_BYTES: usize = 64 << 10;
/// A longer pause is several waits.
#[cfg(unix)]
const POLL_MAX: Duration = Duration::from_secs(3600);
/// So many rows decide how wide columns are.
const ROWS_MEASURED: usize = 500;
/// A longer cell does not push the next column away from all others.
const CELL_WIDTH_MAX: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(format: OutputFormat, rows: &[(&str, u64)], cut_to: Option<usize>) -> String {
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, format, &["name", "entries"], cut_to);
        for (name, entries) in rows {
            printer.row(&[Cell::Text(name), Cell::Number(*entries)]).unwrap();
        }
        printer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_aligned_and_numbers_grouped() {
        let table = printed(OutputFormat::Table, &[("a", 7), ("日本\n", 1_234_567)], None);
        assert_eq!(table, "name      entries\na               7\n日本\\n  1,234,567\n");
        assert_eq!(printed(OutputFormat::Table, &[], None), "");
    }

    #[test]
    fn lines_are_cut_to_the_terminal() {
        assert_eq!(printed(OutputFormat::Table, &[("日本語", 7)], Some(6)), "name …\n日本…\n");
    }

    #[test]
    fn json_is_an_array_or_a_line_each() {
        assert_eq!(printed(OutputFormat::Json, &[], None), "[]\n");
        let two = [("a\"", 1), ("b", 2)];
        let array = "[\n{\"name\":\"a\\\"\",\"entries\":1},\n{\"name\":\"b\",\"entries\":2}\n]\n";
        assert_eq!(printed(OutputFormat::Json, &two, None), array);
        let lines = "{\"name\":\"a\\\"\",\"entries\":1}\n{\"name\":\"b\",\"entries\":2}\n";
        assert_eq!(printed(OutputFormat::Ndjson, &two, None), lines);
    }

    #[test]
    fn csv_has_its_header_even_without_rows() {
        assert_eq!(printed(OutputFormat::Csv, &[], None), "name,entries\n");
        assert_eq!(printed(OutputFormat::Csv, &[("a,\"b", 1000)], None), "name,entries\n\"a,\"\"b\",1000\n");
        assert_eq!(printed(OutputFormat::Csv, &[("", 1)], None), "name,entries\n,1\n");
    }

    #[test]
    fn a_csv_row_of_one_empty_field_is_no_empty_line() {
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, OutputFormat::Csv, &["key"], None);
        printer.row(&[Cell::Text("")]).unwrap();
        printer.finish().unwrap();
        assert_eq!(out, b"key\n\"\"\n");
    }

    #[test]
    fn numbers_and_sizes_are_written_for_people() {
        assert_eq!((entries(1).as_str(), entries(2000).as_str()), ("1 entry", "2,000 entries"));
        assert_eq!((grouped(0).as_str(), grouped(999).as_str(), grouped(1_000).as_str()), ("0", "999", "1,000"));
        assert_eq!(
            (size(1023).as_str(), size(1536).as_str(), size(5 << 30).as_str()),
            ("1023 B", "1.5 KiB", "5.0 GiB")
        );
    }
}
