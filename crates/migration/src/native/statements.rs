//! [`Statements`]: the statements of one kind.

use super::status::Unfinished;
use super::tree::Records;
use crate::directory::StatementIds;
use crate::error::Result;

/// Reads statements, in the order of an index.
#[derive(Debug)]
pub struct Statements<'s> {
    records: Records<'s>,
    unfinished: Unfinished,
    are_explicit: bool,
}

impl<'s> Statements<'s> {
    /// Those of the records that are explicit, or those that are only inferred.
    pub fn new(records: Records<'s>, unfinished: Unfinished, are_explicit: bool) -> Self {
        Self { records, unfinished, are_explicit }
    }
}

impl Iterator for Statements<'_> {
    type Item = Result<StatementIds>;

    fn next(&mut self) -> Option<Self::Item> {
        let wanted = Some(self.are_explicit);
        let records = self.records.by_ref();
        let found = records.find(|read| match read {
            Ok(record) => self.unfinished.is_explicit(record) == wanted,
            Err(_) => true,
        });
        found.map(|read| read.map(|record| record.statement))
    }
}
