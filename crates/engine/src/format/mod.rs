//! The meaning of stored bytes, and nothing else: no I/O, no locks, no allocations except the builders' buffers.
//!
//! Every byte is specified in `docs/reference/file-format.md`; the layouts here are checked against it at compile time.
//! Invariants: (1) [`verify_page`] accepts or refuses any bytes without a panic; so does [`verify_own_page`], which
//! does not check tags. (2) The views [`Leaf`], [`PackedLeaf`] and [`Branch`] read a page that either accepted, without
//! further checks. (3) The builders write only pages that both accept. (4) Stored numbers are little-endian; heads of
//! keys are compared as big-endian numbers.

mod branch;
mod bytes;
mod catalog;
mod cell;
mod filter;
mod hash;
mod image;
mod leaf;
mod leaf_view;
mod log;
mod meta;
mod packed;
mod page;
mod search;
#[cfg(test)]
mod tests;
mod verify;

pub use branch::{Branch, BranchBuilder, BranchStart, Child, LEVEL_MAX, key_start};
pub use bytes::head8;
pub use catalog::{
    DescriptorFault, MergeOperator, MergeRule, Merging, Overflowed, StoredRange, StoredRoot, StoredRun, TableDescriptor,
};
pub use cell::{Cell, CellKey, CellValue, LeafForm, LongKeys, Op, OverflowRef, ValueAlign};
pub use filter::{LINE_BYTES, build_filter, filter_line, filter_line_passes, filter_passes};
pub use hash::Identity;
pub use image::{ImageBlock, ImageFault, ImageHeader};
pub use leaf::{Candidate, Found, InlineCells, Leaf, LeafBuilder, LeafSummary, PlainEntries};
pub use leaf_view::LeafView;
pub use log::{
    CommitReader, LargeValue, Operation, RECORD_ALIGNMENT, RecordEncoder, RecordHeader, RecordKind, RecordLink,
    SegmentHeader, SegmentHeaderFault,
};
pub use meta::{CatalogRoot, ExtentTableRef, FeatureBits, Meta, MetaError};
pub use packed::{KeySuffix, PackedBuilder, PackedKeys, PackedLeaf, PrefixEnd, Unpacked, UnpackedEntries, ValuePlace};
pub use page::{
    ExtentEntry, ExtentFlags, ExtentKind, ExtentTablePage, INLINE_KEY_BYTES_MAX, LIVE_SLOTS_MAX, Offence, PageKind,
    PageSize, seal_page,
};
pub use search::{EIGHT_HEADS, Isa, Lookup, Search, WithSearch, look_up, prefetch, selected, with_search};
#[cfg(test)]
pub use search::{supported, with_isa, with_loops};
pub use verify::{verify_own_page, verify_page};
