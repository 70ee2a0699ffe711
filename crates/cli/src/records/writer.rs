//! Writing records of any form, each as it comes.

use std::io::Write;

use super::binary::push_lengths;
use super::separated::{push_csv_field, push_tsv_field};
use crate::arguments::FileFormat;
use crate::column::{KEY, VALUE};
use crate::entries::EntryForm;
use crate::failure::Failure;

/// Writes records to `W`.
pub struct RecordWriter<W> {
    out: W,
    format: FileFormat,
    line: String,
    field: String,
    begun: bool,
}

impl<W: Write> RecordWriter<W> {
    /// Writes to `out` in this form.
    pub fn new(out: W, format: FileFormat) -> Self {
        Self { out, format, line: String::new(), field: String::new(), begun: false }
    }

    /// Writes a record.
    ///
    /// # Errors
    /// If the key or value is not of its type; what `out` answers, as [`Failure::Output`].
    pub fn write(&mut self, form: &EntryForm, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        match self.format {
            FileFormat::Ndjson => {
                self.line.push_str("{\"key\":");
                form.key.push_json(key, &mut self.line)?;
                self.line.push_str(",\"value\":");
                form.value.push_json(value, &mut self.line)?;
                self.line.push_str("}\n");
            }
            FileFormat::Csv | FileFormat::Tsv => {
                self.header();
                let (push, separator) = self.separated();
                for (column, bytes, end) in [(&form.key, key, separator), (&form.value, value, "\n")] {
                    self.field.clear();
                    column.push_text(bytes, &mut self.field)?;
                    push(&self.field, &mut self.line);
                    self.line.push_str(end);
                }
            }
            FileFormat::Binary => {
                let mut lengths = Vec::new();
                push_lengths(key, value, &mut lengths);
                return [&lengths, key, value]
                    .iter()
                    .try_for_each(|part| self.out.write_all(part))
                    .map_err(Failure::Output);
            }
        }
        self.write_line()
    }

    /// Ends the output, and gives `out` back, to which all is written.
    ///
    /// # Errors
    /// What `out` answers.
    pub fn finish(mut self) -> Result<W, Failure> {
        if matches!(self.format, FileFormat::Csv | FileFormat::Tsv) {
            self.header();
            self.write_line()?;
        }
        self.out.flush().map_err(Failure::Output)?;
        Ok(self.out)
    }

    fn separated(&self) -> (fn(&str, &mut String), &'static str) {
        if self.format == FileFormat::Csv { (push_csv_field, ",") } else { (push_tsv_field, "\t") }
    }

    fn header(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            self.line.push_str(KEY);
            self.line.push_str(self.separated().1);
            self.line.push_str(VALUE);
            self.line.push('\n');
        }
    }

    fn write_line(&mut self) -> Result<(), Failure> {
        self.out.write_all(self.line.as_bytes()).map_err(Failure::Output)?;
        self.line.clear();
        Ok(())
    }
}
