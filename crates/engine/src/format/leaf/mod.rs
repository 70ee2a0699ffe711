//! The leaf with hash tags: its layout, builder, verification and search.

mod build;
mod cells;
mod found;
mod layout;
mod lower_bound;
mod plain;
mod point_get;
mod prefetch;
mod summary;
mod verify;
mod view;

pub use build::LeafBuilder;
pub use cells::InlineCells;
pub use found::Found;
pub use plain::PlainEntries;
pub use point_get::Candidate;
pub use summary::LeafSummary;
pub use verify::verify_leaf;
pub use view::Leaf;
