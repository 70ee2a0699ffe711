//! The database: opening, recovery, the catalog, checkpoints, bulk loads, and the handles of users.
//!
//! Submodules, lowest first. Each imports only from those above it in this list, which tidy enforces:
//!
//! 1. [`storage`]: the parts on disk except trees and log: metas, the catalog, the locks, the file itself.
//! 2. [`recovery`]: the commits in the log since the newest checkpoint, to be merged or read.
//! 3. [`checkpoint`]: how commits are merged into the trees, and how a new meta makes this durable.
//! 4. [`background`]: the thread that checkpoints and merges runs, and how commits wake it and wait for it.
//! 5. [`handle`]: opening and closing a database, and the handle of users.
//! 6. [`access`]: typed tables, multimaps, bulk loads and the change feed.
//! 7. [`maintenance`]: backups, images, checks, statistics and compaction.

mod access;
mod background;
mod checkpoint;
mod handle;
mod maintenance;
mod recovery;
mod storage;
#[cfg(test)]
mod tests;

pub use access::bulk_load::{BulkLoad, LoadSummary};
pub use access::change_feed::{Change, ChangedTable, Changes, Commit};
pub use access::multimap::{MultimapTable, Pairs, Values};
pub use access::typed::{TypedRange, TypedTable};
pub use handle::database::{Database, UPDATE_ATTEMPTS};
pub use handle::inner::CloseOutcome;
pub use maintenance::check::{CheckReport, Damage};
pub use maintenance::image::ImageOptions;
pub use maintenance::stats::{MapMemory, Stats, TableStats};
