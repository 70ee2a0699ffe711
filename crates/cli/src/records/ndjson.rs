//! NDJSON: a JSON object a line.

use std::io::BufRead;

use super::lines::Lines;
use super::record::{FieldNames, Offence, Pair, Place, RecordReader};
use crate::column::{KEY, VALUE};
use crate::entries::EntryForm;
use crate::json::{self, Members};

/// Reads NDJSON.
pub struct NdjsonReader {
    lines: Lines,
    fields: FieldNames,
}

impl NdjsonReader {
    /// Reads from `bytes`.
    pub fn new(bytes: Box<dyn BufRead>, fields: FieldNames) -> Self {
        Self { lines: Lines::new(bytes), fields }
    }
}

impl RecordReader for NdjsonReader {
    fn next(&mut self, form: &EntryForm) -> Result<Option<Pair>, Offence> {
        loop {
            match self.lines.next()? {
                None => return Ok(None),
                Some(line) if line.trim().is_empty() => {}
                Some(line) => return Ok(Some(record(line, &self.fields, form)?)),
            }
        }
    }

    fn place(&self) -> Place {
        Place::Line(self.lines.number())
    }
}

fn record(line: &str, fields: &FieldNames, form: &EntryForm) -> Result<Pair, String> {
    let members: Members<'_> = serde_json::from_str(line).map_err(|error| without_line(&error))?;
    let find = |name: &str| {
        members.find(name)?.ok_or_else(|| {
            let there_are: Vec<&str> = members.0.iter().take(MEMBERS_LISTED).map(|(name, _)| name.as_str()).collect();
            format!(
                "no member `{name}` (there are: {}); name one with --{}",
                there_are.join(", "),
                option(fields, name)
            )
        })
    };
    let key = form.key.parse_json(find(fields.key.as_deref().unwrap_or(KEY))?)?;
    let value = match (&fields.key, &fields.value) {
        (_, Some(name)) => form.value.parse_json(find(name)?)?,
        (Some(_), None) => form.value.of_text(line.trim())?,
        (None, None) => {
            let value = form.value.parse_json(find(VALUE)?)?;
            if let Some((other, _)) = members.0.iter().find(|(name, _)| name != KEY && name != VALUE) {
                return Err(format!(
                    "`{other}` would be lost; store whole objects with --key-field {KEY}, or drop it with \
                     --key-field {KEY} --value-field {VALUE}"
                ));
            }
            value
        }
    };
    Ok((key, value))
}

/// The option with which the field is named that is not there.
fn option(fields: &FieldNames, name: &str) -> &'static str {
    let is_value = fields.value.as_deref() == Some(name) || (fields.key.is_none() && name == VALUE);
    if is_value { "value-field" } else { "key-field" }
}

/// The parser's message, whose line would be 1 always.
fn without_line(error: &serde_json::Error) -> String {
    // Not all errors have a place.
    let place = if error.column() > 0 { format!(" at column {}", error.column()) } else { String::new() };
    format!("no JSON object: {}{place}", json::fault(error))
}

/// So many members a message names.
const MEMBERS_LISTED: usize = 8;
