//! The packed leaf, which stores each key as its difference from the previous one: its layout, builder, verification
//! and search.

mod build;
mod key_suffix;
mod layout;
mod prefix;
mod unpacked;
mod verify;
mod view;

pub use build::PackedBuilder;
pub use key_suffix::{KeySuffix, PackedKeys};
pub use prefix::PrefixEnd;
pub use unpacked::{Unpacked, UnpackedEntries, ValuePlace};
pub use verify::verify_packed;
pub use view::PackedLeaf;
