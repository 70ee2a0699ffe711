//! [`Snapshot::check`]: the steps of a check, and what they share.

use std::collections::HashMap;

use fulgurite::{ReadTxn, Table};

use crate::error::Result;
use crate::ids::{Position, StreamId, Version};
use crate::layout::parts::Part;
use crate::layout::tables::Tables;
use crate::reading::check::report::{Defect, StoreReport};
use crate::reading::locate;
use crate::reading::snapshot::Snapshot;

/// A check that runs.
pub struct Checker<'s> {
    pub(super) txn: &'s ReadTxn,
    pub(super) tables: &'s Tables,
    /// How many types there are.
    pub(super) types: usize,
    /// The first position that retention has kept. Chunks below it have no events that count, and indexes need not
    /// name them.
    pub(super) start: Position,
    /// The position after the last event of the log.
    pub(super) log_end: Position,
    /// The ends of streams, as the log has them.
    pub(super) ends: HashMap<StreamId, End>,
    /// The parts of blocks.
    pub(super) in_blocks: HashMap<StreamId, Vec<Part>>,
    /// How many parts of the index have events of the log.
    pub(super) parts_matched: u64,
    pub(super) report: StoreReport,
}

/// The end of a stream in the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// The version after the last event.
    pub version: Version,
    /// Whether the last event is not below the start of the log: no later one was removed then.
    pub is_kept: bool,
}

impl Snapshot {
    /// Compares the log with the indexes of streams, types and tags, and streams with their names. Finds entries that
    /// are missing or malformed, or that contradict the log. It also finds that the log has lost its last events, if an
    /// index or a consumer still shows them. [`Database::check`](fulgurite::Database::check) finds
    /// damaged bytes by their checksums.
    ///
    /// It reads the whole log, and looks up every part of a stream in the index. For each stream it takes about 50
    /// bytes of memory.
    ///
    /// ```
    /// # use fulgurite_events::{EventData, EventStore, Expected};
    /// # fn main() -> fulgurite_events::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// let store = EventStore::create(directory.path().join("a.ful"))?;
    /// store.append("a", Expected::Any, &[EventData::new("counted", b"1")])?;
    /// let report = store.snapshot()?.check()?;
    /// assert!(report.is_sound());
    /// assert_eq!((report.events, report.streams), (1, 1));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Only what prevents the check: errors of the disk, damaged pages, a start of the log that is malformed. Other
    /// damage is part of the report.
    pub fn check(&self) -> Result<StoreReport> {
        check(self.txn(), self.tables(), self.event_types().len())
    }
}

/// As [`Snapshot::check`], of a store that need not be open and has `types` types.
///
/// # Errors
/// As there.
pub fn check(txn: &ReadTxn, tables: &Tables, types: usize) -> Result<StoreReport> {
    let mut checker = Checker {
        txn,
        tables,
        types,
        start: locate::start_of_log(txn, tables)?,
        log_end: Position::START,
        ends: HashMap::new(),
        in_blocks: HashMap::new(),
        parts_matched: 0,
        report: StoreReport::default(),
    };
    checker.read_blocks()?;
    checker.check_log()?;
    checker.check_index()?;
    checker.check_lanes()?;
    checker.check_streams()?;
    checker.check_names()?;
    checker.check_consumers_and_states()?;
    Ok(checker.report)
}

impl Checker<'_> {
    /// Notes damage of a table that is not derived from others.
    pub(super) fn lost(&mut self, table: &Table, place: String, what: &'static str) {
        self.report.add(Defect { table: table.name().to_owned(), place, what, is_in_index: false });
    }

    /// Notes damage of an index.
    pub(super) fn in_index(&mut self, table: &Table, place: String, what: &'static str) {
        self.report.add(Defect { table: table.name().to_owned(), place, what, is_in_index: true });
    }

    /// The end of a stream, if the log has its last event.
    pub(super) fn kept_end(&self, stream: StreamId) -> Option<Version> {
        self.ends.get(&stream).filter(|end| end.is_kept).map(|end| end.version)
    }
}

/// A key of a table, for a place in words.
pub(super) fn key_in_words(key: &[u8]) -> String {
    let digits: String = key.iter().take(KEY_BYTES_SHOWN).map(|byte| format!("{byte:02x}")).collect();
    format!("key {digits}{}", if key.len() > KEY_BYTES_SHOWN { "…" } else { "" })
}

/// As much as fits a line.
const KEY_BYTES_SHOWN: usize = 32;
