//! [`Statements`]: the statements of one kind, as ids.

use super::index::Index;
use super::varint;
use crate::error::Result;
use crate::pages::{Cursor, PageFile, Tree};

/// The ids of the values of a statement. The context 0 is the default graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatementIds {
    /// The subject.
    pub subject: u64,
    /// The predicate.
    pub predicate: u64,
    /// The object.
    pub object: u64,
    /// The context, or 0.
    pub context: u64,
}

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
        let [subject, predicate, object, context] = ids;
        Ok(Some(StatementIds { subject, predicate, object, context }))
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

impl StatementIds {
    /// The key of the statement in an index.
    pub(super) fn key(&self, index: &Index) -> Vec<u8> {
        let ids = [self.subject, self.predicate, self.object, self.context];
        let mut key = Vec::new();
        index.places.iter().for_each(|&place| varint::push(&mut key, ids[place]));
        key
    }
}

fn malformed(file: &PageFile, index: &Index) -> crate::error::Error {
    crate::error::damaged(file.path(), format!("a key of the index {} is not four ids", index.name))
}
