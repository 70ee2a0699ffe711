//! [`List`]: the entries of an answer, within the limits of its request.

use std::fmt::{Display, Write as _};

use serde_json::Value as Json;

use crate::facts::code::asked::Asked;
use crate::facts::fields::Fields;
use crate::http::refusal::Refusal;

/// Entries as a text of JSON: those after the first `offset`, at most `limit`, until they reach the most bytes.
pub struct List {
    text: String,
    count: usize,
    /// Entries that are still to be passed over.
    offset: usize,
    limit: usize,
    bytes_max: usize,
    /// Whether there are entries after the last one.
    is_cut: bool,
}

impl List {
    /// An empty list, with the limits that a request asks for, or `limit`.
    ///
    /// # Errors
    /// 400 with the field that is wrong.
    pub fn of(fields: &mut Fields, asked: &Asked<'_>, limit: usize) -> Result<Self, Refusal> {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let limit = fields.limit("limit")?.map_or(limit, number).min(asked.results_max);
        let offset = fields.number("offset")?.map_or(0, number);
        Ok(Self { text: String::new(), count: 0, offset, limit, bytes_max: asked.bytes_max, is_cut: false })
    }

    /// An empty list within an entry of this one, from its beginning on: of at most as many entries, and of the bytes
    /// that are left.
    pub fn like(&self) -> Self {
        let bytes_max = self.bytes_max.saturating_sub(self.text.len());
        Self { text: String::new(), count: 0, offset: 0, limit: self.limit, bytes_max, is_cut: false }
    }

    /// So many entries are enough for the list, and to know whether there are more.
    pub fn needed(&self) -> usize {
        self.offset.saturating_add(self.limit).saturating_add(1)
    }

    /// Adds an entry, as JSON, which is made only if it is listed. Returns `false` if the list is full.
    ///
    /// # Errors
    /// Those of `entry`.
    pub fn add<E: Display>(&mut self, entry: impl FnOnce() -> Result<E, Refusal>) -> Result<bool, Refusal> {
        if self.offset > 0 {
            self.offset -= 1;
            return Ok(true);
        }
        if self.count == self.limit || (self.count > 0 && self.text.len() >= self.bytes_max) {
            self.is_cut = true;
            return Ok(false);
        }
        let entry = entry()?;
        if self.count > 0 {
            self.text.push(',');
        }
        // Writing to a string does not fail.
        let _ = write!(self.text, "{entry}");
        self.count += 1;
        Ok(true)
    }

    /// The answer: the list under its name, whether it was cut off, and other members.
    pub fn answer(self, name: &str, others: &[(&str, Json)]) -> String {
        let Self { text, is_cut, .. } = self;
        let mut answer = format!("{{\"{name}\":[{text}],\"truncated\":{is_cut}");
        for (name, value) in others {
            // Writing to a string does not fail.
            let _ = write!(answer, ",\"{name}\":{value}");
        }
        answer.push('}');
        answer
    }
}
