//! Faults that the project's proofs plant, to show that they detect them.
//!
//! Without the feature `planted-faults`, which only the test kit enables, [`planted()`] is the constant `false`, and
//! [`give_way()`] and [`met()`] do nothing.

#[cfg(feature = "planted-faults")]
use std::cell::Cell;
#[cfg(feature = "planted-faults")]
use std::time::Duration;

#[cfg(feature = "planted-faults")]
use crate::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
#[cfg(feature = "planted-faults")]
pub use crate::sync::simulation;

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
    /// A transaction begins at the commit before the newest one that is visible.
    StaleSnapshot = 11,
    /// A commit becomes visible when it is inserted, though one before it is not.
    ShownBeforePredecessors = 12,
    /// A savepoint is returned to, and what came after it is not undone.
    RollbackIgnored = 13,
    /// A transaction at isolation `Snapshot` is not checked for the keys that it writes.
    WritesUnchecked = 14,
    /// A transaction is not checked against deltas that checkpoints have merged since it began.
    HistoryIgnored = 15,
    /// The results of merges stay those that were computed before the transaction had its number.
    MergeComputedTooEarly = 16,
    /// The filter of a run does not know one of its keys.
    StaleFilter = 17,
    /// A key that equals the bound between two ranges is looked for in the one before it.
    RangeBoundOffByOne = 18,
    /// Deletes in runs are dropped when these are merged into the tree.
    DeleteDropped = 19,
    /// A commit at level `Disk` returns before the log is flushed.
    NotFlushed = 20,
    /// A commit at level `Log` stays in the log's buffer.
    AcknowledgedUnwritten = 21,
    /// A segment of the log that is used again gets its new name before its new header is durable.
    SegmentNamedTooEarly = 22,
    /// A sync that failed is taken for one that has done its work.
    FailedSyncIgnored = 23,
    /// Runs are published before their extents are durable.
    RunsUnsynced = 24,
    /// A checkpoint is published before the log that is kept is durable.
    KeptLogUnsynced = 25,
    /// A bulk load may be durable before its note in the log that is kept.
    LoadBeforeNote = 26,
    /// A tree into which the runs of a range were merged is published before its extents are durable.
    RangeMergeUnsynced = 27,
    /// What a transaction has spilled is published before its extents are durable.
    SpilledUnsynced = 28,
    /// Of what a transaction has spilled, what was rolled back counts like the rest.
    SpilledRollbackIgnored = 29,
    /// The run of a counted table does not say of a key that it is new.
    NewKeyUncounted = 30,
    /// Nobody looks whether the file and its log still have their names.
    MovedFilesUnnoticed = 31,
    /// The file does not say that it has a log before a checkpoint does.
    LogUnannounced = 32,
    /// The data file is not locked, only its name.
    FileUnlocked = 33,
    /// A reader does not say what it reads.
    ReaderUnannounced = 34,
    /// A child made by `fork` takes what it inherited for its own.
    ForkUnnoticed = 35,
}

impl Fault {
    /// The faults that power cuts must reveal.
    pub const OF_POWER_CUTS: [Self; 14] = [
        Self::NoSyncBeforeMeta,
        Self::MetaBeforeData,
        Self::LogPastBadRecord,
        Self::SpaceReusedTooEarly,
        Self::TornMetaUnchecked,
        Self::NoDirectorySync,
        Self::NotFlushed,
        Self::AcknowledgedUnwritten,
        Self::SegmentNamedTooEarly,
        Self::KeptLogUnsynced,
        Self::LoadBeforeNote,
        Self::RunsUnsynced,
        Self::RangeMergeUnsynced,
        Self::SpilledUnsynced,
    ];

    /// The faults that random use, compared with a model, must reveal.
    pub const OF_MODEL: [Self; 6] = [
        Self::RangeOffByOne,
        Self::StaleFilter,
        Self::RangeBoundOffByOne,
        Self::DeleteDropped,
        Self::SpilledRollbackIgnored,
        Self::NewKeyUncounted,
    ];

    /// The faults that simulated work in the background must reveal.
    pub const OF_SIMULATION: [Self; 10] = [
        Self::NoSyncBeforeMeta,
        Self::SpaceReusedTooEarly,
        Self::RangeOffByOne,
        Self::HistoryIgnored,
        Self::StaleFilter,
        Self::RangeBoundOffByOne,
        Self::DeleteDropped,
        Self::AcknowledgedUnwritten,
        Self::RunsUnsynced,
        Self::RangeMergeUnsynced,
    ];

    /// The faults that recorded runs of many threads must reveal.
    pub const OF_ISOLATION: [Self; 9] = [
        Self::ReadsUnchecked,
        Self::RangesUnchecked,
        Self::GapUnchecked,
        Self::StaleSnapshot,
        Self::ShownBeforePredecessors,
        Self::RollbackIgnored,
        Self::WritesUnchecked,
        Self::HistoryIgnored,
        Self::MergeComputedTooEarly,
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

/// Stands where two threads must not be in each other's way: proofs have others come in between here, by chance.
#[cfg(not(feature = "planted-faults"))]
#[inline(always)]
pub const fn give_way() {}

/// Stands where two threads must not be in each other's way: proofs have others come in between here, by chance.
#[cfg(feature = "planted-faults")]
pub fn give_way() {
    simulation::step();
    // Relaxed: it orders nothing.
    let chance = GIVING_WAY.load(Ordering::Relaxed);
    if chance == 0 {
        return;
    }
    let drawn = DRAWN.get();
    // A xorshift, which each thread seeds by an address of its memory.
    let mut next = if drawn == 0 { std::ptr::from_ref(&chance) as u64 | 1 } else { drawn };
    next ^= next << 13;
    next ^= next >> 7;
    next ^= next << 17;
    DRAWN.set(next);
    if (next >> 40) as u32 % 1000 < chance {
        match (next >> 32) % 256 {
            // As if another program had got the processor: many commits pass.
            0 => std::thread::sleep(Duration::from_micros((next >> 20) % SLEEP_MAX_US)),
            // Another thread may have the other processor to itself: then yielding lets no time pass.
            1..128 => (0..(next >> 20) % SPINS_MAX).for_each(|_| std::hint::spin_loop()),
            _ => std::thread::yield_now(),
        }
    }
}

/// Has threads give way in so many of a thousand places that they pass, from now on.
#[cfg(feature = "planted-faults")]
pub fn set_giving_way(per_thousand: u32) {
    GIVING_WAY.store(per_thousand, Ordering::Relaxed);
}

#[cfg(feature = "planted-faults")]
static GIVING_WAY: AtomicU32 = AtomicU32::new(0);

#[cfg(feature = "planted-faults")]
thread_local! {
    /// The last number that this thread has drawn.
    static DRAWN: Cell<u64> = const { Cell::new(0) };
}

/// The time of a hundred commits.
#[cfg(feature = "planted-faults")]
const SLEEP_MAX_US: u64 = 5000;
/// Some microseconds, as a commit takes.
#[cfg(feature = "planted-faults")]
const SPINS_MAX: u64 = 400;

/// A situation of work in the background that proofs must have met, or they would prove nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Situation {
    /// Deltas were frozen.
    Rotated,
    /// A flush brought a delta into the tree alone.
    FlushedIntoTree,
    /// A flush made runs.
    FlushedIntoRuns,
    /// A flush made runs of some ranges, and merged others at once.
    FlushedIntoBoth,
    /// Ranges without runs were divided again.
    RangesCutAgain,
    /// A range was merged because it was full.
    MergedFull,
    /// A range was merged because that was owed for runs that had come.
    MergedOwed,
    /// A range was merged because it had many runs.
    MergedWorthwhile,
    /// A range was merged because nothing else was to do.
    MergedEverything,
    /// Ranges of several tables were merged together.
    MergedTogether,
    /// A merge of ranges failed.
    MergeFailed,
    /// A merge of ranges succeeded after one of them had failed.
    MergedAgain,
    /// A checkpoint failed whose deltas stay frozen.
    CheckpointFailed,
    /// Deltas were merged into the trees after a checkpoint of them had failed.
    CheckpointedAgain,
    /// A commit waited for a flush.
    CommitStalled,
    /// A commit was slowed down.
    CommitSlowed,
    /// A checkpoint was begun because the disk had no room left.
    RoomWanted,
    /// The log was written behind.
    WroteBehind,
    /// The file was truncated.
    FileCut,
    /// The file was made as small as it gets.
    Compacted,
    /// Recovery put what it replayed above runs.
    ReplayedAboveRuns,
}

impl Situation {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Rotated,
        Self::FlushedIntoTree,
        Self::FlushedIntoRuns,
        Self::FlushedIntoBoth,
        Self::RangesCutAgain,
        Self::MergedFull,
        Self::MergedOwed,
        Self::MergedWorthwhile,
        Self::MergedEverything,
        Self::MergedTogether,
        Self::MergeFailed,
        Self::MergedAgain,
        Self::CheckpointFailed,
        Self::CheckpointedAgain,
        Self::CommitStalled,
        Self::CommitSlowed,
        Self::RoomWanted,
        Self::WroteBehind,
        Self::FileCut,
        Self::Compacted,
        Self::ReplayedAboveRuns,
    ];
}

/// Notes that a situation was met.
#[cfg(not(feature = "planted-faults"))]
#[inline(always)]
pub const fn met(_: Situation) {}

/// Notes that a situation was met.
#[cfg(feature = "planted-faults")]
pub fn met(situation: Situation) {
    // Relaxed: a count orders nothing.
    MET[situation as usize].fetch_add(1, Ordering::Relaxed);
}

/// How often a situation was met in this process.
#[cfg(feature = "planted-faults")]
pub fn times_met(situation: Situation) -> u64 {
    MET[situation as usize].load(Ordering::Relaxed)
}

#[cfg(feature = "planted-faults")]
static MET: [AtomicU64; Situation::ALL.len()] = [const { AtomicU64::new(0) }; Situation::ALL.len()];
