//! The runs of one range, merged: the changes that they make to the tree below them.
//!
//! Invariants: (1) each source is at its next entry, or has ended. (2) Of several sources at one key the newest
//! counts, and all of them advance together: the values of the older ones are dead. (3) A long value that is returned
//! as [`Action::PutLarge`] belongs to the merge from then on. (4) Keys rise, whatever a damaged file has in its runs:
//! the order of the new tree depends on it.

use crate::error::{Error, Result};
use crate::format::{Cell, CellKey, CellValue, Leaf, LeafView, OverflowRef, head8};
use crate::pager::{LeafPage, PageWriter, Pages, Value};
use crate::planted::{Fault, planted};
use crate::tree::build::{Action, Change, Changes};
use crate::tree::scan::{Cursor, Seek};

use super::run::Run;

/// The changes of several runs, each key's newest.
pub struct RunMerge<'p> {
    pages: &'p Pages,
    /// The newest run first. Sources that have ended are removed.
    sources: Vec<Source<'p>>,
    /// The source of the current change.
    best: usize,
    /// The current change was used: the next one has to be found.
    is_used: bool,
    dead: Vec<OverflowRef>,
    /// All keys are below this.
    end: Option<&'p [u8]>,
}

/// One run, at an entry.
struct Source<'p> {
    cursor: Cursor,
    leaf: LeafPage<'p>,
    index: usize,
    /// The first eight bytes of the key: keys whose heads differ are in the order of these.
    head: u64,
    /// The whole key, if it is long.
    long: Option<Value<'p>>,
}

impl<'p> RunMerge<'p> {
    /// The changes of these runs, the newest run first, whose keys are at least the first of `bounds` and below the
    /// second.
    ///
    /// # Errors
    /// As [`Cursor::seek`]; and so all that follows, also [`Error::Corrupt`] if the keys of a run do not rise between
    /// the bounds.
    pub fn new(pages: &'p Pages, runs: &[Run], (low, end): (Option<&[u8]>, Option<&'p [u8]>)) -> Result<Self> {
        let sources = runs.iter().map(|run| Source::first(pages, run, low)).collect::<Result<Vec<_>>>()?;
        let sources = sources.into_iter().flatten().collect();
        let mut merge = Self { pages, sources, best: 0, is_used: false, dead: Vec::new(), end };
        merge.find_best();
        Ok(merge)
    }

    /// Marks the long values as dead that were not returned. Requires: all changes were used.
    ///
    /// # Errors
    /// As [`PageWriter::kill_value`].
    pub fn kill_unused_values(self, writer: &mut PageWriter<'_>) -> Result<()> {
        self.dead.iter().try_for_each(|at| writer.kill_value(at))
    }

    /// Advances all sources that are at the key of the best.
    fn step(&mut self) -> Result<()> {
        let best = &self.sources[self.best];
        let mut tied = 0u64;
        for (index, source) in self.sources.iter().enumerate() {
            // Sources before the best are newer, and would be the best at the same key.
            let is_tied =
                index == self.best || (index > self.best && source.head == best.head && source.key() == best.key());
            tied |= u64::from(is_tied) << index;
        }
        let mut has_ended = 0u64;
        while tied != 0 {
            let index = tied.trailing_zeros() as usize;
            tied &= tied - 1;
            let source = &mut self.sources[index];
            if index != self.best
                && let CellValue::Overflow(at) = source.cell().value
            {
                self.dead.push(at);
            }
            has_ended |= u64::from(!source.advance(self.pages, self.end)?) << index;
        }
        if has_ended != 0 {
            let mut index = 0;
            self.sources.retain(|_| {
                index += 1;
                has_ended >> (index - 1) & 1 == 0
            });
        }
        self.find_best();
        Ok(())
    }

    fn find_best(&mut self) {
        let mut best = 0;
        for (index, source) in self.sources.iter().enumerate().skip(1) {
            let least = &self.sources[best];
            if source.head < least.head || (source.head == least.head && source.key() < least.key()) {
                best = index;
            }
        }
        self.best = best;
    }
}

impl Changes for RunMerge<'_> {
    #[inline]
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        if std::mem::take(&mut self.is_used) {
            self.step()?;
        }
        while planted(Fault::DeleteDropped)
            && self.sources.get(self.best).is_some_and(|best| best.cell().op.is_delete())
        {
            self.step()?;
        }
        Ok(self.sources.get(self.best).map(Source::change))
    }

    #[inline]
    fn advance(&mut self) {
        self.is_used = true;
    }
}

impl<'p> Source<'p> {
    /// A run at its first entry.
    fn first(pages: &'p Pages, run: &Run, low: Option<&[u8]>) -> Result<Option<Self>> {
        let mut cursor = Cursor::seek(pages, &run.root, Seek::First)?;
        if !cursor.settle(pages)? {
            return Ok(None);
        }
        let (leaf, index) = (leaf_of_run(&cursor, pages)?, cursor.index());
        let mut source = Self { cursor, leaf, index, head: 0, long: None };
        source.note_key(pages)?;
        if low.is_some_and(|low| source.key() < low) {
            return Err(source.disorder(pages));
        }
        Ok(Some(source))
    }

    #[inline(always)]
    fn leaf(&self) -> Leaf<'_> {
        self.leaf.leaf().tagged().expect("`leaf_of_run` saw that it has tags")
    }

    #[inline]
    fn cell(&self) -> Cell<'_> {
        self.leaf().cell(self.index)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        match &self.long {
            Some(long) => long,
            None => self.cell().key.part(),
        }
    }

    fn change(&self) -> Change<'_> {
        let cell = self.cell();
        let hash = match cell.key {
            CellKey::Inline(_) => None,
            CellKey::Overflow { hash, .. } => Some(hash),
        };
        let action = match cell.value {
            _ if cell.op.is_delete() => Action::Delete,
            CellValue::Inline(value) => Action::Put(value),
            CellValue::Overflow(at) => Action::PutLarge(at),
        };
        Change { key: self.key(), hash, action }
    }

    /// Moves to the next entry. `false` if there is none.
    #[inline]
    fn advance(&mut self, pages: &'p Pages, end: Option<&[u8]>) -> Result<bool> {
        // The order of other keys was checked when their page was verified.
        if self.index + 1 == self.leaf().count() || self.long.is_some() {
            return self.advance_slow(pages, end);
        }
        self.index += 1;
        self.note_key(pages)?;
        Ok(true)
    }

    #[inline(never)]
    fn advance_slow(&mut self, pages: &'p Pages, end: Option<&[u8]>) -> Result<bool> {
        let before = match self.long.take() {
            Some(long) => long,
            None => self.leaf.value(self.leaf().key(self.index).part()),
        };
        self.index += 1;
        if self.index == self.leaf().count() {
            if end.is_some_and(|end| *before >= *end) {
                return Err(self.disorder(pages));
            }
            if !self.cursor.next_leaf(pages)? {
                return Ok(false);
            }
            (self.leaf, self.index) = (leaf_of_run(&self.cursor, pages)?, 0);
        }
        self.note_key(pages)?;
        if *before >= *self.key() { Err(self.disorder(pages)) } else { Ok(true) }
    }

    #[cold]
    fn disorder(&self, pages: &Pages) -> Error {
        pages.misfit(self.cursor.at(), "keys of a run do not rise, or are outside of its range")
    }

    #[inline]
    fn note_key(&mut self, pages: &'p Pages) -> Result<()> {
        let leaf = self.leaf();
        let key = leaf.key(self.index);
        let long = match key {
            CellKey::Inline(_) => None,
            CellKey::Overflow { at, prefix, .. } => {
                let whole = pages.value(&at)?;
                if !whole.starts_with(prefix) {
                    return Err(pages.misfit(at.page(), "a long key does not begin as its leaf says"));
                }
                Some(whole)
            }
        };
        self.head = head8(key.part(), 0);
        self.long = long;
        Ok(())
    }
}

/// The leaf in which a cursor is: leaves of runs have tags.
fn leaf_of_run<'p>(cursor: &Cursor, pages: &'p Pages) -> Result<LeafPage<'p>> {
    let leaf = cursor.leaf(pages)?;
    match leaf.leaf() {
        LeafView::Tagged(_) => Ok(leaf),
        LeafView::Packed(_) => Err(pages.misfit(cursor.at(), "a run has a packed leaf")),
    }
}
