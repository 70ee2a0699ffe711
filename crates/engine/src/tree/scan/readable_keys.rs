//! The keys of damaged trees that can still be read.

use std::collections::VecDeque;
use std::ops::Bound;

use crate::error::Result;
use crate::format::{CellKey, LeafView};
use crate::pager::{LeafPage, Pages};
use crate::tree::root::Root;

use super::cursor::{Cursor, Seek};

/// The keys of trees that may be damaged, in order. An error stands for what could not be read: a key, a leaf, or all
/// below a branch. The iterator continues behind it.
#[derive(Debug)]
pub struct ReadableKeys<'p> {
    pages: &'p Pages,
    low: Box<[u8]>,
    high: Bound<Box<[u8]>>,
    /// The trees that are not begun.
    roots: std::vec::IntoIter<Root>,
    /// In the tree that is read.
    cursor: Option<Cursor>,
    /// The rest of its leaf.
    keys: VecDeque<Result<Vec<u8>>>,
}

impl<'p> ReadableKeys<'p> {
    /// The keys of these trees up to `high`, beginning at the leaf of `low`. Requires: the keys of each tree are above
    /// those of the trees before it.
    pub fn new(pages: &'p Pages, roots: Vec<Root>, low: &[u8], high: Bound<&[u8]>) -> Self {
        let (low, high) = (low.into(), high.map(Box::from));
        Self { pages, low, high, roots: roots.into_iter(), cursor: None, keys: VecDeque::new() }
    }

    fn is_past(&self, key: &[u8]) -> bool {
        match &self.high {
            Bound::Unbounded => false,
            Bound::Included(high) => key > &**high,
            Bound::Excluded(high) => key >= &**high,
        }
    }

    /// Has the keys end with those that are read.
    fn end(&mut self) {
        (self.roots, self.cursor) = (Vec::new().into_iter(), None);
    }

    /// Moves to the next leaf that may have keys up to `high`. `false` if there is none.
    fn advance(&mut self) -> Result<bool> {
        // An error of this is that of the next leaf too.
        let bound = self.cursor.as_ref().and_then(|cursor| cursor.next_leaf_bound(self.pages).ok().flatten());
        if bound.is_some_and(|bound| self.is_past(&bound)) {
            self.end();
        }
        if let Some(cursor) = &mut self.cursor
            && cursor.next_leaf(self.pages)?
        {
            return Ok(true);
        }
        let Some(root) = self.roots.next() else { return Ok(false) };
        let (cursor, outcome) = Cursor::seek_damaged(self.pages, &root, Seek::AtLeast(&self.low));
        self.cursor = Some(cursor);
        outcome.map(|()| true)
    }

    /// Reads the keys of the leaf that it has moved to.
    fn read_leaf(&mut self) -> Result<()> {
        let Some(cursor) = &self.cursor else { return Ok(()) };
        let leaf = cursor.leaf(self.pages)?;
        for index in 0..leaf.leaf().count() {
            let key = key_of(self.pages, &leaf, index);
            if key.as_ref().is_ok_and(|key| self.is_past(key)) {
                self.end();
                break;
            }
            self.keys.push_back(key);
        }
        Ok(())
    }
}

impl Iterator for ReadableKeys<'_> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(key) = self.keys.pop_front() {
                return Some(key);
            }
            match self.advance() {
                Ok(false) => return None,
                Ok(true) => {
                    if let Err(error) = self.read_leaf() {
                        return Some(Err(error));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Requires: `index` is below the leaf's count.
fn key_of(pages: &Pages, leaf: &LeafPage<'_>, index: usize) -> Result<Vec<u8>> {
    match leaf.leaf() {
        LeafView::Tagged(tagged) => match tagged.key(index) {
            CellKey::Inline(key) => Ok(key.to_vec()),
            CellKey::Overflow { at, .. } => Ok(pages.value(&at)?.to_vec()),
        },
        LeafView::Packed(packed) => {
            let mut key = Vec::new();
            packed.key(index, &mut key);
            Ok(key)
        }
    }
}
