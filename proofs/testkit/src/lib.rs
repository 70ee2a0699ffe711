//! Disks that crash, models and seeded workloads for Fulgurite's own tests.

pub mod arguments;
mod content;
pub mod crash;
mod crash_disk;
mod crash_images;
mod crash_recording;
pub mod cuts;
mod disk_contract;
mod fault;
mod fault_disk;
pub mod faults;
pub mod golden;
pub mod holdings;
pub mod hostile;
pub mod isolation;
#[cfg(target_os = "linux")]
pub mod kernel;
#[cfg(target_os = "linux")]
pub mod kill;
mod merge_function;
pub mod model;
pub mod panics;
mod random;
pub mod simulate;
pub mod soak;

pub use crash_disk::CrashDisk;
pub use crash_images::{CrashImage, ImageId, Images, Kinds};
pub use crash_recording::{FileNumber, Mark, Operation, Recording};
pub use disk_contract::check_disk_contract;
pub use fault::{Call, FailedCall, Fault, FaultError, Persistence, Unsynced};
pub use fault_disk::FaultDisk;
pub use random::{Random, drawn_seed};
