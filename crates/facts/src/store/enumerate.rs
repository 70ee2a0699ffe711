//! [`Enumerate`]: facts in the order of ids.

use fulgurite::Value;

use crate::error::Result;
use crate::ids::FactId;
use crate::layout::fact::Fact;
use crate::layout::packed::{Place, chunk_of};
use crate::layout::tables::Form;
use crate::store::layer::{Layer, NO_PLACES};
use crate::store::snapshot::Snapshot;

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
    /// The chunk of places that was read last, with its layer's first fact and its number.
    chunk: Option<(FactId, u64, Value<'t>)>,
}

impl<'t> Enumerate<'t> {
    pub(super) fn new(snapshot: &'t Snapshot, from: FactId, to: FactId) -> Self {
        let left = (from.max(snapshot.starting_id()).get(), to.min(snapshot.first_free_id()).get());
        Self { snapshot, left, chunk: None }
    }

    fn read(&mut self, id: FactId) -> Result<Option<Fact<'t>>> {
        match self.snapshot.layer_of(id) {
            Some(layer) if self.snapshot.shows(id) => self.fact(layer, id).map(Some),
            _ => Ok(None),
        }
    }

    fn fact(&mut self, layer: &'t Layer, id: FactId) -> Result<Fact<'t>> {
        let Form::Packed { places, .. } = &layer.tables.form else { return layer.fact(id) };
        let (number, index) = chunk_of(id, layer.first);
        let place = match &self.chunk {
            Some((first, read, chunk)) if (*first, *read) == (layer.first, number) => Place::read(chunk, index)?,
            _ => {
                let chunk = layer.txn.get(places, number.to_be_bytes())?.ok_or(NO_PLACES)?;
                let place = Place::read(&chunk, index)?;
                self.chunk = Some((layer.first, number, chunk));
                place
            }
        };
        layer.fact_at(id, place)
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
