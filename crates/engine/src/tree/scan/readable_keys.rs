//! The keys of damaged trees that can still be read.

use std::collections::VecDeque;

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
    /// The trees that are not begun.
    roots: std::vec::IntoIter<Root>,
    /// In the tree that is read.
    cursor: Option<Cursor>,
    /// The rest of its leaf.
    keys: VecDeque<Result<Vec<u8>>>,
}

impl<'p> ReadableKeys<'p> {
    /// The keys of these trees, beginning at the leaf of `low`. Requires: the keys of each tree are above those of the
    /// trees before it.
    pub fn new(pages: &'p Pages, roots: Vec<Root>, low: &[u8]) -> Self {
        Self { pages, low: low.into(), roots: roots.into_iter(), cursor: None, keys: VecDeque::new() }
    }

    /// Moves to the next leaf. `false` if there is none.
    fn advance(&mut self) -> Result<bool> {
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
        self.keys.extend((0..leaf.leaf().count()).map(|index| key_of(self.pages, &leaf, index)));
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
