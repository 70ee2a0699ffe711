//! Scans of a tree: a cursor, the entries between two bounds or with a prefix, their number, and the keys that are
//! readable after damage.

mod count;
mod cursor;
mod entry;
mod leaf_entries;
mod packed_entries;
mod prefix;
mod range;
mod readable_keys;

pub use count::count;
pub(super) use count::count_net;
pub use cursor::{Cursor, Seek};
pub use entry::Entry;
pub use prefix::{PrefixRead, read_prefix};
pub use range::Range;
pub use readable_keys::ReadableKeys;
