//! Stand-ins for files and maps on platforms that Fulgurite does not support yet.

mod map;
mod real_disk;
mod zstd;

pub use map::{Map, reserved_bytes, set_reserved_bytes_max};
pub use real_disk::RealDisk;
pub use zstd::{Compressor, decompress};
