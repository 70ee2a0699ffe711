//! Files, maps and locks of Linux.

mod filled;
mod lock;
mod map;
mod real_disk;
mod regular_file;
mod write_map;
mod zstd;

pub use map::{Map, reserved_bytes, set_reserved_bytes_max};
pub use real_disk::RealDisk;
pub use zstd::{Compressor, decompress};
