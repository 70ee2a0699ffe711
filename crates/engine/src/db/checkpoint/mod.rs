//! Checkpoints: how commits are merged into the trees, and how a new meta makes this durable.
//!
//! ```text
//! run ── rotate ── new trees ── finish pages ── publish ── after the checkpoint
//!                  │                            │          └ remove log segments, free what no snapshot reads
//!                  ├ flush the frozen deltas     └ sync, meta, sync, show the new state
//!                  ├ the job, if there is one
//!                  └ catalog
//! ```
//!
//! [`run`] has the steps, [`flush`] the choice between runs and a merge, [`job`] the work of a checkpoint besides
//! flushing.

pub mod checkpointer;
pub mod compact;
pub mod flush;
pub mod flush_source;
pub mod job;
pub mod merge_runs;
pub mod new_trees;
pub mod newest_meta;
pub mod publish;
pub mod reclaim;
pub mod run;
pub mod spilled_source;
pub mod table_trees;
