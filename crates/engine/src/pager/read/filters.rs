//! The filters of runs in the map.
#![allow(unsafe_code)] // Slices of the map.

use crate::format::{LINE_BYTES, filter_line};
use crate::io::Map;
use crate::sync::Arc;

use crate::pager::file::PageFile;

/// Filters in the map: see [`Pages::mapped_filters`](super::Pages::mapped_filters).
#[derive(Clone, Debug)]
pub struct MappedFilters {
    pub(super) map: Arc<Map>,
    /// Offset in the map, and length in bytes, of each. Within the map.
    pub(super) places: Box<[(usize, usize)]>,
    /// Dropped after the map: a file that is not trusted any more is dropped from the system's cache with its last
    /// holder, when nothing of it is mapped.
    pub(super) _file: Arc<PageFile>,
}

impl MappedFilters {
    /// The line for a key with this hash, of each filter.
    #[inline(always)]
    pub fn lines(&self, hash: u64) -> impl Iterator<Item = &[u8; LINE_BYTES]> {
        let base = self.map.base();
        self.places.iter().map(move |&(offset, length)| {
            // SAFETY: `mapped_filters` checked that the map has the filter, and that the filter has a line; all its
            // lines are within it.
            let line = unsafe { base.add(offset + filter_line(length, hash)) };
            // SAFETY: it is not written: by the contract of `mapped_filters`, a snapshot that shows the filter lives.
            unsafe { line.cast().as_ref() }
        })
    }
}
