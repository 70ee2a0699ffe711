//! Newtypes for every number that names something: none of them is a bare integer anywhere in the engine.
//!
//! They carry no behaviour beyond what their name says, and every layer may use them.

use std::fmt;

/// Number of a page in the data file: its byte offset divided by the page size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNumber(pub u64);

/// Number of an extent: an index into the extent table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtentId(pub u32);

/// Where a page lives, as its parent names it: an extent, and a slot within the extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageRef {
    /// The extent that holds the page.
    pub extent: ExtentId,
    /// The page's position within the extent, below [`PageRef::SLOTS_MAX`].
    pub slot: u32,
}

impl PageRef {
    /// A slot is stored in 24 bits.
    pub const SLOTS_MAX: u32 = 1 << 24;
    /// No page: no extent has this id (`docs/reference/file-format.md`, "Page of the extent table").
    pub(crate) const NOWHERE: Self = Self { extent: ExtentId(u32::MAX), slot: 0 };

    /// Whether it is [`PageRef::NOWHERE`], or another slot of the extent that does not exist.
    #[inline(always)]
    pub(crate) fn is_nowhere(self) -> bool {
        self.extent == Self::NOWHERE.extent
    }
}

/// Number of a commit. Commits are numbered from 1 without gaps; 0 is the empty database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

/// Number of the operation (checkpoint or bulk load) that wrote an extent: larger is younger, none is used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Birth(pub u64);

/// Number of a table. It is never reused; 0 is the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u32);

impl TableId {
    /// The table of tables.
    pub const CATALOG: Self = Self(0);
    /// No table has this number or a larger one: states list tables by number, and a wild one must not cost memory.
    pub const END: Self = Self(1 << 20);
}

/// Number of a log segment: the `N` of `name.ful-log.N`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentNumber(pub u64);

impl fmt::Display for PageNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "page {}", self.0)
    }
}

impl fmt::Display for PageRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "extent {} slot {}", self.extent.0, self.slot)
    }
}
