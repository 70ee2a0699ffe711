//! Disks that tests control: one that is small, and one with hooks in its syncs and writes.

pub mod hooked_disk;
pub mod small_disk;
