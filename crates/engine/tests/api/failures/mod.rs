//! Disks that are full, and disks whose syncs fail.

mod failed_sync;
mod full_disk;
