//! What Java programs implement and this library calls.

mod merge_functions;
mod storage;

pub use merge_functions::register;
pub use storage::JavaStorage;
