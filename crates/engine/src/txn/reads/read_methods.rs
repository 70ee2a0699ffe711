//! The reads that read and write transactions have in common, written once: here a get begins.
//!
//! A get makes up to three attempts, the cheapest first. Each attempt either decides the get or leaves it to the next:
//!
//! ```text
//! get(table, key)
//!  │
//!  ├─ 1 tree_alone ──────▶ tree::get               Nothing is above the tree: no delta, no run, no own change, and
//!  │                       │                       reads are not noted. The tree decides.
//!  │                       ├ fast path             One descent through pages that are mapped and verified, or a
//!  │                       │                       jump by the tree's shortcut.
//!  │                       └ slow path             Pages to verify, long keys, values with pages of their own, files
//!  │                                               that are not mapped.
//!  │
//!  ├─ 2 get_in_base ─────▶ tree::get_unless_above  There are deltas or runs, but no own changes and no noted reads.
//!  │                                               One descent like the fast path, which also asks the small filters
//!  │                                               of deltas and runs. It decides if none of them may have the key.
//!  │
//!  └─ 3 get_layered ─────▶ Layers::get             Everything else, in this order; the first layer that has the key
//!                          │                       decides:
//!                          ├ own change            in memory, then spilled ones ............ `WriteSet::find`
//!                          ├ note the read         if reads are checked at the commit ...... `ReadSet::note_key`
//!                          ├ deltas                active, then frozen ..................... `Delta::get`
//!                          ├ runs of the range     newest first, each behind its filter .... `Run::get`
//!                          └ tree                  from the leaf that was prefetched ....... `tree::get_prefetched`
//! ```
//!
//! Attempts 1 and 2 take no lock. Until a tree has a shortcut, a small share of its gets takes the slow path, which
//! counts them. Typed tables begin with attempt 3. `get_many` overlaps the cache misses of up to 32 keys: it calls
//! `tree::get_many` if nothing is above the tree, and otherwise searches the layers of attempt 3.

use std::ops::Bound;

use crate::error::Result;
use crate::format::Found;
use crate::pager::{Pages, Value};
use crate::tree;
use crate::tree::Base;
use crate::txn::reads::bounds::{owned, prefix_end};
use crate::txn::reads::count::Estimate;
use crate::txn::reads::cursor::Cursor;
use crate::txn::reads::key_range::KeyRange;
use crate::txn::reads::layers::Layers;
use crate::txn::reads::range::Range;
use crate::txn::snapshot::table::Table;

/// The reads that [`ReadTxn`](crate::ReadTxn) and [`WriteTxn`](crate::WriteTxn) share. Import it to call them;
/// only `get` needs no import.
///
/// Functions that take `&impl Read` accept both kinds of transaction. A read transaction reads its snapshot. A write
/// transaction reads its snapshot and its own changes, and at [`Isolation::Serializable`](crate::Isolation) a commit
/// fails with [`Error::Conflict`](crate::Error) if another commit has changed what it read.
///
/// ```
/// use fulgurite::{Database, Read, Table};
///
/// /// The sum of the lengths of the values whose keys begin with `prefix`, in bytes.
/// fn size(txn: &impl Read, table: &Table, prefix: &str) -> fulgurite::Result<usize> {
///     txn.prefix(table, prefix)?.map(|entry| Ok(entry?.1.len())).sum()
/// }
///
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let db = Database::create(directory.path().join("a.ful"))?;
/// let fruit = db.create_table("fruit", Default::default())?;
/// let mut txn = db.write()?;
/// txn.put(&fruit, "apple", "red")?;
/// assert_eq!(size(&txn, &fruit, "a")?, 3);
/// assert_eq!(size(&db.read()?, &fruit, "a")?, 0);
/// # Ok(()) }
/// ```
///
/// Other crates cannot implement this trait.
///
/// # Errors
/// All methods return errors of damage to the file, and [`Error::TableNotFound`](crate::Error) if the table is not part
/// of the snapshot.
pub trait Read: sealed::Layered {
    /// The value of `key`.
    #[inline(always)]
    fn get(&self, table: &Table, key: impl AsRef<[u8]>) -> Result<Option<Value<'_>>> {
        let key = key.as_ref();
        match self.tree_alone(table) {
            Some((pages, root)) => tree::get(pages, root, key),
            None => match self.get_in_base(table, key).settled() {
                Some(value) => Ok(value.map(Value::from)),
                None => self.get_layered(table, key),
            },
        }
    }

    /// Whether `key` has a value.
    fn contains_key(&self, table: &Table, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.get(table, key)?.is_some())
    }

    /// Returns the values of many keys, in the order of the keys. This is several times faster than single gets,
    /// because their cache misses overlap.
    fn get_many(&self, table: &Table, keys: &[impl AsRef<[u8]>]) -> Result<Vec<Option<Value<'_>>>> {
        let mut values = Vec::with_capacity(keys.len());
        self.layers(table)?.get_many(keys, |value| values.push(value))?;
        Ok(values)
    }

    /// As [`get_many`](Read::get_many), but passes each value to `each`, in the order of the keys, without building a
    /// list.
    fn get_many_with<'t>(
        &'t self,
        table: &Table,
        keys: &[impl AsRef<[u8]>],
        each: impl FnMut(Option<Value<'t>>),
    ) -> Result<()> {
        self.layers(table)?.get_many(keys, each)
    }

    /// The first entry.
    fn first(&self, table: &Table) -> Result<Option<(Value<'_>, Value<'_>)>> {
        self.range(table, ..)?.next().transpose()
    }

    /// The last entry.
    fn last(&self, table: &Table) -> Result<Option<(Value<'_>, Value<'_>)>> {
        self.range(table, ..)?.next_back().transpose()
    }

    /// Returns the entries whose keys are within `bounds`, in order from either end.
    fn range(&self, table: &Table, bounds: impl KeyRange) -> Result<Range<'_>> {
        Ok(Range::new(self.layers(table)?, owned(bounds.low()), owned(bounds.high())))
    }

    /// Returns the entries whose keys begin with `prefix`, in order from either end.
    fn prefix(&self, table: &Table, prefix: impl AsRef<[u8]>) -> Result<Range<'_>> {
        let prefix = prefix.as_ref();
        Ok(Range::new(self.layers(table)?, Bound::Included(prefix.into()), prefix_end(prefix)))
    }

    /// Returns a cursor that starts before the first entry.
    fn cursor(&self, table: &Table) -> Result<Cursor<'_>> {
        Ok(Cursor::new(self.layers(table)?))
    }

    /// Returns the exact number of entries within `bounds`. The time grows with the depth of the tree and with the
    /// number of changes that are not merged into the tree yet (in runs and in memory).
    fn count(&self, table: &Table, bounds: impl KeyRange) -> Result<u64> {
        self.layers(table)?.count(bounds.low(), bounds.high())
    }

    /// Returns an estimate of the number of entries within `bounds`, with bounds of its error. The time grows with the
    /// depth of the tree. The estimate is exact if few changes are not merged into the tree yet; of many it counts the
    /// first ones and extrapolates. It does not count as a read of a write transaction: use [`count`](Read::count) for
    /// decisions that must not be overtaken by other commits.
    fn estimate_count(&self, table: &Table, bounds: impl KeyRange) -> Result<Estimate> {
        self.layers(table)?.estimate_count(bounds.low(), bounds.high())
    }

    /// How many entries the table has.
    fn len(&self, table: &Table) -> Result<u64> {
        self.count(table, ..)
    }

    /// Whether the table has no entry.
    fn is_empty(&self, table: &Table) -> Result<bool> {
        Ok(self.first(table)?.is_none())
    }
}

pub(crate) mod sealed {
    use super::{Base, Found, Layers, Pages, Result, Table, Value};

    /// How a transaction gives access to the layers of a table.
    pub trait Layered {
        /// The layers of `table`. A write transaction notes that a table is missing.
        fn layers(&self, table: &Table) -> Result<Layers<'_>>;

        /// The same, or nothing if reads are noted or the table is missing.
        fn at_hand(&self, table: &Table) -> Option<Layers<'_>>;

        /// The tree of `table`, if nothing is above it and reads are not noted.
        #[inline(always)]
        fn tree_alone(&self, table: &Table) -> Option<(&Pages, &Base)> {
            self.at_hand(table)?.tree_alone()
        }

        /// The second attempt of a get.
        #[inline(never)]
        fn get_in_base(&self, table: &Table, key: &[u8]) -> Found<'_> {
            self.at_hand(table).map_or(Found::UNCLEAR, |layers| layers.get_in_base(key))
        }

        /// The last attempt of a get.
        #[inline(never)]
        fn get_layered(&self, table: &Table, key: &[u8]) -> Result<Option<Value<'_>>> {
            self.layers(table)?.get(key)
        }
    }
}
