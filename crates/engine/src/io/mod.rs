//! Disks and files: every call that reaches the operating system, behind two traits so that tests and embedders can
//! supply their own.
//!
//! - [`Disk`] and [`File`] are what the engine requires of storage. Every call can fail, and no call retries a failed
//!   sync.
//! - [`RealDisk`] is the operating system, [`MemoryDisk`] keeps everything in memory.
//! - [`ForwardDisk`] and [`ForwardFile`] wrap another disk and change some of its calls.
//! - [`Map`] is a read-only window onto a file: the only way the engine reads without copying. [`File::prepare`] makes
//!   small writes cheap in the same way.
//! - `ImageFile` and `ImageWriter` are files over images: databases in compressed blocks.
//! - [`Compressor`] and [`decompress`] are Zstandard, for one block at a time.
//! - [`WriterLock`] and [`FileLocks`] keep processes from writing at the same time.
//!
//! Errors are bare [`std::io::Error`]s: the layer above knows which file and which operation, and adds them.

mod disk;
mod fill;
mod forward;
mod huge_pages;
mod image;
#[cfg(target_os = "linux")]
mod linux;
mod machine;
mod memory;
mod memory_locks;
mod place;
#[cfg(not(target_os = "linux"))]
mod unsupported;

pub use disk::{Access, Disk, File, FileLocks, FreeSpace, LinkTarget, LockHolder, WriterAttempt, WriterLock};
pub(crate) use fill::Fill;
pub use forward::{ForwardDisk, ForwardFile};
pub use huge_pages::HugePages;
pub(crate) use image::{ImageFile, ImageWriter};
#[cfg(target_os = "linux")]
pub use linux::{Compressor, Map, RealDisk, decompress, reserved_bytes, set_reserved_bytes_max};
pub use machine::memory_bytes;
pub use memory::MemoryDisk;
pub use memory_locks::{MemoryHolder, MemoryLocks};
pub use place::PreparedPlace;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Compressor, Map, RealDisk, decompress, reserved_bytes, set_reserved_bytes_max};
