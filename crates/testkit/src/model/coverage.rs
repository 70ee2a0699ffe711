//! Which calls of the API a run has made, so that one that is never made fails the run.

use std::fmt;

/// Counts of calls by kind.
#[derive(Clone, Debug)]
pub struct Coverage([u64; Call::ALL.len()]);

macro_rules! calls {
    ($($name:ident => $text:literal,)*) => {
        /// A call of the public API that the model test makes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Call {
            $(#[doc = $text] $name,)*
        }

        impl Call {
            /// Every call.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in the public API.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

calls! {
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
    Insert => "insert",
    Merge => "merge",
    CompareAndSet => "compare_and_set",
    Delete => "delete",
    DeleteRange => "delete_range",
    Savepoint => "savepoint",
    RollbackTo => "rollback_to",
    ReadOwnWrites => "reads within a write transaction",
    Abort => "abort",
    CommitMemory => "commit_with(Memory)",
    CommitLog => "commit_with(Log)",
    CommitDisk => "commit_with(Disk)",
    CreateTable => "create_table",
    DropTable => "drop_table",
    Snapshot => "read (kept over commits)",
    Sync => "sync",
    Checkpoint => "checkpoint",
    Compact => "compact",
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
    TypedDelete => "TypedTable::delete",
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
    MultimapEntry => "MultimapTable::entry",
    Changes => "changes",
    WaitDurable => "wait_durable",
    Check => "check",
    Stats => "stats",
    Close => "close and open",
    Recover => "drop and recover",
    ReadOnly => "open read-only",
}

impl Default for Coverage {
    fn default() -> Self {
        Self([0; Call::ALL.len()])
    }
}

impl Coverage {
    /// Counts a call.
    pub fn note(&mut self, call: Call) {
        self.0[call as usize] += 1;
    }

    /// Adds what another run covered.
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count;
        }
    }

    /// All calls made.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The calls that were never made.
    pub fn missing(&self) -> Vec<&'static str> {
        Call::ALL.iter().filter(|&&call| self.0[call as usize] == 0).map(|call| call.name()).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &call in Call::ALL {
            writeln!(formatter, "  {:<36} {:>10}", call.name(), self.0[call as usize])?;
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
            ("TypedTable", include_str!("../../../engine/src/db/typed.rs")),
            ("MultimapTable", include_str!("../../../engine/src/db/multimap.rs")),
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
    fn a_call_that_is_never_made_is_missing() {
        let mut coverage = Coverage::default();
        Call::ALL.iter().skip(1).for_each(|&call| coverage.note(call));
        assert_eq!(coverage.missing(), ["get"]);
        let mut sum = coverage.clone();
        sum.note(Call::Get);
        sum.add(&coverage);
        assert_eq!((sum.missing().len(), sum.total()), (0, 2 * coverage.total() + 1));
    }
}
