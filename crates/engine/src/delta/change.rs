//! What a commit did to a key.

use crate::format::OverflowRef;

/// What a commit did to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'d> {
    /// The key has this value.
    Put(&'d [u8]),
    /// The key has the value that is stored in an extent of its own.
    PutLarge(OverflowRef),
    /// The key has no value any more.
    Delete,
}
