//! Point reads of a tree, and the shortcut to its leaves.

mod base;
mod descent;
mod fast;
mod find;
mod many;
mod point;
mod shortcut;
mod shortcut_build;

pub use base::Base;
pub(super) use descent::PlaceOfLeaf;
pub use fast::LayersAbove;
pub(super) use find::FindCell;
pub use many::get_many;
pub use point::{get, get_prefetched, get_unless_above, prefetch_leaf};
