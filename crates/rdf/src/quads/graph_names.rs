//! [`GraphNames`]: reads the named graphs in batches.

use std::ops::Bound;
use std::sync::Arc;

use fulgurite::{KeySuffix, Table};

use crate::error::Result;
use crate::meter;
use crate::model::id::TermId;
use crate::quads::quad_ids::{BATCH_KEYS_MAX, Source};

/// An iterator over the ids of named graphs, in their order. The first error ends it.
pub struct GraphNames {
    source: Arc<dyn Source>,
    table: Table,
    buffer: std::vec::IntoIter<TermId>,
    low: Option<Bound<Vec<u8>>>,
}

impl GraphNames {
    pub(crate) fn new(source: Arc<dyn Source>, table: Table) -> Self {
        Self { source, table, buffer: Vec::new().into_iter(), low: Some(Bound::Unbounded) }
    }

    fn fill(&mut self) -> Result<()> {
        let Some(low) = self.low.take() else { return Ok(()) };
        // The key that was read last, whole.
        let (mut names, mut last, mut is_damaged) = (Vec::new(), Vec::new(), false);
        let mut each = |key: KeySuffix<'_>| {
            key.complete(&mut last);
            match TermId::from_key(&last) {
                Some(id) => names.push(id),
                None => is_damaged = true,
            }
        };
        let ended = meter::uncounted(|| {
            self.source.scan(&self.table, as_slice(&low), Bound::Unbounded, BATCH_KEYS_MAX, &mut each)
        });
        meter::count((names.capacity() * size_of::<TermId>() + last.capacity()) as i64);
        let ended = ended?;
        if is_damaged {
            return Err(self.source.damaged(&self.table));
        }
        self.low = (!ended).then_some(Bound::Excluded(last));
        self.buffer = names.into_iter();
        Ok(())
    }
}

impl Iterator for GraphNames {
    type Item = Result<TermId>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(id) = self.buffer.next() {
            return Some(Ok(id));
        }
        match self.fill() {
            Ok(()) => self.buffer.next().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}
