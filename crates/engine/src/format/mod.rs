//! What stored bytes mean, and nothing else: no I/O, no locks, no allocation beyond the builders' staging.
//!
//! Every byte is specified in `docs/reference/file-format.md`; the layouts here are checked against it at compile time.
//! Invariants: (1) [`verify_page`] accepts or refuses any bytes without a panic; so does [`verify_own_page`], which leaves out
//! tags. (2) A page that either accepted is read by the views [`Leaf`], [`PackedLeaf`] and [`Branch`] without further checks. (3) The builders
//! write only pages that both accept.
//! (4) Stored numbers are little-endian; heads of keys are compared as big-endian numbers.

mod branch;
mod branch_build;
mod branch_verify;
mod bytes;
mod catalog;
mod cell;
mod extent;
mod filter;
mod hash;
#[cfg(target_arch = "x86_64")]
mod hash_avx512;
mod key_suffix;
mod leaf;
mod leaf_build;
mod leaf_cells;
mod leaf_prefetch;
mod leaf_run;
mod leaf_verify;
mod leaf_view;
mod log_encoder;
mod log_operation;
mod log_record;
mod log_segment;
mod merge;
mod meta;
mod overflow;
mod packed;
mod packed_build;
mod packed_cells;
mod packed_prefix;
mod packed_verify;
mod page;
mod search;
#[cfg(test)]
mod tests;

pub use branch::{Branch, BranchStart, Child, LEVEL_MAX, key_start};
pub use branch_build::BranchBuilder;
pub use bytes::head8;
pub use catalog::{DescriptorFault, StoredRange, StoredRoot, StoredRun, TableDescriptor};
pub use cell::{Cell, CellKey, CellValue, LeafForm, LongKeys, Op, ValueAlign};
pub use extent::{ExtentEntry, ExtentFlags, ExtentKind, ExtentTablePage, LIVE_SLOTS_MAX};
pub use filter::{LINE_BYTES, build_filter, filter_line, filter_line_passes, filter_passes};
pub use hash::Identity;
pub use key_suffix::{KeySuffix, PackedKeys};
pub use leaf::{Candidate, Found, Leaf};
pub use leaf_build::{LeafBuilder, LeafSummary};
pub use leaf_cells::InlineCells;
pub use leaf_run::PlainEntries;
pub use leaf_view::LeafView;
pub use log_encoder::RecordEncoder;
pub use log_operation::{CommitReader, LargeValue, Operation};
pub use log_record::{RECORD_ALIGNMENT, RecordHeader, RecordKind, RecordLink};
pub use log_segment::{SegmentHeader, SegmentHeaderFault};
pub use merge::{MergeOperator, MergeRule, Merging, Overflowed};
pub use meta::{CatalogRoot, ExtentTableRef, FeatureBits, Meta, MetaError};
pub use overflow::{INLINE_KEY_BYTES_MAX, OverflowRef};
pub use packed::PackedLeaf;
pub use packed_build::PackedBuilder;
pub use packed_cells::{Unpacked, UnpackedEntries, ValuePlace};
pub use packed_prefix::PrefixEnd;
pub use page::{Offence, PageKind, PageSize, seal_page, verify_own_page, verify_page};
pub use search::{EIGHT_HEADS, Isa, Lookup, Search, WithSearch, look_up, prefetch, selected, with_search};
#[cfg(test)]
pub use search::{supported, with_isa, with_loops};
