//! Errors of C interfaces that leave a text if a call fails, as LevelDB's and RocksDB's do.

use std::ffi::{c_char, c_void};

/// An object of the library.
pub type Handle = *mut c_void;

/// Where a function leaves a text if it fails.
pub type Errors = *mut *mut c_char;

/// What the library answered when it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status(pub String);

impl From<Status> for Box<dyn std::error::Error + Send + Sync> {
    fn from(status: Status) -> Self {
        status.0.into()
    }
}
