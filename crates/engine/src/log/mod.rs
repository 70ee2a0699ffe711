//! The write-ahead log: commits are written here first, in the files `name.ful-log.N` beside the database.
//!
//! [`Log`] writes, [`read_back()`] reads after a crash, [`Feed`] reads beside writers. A log is a sequence of
//! *segments* with rising numbers; each is a header and then records, one or several per commit, chained by their
//! checksums (`docs/reference/file-format.md`, "Log").
//!
//! Invariants:
//! (1) Commits are in the order of their sequences, without gaps, across segments.
//! (2) A segment's header and name are durable before its first record is written; and if its file was another
//!     segment before, the header before the name.
//! (3) `synced_up_to` of a record is true: those commits were durable, in the log or in a checkpoint, when it was
//!     written.
//! (4) A commit whose write was reported as failed is never replayed. If the log was poisoned instead, no failure was
//!     reported: the outcome of the commit is in doubt, and it may be replayed.
//! (5) A segment is removed or reused only when a durable checkpoint holds all of its commits; and the meta names the
//!     first segment that is needed.
//! (6) Each segment has its own random salt: earlier records of a reused file are never taken for records of the new
//!     segment.
//!
//! What recovery does, when all commits up to L were read and the next record is expected:
//!
//! | found | meaning | done |
//! |---|---|---|
//! | the next record, intact | – | its commit is replayed |
//! | end of the file, zeros, a damaged, unchained or older segment's record | the tail of a crash, or damage | see below for both |
//! | … and any later intact header with `synced_up_to` > L, in this or a later segment | commit L + 1 was durable | error |
//! | … and a later segment that begins with commit L + 1, chained | an earlier recovery ended at L | continues there |
//! | … and neither | the crash came before L + 1 was durable | the log ends at L |
//! | some parts of a commit, but not its last | the crash came during its write | as for a damaged record |
//! | an intact record that contradicts itself, or operations that do | not written by this engine | error |
//! | the first record of all is above the checkpoint's sequence + 1 | meta and log do not belong together | error |
//! | a segment with a damaged header and nothing but zeros after it | the crash came while it was made | skipped |
//! | a damaged header with anything after it, an older segment's records too | damage, by invariant (2) | error |
//! | a header of another database, or of another number | files were mixed up | error |
//! | a hole in the numbers, or the first segment missing | files were lost, or the newest meta was, by invariant (5) | error |
//! | segments below the first that the meta names, under any header of this database | left over, or kept | named for removal |
//! | a spare segment, under the name of none | it waited to be used again | not read; removed with the others |
//!
//! Segments that were read back may stay in memory, as [`Images`], in which operations are found again by their places.
//!
//! Replayed commits may be in the page cache only (after a kill), or no longer on the medium either (after a failed
//! sync). So the caller writes them into a checkpoint and syncs it before any reader sees them.

mod feed;
mod image;
mod read_back;
mod retention;
mod segment;
mod segment_reader;
#[cfg(test)]
mod tests;
mod writer;

pub use feed::{Feed, FeedSource, first_readable, segments_of};
pub use read_back::{Commit, Images, Keep, LogEnd, OperationPlace, ReplayFrom, read_back, read_back_keeping};
pub use retention::{Kept, Retention, SegmentPin};
pub use segment::segment_paths;
pub use writer::{Log, PendingSync, check_name};
