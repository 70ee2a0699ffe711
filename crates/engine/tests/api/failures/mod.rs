//! Disks that are full, disks whose syncs fail, and logs that lose parts while they are read.

mod failed_sync;
mod feeds;
mod full_disk;
mod full_recovery;
