//! A place in a table that moves in both directions.

use crate::error::Result;
use crate::pager::Value;
use crate::txn::reads::layers::Layers;
use crate::txn::reads::range::Pair;
use crate::txn::reads::read_set::CursorReads;
use crate::txn::reads::walk::Walk;
use crate::txn::writes::run_walk::Start;

/// A cursor over a table that moves in both directions.
///
/// Its position is an entry, before the first entry (where it starts), or after the last. A call that returns an error
/// does not move it.
#[derive(Debug)]
pub struct Cursor<'t> {
    layers: Layers<'t>,
    /// The walk that is at `place`. None after an error: then the next move begins another one.
    walk: Option<Walk<'t>>,
    upward: bool,
    place: CursorState<'t>,
    /// Notes where it goes, for a transaction that must know.
    reads: Option<CursorReads<'t>>,
}

#[derive(Debug)]
enum CursorState<'t> {
    BeforeFirst,
    At(Value<'t>),
    AfterLast,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(layers: Layers<'t>) -> Self {
        let reads = layers.reads.map(|reads| CursorReads::new(reads, layers.view.info.id));
        Self { layers, walk: None, upward: true, place: CursorState::BeforeFirst, reads }
    }

    /// Moves to the first entry whose key is at least `key`, and returns it. If there is none, moves after the last
    /// entry and returns `None`.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn seek(&mut self, key: impl AsRef<[u8]>) -> Result<Option<Pair<'t>>> {
        self.start(Start::From(key.as_ref()))
    }

    /// Moves to the first entry.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn first(&mut self) -> Result<Option<Pair<'t>>> {
        self.start(Start::First)
    }

    /// Moves to the last entry.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn last(&mut self) -> Result<Option<Pair<'t>>> {
        self.start(Start::Last)
    }

    /// Moves to the next entry, and returns it. If there is none, moves after the last entry and returns `None`.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[allow(clippy::should_implement_trait)] // It moves both ways and can fail, which no iterator does.
    pub fn next(&mut self) -> Result<Option<Pair<'t>>> {
        self.layers.state.check_process()?;
        match (&self.place, &mut self.walk) {
            (CursorState::AfterLast, _) => Ok(None),
            (_, Some(walk)) if self.upward => {
                let entry = walk.next(&self.layers);
                self.arrive(entry)
            }
            (CursorState::BeforeFirst, _) => self.start(Start::First),
            (CursorState::At(key), _) => {
                let key = key.clone();
                self.start(Start::Above(&key))
            }
        }
    }

    /// Moves to the previous entry, and returns it. If there is none, moves before the first entry and returns `None`.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn previous(&mut self) -> Result<Option<Pair<'t>>> {
        self.layers.state.check_process()?;
        match (&self.place, &mut self.walk) {
            (CursorState::BeforeFirst, _) => Ok(None),
            (_, Some(walk)) if !self.upward => {
                let entry = walk.next(&self.layers);
                self.arrive(entry)
            }
            (CursorState::AfterLast, _) => self.start(Start::Last),
            (CursorState::At(key), _) => {
                let key = key.clone();
                self.start(Start::Below(&key))
            }
        }
    }

    fn start(&mut self, start: Start<'_>) -> Result<Option<Pair<'t>>> {
        self.layers.state.check_process()?;
        self.walk = None;
        self.upward = matches!(start, Start::First | Start::From(_) | Start::Above(_));
        if let Some(reads) = &mut self.reads {
            // Should what follows fail, it counts as gone over whole.
            reads.jump(start.bound(), self.upward, None);
        }
        let walk = self.walk.insert(Walk::new(&self.layers, start)?);
        let entry = walk.next(&self.layers);
        self.arrive(entry)
    }

    /// The walk has read the next entry, or failed.
    fn arrive(&mut self, entry: Result<Option<Pair<'t>>>) -> Result<Option<Pair<'t>>> {
        // A walk that has failed may be past the entry that could not be read.
        let entry = entry.inspect_err(|_| self.walk = None)?;
        if let Some(reads) = &mut self.reads {
            reads.step(self.upward, entry.as_ref().map(|(key, _)| &**key));
        }
        self.place = match &entry {
            Some((key, _)) => CursorState::At(key.clone()),
            None if self.upward => CursorState::AfterLast,
            None => CursorState::BeforeFirst,
        };
        Ok(entry)
    }
}
