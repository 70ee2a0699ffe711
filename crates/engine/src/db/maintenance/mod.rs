//! Maintenance of a database: backups, images, checks, statistics and compaction.

pub mod backup;
pub mod check;
pub mod compact;
pub mod image;
pub mod stats;
