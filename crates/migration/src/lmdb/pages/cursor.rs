//! [`Cursor`]: the keys of a tree, in their order.

use std::rc::Rc;

use super::file::PageFile;
use super::meta::Tree;
use super::page::Page;
use crate::error::{Result, damaged};

/// Reads the keys of a tree.
///
/// Keys must ascend, and there must be as many as the tree says. So a damaged tree ends with an error, and does end.
#[derive(Debug)]
pub struct Cursor<'f> {
    file: &'f PageFile,
    tree: Tree,
    /// From the root to a leaf, each with the next index.
    path: Vec<(Rc<Page>, usize)>,
    key: Vec<u8>,
    count: u64,
    has_begun: bool,
}

impl<'f> Cursor<'f> {
    /// Begins before the first key.
    pub fn new(file: &'f PageFile, tree: Tree) -> Self {
        Self { file, tree, path: Vec::new(), key: Vec::new(), count: 0, has_begun: false }
    }

    /// The next key.
    ///
    /// # Errors
    /// [`Error::Read`](crate::Error::Read), [`Error::Damaged`](crate::Error::Damaged).
    pub fn next_key(&mut self) -> Result<Option<&[u8]>> {
        if !self.has_begun {
            self.has_begun = true;
            if let Some(root) = self.tree.root {
                self.enter(root)?;
            }
        }
        self.leave_ended()?;
        let Some((page, index)) = self.path.last_mut() else { return self.end() };
        let key = page.key(*index);
        if self.count > 0 && key <= self.key.as_slice() {
            let number = page.number();
            return Err(self.file.damaged_page(number, "its keys do not ascend"));
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        *index += 1;
        self.count += 1;
        Ok(Some(&self.key))
    }

    fn end(&self) -> Result<Option<&[u8]>> {
        if self.count == self.tree.entries {
            return Ok(None);
        }
        let (found, expected) = (self.count, self.tree.entries);
        Err(damaged(self.file.path(), format!("a table has {found} entries instead of {expected}")))
    }

    /// Goes up from leaves that are read, and down to the next one.
    fn leave_ended(&mut self) -> Result<()> {
        while self.path.last().is_some_and(|(page, index)| *index == page.count()) {
            self.path.pop();
            let Some((page, index)) = self.path.last_mut().filter(|(page, index)| *index < page.count()) else {
                continue;
            };
            let child = page.child(*index);
            *index += 1;
            self.enter(child)?;
        }
        Ok(())
    }

    /// Goes down to the first leaf of a page.
    fn enter(&mut self, number: u64) -> Result<()> {
        let mut number = number;
        loop {
            let page = self.file.page(&self.tree, number, self.path.len() as u16 + 1)?;
            if page.is_leaf() {
                self.path.push((page, 0));
                return Ok(());
            }
            number = page.child(0);
            self.path.push((page, 1));
        }
    }
}
