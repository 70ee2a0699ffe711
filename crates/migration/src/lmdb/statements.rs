//! [`Statements`]: the statements of one kind.

use super::pages::{Cursor, PageFile, Tree};
use super::varint;
use crate::directory::{Index, StatementIds};
use crate::error::Result;

/// Reads statements, in the order of an index.
#[derive(Debug)]
pub struct Statements<'s> {
    file: &'s PageFile,
    index: &'s Index,
    cursor: Cursor<'s>,
    has_failed: bool,
}

impl<'s> Statements<'s> {
    pub(super) fn new(file: &'s PageFile, index: &'s Index, tree: Tree) -> Self {
        Self { file, index, cursor: Cursor::new(file, tree), has_failed: false }
    }

    fn read(&mut self) -> Result<Option<StatementIds>> {
        let Some(key) = self.cursor.next_key()? else { return Ok(None) };
        let (mut ids, mut rest) = ([0; 4], key);
        for &place in &self.index.places {
            let id = varint::take(&mut rest);
            ids[place] = id.ok_or_else(|| malformed(self.file, self.index))?;
        }
        if !rest.is_empty() {
            return Err(malformed(self.file, self.index));
        }
        Ok(Some(StatementIds::new(ids)))
    }
}

impl Iterator for Statements<'_> {
    type Item = Result<StatementIds>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let read = self.read();
        self.has_failed = read.is_err();
        read.transpose()
    }
}

/// The key of a statement in an index.
pub fn key(statement: &StatementIds, index: &Index) -> Vec<u8> {
    let ids = statement.ids();
    let mut key = Vec::new();
    index.places.iter().for_each(|&place| varint::push(&mut key, ids[place]));
    key
}

fn malformed(file: &PageFile, index: &Index) -> crate::error::Error {
    crate::error::damaged(file.path(), format!("a key of the index {} is not four ids", index.name))
}
