//! Disks and files: every call that reaches the operating system, behind two traits so that tests and embedders can
//! supply their own.
//!
//! - [`Disk`] and [`File`] say what the engine asks of storage. Every call can fail, and none retries a failed sync.
//! - [`RealDisk`] is the operating system, [`MemoryDisk`] keeps everything in memory.
//! - [`ForwardDisk`] and [`ForwardFile`] change some calls of another disk.
//! - [`Map`] is a read-only window onto a file: the only way the engine reads without copying. [`File::prepare`] makes small
//!   writes as cheap.
//! - [`WriterLock`] and [`FileLocks`] keep processes out of each other's way.
//!
//! Errors are bare [`std::io::Error`]s: the layer above knows which file and which operation, and adds them.

mod disk;
mod forward;
mod huge_pages;
#[cfg(target_os = "linux")]
mod lock;
mod machine;
#[cfg(target_os = "linux")]
mod map;
mod memory;
mod memory_locks;
#[cfg(target_os = "linux")]
mod os;
mod place;
#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(target_os = "linux")]
mod write_map;

pub use disk::{Access, Disk, File, FileLocks, FreeSpace, LockHolder, WriterAttempt, WriterLock};
pub use forward::{ForwardDisk, ForwardFile};
pub use huge_pages::HugePages;
pub use machine::memory_bytes;
#[cfg(target_os = "linux")]
pub use map::{Map, reserved_bytes, set_reserved_bytes_max};
pub use memory::MemoryDisk;
pub use memory_locks::{MemoryHolder, MemoryLocks};
#[cfg(target_os = "linux")]
pub use os::RealDisk;
pub use place::PreparedPlace;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Map, RealDisk, reserved_bytes, set_reserved_bytes_max};
