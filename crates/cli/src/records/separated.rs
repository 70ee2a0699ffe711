//! CSV and TSV: a header, and rows of as many fields.
//!
//! | | CSV | TSV |
//! |---|---|---|
//! | between fields | a comma | a tab |
//! | special characters | in quotes, quotes doubled (RFC 4180) | `\t`, `\n`, `\r`, `\\` |
//!
//! Reading is strict where leniency would change data: a quote that is not closed, text after a closing quote, another
//! escape, or a row with more or fewer fields than the header is an error.

use std::io::BufRead;

use super::lines::{LINE_BYTES_MAX, Lines, too_long};
use super::record::{FieldNames, Offence, Pair, Place, RecordReader};
use crate::column::{KEY, VALUE};
use crate::entries::EntryForm;
use crate::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Csv,
    Tsv,
}

/// Reads CSV or TSV.
pub struct SeparatedReader {
    kind: Kind,
    lines: Lines,
    fields: FieldNames,
    columns: Option<Columns>,
    /// The row that was read last.
    row: Vec<String>,
    /// The line in which it began.
    began: u64,
}

/// What the header says.
struct Columns {
    names: Vec<String>,
    key: usize,
    /// None for the whole row.
    value: Option<usize>,
}

impl SeparatedReader {
    /// Reads CSV.
    pub fn csv(bytes: Box<dyn BufRead>, fields: FieldNames) -> Self {
        Self::new(Kind::Csv, bytes, fields)
    }

    /// Reads TSV.
    pub fn tsv(bytes: Box<dyn BufRead>, fields: FieldNames) -> Self {
        Self::new(Kind::Tsv, bytes, fields)
    }

    fn new(kind: Kind, bytes: Box<dyn BufRead>, fields: FieldNames) -> Self {
        Self { kind, lines: Lines::new(bytes), fields, columns: None, row: Vec::new(), began: 1 }
    }

    /// Reads the next row that is not empty. Returns whether there is one.
    fn read_row(&mut self) -> Result<bool, Offence> {
        loop {
            self.row.clear();
            let Some(line) = self.lines.next()? else { return Ok(false) };
            if line.is_empty() || line == "\r" {
                continue;
            }
            let line = line.to_owned();
            self.began = self.lines.number();
            match self.kind {
                Kind::Csv => self.split_csv(line)?,
                Kind::Tsv => split_tsv(line.strip_suffix('\r').unwrap_or(&line), &mut self.row)?,
            }
            return Ok(true);
        }
    }

    /// Takes a row apart that begins with `line`, and goes on into further lines where quotes are open.
    fn split_csv(&mut self, mut line: String) -> Result<(), Offence> {
        let mut at = 0;
        loop {
            if !line[at..].starts_with('"') {
                let rest = &line[at..];
                let Some(comma) = rest.find(',') else {
                    self.row.push(rest.strip_suffix('\r').unwrap_or(rest).to_owned());
                    return Ok(());
                };
                self.row.push(rest[..comma].to_owned());
                at += comma + 1;
                continue;
            }
            at += 1;
            let mut field = String::new();
            loop {
                let Some(quote) = line[at..].find('"') else {
                    field.push_str(&line[at..]);
                    field.push('\n');
                    if field.len() as u64 > LINE_BYTES_MAX {
                        return Err(too_long());
                    }
                    line = self.lines.next()?.ok_or("a quote is opened in this row and never closed")?.to_owned();
                    at = 0;
                    continue;
                };
                field.push_str(&line[at..at + quote]);
                at += quote + 1;
                if !line[at..].starts_with('"') {
                    break;
                }
                field.push('"');
                at += 1;
            }
            self.row.push(field);
            match &line[at..] {
                "" | "\r" => return Ok(()),
                rest if rest.starts_with(',') => at += 1,
                _ => return Err("after a closing quote comes a comma or the line's end; double quotes inside".into()),
            }
        }
    }

    /// Finds the columns of key and value.
    fn read_header(&mut self) -> Result<Columns, Offence> {
        if self.fields.no_header {
            return Ok(Columns { names: vec![KEY.to_owned(), VALUE.to_owned()], key: 0, value: Some(1) });
        }
        if !self.read_row()? {
            return Err("no header; the first line names the columns".into());
        }
        let names = std::mem::take(&mut self.row);
        let find = |name: &str, option: &str| {
            let mut found = names.iter().enumerate().filter(|(_, column)| *column == name);
            match (found.next(), found.next()) {
                (Some((index, _)), None) => Ok(index),
                (Some(_), Some(_)) => Err(format!("two columns are called `{name}`")),
                (None, _) => {
                    let there_are = names.join(", ");
                    Err(format!(
                        "no column `{name}` (there are: {there_are}); name one with --{option}, or --no-header"
                    ))
                }
            }
        };
        let key = find(self.fields.key.as_deref().unwrap_or(KEY), "key-field")?;
        let value = match (&self.fields.key, &self.fields.value) {
            (_, Some(name)) => Some(find(name, "value-field")?),
            (Some(_), None) => None,
            (None, None) => Some(find(VALUE, "value-field")?),
        };
        if self.fields.key.is_none()
            && let Some(other) = names.iter().find(|name| *name != KEY && *name != VALUE)
        {
            let words = format!(
                "column `{other}` would be lost; store whole rows with --key-field {KEY}, or drop it with \
                 --key-field {KEY} --value-field {VALUE}"
            );
            return Err(words.into());
        }
        Ok(Columns { names, key, value })
    }
}

impl RecordReader for SeparatedReader {
    fn next(&mut self, form: &EntryForm) -> Result<Option<Pair>, Offence> {
        let columns = match self.columns.take() {
            Some(columns) => columns,
            None => self.read_header()?,
        };
        if !self.read_row()? {
            return Ok(None);
        }
        if self.row.len() != columns.names.len() {
            return Err(format!("expected {} fields, found {}", columns.names.len(), self.row.len()).into());
        }
        let key = form.key.parse(&self.row[columns.key])?;
        let value = match columns.value {
            Some(value) => form.value.parse(&self.row[value])?,
            None => form.value.of_text(&object(&columns.names, &self.row))?,
        };
        self.columns = Some(columns);
        Ok(Some((key, value)))
    }

    fn place(&self) -> Place {
        Place::Line(self.began)
    }
}

fn split_tsv(line: &str, row: &mut Vec<String>) -> Result<(), Offence> {
    for field in line.split('\t') {
        let Some(first) = field.find('\\') else {
            row.push(field.to_owned());
            continue;
        };
        let mut plain = field[..first].to_owned();
        let mut rest = field[first..].chars();
        while let Some(character) = rest.next() {
            if character != '\\' {
                plain.push(character);
                continue;
            }
            plain.push(match rest.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('\\') => '\\',
                _ => return Err("after \\ comes one of t, n, r and \\; a backslash itself is written as \\\\".into()),
            });
        }
        row.push(plain);
    }
    Ok(())
}

/// A row as a JSON object of strings.
fn object(names: &[String], row: &[String]) -> String {
    let mut object = String::from("{");
    for (index, (name, field)) in names.iter().zip(row).enumerate() {
        object.push_str(if index == 0 { "" } else { "," });
        json::push_string(name, &mut object);
        object.push(':');
        json::push_string(field, &mut object);
    }
    object.push('}');
    object
}

/// Appends a field of CSV, in quotes if it must be.
pub fn push_csv_field(field: &str, out: &mut String) {
    if !field.contains([',', '"', '\n', '\r']) {
        out.push_str(field);
        return;
    }
    out.push('"');
    for (index, part) in field.split('"').enumerate() {
        out.push_str(if index == 0 { "" } else { "\"\"" });
        out.push_str(part);
    }
    out.push('"');
}

/// Appends a field of TSV.
pub fn push_tsv_field(field: &str, out: &mut String) {
    for character in field.chars() {
        match character {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            plain => out.push(plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(kind: Kind, text: &str) -> Result<Vec<Vec<String>>, (u64, String)> {
        let mut reader =
            SeparatedReader::new(kind, Box::new(std::io::Cursor::new(text.to_owned())), FieldNames::default());
        let mut rows = Vec::new();
        loop {
            match reader.read_row() {
                Ok(true) => rows.push(reader.row.clone()),
                Ok(false) => return Ok(rows),
                Err(Offence::Words(words)) => return Err((reader.began, words)),
                Err(Offence::Io(error)) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn every_field_comes_back() {
        let fields = ["", "plain", " a, b ", "\"", "a\"\"b", "x\r\ny\n", "tab\t\\t\\", "\u{feff}é"];
        let (mut csv, mut tsv) = (String::from("x,"), String::from("x\t"));
        for (index, field) in fields.iter().enumerate() {
            csv.push_str(if index == 0 { "" } else { "," });
            tsv.push_str(if index == 0 { "" } else { "\t" });
            push_csv_field(field, &mut csv);
            push_tsv_field(field, &mut tsv);
        }
        for (kind, text) in [(Kind::Csv, csv), (Kind::Tsv, tsv)] {
            for end in ["", "\n", "\r\n", "\n\n"] {
                let read = rows(kind, &format!("{text}{end}")).unwrap();
                assert_eq!(read.len(), 1);
                assert_eq!(read[0][1..], fields);
            }
        }
    }

    #[test]
    fn what_leniency_would_change_is_an_error_with_the_row_it_began_in() {
        let (line, words) = rows(Kind::Csv, "a,b\nc,\"d\ne,f\n").unwrap_err();
        assert_eq!((line, words.as_str()), (2, "a quote is opened in this row and never closed"));
        let (line, words) = rows(Kind::Csv, "\"a\nb\",c\n\"a\" b\n").unwrap_err();
        assert!(line == 3 && words.starts_with("after a closing quote"), "{line} {words}");
        let (line, words) = rows(Kind::Tsv, "a\n\\x\n").unwrap_err();
        assert!(line == 2 && words.starts_with("after \\ comes"), "{line} {words}");
        assert_eq!(rows(Kind::Csv, "5\" pipe,x").unwrap(), [["5\" pipe", "x"]], "a quote inside is itself");
    }
}
