//! The database: opening, recovery, the catalog, checkpoints, bulk loads, and what users hold of all that.
//!
//! Rooms, lowest first; a room imports only from those above it in this list, and tidy enforces that:
//!
//! 1. [`storage`]: what of a database is on disk beside its trees: metas, the catalog, the locks, the file itself.
//! 2. [`recovery`]: the log above the newest checkpoint, in a form that can be merged or shown.
//! 3. [`checkpoint`]: how commits come into the trees, and how a new meta makes that durable.
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
