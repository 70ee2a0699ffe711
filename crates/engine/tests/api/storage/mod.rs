//! The files of a database: opening, recovery, checkpoints, compaction, backups, images.

mod backups;
mod compaction;
mod discarding;
mod golden;
mod images;
mod monitored;
mod opening;
mod recovery;
mod stack;
