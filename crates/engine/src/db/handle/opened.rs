//! Reading the trees and tables that a meta refers to.

use std::collections::BTreeMap;
use std::path::Path;

use crate::db::storage::catalog::read_catalog;
use crate::db::storage::presence::Presence;
use crate::db::storage::stored::Stored;
use crate::delta::Delta;
use crate::error::{Error, NOTHING_LEFT, Place, Result};
use crate::format::{ExtentEntry, Meta};
use crate::ids::{PageNumber, Sequence, TableId};
use crate::io::File;
use crate::options::Options;
use crate::pager::{ExtentMap, PageFile, ReadOptions, leave_out_missing, read_extent_table};
use crate::process::Stamp;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::tree::Root;
use crate::txn::commit::core::first_epoch;
use crate::txn::snapshot::pins::Pins;
use crate::txn::snapshot::state::{State, TableView};

/// The trees and tables of a meta.
pub struct Opened {
    pub file: Arc<PageFile>,
    pub entries: Vec<ExtentEntry>,
    pub pins: Arc<Pins>,
    pub stored: BTreeMap<TableId, Stored>,
    pub catalog: Option<Root>,
    pub state: State,
}

/// Reads the catalog of a meta, and makes a state of its tables.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::UnsupportedFormat`], and what the disk reports.
pub fn read_tables(
    options: &Options,
    path: &Path,
    file: Arc<dyn File>,
    meta: Meta,
    guard: Arc<Presence>,
) -> Result<Opened> {
    let read = ReadOptions {
        map: options.map,
        huge_pages: options.huge_pages,
        cache_bytes: usize::try_from(options.cache_bytes).unwrap_or(usize::MAX),
    };
    let file = PageFile::new(path, file, meta.page_size, meta.identity(), read);
    let page_count = match options.salvage {
        true => meta.page_count.min(file.whole_pages()?),
        false => file.refuse_cut_off(meta.page_count).map(|()| meta.page_count)?,
    };
    let entries = read_entries(&file, &meta, page_count)?;
    let extents = ExtentMap::new(entries.clone(), page_count, None);
    let pages = file.pages(Arc::new(extents))?;
    let catalog = meta.catalog.as_ref().map(|root| Root {
        page: root.page,
        level: root.level,
        entries: root.entries,
        // The meta does not say. The description of a table with many runs is too long for its leaf.
        has_overflow: true,
    });
    if meta.next_table_id > TableId::END {
        return Err(Error::corrupt(path, Place::Meta(None), "the next table has an impossible number"));
    }
    let stored = read_catalog(&pages, catalog.as_ref(), meta.next_table_id)
        .map_err(|error| if page_count < meta.page_count { lost_catalog(path, page_count, error) } else { error })?;
    let pins = Arc::new(Pins::default());
    let mut state = State {
        instance: next_instance(),
        stamp: Stamp::new().map_err(|error| Error::io("open", path, error))?,
        floor: meta.sequence,
        dropped: Vec::new(),
        renamed: Vec::new(),
        tables_changed: meta.sequence,
        epoch: first_epoch(),
        thawed: 0,
        checkpoint: meta.sequence,
        trees: stored.values().map(|table| table.trees.clone()).collect(),
        pages,
        tables: vec![None; meta.next_table_id.0 as usize],
        names: Arc::default(),
        catalog,
        active_large: Arc::default(),
        frozen_large: Arc::default(),
        guard,
        pin: Pins::pin(&pins, meta.birth),
        slots: Arc::default(),
        merge_functions: Arc::clone(&options.merge_functions),
    };
    let names = Arc::make_mut(&mut state.names);
    for (id, table) in &stored {
        names.insert(table.info.name.to_string(), *id);
        let active = Arc::new(Delta::new(table.info.align()));
        let (info, created) = (Arc::clone(&table.info), Sequence(0));
        let view = TableView { info, trees: table.trees.clone(), frozen: None, active, loads: 0, created };
        state.tables[id.0 as usize] = Some(Arc::new(view));
    }
    Ok(Opened { file, entries, pins, stored, catalog, state })
}

/// Reads the extents, without the pages that a file of `page_count` pages lacks.
fn read_entries(file: &PageFile, meta: &Meta, page_count: u64) -> Result<Vec<ExtentEntry>> {
    let mut entries = read_extent_table(file, &meta.extent_table, meta.page_count, meta.birth)?;
    if page_count < meta.page_count {
        leave_out_missing(&mut entries, page_count);
    }
    Ok(entries)
}

/// The error of a file that was cut off, if its catalog cannot be read.
fn lost_catalog(path: &Path, file_pages: u64, error: Error) -> Error {
    if !error.is_corruption() {
        return error;
    }
    let what = format!("the file ends here, before the end of its catalog: {NOTHING_LEFT}");
    Error::corrupt(path, Place::Page(PageNumber(file_pages)), what)
}

fn next_instance() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
