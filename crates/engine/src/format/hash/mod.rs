//! The one hash of the format.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod identity;

pub use identity::{Identity, checksum};
