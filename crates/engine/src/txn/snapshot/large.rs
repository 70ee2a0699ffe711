//! Large values: written once to an extent of their own when they are put, and only referred to by log and delta.
//!
//! Their extents are *logged* between the commit and the checkpoint that adopts them in a tree: the log has them, the
//! extent table does not. Until then readers find them through [`Recent`].

use std::collections::HashMap;

use crate::error::Result;
use crate::format::LargeValue;
use crate::ids::ExtentId;
use crate::pager::{PageFile, Pages, Space, Value};
use crate::sync::{Arc, LockRank, Mutex};

/// Writes large values.
#[derive(Debug)]
pub struct LargeStore {
    space: Arc<Mutex<Space>>,
    file: Arc<PageFile>,
}

/// Where the large values of one delta are. Shared by the states that show that delta.
///
/// [`LockRank::LargeValues`].
#[derive(Debug)]
pub struct Recent(Mutex<HashMap<ExtentId, LargeValue>>);

impl LargeStore {
    /// Over the space and the file of a database.
    pub fn new(space: Arc<Mutex<Space>>, file: Arc<PageFile>) -> Self {
        Self { space, file }
    }

    /// The space of the data file, for what a transaction writes there before its commit.
    pub fn space(&self) -> &Arc<Mutex<Space>> {
        &self.space
    }

    /// Writes a value to new pages. They stay reserved until they are discarded, or committed and adopted by a tree.
    ///
    /// # Errors
    /// What the disk reports; [`crate::Error::QuotaExceeded`]. Nothing stays reserved then.
    pub fn write(&self, value: &[u8]) -> Result<LargeValue> {
        let length = u32::try_from(value.len()).expect("the caller checked the length");
        let checksum = self.file.identity().hash(value);
        let large = self.space.lock().place_logged(length, checksum)?;
        let written = self.file.write_value(large.first_page, value);
        if written.is_err() {
            self.discard(&[large]);
        }
        written.map(|()| large)
    }

    /// Frees values that no commit refers to.
    pub fn discard(&self, values: &[LargeValue]) {
        let mut space = self.space.lock();
        for large in values {
            space.discard_logged(large.value.extent);
        }
    }

    /// No longer trusts the page cache, after a sync failed: see [`PageFile::distrust`].
    pub fn distrust(&self) {
        self.file.distrust();
    }

    /// Makes all values written so far durable.
    ///
    /// # Errors
    /// The disk's; then the caller must poison the database.
    pub fn sync(&self) -> Result<()> {
        self.file.sync()
    }
}

impl Default for Recent {
    fn default() -> Self {
        Self(Mutex::ranked(LockRank::LargeValues, HashMap::new()))
    }
}

impl Recent {
    /// Notes where a committed value is.
    pub fn note(&self, large: &LargeValue) {
        self.0.lock().insert(large.value.extent, *large);
    }

    /// The value, if it is one of these.
    ///
    /// # Errors
    /// As [`Pages::value`].
    pub fn value<'p>(&self, pages: &'p Pages, at: &crate::format::OverflowRef) -> Result<Option<Value<'p>>> {
        let found = self.0.lock().get(&at.extent).copied();
        // A new value may have the extent number of one that died and that an older snapshot still reads.
        let large = found.filter(|large| large.value == *at);
        large.map(|large| pages.value_at(large.first_page, at)).transpose()
    }
}
