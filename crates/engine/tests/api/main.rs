//! Tests of the engine through what it makes public, a file for each subject: one program, which is built and linked once.

mod backups;
mod changes;
mod compaction;
mod edits;
mod estimates;
mod forgetting;
mod full_disk;
mod golden;
mod guards;
mod large_values;
mod meddling;
mod merge_functions;
mod merges;
mod merges_overtaken;
mod monitored;
mod opening;
mod overflows;
mod recovery;
mod renames;
mod small_disk;
mod smoke;
mod spilled;
mod stack;
mod tables;
mod transactions;
mod writers;
