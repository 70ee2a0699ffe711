//! New trees, which are built from sorted changes and share unchanged subtrees with the old tree.

mod builder;
mod changes;
mod merge;
mod remove;
mod staging;

pub(super) use builder::Builder;
pub use changes::{Action, Change, Changes, Sorted};
pub use merge::{MergeOutcome, merge};
pub use remove::remove;
pub(super) use remove::remove_but_values;
