//! A walk through what a transaction has spilled of a table, in key order and in one direction, without a lifetime: a
//! source of [`Walk`](crate::txn::reads::walk::Walk).
//!
//! Invariant: the walk is at a key that has a version which was not rolled back, or it has ended. Keys whose versions
//! were all rolled back are skipped, because they do not hide the layers below.

use std::cmp::Ordering;

use crate::error::Result;
use crate::ids::TableId;
use crate::pager::Value;
use crate::txn::writes::run_walk::{RunWalk, Start};
use crate::txn::writes::spilled::Spilled;
use crate::txn::writes::versions::OwnChange;

/// See the module.
#[derive(Debug)]
pub struct SpillWalk {
    table: TableId,
    upward: bool,
    /// A place in each layer that has something of the table, the newest first.
    layers: Vec<(usize, RunWalk)>,
    /// The head of the key at which the walk stands; none past the last.
    head: Option<u64>,
    /// Which of `layers` are at that key, the newest first.
    tied: Vec<usize>,
    /// Which of these has the newest version that was not rolled back.
    newest: usize,
}

impl SpillWalk {
    /// A walk through the layers from one on.
    ///
    /// # Errors
    /// Damage on the way; so for all that follow.
    pub fn new(spilled: &Spilled, table: TableId, from: usize, start: Start<'_>) -> Result<Self> {
        let mut layers = Vec::new();
        for layer in spilled.layers_of(table, from) {
            if let Some(stack) = spilled.stack(layer, table) {
                layers.push((layer, RunWalk::new(spilled.pages(), stack, 0, start)?));
            }
        }
        let (upward, head, tied, newest) = (start.is_upward(), None, Vec::new(), 0);
        let mut walk = Self { table, upward, layers, head, tied, newest };
        walk.settle(spilled)?;
        Ok(walk)
    }

    /// The head of the key at which the walk stands; none past the last.
    #[inline]
    pub fn head(&self) -> Option<u64> {
        self.head
    }

    /// The key that the walk is at, and its last change. Requires: the walk is at one.
    ///
    /// # Errors
    /// As [`SpillWalk::new`].
    pub fn entry<'a>(&self, spilled: &'a Spilled) -> Result<(Value<'a>, OwnChange<'a>)> {
        let (key, entry) = self.entry_of(spilled, self.newest)?;
        let own = self.own(spilled, self.newest, &entry)?;
        Ok((key, own.expect("the walk stands where a version stands")))
    }

    /// The key that the walk is at, and the entries of all layers that have it, the newest first. Requires: as for
    /// `entry`.
    ///
    /// # Errors
    /// As [`SpillWalk::new`].
    pub fn entries<'a>(&self, spilled: &'a Spilled) -> Result<(Value<'a>, Vec<Value<'a>>)> {
        let (key, _) = self.entry_of(spilled, self.newest)?;
        let entries = self.tied.iter().map(|&at| self.entry_of(spilled, at).map(|(_, entry)| entry));
        Ok((key, entries.collect::<Result<_>>()?))
    }

    /// Goes on to the next key.
    ///
    /// # Errors
    /// As [`SpillWalk::new`].
    pub fn advance(&mut self, spilled: &Spilled) -> Result<()> {
        self.step(spilled)?;
        self.settle(spilled)
    }

    /// Advances all layers that are at the key.
    fn step(&mut self, spilled: &Spilled) -> Result<()> {
        for &at in &self.tied {
            let (layer, walk) = &mut self.layers[at];
            if let Some(stack) = spilled.stack(*layer, self.table) {
                walk.advance(spilled.pages(), stack, self.upward)?;
            }
        }
        Ok(())
    }

    /// Finds the next key that has a version which was not rolled back, from the present places of the layers.
    fn settle(&mut self, spilled: &Spilled) -> Result<()> {
        loop {
            self.tie(spilled)?;
            if self.head.is_none() {
                return Ok(());
            }
            for &at in &self.tied {
                let (_, entry) = self.entry_of(spilled, at)?;
                if self.own(spilled, at, &entry)?.is_some() {
                    self.newest = at;
                    return Ok(());
                }
            }
            self.step(spilled)?;
        }
    }

    /// Finds the layers at the next key.
    fn tie(&mut self, spilled: &Spilled) -> Result<()> {
        self.tied.clear();
        self.head = None;
        let mut best: Option<Value<'_>> = None;
        for at in 0..self.layers.len() {
            let Some(head) = self.layers[at].1.head() else { continue };
            let mut order = match self.head {
                None => Ordering::Less,
                Some(first) if self.upward => head.cmp(&first),
                Some(first) => first.cmp(&head),
            };
            if order.is_eq() {
                let (key, _) = self.entry_of(spilled, at)?;
                let first = match best.take() {
                    Some(first) => first,
                    None => self.entry_of(spilled, self.tied[0])?.0,
                };
                order = if self.upward { (*key).cmp(&*first) } else { (*first).cmp(&*key) };
                best = Some(if order.is_lt() { key } else { first });
            } else if order.is_lt() {
                best = None;
            }
            if order.is_lt() {
                self.tied.clear();
                self.head = Some(head);
            }
            if order.is_le() {
                self.tied.push(at);
            }
        }
        Ok(())
    }

    fn entry_of<'a>(&self, spilled: &'a Spilled, at: usize) -> Result<(Value<'a>, Value<'a>)> {
        let found = self.layers[at].1.entry(spilled.pages())?;
        let (key, entry) = found.expect("a layer that has a head stands at an entry");
        // No layer has deletes of its own: an empty entry is refused as damaged.
        Ok((key, entry.unwrap_or_else(|| Value::from(&[][..]))))
    }

    fn own<'a>(&self, spilled: &Spilled, at: usize, entry: &Value<'a>) -> Result<Option<OwnChange<'a>>> {
        let (layer, walk) = &self.layers[at];
        let stack = spilled.stack(*layer, self.table).expect("layers stay while they are walked through");
        spilled.newest(entry, walk.root(stack))
    }
}
