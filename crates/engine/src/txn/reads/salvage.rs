//! [`Salvage`]: the entries of a damaged table that can still be read.
//!
//! The keys of each layer are read by themselves, and each key is looked up by a get, which reads only what decides it.
//! So damage of one layer hides no newer entry of another one, and never uncovers an older value.

use std::iter::Peekable;
use std::ops::Bound;

use crate::delta::{Delta, Position};
use crate::error::Result;
use crate::tree::{ReadableKeys, Root};
use crate::txn::reads::bounds::{OwnedBound, as_bound, is_before, is_past};
use crate::txn::reads::layers::Layers;
use crate::txn::reads::range::Pair;

/// The entries that can be read, in order, and the damage among them: see
/// [`ReadTxn::salvage`](crate::ReadTxn::salvage).
#[derive(Debug)]
pub struct Salvage<'t> {
    layers: Layers<'t>,
    low: OwnedBound,
    high: OwnedBound,
    sources: Vec<Peekable<Keys<'t>>>,
    has_ended: bool,
}

/// The keys of a layer. Those of runs at the same depth are one layer.
#[derive(Debug)]
enum Keys<'t> {
    Delta(&'t Delta, Position),
    Trees(ReadableKeys<'t>),
}

impl<'t> Salvage<'t> {
    /// Requires: the transaction need not know what it reads.
    pub fn new(layers: Layers<'t>, low: OwnedBound, high: OwnedBound) -> Self {
        let from = match as_bound(&low) {
            Bound::Included(key) | Bound::Excluded(key) => key,
            Bound::Unbounded => &[],
        };
        let trees = |roots: Vec<Root>| Keys::Trees(ReadableKeys::new(layers.pages(), roots, from, as_bound(&high)));
        let deltas = layers.deltas().into_iter().flatten();
        let mut sources: Vec<_> = deltas.map(|delta| Keys::Delta(delta, delta.seek(from, layers.at))).collect();
        if let Some(stack) = layers.stack() {
            let ranges = &stack.ranges()[stack.ranges_between(as_bound(&low), as_bound(&high))];
            sources.extend((0..stack.depth()).map(|depth| {
                let runs = ranges.iter().filter_map(|range| range.runs.get(depth));
                trees(runs.map(|run| run.root).collect())
            }));
        }
        sources.extend(layers.view.trees.base.as_deref().map(|root| trees(vec![*root])));
        let sources = sources.into_iter().map(Iterator::peekable).collect();
        Self { layers, low, high, sources, has_ended: false }
    }

    /// The next key of any layer, or what a layer cannot read.
    fn next_key(&mut self) -> Option<Result<Vec<u8>>> {
        if let Err(error) = self.layers.state.check_process() {
            return Some(Err(error));
        }
        let mut first: Option<Vec<u8>> = None;
        for source in &mut self.sources {
            match source.peek() {
                Some(Err(_)) => return source.next(),
                Some(Ok(key)) if first.as_ref().is_none_or(|first| key < first) => first = Some(key.clone()),
                Some(Ok(_)) | None => {}
            }
        }
        let first = first?;
        for source in &mut self.sources {
            source.next_if(|key| matches!(key, Ok(key) if *key == first));
        }
        Some(Ok(first))
    }

    /// The next entry, or none at the end.
    fn read(&mut self) -> Result<Option<Pair<'t>>> {
        while let Some(key) = self.next_key().transpose()? {
            if is_before(&key, as_bound(&self.low)) {
                continue;
            }
            if is_past(&key, as_bound(&self.high)) {
                break;
            }
            if let Some(value) = self.layers.get(&key)? {
                return Ok(Some((key.into(), value)));
            }
        }
        Ok(None)
    }
}

impl<'t> Iterator for Salvage<'t> {
    type Item = Result<Pair<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let item = self.read().transpose();
        self.has_ended = match &item {
            Some(Err(error)) => !error.is_corruption(),
            Some(Ok(_)) => false,
            None => true,
        };
        item
    }
}

impl Iterator for Keys<'_> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Delta(delta, position) => {
                let key = delta.entry(position)?.0.to_vec();
                delta.next(position);
                Some(Ok(key))
            }
            Self::Trees(keys) => keys.next(),
        }
    }
}
