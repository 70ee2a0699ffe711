//! [`PageFile`]: a file of LMDB as its last commit left it.
//!
//! Invariant: all pages are of the commit that the file had when it was opened, unless a program writes to it. LMDB
//! never overwrites pages of the last commit, so they are intact unless [`PageFile::has_changed`].

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::bytes::{u16_at, u32_at, u64_at};
use super::meta::{META_BYTES, Meta, NoMeta, Tree};
use super::page::{HEADER_BYTES, OVERFLOW_PAGE, Page, Value};
use crate::error::{Error, Result, damaged};

/// An open file.
#[derive(Debug)]
pub struct PageFile {
    path: PathBuf,
    file: RefCell<File>,
    length_bytes: u64,
    meta: Meta,
    /// Pages that were read last, each in the slot of its number.
    recent: RefCell<Vec<Option<Rc<Page>>>>,
}

impl PageFile {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Damaged`], [`Error::Unsupported`].
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |source| Error::Read { path: path.to_path_buf(), source };
        let mut file = File::open(path).map_err(failed)?;
        let length_bytes = file.metadata().map_err(failed)?.len();
        let meta = read_meta(&mut file, path)?;
        let recent = RefCell::new(vec![None; RECENT_BYTES / meta.page_bytes]);
        Ok(Self { path: path.to_path_buf(), file: RefCell::new(file), length_bytes, meta, recent })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has been changed since it was opened.
    ///
    /// # Errors
    /// As [`PageFile::open`].
    pub fn has_changed(&self) -> Result<bool> {
        Ok(read_meta(&mut self.file.borrow_mut(), &self.path)? != self.meta)
    }

    /// The main tree.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub fn main(&self) -> Result<Tree> {
        self.plain(self.meta.main, "its main table")
    }

    /// The tree of a name, if there is one.
    ///
    /// # Errors
    /// As [`PageFile::get`]; [`Error::Unsupported`].
    pub fn named(&self, name: &str) -> Result<Option<Tree>> {
        let main = self.main()?;
        let Some((page, index)) = self.find(&main, name.as_bytes())? else { return Ok(None) };
        match page.value(index) {
            Value::Tree(tree) => self.plain(tree, &format!("its table `{name}`")).map(Some),
            _ => Err(damaged(&self.path, format!("`{name}` is not a table"))),
        }
    }

    /// Refuses trees with several values for a key, or keys in another order.
    fn plain(&self, tree: Tree, what: &str) -> Result<Tree> {
        if tree.flags == 0 {
            return Ok(tree);
        }
        Err(Error::Unsupported { path: self.path.clone(), found: format!("{what} has an unknown layout") })
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Damaged`].
    pub fn get(&self, tree: &Tree, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some((page, index)) = self.find(tree, key)? else { return Ok(None) };
        match page.value(index) {
            Value::Inline(bytes) => Ok(Some(bytes.to_vec())),
            Value::Overflow { page, length_bytes } => self.long_value(page, length_bytes).map(Some),
            Value::Tree(_) => Err(damaged(&self.path, format!("page {}: a value is a table", page.number()))),
        }
    }

    /// Whether there is a key.
    ///
    /// # Errors
    /// As [`PageFile::get`].
    pub fn contains(&self, tree: &Tree, key: &[u8]) -> Result<bool> {
        Ok(self.find(tree, key)?.is_some())
    }

    /// The leaf with a key, and its index there.
    fn find(&self, tree: &Tree, key: &[u8]) -> Result<Option<(Rc<Page>, usize)>> {
        let Some(root) = tree.root else { return Ok(None) };
        let mut page = self.page(tree, root, 1)?;
        for level in 2..=tree.depth {
            let child = match page.search(key) {
                Ok(index) => index,
                Err(index) => index - 1,
            };
            page = self.page(tree, page.child(child), level)?;
        }
        Ok(page.search(key).ok().map(|index| (page, index)))
    }

    /// A page of a tree. The root has level 1, and the leaves have level `tree.depth`.
    ///
    /// # Errors
    /// [`Error::Read`]; [`Error::Damaged`] if it is not a page of this level.
    pub fn page(&self, tree: &Tree, number: u64, level: u16) -> Result<Rc<Page>> {
        let page = self.cached(number)?;
        if tree.depth == 0 || tree.depth > DEPTH_MAX || page.is_leaf() != (level == tree.depth) {
            return Err(self.damaged_page(number, "it is in the wrong level of its table"));
        }
        Ok(page)
    }

    fn cached(&self, number: u64) -> Result<Rc<Page>> {
        let slot = number as usize % self.recent.borrow().len();
        if let Some(page) = self.recent.borrow()[slot].as_ref().filter(|page| page.number() == number) {
            return Ok(Rc::clone(page));
        }
        let bytes = self.read(number, self.meta.page_bytes)?;
        let page = Rc::new(Page::new(number, bytes.into()).map_err(|offence| self.damaged_page(number, offence))?);
        self.recent.borrow_mut()[slot] = Some(Rc::clone(&page));
        Ok(page)
    }

    fn long_value(&self, number: u64, length_bytes: usize) -> Result<Vec<u8>> {
        let mut bytes = self.read(number, HEADER_BYTES + length_bytes)?;
        let pages = u64::from(u32_at(&bytes, 12));
        if u64_at(&bytes, 0) != number || u16_at(&bytes, 10) & OVERFLOW_PAGE == 0 {
            return Err(self.damaged_page(number, "it is not the page of a long value"));
        }
        if pages * (self.meta.page_bytes as u64) < bytes.len() as u64 {
            return Err(self.damaged_page(number, "it is shorter than its value"));
        }
        bytes.drain(..HEADER_BYTES);
        Ok(bytes)
    }

    /// Bytes from the beginning of a page.
    fn read(&self, number: u64, count: usize) -> Result<Vec<u8>> {
        if number > self.meta.last_page {
            return Err(self.damaged_page(number, "it is behind the last page in use"));
        }
        let offset = number.checked_mul(self.meta.page_bytes as u64);
        let end = offset.and_then(|offset| offset.checked_add(count as u64));
        let (Some(offset), Some(..)) = (offset, end.filter(|&end| end <= self.length_bytes)) else {
            return Err(self.damaged_page(number, "the file ends before it"));
        };
        let (mut file, mut bytes) = (self.file.borrow_mut(), vec![0; count]);
        let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|source| Error::Read { path: self.path.clone(), source })?;
        Ok(bytes)
    }

    /// Damage of a page.
    pub fn damaged_page(&self, number: u64, offence: &str) -> Error {
        damaged(&self.path, format!("page {number}: {offence}"))
    }
}

/// The meta of the last commit.
fn read_meta(file: &mut File, path: &Path) -> Result<Meta> {
    let first = meta_at(file, path, 0)?;
    let second = meta_at(file, path, first.page_bytes as u64)?;
    if first.page_bytes != second.page_bytes {
        return Err(damaged(path, "its meta pages differ in the size of pages"));
    }
    Ok(if second.commit > first.commit { second } else { first })
}

fn meta_at(file: &mut File, path: &Path, offset: u64) -> Result<Meta> {
    let mut bytes = [0; META_BYTES];
    let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut bytes));
    read.map_err(|source| match source.kind() {
        io::ErrorKind::UnexpectedEof => damaged(path, "it ends within a meta page"),
        _ => Error::Read { path: path.to_path_buf(), source },
    })?;
    Meta::parse(&bytes).map_err(|reason| match reason {
        NoMeta::Foreign(offence) => damaged(path, offence),
        NoMeta::Other(found) => Error::Unsupported { path: path.to_path_buf(), found: found.into() },
    })
}

/// Memory for pages that were read last.
const RECENT_BYTES: usize = 32 << 20;
/// Deeper than any tree of 2^48 pages.
const DEPTH_MAX: u16 = 48;
