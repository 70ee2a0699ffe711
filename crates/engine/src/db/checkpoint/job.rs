//! What a checkpoint does beside flushing the frozen deltas: one [`Job`], and all that depends on which it is.

use std::any::Any;

use crate::db::checkpoint::new_trees::NewTrees;
use crate::db::checkpoint::table_trees::Mergeable;
use crate::db::recovery::replayed::Replayed;
use crate::error::Result;
use crate::ids::{Sequence, TableId};
use crate::monitor::Phase;
use crate::pager::{Moving, Need, Operation, PageWriter, Pages, Space};
use crate::sync::Mutex;
use crate::tree::{MergeOutcome, Root};
use crate::txn::commit::core::{Core, Writer};
use crate::txn::commit::note::Note;
use crate::txn::commit::spilled_proposal::SpilledProposal;

/// What a checkpoint does beside flushing the frozen deltas.
pub enum Job<'j> {
    /// Nothing.
    Flush,
    /// Merges what recovery read back.
    Replay(Replayed),
    /// Merges sorted streams into tables.
    Load(LoadJob<'j>),
    /// Moves the pages in a part of the file to free pages elsewhere.
    Move(Moving),
    /// Flushes the changes of a transaction that has spilled.
    CommitSpilled(&'j SpilledProposal<'j>),
    /// Merges the runs of ranges, no two of one table.
    MergeRanges { ranges: Vec<Mergeable>, need: Need },
}

/// The runs to merge before a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsBefore<'j> {
    /// None.
    None,
    /// All runs of these tables.
    OfTables(&'j [TableId]),
    /// Those above ranges that have so many that none should be added.
    Full,
}

/// What is shown with the new trees.
#[derive(Clone, Copy)]
pub enum Shown<'j> {
    /// Everything that was committed until the deltas were rotated.
    Rotated,
    /// Nothing else. Commits may go on meanwhile.
    Merged,
    /// What was loaded into tables, and the commit of its note. The active deltas are empty: the caller is the only
    /// writer.
    Loaded { tables: &'j [TableId], note: Option<Sequence> },
    /// As [`Shown::Loaded`], the changes of a transaction that has spilled, its schema changes and its number.
    Spilled(&'j SpilledProposal<'j>),
}

impl<'j> Job<'j> {
    /// What it takes space for. A checkpoint that only flushes frees the log, so it may take all the space there is.
    pub fn need(&self) -> Need {
        match self {
            Self::Flush | Self::Replay(_) => Need::Rescue,
            Self::Load(_) => Need::Addition,
            Self::Move(_) | Self::CommitSpilled(_) => Need::Upkeep,
            Self::MergeRanges { need, .. } => *need,
        }
    }

    /// The phase in which a monitor can stop it. It cannot be stopped while other threads wait for it: it has the
    /// only turn to write.
    pub fn stoppable(&self) -> Option<Phase> {
        match self {
            Self::Flush => Some(Phase::Flushing),
            Self::MergeRanges { .. } => Some(Phase::Merging),
            Self::Move(_) => Some(Phase::Moving),
            Self::Replay(_) | Self::Load(_) | Self::CommitSpilled(_) => None,
        }
    }

    /// The runs to merge before it.
    pub fn runs_before(&self) -> RunsBefore<'j> {
        match self {
            // What is loaded is newer than any run, and becomes part of the tree.
            Self::Load(load) => RunsBefore::OfTables(load.tables),
            // It may add a run to each range.
            Self::CommitSpilled(_) => RunsBefore::Full,
            Self::Flush | Self::Replay(_) | Self::Move(_) | Self::MergeRanges { .. } => RunsBefore::None,
        }
    }

    /// Whether its caller asked for it. Then it has succeeded once its meta is durable, even if no space can be freed
    /// afterwards.
    pub fn is_asked_for(&self) -> bool {
        match self {
            Self::Load(_) | Self::CommitSpilled(_) | Self::Move(_) | Self::MergeRanges { .. } => true,
            Self::Flush | Self::Replay(_) => false,
        }
    }

    /// Whether it may leave runs above trees, without counting what flushing the deltas leaves.
    pub fn makes_runs(&self) -> bool {
        matches!(self, Self::CommitSpilled(_))
    }

    /// Notes durably in the log what it is about to change, if the log is to say so. The note is visible when it is
    /// dropped. Requires: the caller is the only writer.
    ///
    /// # Errors
    /// What the disk reports.
    pub fn note<'c>(&mut self, core: &'c Core, writer: &Writer) -> Result<Option<Note<'c>>> {
        match self {
            Self::Load(load) if writer.retention.keeps() => {
                let note = core.note_loads(writer, load.tables)?;
                load.note = Some(note.sequence());
                Ok(Some(note))
            }
            Self::CommitSpilled(proposal) => {
                let note = core.note_loads(writer, &proposal.noted_tables())?;
                proposal.note(note.sequence());
                Ok(Some(note))
            }
            Self::Flush | Self::Load(_) | Self::Replay(_) | Self::Move(_) | Self::MergeRanges { .. } => Ok(None),
        }
    }

    /// What is shown with its trees, unless deltas were flushed too.
    pub fn shown(&self) -> Shown<'j> {
        match self {
            Self::Load(load) => Shown::Loaded { tables: load.tables, note: load.note },
            Self::CommitSpilled(proposal) => Shown::Spilled(proposal),
            Self::Flush | Self::Replay(_) | Self::Move(_) | Self::MergeRanges { .. } => Shown::Merged,
        }
    }

    /// Creates, drops and renames tables as it does.
    pub fn change_tables(&self, trees: &mut NewTrees<'_, '_>) {
        if let Self::CommitSpilled(proposal) = self {
            trees.change_tables(proposal);
        }
    }

    /// Changes the trees.
    ///
    /// # Errors
    /// Damage on the way, what the disk reports, and errors of what is loaded.
    pub fn apply(&mut self, trees: &mut NewTrees<'_, '_>) -> Result<()> {
        match self {
            Self::Flush => Ok(()),
            Self::CommitSpilled(proposal) => trees.flush_spilled(proposal),
            Self::Replay(replayed) => trees.flush_replayed(replayed),
            Self::Load(LoadJob { tables, sources, .. }) => {
                let mut loads = tables.iter().zip(sources.iter_mut());
                loads.try_for_each(|(id, source)| {
                    trees.replace_base(*id, |pages, root, writer| source.merge(pages, root, writer))
                })
            }
            Self::Move(moving) => trees.move_pages(*moving),
            Self::MergeRanges { ranges, .. } => trees.merge_ranges(ranges),
        }
    }

    /// Decides for each large value that it committed whether a tree has it now.
    pub fn settle_large(&self, space: &Mutex<Space>, operation: &mut Operation) {
        match self {
            Self::Replay(replayed) => replayed.settle_large(&mut space.lock(), operation),
            Self::CommitSpilled(proposal) => {
                let mut space = space.lock();
                proposal.kept().into_iter().for_each(|extent| space.adopt_logged(operation, extent));
            }
            Self::Flush | Self::Load(_) | Self::Move(_) | Self::MergeRanges { .. } => {}
        }
    }
}

/// A load into tables, no two of them the same.
pub struct LoadJob<'j> {
    /// The tables of the sources, in their order.
    tables: &'j [TableId],
    sources: Vec<&'j mut dyn LoadSource>,
    /// The commit of its note in a log that is kept: visible with the load, and not before.
    note: Option<Sequence>,
}

impl<'j> LoadJob<'j> {
    /// Requires: as many sources as tables, and no table twice.
    pub fn new(tables: &'j [TableId], sources: Vec<&'j mut dyn LoadSource>) -> Self {
        assert_eq!(tables.len(), sources.len());
        Self { tables, sources, note: None }
    }
}

/// A sorted stream to load, whose concrete type only its maker knows.
pub trait LoadSource {
    /// Merges the stream into the tree at `root`.
    ///
    /// # Errors
    /// The stream's own, and the merge's. An error too if the stream panics, as the caller holds locks.
    fn merge(&mut self, pages: &Pages, root: Option<&Root>, writer: &mut PageWriter<'_>) -> Result<Option<Root>>;

    /// What the merge inserted and replaced.
    fn outcome(&self) -> MergeOutcome;

    /// What the stream panicked with, if it did.
    fn take_panic(&mut self) -> Option<Box<dyn Any + Send>>;
}
