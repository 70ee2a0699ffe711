//! How roots are stored in the catalog and the meta, and what a checkpoint changes of the catalog.

use std::collections::{BTreeMap, btree_map};
use std::iter::Peekable;

use crate::error::Result;
use crate::format::{CatalogRoot, StoredRoot};
use crate::tree::{Action, Change, Changes, Root};

/// Changes of the catalog: descriptors by name, and names that went.
pub struct CatalogChanges<'n> {
    changes: Peekable<btree_map::IntoIter<&'n str, Option<Vec<u8>>>>,
}

impl<'n> CatalogChanges<'n> {
    /// Descriptors by name; names without one went.
    pub fn new(changes: BTreeMap<&'n str, Option<Vec<u8>>>) -> Self {
        Self { changes: changes.into_iter().peekable() }
    }
}

impl Changes for CatalogChanges<'_> {
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        Ok(self.changes.peek().map(|(name, descriptor)| Change {
            key: name.as_bytes(),
            hash: None,
            action: descriptor.as_deref().map_or(Action::Delete, Action::Put),
        }))
    }

    fn advance(&mut self) {
        self.changes.next();
    }
}

/// The form of a root that the catalog stores.
pub fn store_root(root: &Root) -> StoredRoot {
    StoredRoot { page: root.page, level: root.level, entries: root.entries, has_overflow: root.has_overflow }
}

/// A root as the catalog stores it.
pub fn load_root(stored: &StoredRoot) -> Root {
    Root { page: stored.page, level: stored.level, entries: stored.entries, has_overflow: stored.has_overflow }
}

/// The form of the catalog's root that a meta stores.
pub fn store_catalog(root: &Root) -> CatalogRoot {
    CatalogRoot { page: root.page, level: root.level, entries: root.entries }
}
