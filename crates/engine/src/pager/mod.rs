//! From page references to verified bytes, and the allocation of pages.
//!
//! - [`Pages`] is one snapshot's view of the file: reference → verified bytes, as [`Page`], [`LeafPage`] or [`Value`].
//! - [`ExtentMap`] maps a snapshot's extents to their places, and records which of their pages were verified.
//! - [`Space`] allocates pages; [`PageWriter`] writes the pages of one operation.
//! - [`PageFile`] is the file under all of them.

mod compaction;
mod extent_sizes;
mod extents;
mod file;
mod free;
mod logged;
mod read;
mod space;
mod table;
#[cfg(test)]
mod tests;
mod writer;

pub use extents::{ExtentMap, leave_out_missing};
pub use file::{PageFile, ReadOptions};
pub use read::{LeafPage, MappedFilters, Page, Pages, Value, VerifiedPages};
pub use space::{Need, Operation, Pins, Placing, Room, Space, SpaceStats, no_room};
pub use table::read_extent_table;
pub use writer::{Moving, PageWriter};
