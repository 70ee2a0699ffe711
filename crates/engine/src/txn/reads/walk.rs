//! A walk through the layers of a table, in key order and in one direction. Each step is given the layers: iterators
//! that own their snapshot keep a walk beside it.
//!
//! Invariants: (1) Each source is at its next entry in the walk's direction, or past its last. If several are at one
//! key, the newest layer's entry counts, and all of them advance. (2) Each place has the head of its key, so that
//! most steps look at one source only: keys whose heads differ are in the order of their heads.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::delta::{Change, Position};
use crate::error::Result;
use crate::format::head8;
use crate::pager::Value;
use crate::tree;
use crate::tree::RUNS_MAX;
use crate::txn::reads::layers::Layers;
use crate::txn::writes::memory_walk::MemoryWalk;
use crate::txn::writes::run_walk::{RunWalk, Start, seek_tree, step_cursor, with_head};
use crate::txn::writes::spill_walk::SpillWalk;
use crate::txn::writes::versions::OwnChange;
use crate::txn::writes::write_set::WriteSet;

/// A place in every layer of a table.
#[derive(Debug)]
pub struct Walk<'w> {
    upward: bool,
    base: Option<(tree::Cursor, u64)>,
    deltas: [Option<(Position, u64)>; 2],
    /// One for each depth of the stack, the newest runs first.
    runs: Vec<RunWalk>,
    /// What the transaction has changed, of that in memory.
    own: MemoryWalk<'w>,
    /// What it has spilled.
    spilled: Option<Box<SpillWalk>>,
    /// The first head among all sources except the base, if any is left; nothing if one of them has moved since.
    above: Option<Option<u64>>,
}

/// What the newest layer has at a key.
enum Newest<'a> {
    Own(OwnChange<'a>),
    Changed(Change<'a>),
    Ran(Option<Value<'a>>),
    Stored(Value<'a>),
}

/// The sources of a walk, one bit for each, the newest lowest.
#[derive(Clone, Copy, Debug, Default)]
struct Sources(u64);

impl Sources {
    const OWN: u32 = 0;
    const SPILLED: u32 = 1;
    const DELTAS: u32 = 2;
    const RUNS: u32 = 4;
    const BASE: u32 = 63;

    /// The newest of them, which is taken out.
    fn take_newest(&mut self) -> Option<u32> {
        let newest = (self.0 != 0).then(|| self.0.trailing_zeros());
        self.0 &= self.0.wrapping_sub(1);
        newest
    }
}

const _: () = assert!(Sources::RUNS as usize + RUNS_MAX <= Sources::BASE as usize);

/// The sources whose heads come first.
struct First {
    upward: bool,
    head: u64,
    sources: Sources,
}

impl First {
    #[inline]
    fn offer(&mut self, source: u32, head: u64) {
        let is_before = if self.upward { head < self.head } else { head > self.head };
        if is_before || self.sources.0 == 0 {
            (self.head, self.sources) = (head, Sources(1 << source));
        } else if head == self.head {
            self.sources.0 |= 1 << source;
        }
    }
}

impl Walk<'static> {
    /// A walk through all layers that borrows nothing: the transaction may make changes between its steps.
    ///
    /// # Errors
    /// Damage where the walk begins.
    pub fn detached(layers: &Layers<'_>, start: Start<'_>) -> Result<Self> {
        let own = MemoryWalk::detached(layers.set, layers.view.info.id, start);
        Self::through_all(layers, start, own)
    }
}

impl<'w> Walk<'w> {
    /// A walk through all layers.
    ///
    /// # Errors
    /// Damage where the walk begins.
    pub fn new(layers: &Layers<'w>, start: Start<'_>) -> Result<Self> {
        Self::through_all(layers, start, own_changes(layers, start))
    }

    fn through_all(layers: &Layers<'_>, start: Start<'_>, own: MemoryWalk<'w>) -> Result<Self> {
        approach(layers, start);
        let mut walk = Self::through_all_above(layers, start, own)?;
        walk.base = match &layers.view.trees.base {
            Some(root) => with_head(layers.pages(), seek_tree(layers.pages(), root, start)?)?,
            None => None,
        };
        Ok(walk)
    }

    /// A walk through the layers above the tree.
    ///
    /// # Errors
    /// As [`Walk::new`].
    pub fn new_above(layers: &Layers<'w>, start: Start<'_>) -> Result<Self> {
        Self::through_all_above(layers, start, own_changes(layers, start))
    }

    fn through_all_above(layers: &Layers<'_>, start: Start<'_>, own: MemoryWalk<'w>) -> Result<Self> {
        let mut walk = Self::through_memory(layers, start, own)?;
        if let Some(stack) = layers.stack() {
            let runs = (0..stack.depth()).map(|depth| RunWalk::new(layers.pages(), stack, depth, start));
            walk.runs = runs.collect::<Result<_>>()?;
        }
        Ok(walk)
    }

    /// A walk through the layers above the runs.
    ///
    /// # Errors
    /// As [`Walk::new`].
    pub fn new_above_runs(layers: &Layers<'w>, start: Start<'_>) -> Result<Self> {
        Self::through_memory(layers, start, own_changes(layers, start))
    }

    fn through_memory(layers: &Layers<'_>, start: Start<'_>, own: MemoryWalk<'w>) -> Result<Self> {
        let mut walk = Self::through_own(layers, start, own)?;
        walk.deltas = layers.deltas().map(|delta| {
            let delta = delta?;
            let position = match start {
                Start::First => delta.first(layers.at),
                Start::From(key) => delta.seek(key, layers.at),
                Start::Above(key) => delta.seek_after(key, layers.at),
                Start::Last => delta.last(layers.at),
                Start::Below(key) => delta.seek_before(key, layers.at),
                Start::Until(key) => {
                    let at = delta.seek(key, layers.at);
                    let equal = delta.entry(&at).is_some_and(|(found, _)| found == key);
                    if equal { at } else { delta.seek_before(key, layers.at) }
                }
            };
            let head = head8(delta.entry(&position)?.0, 0);
            Some((position, head))
        });
        Ok(walk)
    }

    /// A walk through the transaction's own changes.
    ///
    /// # Errors
    /// As [`Walk::new`].
    pub fn new_own(layers: &Layers<'w>, start: Start<'_>) -> Result<Self> {
        Self::through_own(layers, start, own_changes(layers, start))
    }

    fn through_own(layers: &Layers<'_>, start: Start<'_>, own: MemoryWalk<'w>) -> Result<Self> {
        let spilled = layers.set.and_then(WriteSet::spilled);
        let spilled = spilled.map(|spilled| SpillWalk::new(spilled, layers.view.info.id, 0, start));
        let spilled = spilled.transpose()?.filter(|walk| walk.head().is_some()).map(Box::new);
        let (deltas, runs) = ([None, None], Vec::new());
        Ok(Self { upward: start.is_upward(), base: None, deltas, runs, own, spilled, above: None })
    }

    /// The next entry that has a value, in the walk's direction. Requires: the layers are those that the walk began in.
    ///
    /// # Errors
    /// Damage on the way.
    pub fn next<'a>(&mut self, layers: &Layers<'a>) -> Result<Option<(Value<'a>, Value<'a>)>>
    where
        'w: 'a,
    {
        self.next_if(layers, |_| true)
    }

    /// As [`Walk::next`], while keys are `within` what is walked through; then the walk has ended.
    ///
    /// The value of a key beyond that is not read: reading it may be checked at the commit, and may fail.
    ///
    /// # Errors
    /// As [`Walk::next`].
    #[inline]
    pub fn next_if<'a>(
        &mut self,
        layers: &Layers<'a>,
        within: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<(Value<'a>, Value<'a>)>>
    where
        'w: 'a,
    {
        loop {
            let Some((key, newest)) = self.step(layers)? else { return Ok(None) };
            if !within(&key) {
                return Ok(None);
            }
            let value = match newest {
                Newest::Own(own) => layers.own_value(&key, own)?,
                Newest::Changed(change) => layers.changed_value(change)?,
                Newest::Ran(value) => value,
                Newest::Stored(value) => Some(value),
            };
            if let Some(value) = value {
                return Ok(Some((key, value)));
            }
        }
    }

    /// The next key that a layer above the tree changed, and whether it has a value now.
    ///
    /// # Errors
    /// Damage on the way.
    pub fn next_above<'a>(&mut self, layers: &Layers<'a>) -> Result<Option<(Value<'a>, bool)>>
    where
        'w: 'a,
    {
        let step = self.step(layers)?;
        Ok(step.map(|(key, newest)| {
            let present =
                !matches!(newest, Newest::Own(OwnChange::Delete) | Newest::Changed(Change::Delete) | Newest::Ran(None));
            (key, present)
        }))
    }

    /// The next key that the transaction changed, and the change. Requires: the walk goes only through the
    /// transaction's changes.
    ///
    /// # Errors
    /// Damage on the way.
    pub fn next_own<'a>(&mut self, layers: &Layers<'a>) -> Result<Option<(Value<'a>, OwnChange<'a>)>>
    where
        'w: 'a,
    {
        Ok(self.step(layers)?.map(|(key, newest)| match newest {
            Newest::Own(own) => (key, own),
            Newest::Changed(_) | Newest::Ran(_) | Newest::Stored(_) => panic!("no other layer is walked through"),
        }))
    }

    #[inline]
    fn step<'a>(&mut self, layers: &Layers<'a>) -> Result<Option<(Value<'a>, Newest<'a>)>>
    where
        'w: 'a,
    {
        // Most entries are the base's, and most of these come one after the other.
        if let (Some((_, head)), Some(above)) = (&self.base, self.above)
            && above.is_none_or(|above| if self.upward { *head < above } else { *head > above })
        {
            let entry = self.entry(layers, Sources::BASE)?;
            step_cursor(layers.pages(), &mut self.base, self.upward)?;
            return Ok(Some(entry));
        }
        self.step_any(layers)
    }

    /// As `step`, whichever sources come first.
    #[inline(never)]
    fn step_any<'a>(&mut self, layers: &Layers<'a>) -> Result<Option<(Value<'a>, Newest<'a>)>>
    where
        'w: 'a,
    {
        let mut first = First { upward: self.upward, head: 0, sources: Sources::default() };
        if let Some((key, _)) = self.own.entry(layers.set) {
            first.offer(Sources::OWN, head8(key, 0));
        }
        if let Some(head) = self.spilled.as_ref().and_then(|walk| walk.head()) {
            first.offer(Sources::SPILLED, head);
        }
        for (index, delta) in self.deltas.iter().enumerate() {
            if let Some((_, head)) = delta {
                first.offer(Sources::DELTAS + index as u32, *head);
            }
        }
        for (index, run) in self.runs.iter().enumerate() {
            if let Some(head) = run.head() {
                first.offer(Sources::RUNS + index as u32, head);
            }
        }
        self.above = Some((first.sources.0 != 0).then_some(first.head));
        if let Some((_, head)) = &self.base {
            first.offer(Sources::BASE, *head);
        }
        let Some(newest) = first.sources.take_newest() else { return Ok(None) };
        let mut best = self.entry(layers, newest)?;
        let mut tied = Sources(1 << newest);
        while let Some(source) = first.sources.take_newest() {
            let (key, entry) = self.entry(layers, source)?;
            let order = if self.upward { (*key).cmp(&*best.0) } else { (*best.0).cmp(&*key) };
            match order {
                Ordering::Less => (best, tied) = ((key, entry), Sources(1 << source)),
                Ordering::Equal => tied.0 |= 1 << source,
                Ordering::Greater => {}
            }
        }
        self.advance(layers, tied, &best.0)?;
        Ok(Some(best))
    }

    /// The entry that a source is at. Requires: it is at one.
    #[inline]
    fn entry<'a>(&self, layers: &Layers<'a>, source: u32) -> Result<(Value<'a>, Newest<'a>)>
    where
        'w: 'a,
    {
        let found = match source {
            Sources::OWN => {
                let own = self.own.entry(layers.set);
                own.map(|(key, pending)| (Value::from(key), Newest::Own(OwnChange::of(pending))))
            }
            Sources::SPILLED => match (&self.spilled, layers.set.and_then(WriteSet::spilled)) {
                (Some(walk), Some(spilled)) => {
                    let (key, own) = walk.entry(spilled)?;
                    Some((key, Newest::Own(own)))
                }
                _ => None,
            },
            Sources::BASE => match &self.base {
                Some((cursor, _)) => {
                    cursor.entry(layers.pages())?.map(|entry| (entry.key, Newest::Stored(entry.value)))
                }
                None => None,
            },
            Sources::DELTAS..Sources::RUNS => {
                let index = (source - Sources::DELTAS) as usize;
                let entry = layers.deltas()[index].zip(self.deltas[index].as_ref());
                let entry = entry.and_then(|(delta, (position, _))| delta.entry(position));
                entry.map(|(key, change)| (Value::from(key), Newest::Changed(change)))
            }
            _ => {
                let entry = self.runs[(source - Sources::RUNS) as usize].entry(layers.pages())?;
                entry.map(|(key, value)| (key, Newest::Ran(value)))
            }
        };
        Ok(found.expect("a source that was offered stands at an entry"))
    }

    fn advance(&mut self, layers: &Layers<'_>, mut tied: Sources, key: &[u8]) -> Result<()> {
        let pages = layers.pages();
        if tied.0 != 1 << Sources::BASE {
            self.above = None;
        }
        while let Some(source) = tied.take_newest() {
            match source {
                Sources::OWN => self.own.advance(layers.set, key),
                Sources::SPILLED => {
                    if let (Some(walk), Some(spilled)) = (&mut self.spilled, layers.set.and_then(WriteSet::spilled)) {
                        walk.advance(spilled)?;
                    }
                }
                Sources::BASE => step_cursor(pages, &mut self.base, self.upward)?,
                Sources::DELTAS..Sources::RUNS => {
                    let index = (source - Sources::DELTAS) as usize;
                    if let (Some(delta), Some((mut position, _))) = (layers.deltas()[index], self.deltas[index].take())
                    {
                        if self.upward {
                            delta.next(&mut position)
                        } else {
                            delta.previous(&mut position)
                        }
                        let head = delta.entry(&position).map(|(key, _)| head8(key, 0));
                        self.deltas[index] = head.map(|head| (position, head));
                    }
                }
                _ => {
                    if let Some(stack) = layers.stack() {
                        self.runs[(source - Sources::RUNS) as usize].advance(pages, stack, self.upward)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The transaction's own changes in memory, from where a walk begins.
fn own_changes<'w>(layers: &Layers<'w>, start: Start<'_>) -> MemoryWalk<'w> {
    MemoryWalk::new(layers.set, layers.view.info.id, start)
}

/// Prefetches what the walk will read first in the runs where it begins and in the tree, so that the cache misses
/// overlap.
fn approach(layers: &Layers<'_>, start: Start<'_>) {
    let (Some(stack), Bound::Included(key) | Bound::Excluded(key)) = (layers.stack(), start.bound()) else { return };
    let runs = stack.runs_of(key).iter().map(|run| &run.root);
    tree::prefetch_seeks(layers.pages(), runs.chain(layers.view.trees.base.as_deref()), key);
}
