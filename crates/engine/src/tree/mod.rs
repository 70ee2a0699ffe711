//! Immutable trees: reading them, and building new ones that share what did not change.
//!
//! - [`Root`] names a tree. [`get()`], [`get_many`], [`Cursor`], [`Range`] and [`count()`] read one through a [`Pages`].
//! - [`merge()`] makes a new tree of an old one and a sorted stream of [`Changes`], and takes over by reference every subtree
//!   that the changes leave alone. A bulk load is a merge into nothing.
//! - A [`Run`] is a tree of changes that lie above another tree. A [`Stack`] says which runs lie above which keys of a table;
//!   [`build_run`] makes one, and a [`RunMerge`] gives the changes of several to a merge.
//! - [`check()`] walks all of a tree and reports what is wrong; a [`Census`] of all trees proves that no page is lost or shared.
//! - [`remove()`] gives all of a tree's pages back.
//!
//! [`Pages`]: crate::pager::Pages

mod approach;
mod base;
mod beneath;
mod build;
mod census;
mod changes;
mod check;
mod count;
mod cursor;
mod get;
mod merge;
mod packed_entries;
mod prefix;
mod range;
mod remove;
mod root;
mod run;
mod run_merge;
mod shortcut;
mod shortcut_build;
mod stack;
mod staging;
#[cfg(test)]
mod tests;

pub use approach::approach_all;
pub use base::Base;
pub use beneath::Beneath;
pub use census::Census;
pub use changes::{Action, Change, Changes, Sorted};
pub use check::{TreeSummary, check};
pub use count::count;
pub use cursor::{Cursor, Entry, Seek};
pub use get::{Above, approach, get, get_approached, get_beneath, get_many};
pub use merge::{MergeOutcome, merge};
pub use prefix::{PrefixRead, read_prefix};
pub use range::Range;
pub use remove::remove;
pub use root::Root;
pub use run::{Run, Said, Until, build_run};
pub use run_merge::RunMerge;
pub use stack::{RUNS_MAX, Stack, StackRange, cuts};
