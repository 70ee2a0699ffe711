//! Joining layers of what a transaction has spilled, so that a read has few of them to look into.
//!
//! When there are many layers of one tier, they are joined into one layer of the next tier. Layers stay as they are
//! where savepoints need more versions of one key than memory should hold.

use crate::error::{Error, Result};
use crate::ids::TableId;
use crate::pager::{Need, PageWriter, Pages, Value};
use crate::sync::Arc;
use crate::tree::{Action, Change, Changes};
use crate::txn::writes::run_walk::Start;
use crate::txn::writes::spill_walk::SpillWalk;
use crate::txn::writes::spilled::{Layer, LayerTable, Placed, Spilled, build_stack};
use crate::txn::writes::versions::needed_versions;

impl Spilled {
    /// Joins the last layers, if there are many of one tier. A full disk is no error: the layers stay as they are.
    /// `savepoints` are the first stages of the savepoints that still exist, rising.
    ///
    /// # Errors
    /// What the disk reports; damage to what was spilled. Nothing has changed then.
    pub fn join_layers(&mut self, pages: &Pages, savepoints: &[u64]) -> Result<()> {
        while let Some(tier) = self.layers.last().and_then(|layer| layer.tier)
            && let count = self.layers.iter().rev().take_while(|layer| layer.tier == Some(tier)).count()
            && count >= JOINED_LAYERS
        {
            let from = self.layers.len() - count;
            match self.join_from(from, pages, savepoints) {
                Err(Error::DiskFull { .. } | Error::QuotaExceeded { .. }) => return Ok(()),
                Ok(true) => {}
                Ok(false) => self.layers[from..].iter_mut().for_each(|layer| layer.tier = None),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Joins the layers from number `from` on. Returns false if the versions of a key would take too much: then the
    /// layers stay as they are.
    fn join_from(&mut self, from: usize, pages: &Pages, savepoints: &[u64]) -> Result<bool> {
        let space = Arc::clone(&self.space);
        let mut writer = PageWriter::new(&space);
        writer.set_need(Need::Addition);
        let mut ids: Vec<_> =
            self.layers[from..].iter().flat_map(|layer| &layer.tables).map(|table| table.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut tables = Vec::new();
        for id in ids {
            let mut joined = Joined::new(self, id, from, savepoints)?;
            let stack = build_stack(pages, &mut joined, &mut writer)?;
            if joined.is_too_large {
                return Ok(false);
            }
            if let Some(stack) = stack {
                let mut parts = self.layers[from..].iter().filter_map(|layer| layer.table(id));
                let first_stage = parts.clone().map(|table| table.first_stage).min().unwrap_or_default();
                let overwrites = parts.any(|table| table.overwrites);
                tables.push(LayerTable { id, stack, overwrites, first_stage });
            }
        }
        let extents = Placed { operation: Some(writer.finish()?), space };
        let tier = self.layers[from].tier.map(|tier| tier + 1);
        self.replace(from, pages, vec![Layer { tables, tier, extents }])?;
        Ok(true)
    }
}

/// The changes of a table in several layers, as one layer has them.
struct Joined<'s> {
    spilled: &'s Spilled,
    walk: SpillWalk,
    savepoints: &'s [u64],
    /// The current change was used: the next one is to be found.
    is_used: bool,
    /// The key of the current change, if there is one.
    key: Option<Value<'s>>,
    /// Its versions.
    entry: Vec<u8>,
    /// The versions of a key would take too much: there are no further changes.
    is_too_large: bool,
}

impl<'s> Joined<'s> {
    fn new(spilled: &'s Spilled, table: TableId, from: usize, savepoints: &'s [u64]) -> Result<Self> {
        let walk = SpillWalk::new(spilled, table, from, Start::First)?;
        Ok(Self { spilled, walk, savepoints, is_used: false, key: None, entry: Vec::new(), is_too_large: false })
    }
}

impl Changes for Joined<'_> {
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        if std::mem::take(&mut self.is_used) {
            self.walk.advance(self.spilled)?;
        }
        if self.key.is_none() && self.walk.head().is_some() && !self.is_too_large {
            let (key, entries) = self.walk.entries(self.spilled)?;
            let (undone, bytes) = (&self.spilled.undone, entries.iter().map(|entry| &**entry));
            let needed: Vec<_> =
                needed_versions(bytes, undone, self.savepoints).map(|(entry, version)| version.bytes(entry)).collect();
            if needed.len() > 1 && needed.iter().map(|bytes| bytes.len()).sum::<usize>() > self.spilled.entry_bytes_max
            {
                self.is_too_large = true;
                return Ok(None);
            }
            self.entry.clear();
            // The oldest come first.
            needed.iter().rev().for_each(|bytes| self.entry.extend_from_slice(bytes));
            self.key = Some(key);
        }
        let key = self.key.as_deref();
        Ok(key.map(|key| Change { key, hash: None, action: Action::Put(&self.entry) }))
    }

    fn advance(&mut self) {
        self.key = None;
        self.is_used = true;
    }
}

/// So many layers of one tier are joined.
const JOINED_LAYERS: usize = 16;
