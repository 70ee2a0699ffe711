//! Checks that trees are sound, and that they share no page.

mod census;
mod walk;

pub use census::Census;
pub(super) use walk::check_between;
pub use walk::{CheckVisitor, TreeSummary, check};
