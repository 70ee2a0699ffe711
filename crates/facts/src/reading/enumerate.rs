//! [`Enumerate`]: facts in the order of ids.

use crate::error::Result;
use crate::ids::FactId;
use crate::layout::fact::Fact;
use crate::reading::snapshot::Snapshot;

impl Snapshot {
    /// The facts with ids from `from` on and before `to`, in the order of ids, from either end.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`]; from the iterator too.
    #[must_use]
    pub fn enumerate(&self, from: FactId, to: FactId) -> Enumerate<'_> {
        Enumerate::new(self, from, to)
    }
}

/// Facts in the order of ids, from either end; see [`Snapshot::enumerate`].
pub struct Enumerate<'t> {
    snapshot: &'t Snapshot,
    /// The numbers of the ids that are left: from the first on, and before the second.
    left: (u64, u64),
}

impl<'t> Enumerate<'t> {
    pub(crate) fn new(snapshot: &'t Snapshot, from: FactId, to: FactId) -> Self {
        let left = (from.max(snapshot.starting_id()).get(), to.min(snapshot.first_free_id()).get());
        Self { snapshot, left }
    }

    fn read(&self, id: FactId) -> Result<Option<Fact<'t>>> {
        match self.snapshot.layer_of(id) {
            Some(layer) if self.snapshot.shows(id) => layer.fact(id).map(Some),
            _ => Ok(None),
        }
    }

    /// The first fact of the ids that `next` returns which is not hidden.
    fn shown(&mut self, mut next: impl FnMut(&mut (u64, u64)) -> u64) -> Option<Result<Fact<'t>>> {
        while self.left.0 < self.left.1 {
            let id = FactId::new(next(&mut self.left)).expect("ids begin above 0");
            let fact = self.read(id);
            if fact.is_err() {
                self.left = (0, 0);
            }
            if let Some(item) = fact.transpose() {
                return Some(item);
            }
        }
        None
    }
}

impl<'t> Iterator for Enumerate<'t> {
    type Item = Result<Fact<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.shown(|left| {
            left.0 += 1;
            left.0 - 1
        })
    }
}

/// From the end: the last fact comes first.
impl DoubleEndedIterator for Enumerate<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.shown(|left| {
            left.1 -= 1;
            left.1
        })
    }
}
