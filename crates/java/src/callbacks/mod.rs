//! What Java programs implement and this library calls.

mod merge_functions;
mod storage;

pub use merge_functions::{check_not_merging, is_merging, refused, register};
pub use storage::JavaStorage;
