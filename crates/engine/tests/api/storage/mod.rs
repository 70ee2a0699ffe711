//! The files of a database: opening, recovery, checkpoints, compaction, backups, images.

mod backups;
mod compaction;
mod discarding;
mod golden;
mod images;
mod loads;
mod monitored;
mod names;
mod opening;
mod read_only;
mod recovery;
mod salvage;
mod stack;
mod waiting;
