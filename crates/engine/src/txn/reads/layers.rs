//! One table as a transaction sees it: its own changes over the deltas over the runs over the tree, newest first.

use std::ops::Bound;

use crate::delta::{Change, Delta};
use crate::error::Result;
use crate::format::{Found, Search};
use crate::ids::Sequence;
use crate::pager::{Pages, Value};
use crate::tree;
use crate::tree::{Base, LayersAbove, Root, Run, RunValue, Stack};
use crate::txn::reads::bounds::prefix_end;
use crate::txn::reads::read_set::ReadSet;
use crate::txn::snapshot::state::{State, TableView};
use crate::txn::writes::versions::OwnChange;
use crate::txn::writes::write_set::WriteSet;

/// The layers of a table at one moment. Cheap to make and to copy.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The moment.
    pub state: &'a State,
    /// The table in it.
    pub view: &'a TableView,
    /// Commits above this one are not seen.
    pub at: Sequence,
    /// The transaction's own changes, if it has any in this table.
    pub set: Option<&'a WriteSet>,
    /// Where reads are noted, if they are checked when the transaction commits.
    pub reads: Option<&'a ReadSet>,
}

impl<'a> Layers<'a> {
    /// The pages of the tree.
    #[inline]
    pub fn pages(&self) -> &'a Pages {
        &self.state.pages
    }

    /// The deltas that are not empty, newest first.
    #[inline]
    pub fn deltas(&self) -> [Option<&'a Delta>; 2] {
        let active = Some(&*self.view.active).filter(|delta| !delta.is_empty());
        [active, self.view.frozen.as_deref()]
    }

    /// The runs above the tree, if there are any.
    #[inline]
    pub fn stack(&self) -> Option<&'a Stack> {
        self.view.trees.stack.as_deref()
    }

    /// The transaction's own change of `key`, if there is one.
    #[inline]
    fn own(&self, key: &[u8]) -> Result<Option<OwnChange<'a>>> {
        match self.set {
            Some(set) => set.find(self.view.info.id, key),
            None => Ok(None),
        }
    }

    /// Pages and root, if no layer above the tree holds anything.
    ///
    /// The common case is separate: a get from a tree is so short that everything around it is measurable.
    #[inline(always)]
    pub fn tree_alone(&self) -> Option<(&'a Pages, &'a Base)> {
        let root = self.view.trees.base.as_ref()?;
        (self.is_tree_alone() && self.reads.is_none()).then_some((&self.state.pages, root))
    }

    /// Whether no layer above the tree holds anything.
    #[inline(always)]
    fn is_tree_alone(&self) -> bool {
        self.set.is_none()
            && self.view.active.is_empty()
            && self.view.frozen.is_none()
            && self.view.trees.stack.is_none()
    }

    /// What the tree has for `key`, if that decides the get: no layer above the tree may have the key.
    #[inline(always)]
    pub fn get_in_base(&self, key: &[u8]) -> Found<'a> {
        let view = self.view;
        match &view.trees.base {
            Some(root) if self.set.is_none() && self.reads.is_none() => {
                tree::get_unless_above(self.pages(), root, view, key)
            }
            _ => Found::UNCLEAR,
        }
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// Damage where the key is looked for.
    pub fn get(self, key: &[u8]) -> Result<Option<Value<'a>>> {
        match self.own(key)? {
            Some(own) => self.own_value(key, own),
            None => self.get_below(key),
        }
    }

    /// The value of `key` without the transaction's own change.
    #[inline]
    fn get_below(&self, key: &[u8]) -> Result<Option<Value<'a>>> {
        let hash = self.pages().identity().hash(key);
        if let Some(reads) = self.reads {
            reads.note_key(self.view.info.id, key, hash);
        }
        let deltas = self.deltas();
        let base = self.view.trees.base.as_ref();
        let runs = self.runs_of(key);
        // Each layer is elsewhere in memory. If several are likely to miss the caches, everything that can be
        // prefetched is prefetched before the first one is searched.
        let (mut filters, mut leaf) = (Filters::default(), None);
        if let Some(stack) = self.stack() {
            stack.map_filters(self.pages(), key);
        }
        if !runs.is_empty() || deltas.iter().flatten().any(|delta| delta.is_large()) {
            deltas.iter().flatten().for_each(|delta| delta.prefetch(hash));
            filters = self.filters_of(runs, hash);
            leaf = base.and_then(|root| tree::prefetch_leaf(self.pages(), root, key));
        }
        for delta in deltas.into_iter().flatten() {
            if let Some(change) = delta.get(key, hash, self.at) {
                return self.changed_value(change);
            }
        }
        match self.said_by_runs(runs, &filters, key, hash)? {
            RunValue::Unknown => {}
            RunValue::Deleted => return Ok(None),
            RunValue::Present(value) => return Ok(Some(value)),
        }
        match base {
            Some(root) => tree::get_prefetched(self.pages(), root, leaf, key, hash),
            None => Ok(None),
        }
    }

    /// The values of many keys, handed to `each` in the order of the keys.
    ///
    /// # Errors
    /// As [`Layers::get`].
    pub fn get_many(&self, keys: &[impl AsRef<[u8]>], mut each: impl FnMut(Option<Value<'a>>)) -> Result<()> {
        let identity = self.pages().identity();
        let mut hashes = [0; GROUP];
        let mut values: [Option<Value<'a>>; GROUP] = [const { None }; GROUP];
        let plain = self.is_tree_alone();
        let mut group: [&[u8]; GROUP] = [&[]; GROUP];
        for keys in keys.chunks(GROUP) {
            for (place, key) in group.iter_mut().zip(keys) {
                *place = key.as_ref();
            }
            let keys = &group[..keys.len()];
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = identity.hash(key);
            }
            let (hashes, values) = (&hashes[..keys.len()], &mut values[..keys.len()]);
            if let Some(reads) = self.reads {
                for (key, &hash) in keys.iter().zip(hashes) {
                    if self.own(key)?.is_none() {
                        reads.note_key(self.view.info.id, key, hash);
                    }
                }
            }
            if plain {
                if let Some(root) = &self.view.trees.base {
                    tree::get_many(self.pages(), root, keys, hashes, values)?;
                }
            } else {
                self.get_many_layered(keys, hashes, values)?;
            }
            values.iter_mut().for_each(|value| each(value.take()));
        }
        Ok(())
    }

    /// As the tree's `get_many`, with the layers above it. Requires: at most [`GROUP`] keys.
    fn get_many_layered(&self, keys: &[&[u8]], hashes: &[u64], values: &mut [Option<Value<'a>>]) -> Result<()> {
        for delta in self.deltas().into_iter().flatten() {
            hashes.iter().for_each(|&hash| delta.prefetch(hash));
        }
        for (key, &hash) in keys.iter().zip(hashes) {
            self.filters_of(self.runs_of(key), hash);
        }
        let mut below = Below::default();
        for (index, (key, &hash)) in keys.iter().zip(hashes).enumerate() {
            if let Some(own) = self.own(key)? {
                values[index] = self.own_value(key, own)?;
                continue;
            }
            let change = self.deltas().into_iter().flatten().find_map(|delta| delta.get(key, hash, self.at));
            match change {
                Some(change) => values[index] = self.changed_value(change)?,
                None => match self.said_by_runs(self.runs_of(key), &[], key, hash)? {
                    RunValue::Present(value) => values[index] = Some(value),
                    RunValue::Deleted => values[index] = None,
                    RunValue::Unknown => below.push(index, key, hash),
                },
            }
        }
        let Some(root) = &self.view.trees.base else { return Ok(()) };
        let mut found: [Option<Value<'a>>; GROUP] = [const { None }; GROUP];
        let count = below.count;
        let found = &mut found[..count];
        tree::get_many(self.pages(), root, &below.keys[..count], &below.hashes[..count], found)?;
        for (&index, value) in below.places[..count].iter().zip(found) {
            values[index] = value.take();
        }
        Ok(())
    }

    /// The runs above `key`, the newest first.
    #[inline]
    fn runs_of(&self, key: &[u8]) -> &'a [Run] {
        self.stack().map_or(&[], |stack| stack.runs_of(key))
    }

    /// The filters of the first runs, with the cache lines of a key prefetched.
    ///
    /// A damaged filter is no error yet: a newer layer may have the key.
    #[inline]
    fn filters_of(&self, runs: &'a [Run], hash: u64) -> Filters<'a> {
        let mut filters = [None; FILTERS];
        for (filter, run) in filters.iter_mut().zip(runs) {
            *filter = run.mapped_filter(self.pages(), hash).unwrap_or_default();
        }
        filters
    }

    /// What the newest run that has `key` records for it, given the filters of the first runs.
    #[inline]
    fn said_by_runs(&self, runs: &'a [Run], filters: &[Filter<'a>], key: &[u8], hash: u64) -> Result<RunValue<'a>> {
        for (index, run) in runs.iter().enumerate() {
            let filter = match filters.get(index) {
                Some(filter) => *filter,
                None => run.mapped_filter(self.pages(), hash)?,
            };
            match run.get(self.pages(), filter, key, hash)? {
                RunValue::Unknown => {}
                said => return Ok(said),
            }
        }
        Ok(RunValue::Unknown)
    }

    /// The value that the transaction's own change gives `key`. For a merge this reads the layers below.
    pub fn own_value(&self, key: &[u8], own: OwnChange<'a>) -> Result<Option<Value<'a>>> {
        match own {
            OwnChange::Put(value) => Ok(Some(value)),
            OwnChange::PutLarge(large) => self.pages().value_at(large.first_page, &large.value).map(Some),
            OwnChange::Delete => Ok(None),
            OwnChange::Merge(operand) => {
                let before = self.get_below(key)?;
                let functions = &self.state.merge_functions;
                let value = self.view.info.merged(functions, key, before.as_deref(), &operand)?;
                Ok(Some(Value::from(value)))
            }
        }
    }

    /// The value that a change of a delta gives its key.
    #[inline]
    pub fn changed_value(&self, change: Change<'a>) -> Result<Option<Value<'a>>> {
        match change {
            Change::Put(value) => Ok(Some(Value::from(value))),
            Change::Delete => Ok(None),
            Change::PutLarge(at) => {
                for recent in [&self.state.active_large, &self.state.frozen_large] {
                    if let Some(value) = recent.value(self.pages(), &at)? {
                        return Ok(Some(value));
                    }
                }
                self.pages().value(&at).map(Some)
            }
        }
    }

    /// The tree, if it is packed and nothing is above it among the keys that begin with `prefix`.
    #[inline]
    pub fn packed_tree_alone_of_prefix(&self, prefix: &[u8]) -> Option<&'a Root> {
        let root = self.view.trees.base.as_deref().filter(|_| self.view.info.descriptor.packed)?;
        (self.is_tree_alone() || self.is_pure_of_prefix(prefix)).then_some(root)
    }

    #[inline(never)]
    fn is_pure_of_prefix(&self, prefix: &[u8]) -> bool {
        let end = prefix_end(prefix);
        self.is_pure(Bound::Included(prefix), end.as_ref().map(|end| &**end))
    }

    /// Whether nothing is above the tree between the bounds, so that the tree can be read alone.
    pub fn is_pure(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> bool {
        let stack_is_clear = self.stack().is_none_or(|stack| stack.is_clear(low, high));
        self.set.is_none()
            && stack_is_clear
            && self.deltas().into_iter().flatten().all(|delta| delta.range_is_empty(low, high, self.at))
    }
}

impl LayersAbove for TableView {
    #[inline(always)]
    fn may_know<S: Search>(&self, key: &[u8], hash: u64) -> bool {
        self.active.may_know(hash)
            || self.frozen.as_ref().is_some_and(|frozen| frozen.may_know(hash))
            || self.trees.stack.as_ref().is_some_and(|stack| stack.may_know::<S>(key, hash))
    }
}

/// Keys of a group that no layer above the tree has.
struct Below<'k> {
    places: [usize; GROUP],
    keys: [&'k [u8]; GROUP],
    hashes: [u64; GROUP],
    count: usize,
}

impl Default for Below<'_> {
    fn default() -> Self {
        Self { places: [0; GROUP], keys: [&[]; GROUP], hashes: [0; GROUP], count: 0 }
    }
}

impl<'k> Below<'k> {
    fn push(&mut self, place: usize, key: &'k [u8], hash: u64) {
        (self.places[self.count], self.keys[self.count], self.hashes[self.count]) = (place, key, hash);
        self.count += 1;
    }
}

/// A run's filter, if it is in memory.
type Filter<'a> = Option<&'a [u8]>;

type Filters<'a> = [Filter<'a>; FILTERS];

/// Runs whose filters are prefetched together: as many as most ranges have at most.
const FILTERS: usize = 8;

/// Keys looked up side by side.
const GROUP: usize = 32;
