//! Reads and writes the extent table: how the extents of a checkpoint come off the disk and get there.
//!
//! Callers: `Space` writes it; `db` reads it when it opens a meta.

use crate::error::{Error, NOTHING_LEFT, Place, Result};
use crate::format::{ExtentEntry, ExtentTablePage, ExtentTableRef, PageSize, seal_page, verify_page};
use crate::ids::{Birth, ExtentId, PageNumber};

use super::extents::check_extents;
use super::file::PageFile;

/// Number of pages that a table of so many entries takes.
pub(super) fn pages_for(page_size: PageSize, entries: usize) -> u32 {
    entries.div_ceil(ExtentTablePage::capacity(page_size)) as u32
}

/// Writes the table to pages that are the caller's, and returns what the meta must say of it.
pub(super) fn write(
    file: &PageFile,
    entries: &[ExtentEntry],
    first_page: PageNumber,
    birth: Birth,
) -> Result<ExtentTableRef> {
    let capacity = ExtentTablePage::capacity(file.page_size());
    let page_bytes = file.page_size().bytes();
    let mut bytes = vec![0; entries.len().div_ceil(capacity) * page_bytes];
    for (index, (page, part)) in bytes.chunks_mut(page_bytes).zip(entries.chunks(capacity)).enumerate() {
        ExtentTablePage::encode(ExtentId((index * capacity) as u32), part, page);
        seal_page(page, file.identity(), ExtentTablePage::page_ref(index as u32), birth);
    }
    file.write(first_page, &bytes)?;
    Ok(ExtentTableRef {
        first_page,
        page_count: pages_for(file.page_size(), entries.len()),
        entry_count: entries.len() as u32,
        birth,
        checksum: checksum(file, entries),
    })
}

/// Reads and checks the table that a meta points to, of a file of `page_count` pages in which nothing is younger than
/// `newest`.
///
/// # Errors
/// [`Error::Corrupt`] if the table or an extent in it is not what can have been written; [`Error::Io`].
pub fn read_extent_table(
    file: &PageFile,
    table: &ExtentTableRef,
    page_count: u64,
    newest: Birth,
) -> Result<Vec<ExtentEntry>> {
    let page_bytes = file.page_size().bytes();
    let end = table.first_page.0.saturating_add(u64::from(table.page_count));
    let file_pages = file.whole_pages()?;
    if end > page_count.min(file_pages) {
        let what = format!("the file ends here, before its extent table: {NOTHING_LEFT}");
        return Err(Error::corrupt(file.path(), Place::Page(PageNumber(file_pages)), what));
    }
    if table.page_count != pages_for(file.page_size(), table.entry_count as usize) {
        return Err(Error::corrupt(
            file.path(),
            Place::Page(table.first_page),
            "the extent table has an impossible size",
        ));
    }
    if table.page_count == 0 {
        return Ok(Vec::new());
    }
    let mut entries = Vec::new();
    for index in 0..table.page_count {
        let page = PageNumber(table.first_page.0 + u64::from(index));
        let bytes = file.read(page, page_bytes)?;
        let at = ExtentTablePage::page_ref(index);
        let part = verify_page(&bytes, file.identity(), at, table.birth).and_then(|_| ExtentTablePage::decode(&bytes));
        let part = part.map_err(|offence| Error::corrupt(file.path(), Place::Page(page), offence.to_string()))?;
        if part.first.0 as usize != entries.len() {
            return Err(Error::corrupt(file.path(), Place::Page(page), "a page of the extent table is out of place"));
        }
        entries.extend(part.entries);
    }
    if entries.len() != table.entry_count as usize || checksum(file, &entries) != table.checksum {
        return Err(Error::corrupt(file.path(), Place::Page(table.first_page), "the extent table is not the meta's"));
    }
    let checked = check_extents(&entries, page_count, newest);
    checked.map_err(|(id, fault)| Error::corrupt(file.path(), Place::Extent(id), fault))?;
    Ok(entries)
}

/// Checksum of the stored entries, one after the other.
fn checksum(file: &PageFile, entries: &[ExtentEntry]) -> u64 {
    let stored: Vec<u8> = entries.iter().flat_map(|entry| entry.to_bytes()).collect();
    file.identity().hash(&stored)
}
