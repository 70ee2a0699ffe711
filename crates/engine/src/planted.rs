//! Faults that the project's own proofs plant, to show that they would be found.
//!
//! Without the feature `planted-faults`, which nothing but the test kit enables, [`planted()`] is the constant `false`.

#[cfg(feature = "planted-faults")]
use crate::sync::atomic::{AtomicU8, Ordering};

/// One way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// The data file is not synced before the meta that refers to it is written.
    NoSyncBeforeMeta = 1,
    /// A meta that says that commits are in the trees is written before the trees are.
    MetaBeforeData = 2,
    /// Recovery goes on past a record whose checksum is wrong.
    LogPastBadRecord = 3,
    /// Space is reused before the checkpoint that freed it is durable.
    SpaceReusedTooEarly = 4,
    /// A meta is believed without its checksum.
    TornMetaUnchecked = 5,
    /// The directory is not synced after a file was created in it.
    NoDirectorySync = 6,
    /// A range includes its excluded end.
    RangeOffByOne = 7,
    /// A transaction is not checked for the keys that it read.
    ReadsUnchecked = 8,
    /// A transaction is not checked for the ranges that it read.
    RangesUnchecked = 9,
    /// A transaction is not checked for commits that came between its check and its number.
    GapUnchecked = 10,
    /// A commit at level `Disk` returns before the log is flushed.
    NotFlushed = 20,
    /// A commit at level `Log` stays in the log's buffer.
    AcknowledgedUnwritten = 21,
}

impl Fault {
    /// The faults that power cuts must reveal.
    pub const OF_POWER_CUTS: [Self; 8] = [
        Self::NoSyncBeforeMeta,
        Self::MetaBeforeData,
        Self::LogPastBadRecord,
        Self::SpaceReusedTooEarly,
        Self::TornMetaUnchecked,
        Self::NoDirectorySync,
        Self::NotFlushed,
        Self::AcknowledgedUnwritten,
    ];
}

/// Whether `fault` is planted now.
#[cfg(not(feature = "planted-faults"))]
#[inline(always)]
pub const fn planted(_: Fault) -> bool {
    false
}

/// Whether `fault` is planted now.
#[cfg(feature = "planted-faults")]
pub fn planted(fault: Fault) -> bool {
    // Relaxed: the proofs plant before they start what should be wrong.
    PLANTED.load(Ordering::Relaxed) == fault as u8
}

/// Plants a fault in the whole process, or none.
#[cfg(feature = "planted-faults")]
pub fn plant(fault: Option<Fault>) {
    PLANTED.store(fault.map_or(0, |fault| fault as u8), Ordering::Relaxed);
}

#[cfg(feature = "planted-faults")]
static PLANTED: AtomicU8 = AtomicU8::new(0);
