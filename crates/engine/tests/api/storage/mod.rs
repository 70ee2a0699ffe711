//! The files of a database: opening, recovery, checkpoints, compaction, backups.

mod backups;
mod compaction;
mod golden;
mod monitored;
mod opening;
mod recovery;
mod stack;
