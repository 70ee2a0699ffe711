//! Immutable trees: reading them, and building new trees that share the unchanged subtrees.
//!
//! - [`Root`] names a tree. [`get()`], [`get_many`], [`Cursor`], [`Range`] and [`count()`] read one through a
//!   [`Pages`].
//! - [`merge()`] makes a new tree from an old one and a sorted stream of [`Changes`]. It adopts every subtree without
//!   changes by reference. A bulk load is a merge into an empty tree.
//! - A [`Run`] is a tree of changes above another tree. A [`Stack`] records which runs are above which keys of a
//!   table. [`build_run`] makes a run; a [`RunMerge`] passes the changes of several runs to a merge.
//! - [`check()`] walks a whole tree and reports damage; a [`Census`] of all trees proves that no page is lost or
//!   shared.
//! - [`remove()`] frees all pages of a tree.
//!
//! [`Pages`]: crate::pager::Pages

mod build;
mod check;
mod get;
mod root;
mod runs;
mod scan;
#[cfg(test)]
mod tests;

pub use build::{Action, Change, Changes, MergeOutcome, Sorted, merge, remove};
pub use check::{Census, TreeSummary, check};
pub use get::{Base, LayersAbove, get, get_many, get_prefetched, get_unless_above, prefetch_leaf};
pub use root::Root;
pub use runs::{
    LayersBelow, RUNS_MAX, Run, RunMerge, RunValue, Stack, StackRange, Until, build_run, cuts, prefetch_seeks,
};
pub use scan::{Cursor, Entry, PrefixRead, Range, ReadableKeys, Seek, count, read_prefix};
