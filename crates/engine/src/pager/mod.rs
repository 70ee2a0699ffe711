//! Pages to bytes, and which pages are whose.
//!
//! - [`Pages`] is one snapshot's view of the file: reference → verified bytes, as [`Page`], [`LeafPage`] or [`Value`].
//! - [`ExtentMap`] says where a snapshot's extents are, and what of them was verified.
//! - [`Space`] decides which pages are written; [`PageWriter`] writes those of one operation.
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

pub use extents::ExtentMap;
pub use file::{PageFile, ReadOptions};
pub use read::{LeafPage, MappedFilters, Page, Pages, Value, VerifiedPages};
pub use space::{Need, Operation, Pins, Placing, Room, Space, SpaceStats, no_room};
pub use table::read_extent_table;
pub use writer::{Moving, PageWriter};
