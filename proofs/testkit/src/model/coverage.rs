//! Which calls of the API a run has made, and in which situations, so that one that never came up fails the run.

use std::fmt;

/// Counts of calls and of situations by kind.
#[derive(Clone, Debug)]
pub struct Coverage {
    calls: [u64; Call::ALL.len()],
    situations: [u64; Situation::ALL.len()],
}

macro_rules! kinds {
    ($(#[$doc:meta])* $kind:ident { $($name:ident => $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {
            $(#[doc = $text] $name,)*
        }

        impl $kind {
            /// Every one.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name in the report; of a call that in the public API.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

kinds! {
    /// What a run must have met beside the calls: runs above the trees, and all that may become of them; and
    /// transactions that have spilled.
    Situation {
    ReadOverRuns => "reads of a table with runs",
    ReadOverDeepRuns => "reads of a table with runs 4 deep",
    ReadOverManyRuns => "reads of a table with 16 runs or more",
    ReadOwnOverRuns => "reads of own changes above runs",
    WriteOverRuns => "write transactions above runs",
    TypedReadOverRuns => "reads of typed tables with runs",
    SnapshotOverRuns => "reads of a kept snapshot with runs",
    SnapshotOverMerge => "of one whose runs were merged since",
    RunsMade => "runs made",
    DeletesInRuns => "runs made of deletes too",
    LongKeysInRuns => "runs made of long keys too",
    LargeValuesInRuns => "runs made of values over a page too",
    RunsMerged => "runs merged into the tree",
    RunsMergedInPart => "of one range, others left",
    RunsInBackground => "runs made with a thread behind",
    RunsMergedInBackground => "runs merged with a thread behind",
    BulkLoadOverRuns => "bulk loads into a table with runs",
    CompactOverRuns => "compactions with runs",
    DropTableWithRuns => "tables with runs dropped",
    CheckWithRuns => "checks with runs",
    CloseWithRuns => "opened with runs after a close",
    RecoverWithRuns => "recovered with runs",
    RecoverIntoRuns => "recovered a log into runs",
    ReadOnlyWithRuns => "opened read-only with runs",
    ReadOwnSpilled => "reads of own changes that were spilled",
    RollbackOverSpill => "returns to savepoints after a spill",
    SpilledTwice => "transactions that spilled several times",
    AbortSpilled => "spilled and dropped",
    CloseWithoutTime => "closed before all was merged",
    CommitSpilled => "spilled and committed",
    CommitSpilledOverRuns => "spilled and committed above runs",
    CommitSpilledMerges => "spilled in a table that merges",
    TypedSpilled => "typed changes spilled",
    }
}

kinds! {
    /// A call of the public API that the model test makes.
    Call {
    Get => "get",
    ContainsKey => "contains_key",
    GetMany => "get_many",
    First => "first",
    Last => "last",
    Range => "range",
    RangeReverse => "range.rev",
    RangeBothEnds => "range from both ends",
    Prefix => "prefix",
    OwnedRange => "owned_range",
    LeafBatches => "leaf_batches",
    KeyBatches => "key_batches",
    PrefixKeys => "prefix_keys",
    CursorSeek => "cursor.seek",
    CursorWalk => "cursor.next/previous",
    Count => "count",
    EstimateCount => "estimate_count",
    Len => "len",
    IsEmpty => "is_empty",
    Tables => "tables",
    OpenTable => "open_table",
    Put => "put",
    Reserve => "reserve",
    Modify => "modify",
    TryModify => "try_modify",
    Insert => "insert",
    Merge => "merge",
    MergeByFunction => "merge by a function",
    CompareAndSet => "compare_and_set",
    Delete => "delete",
    DeleteRange => "delete_range",
    Replace => "replace",
    Remove => "remove",
    Retain => "retain",
    RetainIn => "retain_in",
    ExtractIf => "extract_if",
    ExtractFromIf => "extract_from_if",
    PopFirst => "pop_first",
    PopFirstIn => "pop_first_in",
    PopLast => "pop_last",
    PopLastIn => "pop_last_in",
    CursorMutSeek => "cursor_mut.seek",
    CursorMutWalk => "cursor_mut.next/previous",
    CursorMutDelete => "cursor_mut.delete_current",
    CursorMutPut => "cursor_mut.put_current",
    Savepoint => "savepoint",
    RollbackTo => "rollback_to",
    ReadOwnWrites => "reads within a write transaction",
    Abort => "abort",
    CommitMemory => "commit_with(Memory)",
    CommitLog => "commit_with(Log)",
    CommitDisk => "commit_with(Disk)",
    CreateTable => "create_table",
    DropTable => "drop_table",
    RenameTable => "rename_table",
    Snapshot => "read (kept over commits)",
    Sync => "sync",
    Checkpoint => "checkpoint",
    Compact => "compact",
    BackupTo => "backup_to",
    BackupSnapshotTo => "backup_snapshot_to",
    CloseWith => "close_with",
    BulkLoad => "bulk_load",
    BulkLoadUnsorted => "bulk_load_unsorted",
    TypedTable => "typed_table",
    TypedTableWith => "typed_table_with",
    TypedNew => "TypedTable::new",
    TypedAsBytes => "TypedTable::as_bytes",
    TypedGet => "TypedTable::get",
    TypedGetBytes => "TypedTable::get_bytes",
    TypedIter => "TypedTable::iter",
    TypedRange => "TypedTable::range",
    TypedPrefix => "TypedTable::prefix",
    TypedCount => "TypedTable::count",
    TypedPut => "TypedTable::put",
    TypedInsert => "TypedTable::insert",
    TypedMerge => "TypedTable::merge",
    TypedMergeBytes => "TypedTable::merge_bytes",
    TypedDelete => "TypedTable::delete",
    TypedReplace => "TypedTable::replace",
    TypedRemove => "TypedTable::remove",
    TypedPopFirst => "TypedTable::pop_first",
    TypedPopLast => "TypedTable::pop_last",
    TypedRetain => "TypedTable::retain",
    TypedRetainIn => "TypedTable::retain_in",
    MultimapTable => "multimap_table",
    MultimapNew => "MultimapTable::new",
    MultimapAsBytes => "MultimapTable::as_bytes",
    MultimapGet => "MultimapTable::get",
    MultimapContains => "MultimapTable::contains",
    MultimapCount => "MultimapTable::count",
    MultimapIter => "MultimapTable::iter",
    MultimapPrefix => "MultimapTable::prefix",
    MultimapInsert => "MultimapTable::insert",
    MultimapRemove => "MultimapTable::remove",
    MultimapRemoveAll => "MultimapTable::remove_all",
    MultimapRetain => "MultimapTable::retain",
    MultimapPopFirst => "MultimapTable::pop_first",
    MultimapPopLast => "MultimapTable::pop_last",
    MultimapEntry => "MultimapTable::entry",
    Changes => "changes",
    WaitDurable => "wait_durable",
    Check => "check",
    Stats => "stats",
    Close => "close and open",
    Recover => "drop and recover",
    ReadOnly => "open read-only",
    }
}

impl Default for Coverage {
    fn default() -> Self {
        Self { calls: [0; Call::ALL.len()], situations: [0; Situation::ALL.len()] }
    }
}

impl Coverage {
    /// Counts a call.
    pub fn note(&mut self, call: Call) {
        self.calls[call as usize] += 1;
    }

    /// Counts a situation, if it is met.
    pub fn meet(&mut self, situation: Situation, is_met: bool) {
        self.situations[situation as usize] += u64::from(is_met);
    }

    /// Adds what another run covered.
    pub fn add(&mut self, other: &Self) {
        let sums = self.calls.iter_mut().chain(&mut self.situations);
        sums.zip(other.calls.iter().chain(&other.situations)).for_each(|(sum, count)| *sum += count);
    }

    /// All calls made.
    pub fn total(&self) -> u64 {
        self.calls.iter().sum()
    }

    /// The calls that were never made, and the situations that were never met.
    pub fn missing(&self) -> Vec<&'static str> {
        let calls = Call::ALL.iter().filter(|&&call| self.calls[call as usize] == 0).map(|call| call.name());
        let situations = Situation::ALL.iter().filter(|&&situation| self.situations[situation as usize] == 0);
        calls.chain(situations.map(|situation| situation.name())).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &call in Call::ALL {
            writeln!(formatter, "  {:<36} {:>10}", call.name(), self.calls[call as usize])?;
        }
        writeln!(formatter, "while runs lay above trees, or transactions had spilled:")?;
        for &situation in Situation::ALL {
            writeln!(formatter, "  {:<36} {:>10}", situation.name(), self.situations[situation as usize])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the public functions in the source of a module.
    fn public_functions(source: &'static str) -> impl Iterator<Item = &'static str> {
        let lines = source.lines().filter_map(|line| line.trim_start().strip_prefix("pub fn "));
        lines.map(|rest| rest.split(['(', '<']).next().unwrap_or(rest))
    }

    #[test]
    fn every_public_function_of_typed_tables_and_multimaps_is_counted() {
        let names: Vec<&str> = Call::ALL.iter().map(|call| call.name()).collect();
        let sources = [
            ("TypedTable", include_str!("../../../../crates/engine/src/db/access/typed.rs")),
            ("MultimapTable", include_str!("../../../../crates/engine/src/db/access/multimap.rs")),
        ];
        for (table, source) in sources {
            let functions: Vec<&str> = public_functions(source).collect();
            assert!(functions.len() > 10, "{functions:?}");
            for function in functions {
                let method = format!("{table}::{function}");
                assert!(
                    names.contains(&function) || names.contains(&&*method),
                    "{method} is not in the table of calls"
                );
            }
        }
    }

    #[test]
    fn a_call_that_is_never_made_is_missing_and_so_is_a_situation_that_is_never_met() {
        let mut coverage = Coverage::default();
        Call::ALL.iter().skip(1).for_each(|&call| coverage.note(call));
        Situation::ALL.iter().for_each(|&situation| coverage.meet(situation, situation != Situation::RunsMade));
        assert_eq!(coverage.missing(), ["get", "runs made"]);
        let mut sum = coverage.clone();
        sum.note(Call::Get);
        sum.meet(Situation::RunsMade, true);
        sum.add(&coverage);
        assert_eq!((sum.missing().len(), sum.total()), (0, 2 * coverage.total() + 1));
    }
}
