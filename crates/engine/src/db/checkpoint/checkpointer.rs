//! The checkpointer of a database: what checkpoints go on from. The steps of a checkpoint are in
//! [`run`](crate::db::checkpoint::run).

use std::collections::BTreeMap;
use std::sync::Weak;

use crate::db::storage::presence::Presence;
use crate::db::storage::stored::Stored;
use crate::error::Result;
use crate::format::Meta;
use crate::ids::TableId;
use crate::monitor::Watchers;
use crate::pager::{PageFile, Placing, Space};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};
use crate::tree::Root;
use crate::txn::commit::core::{Core, Writer};
use crate::txn::commit::rotation::Rotation;
use crate::txn::snapshot::pins::Pins;

/// Runs checkpoints, one at a time.
#[derive(Debug)]
pub struct Checkpointer {
    pub(super) space: Arc<Mutex<Space>>,
    pub(super) file: Arc<PageFile>,
    pub(super) pins: Arc<Pins>,
    /// Which readers there are in other processes, while any state exists.
    pub(super) presence: Weak<Presence>,
    /// The newest durable meta.
    pub(super) meta: Meta,
    /// Its number, for statistics, which do not wait for the checkpointer.
    pub meta_number: Arc<AtomicU64>,
    /// The tables of the newest durable checkpoint.
    pub(super) stored: BTreeMap<TableId, Stored>,
    pub(super) catalog: Option<Root>,
    /// A rotation whose checkpoint failed, or has not run yet.
    pub(super) pending: Option<Rotation>,
    /// Runs that the last checkpoint made, less those that were merged since: so many more are to be merged, to keep
    /// up.
    pub(super) owed_runs: u64,
    /// Where checkpoints place what they write.
    pub(super) placing: Placing,
    /// The monitors that follow what is done, and may stop it.
    pub watchers: Watchers,
    /// They cannot now: the transaction or load that has the only turn to write waits for it.
    pub(super) is_unstoppable: bool,
    /// Dropped last, as it has the lock of the file.
    pub(super) core: Arc<Core>,
}

/// What opening found, and a checkpointer goes on from.
pub struct Basis {
    pub meta: Meta,
    pub stored: BTreeMap<TableId, Stored>,
    pub catalog: Option<Root>,
}

impl Checkpointer {
    pub fn new(
        core: Arc<Core>,
        space: Arc<Mutex<Space>>,
        file: Arc<PageFile>,
        pins: Arc<Pins>,
        presence: Weak<Presence>,
        basis: Basis,
    ) -> Self {
        let Basis { meta, stored, catalog } = basis;
        Self {
            core,
            space,
            file,
            pins,
            presence,
            meta_number: Arc::new(AtomicU64::new(meta.number)),
            meta,
            stored,
            catalog,
            pending: None,
            owed_runs: 0,
            placing: Placing::Usual,
            watchers: Watchers::default(),
            is_unstoppable: false,
        }
    }

    /// Makes `meta` the newest one. Requires: it is durable.
    pub(super) fn hold(&mut self, meta: Meta) {
        // Relaxed: it orders nothing.
        self.meta_number.store(meta.number, Ordering::Relaxed);
        self.meta = meta;
    }

    pub(super) fn sync_file(&self) -> Result<()> {
        self.file.sync().inspect_err(|_| self.poison())
    }

    pub(super) fn poison(&self) {
        if let Some(writer) = &self.core.writer {
            writer.poison();
        }
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.core.writer.as_ref().is_some_and(Writer::is_poisoned)
    }
}
