//! The catalog's description of a table, and how merge operators change values.

mod descriptor;
mod merge;

pub use descriptor::{DescriptorFault, StoredRange, StoredRoot, StoredRun, TableDescriptor};
pub use merge::{MergeOperator, MergeRule, Merging, Overflowed};
