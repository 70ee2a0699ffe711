//! What administrators do with a database: backups, checks, statistics and compaction.

pub mod backup;
pub mod check;
pub mod compact;
pub mod stats;
