//! The catalog of tables: how it is read when a database is opened, how roots are stored, and what a checkpoint
//! changes of it.

use std::collections::{BTreeMap, btree_map};
use std::iter::Peekable;
use std::ops::Bound;

use crate::db::storage::stored::Stored;
use crate::error::{Error, Place, Result};
use crate::format::{CatalogRoot, DescriptorFault, StoredRoot, TableDescriptor};
use crate::ids::{PageNumber, TableId};
use crate::options::TABLE_NAME_BYTES_MAX;
use crate::pager::Pages;
use crate::sync::Arc;
use crate::tree::{Action, Base, Change, Changes, Range, Root, Stack};
use crate::txn::snapshot::state::Trees;
use crate::txn::snapshot::table::TableInfo;

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

/// Reads all tables of a catalog.
///
/// # Errors
/// [`Error::Corrupt`] if an entry of the catalog cannot have been written; [`Error::UnsupportedFormat`] if only a
/// newer version can have written it.
pub fn read_catalog(pages: &Pages, root: Option<&Root>, next: TableId) -> Result<BTreeMap<TableId, Stored>> {
    let mut tables = BTreeMap::new();
    let mut range = Range::new(pages, root, Bound::Unbounded, Bound::Unbounded)?;
    while let Some(entry) = range.next()? {
        let table = decode(&entry.key, &entry.value, next)
            .map_err(|fault| error_of(fault, pages, |offence| damaged(pages, root, offence)))?;
        if tables.insert(table.info.id, table).is_some() {
            return Err(damaged(pages, root, "two tables of the catalog have one number"));
        }
    }
    Ok(tables)
}

/// One table from its entry in the catalog, or in the log.
///
/// # Errors
/// What is wrong with it.
pub fn decode(name: &[u8], descriptor: &[u8], next: TableId) -> Result<Stored, DescriptorFault> {
    let name = name_of(name)?;
    let mut descriptor = TableDescriptor::decode(descriptor)?;
    if descriptor.id == TableId::CATALOG || descriptor.id >= next {
        return Err("the number of a table was never given out".into());
    }
    // They would be there for good, and soon be no more what the table has.
    let stack = Stack::load(&std::mem::take(&mut descriptor.ranges), descriptor.counted)?.map(Arc::new);
    let trees = Trees { base: descriptor.root.as_ref().map(load_root).map(Base::new), stack };
    Ok(Stored { info: Arc::new(TableInfo::new(name.into(), descriptor)), trees })
}

/// A table's name, from the catalog or the log.
///
/// # Errors
/// What is wrong with it.
pub fn name_of(bytes: &[u8]) -> Result<&str, &'static str> {
    let name = std::str::from_utf8(bytes).map_err(|_| "the name of a table is not UTF-8")?;
    match name.len() {
        1..=TABLE_NAME_BYTES_MAX => Ok(name),
        _ => Err("the name of a table has an impossible length"),
    }
}

/// The error for a table that was not read; `damaged` makes it of what cannot have been written.
pub fn error_of(fault: DescriptorFault, pages: &Pages, damaged: impl FnOnce(&'static str) -> Error) -> Error {
    match fault {
        DescriptorFault::Damaged(offence) => damaged(offence),
        DescriptorFault::Unsupported(found) => {
            Error::UnsupportedFormat { path: pages.file().path().to_path_buf(), found: found.into() }
        }
    }
}

fn damaged(pages: &Pages, root: Option<&Root>, offence: &'static str) -> Error {
    let page = root.and_then(|root| pages.extents().page_number(root.page)).unwrap_or_default();
    Error::corrupt(pages.file().path(), Place::Page(PageNumber(page)), format!("catalog: {offence}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_number_that_was_given_out_and_no_table_has_one_from_the_end_on() {
        let decoded = |id: u32, next| {
            let (key_type, value_type) = (String::new(), String::new());
            let table = TableDescriptor {
                id: TableId(id),
                multimap: false,
                counted: false,
                packed: false,
                value_align: 1,
                merge: None,
                key_type,
                value_type,
                root: None,
                ranges: Vec::new(),
            };
            decode(b"t", &table.encode(), next).map(|stored| stored.info.id.0)
        };
        assert_eq!(TableId::END.0, 1 << 20);
        let refused = Err(DescriptorFault::Damaged("the number of a table was never given out"));
        assert_eq!([decoded(1, TableId(3)), decoded(2, TableId(3))], [Ok(1), Ok(2)]);
        assert_eq!([decoded(0, TableId(3)), decoded(3, TableId(3))], [refused, refused]);
        let last = TableId::END.0 - 1;
        assert_eq!([decoded(last, TableId::END), decoded(last + 1, TableId::END)], [Ok(last), refused]);
    }
}
