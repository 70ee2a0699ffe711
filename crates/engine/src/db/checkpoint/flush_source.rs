//! What is flushed into a table: a delta, or anything else that gives its changes slice by slice.

use std::ops::Deref;

use crate::delta;
use crate::delta::{Delta, Position};
use crate::error::Result;
use crate::ids::Sequence;
use crate::tree::{Action, Change, Changes};

/// Keys that are at least the first, and below the second.
pub type Slice = (Option<Box<[u8]>>, Option<Box<[u8]>>);

/// What is flushed into a table.
pub trait Source {
    type Changes: Changes;
    type Key: Deref<Target = [u8]>;

    /// How many keys it changes, at most.
    fn entries(&self) -> u64;

    /// Bytes that it takes, about.
    fn bytes(&self) -> u64;

    /// The first and the last key that it changes in a slice.
    ///
    /// # Errors
    /// What keeps it from saying; so for all that follow.
    fn ends(&self, slice: Slice) -> Result<Option<(Self::Key, Self::Key)>>;

    /// Its changes in some slices, which are in order.
    ///
    /// # Errors
    /// As [`Source::ends`].
    fn changes(&self, slices: Vec<Slice>) -> Result<Self::Changes>;

    /// All of these went into the trees.
    fn finish(&mut self, changes: Self::Changes);
}

/// The first and the last key of a delta between bounds.
fn ends_between(delta: &Delta, sequence: Sequence, (low, high): Slice) -> Option<(&[u8], &[u8])> {
    let first = low.map_or_else(|| delta.first(sequence), |low| delta.seek(&low, sequence));
    let (first, _) = delta.entry(&first)?;
    if high.as_ref().is_some_and(|high| *first >= **high) {
        return None;
    }
    let last = high.map_or_else(|| delta.last(sequence), |high| delta.seek_before(&high, sequence));
    let (last, _) = delta.entry(&last)?;
    Some((first, last))
}

/// The newest versions of a delta.
pub struct DeltaSource<'d> {
    pub delta: &'d Delta,
    /// Later ones do not count.
    pub sequence: Sequence,
}

impl<'d> Source for DeltaSource<'d> {
    type Changes = DeltaChanges<'d>;
    type Key = &'d [u8];

    fn entries(&self) -> u64 {
        self.delta.entries() as u64
    }

    fn bytes(&self) -> u64 {
        self.delta.memory_bytes() as u64
    }

    fn ends(&self, slice: Slice) -> Result<Option<(&'d [u8], &'d [u8])>> {
        Ok(ends_between(self.delta, self.sequence, slice))
    }

    fn changes(&self, slices: Vec<Slice>) -> Result<DeltaChanges<'d>> {
        Ok(DeltaChanges::new(self.delta, self.sequence, slices))
    }

    fn finish(&mut self, _: DeltaChanges<'d>) {}
}

/// The newest changes of a delta within some slices, in key order.
pub struct DeltaChanges<'d> {
    delta: &'d Delta,
    sequence: Sequence,
    at: Position,
    end: Option<Box<[u8]>>,
    /// The slices that are left, the next first.
    slices: std::vec::IntoIter<Slice>,
}

impl<'d> DeltaChanges<'d> {
    /// Requires: the slices are in order.
    fn new(delta: &'d Delta, sequence: Sequence, slices: Vec<Slice>) -> Self {
        let mut slices = slices.into_iter();
        let (low, end) = slices.next().unwrap_or_default();
        let at = low.map_or_else(|| delta.first(sequence), |low| delta.seek(&low, sequence));
        Self { delta, sequence, at, end, slices }
    }
}

impl Changes for DeltaChanges<'_> {
    #[inline]
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        loop {
            let Some((key, change)) = self.delta.entry(&self.at) else { return Ok(None) };
            if self.end.as_ref().is_none_or(|end| *key < **end) {
                let hash = self.delta.hash_and_sequence(&self.at).map(|(hash, _)| hash);
                let action = match change {
                    delta::Change::Put(value) => Action::Put(value),
                    delta::Change::PutLarge(at) => Action::PutLarge(at),
                    delta::Change::Delete => Action::Delete,
                };
                return Ok(Some(Change { key, hash, action }));
            }
            let Some((low, end)) = self.slices.next() else { return Ok(None) };
            self.end = end;
            if let Some(low) = low {
                self.at = self.delta.seek(&low, self.sequence);
            }
        }
    }

    #[inline]
    fn advance(&mut self) {
        self.delta.next(&mut self.at);
    }
}
