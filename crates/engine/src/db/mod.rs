//! The database: opening, recovery, the catalog, checkpoints, bulk loads, and what users hold of all that.

mod backup;
mod bulk;
mod changes;
mod check;
mod checkpoint;
mod close;
mod compact;
mod database;
mod incoming;
mod merging;
mod metas;
mod multimap;
mod newest_meta;
mod open;
mod pace;
mod presence;
mod recover;
mod registry;
mod replayed;
mod roots;
mod stacking;
mod stats;
mod stored;
mod tables;
#[cfg(test)]
mod tests;
mod typed;
mod worker;

pub use bulk::{BulkLoad, LoadSummary};
pub use changes::{Change, ChangedTable, Changes, Commit};
pub use check::{CheckReport, Damage};
pub use close::CloseOutcome;
pub use database::{Database, UPDATE_ATTEMPTS};
pub use multimap::{MultimapTable, Pairs, Values};
pub use stats::{Stats, TableStats};
pub use typed::{TypedRange, TypedTable};
