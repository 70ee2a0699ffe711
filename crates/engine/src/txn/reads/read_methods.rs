//! The reads that read and write transactions have in common, written once: here a get begins.
//!
//! It is a macro and not a trait, so that users need not import one: both types have these methods themselves.
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

/// Methods for a type that has three of its own:
///
/// - `layers(&self, table) -> Result<Layers>`, which notes that a table is missing;
/// - `at_hand(&self, table) -> Option<Layers>`, which returns nothing if reads are noted or the table is missing;
/// - `tree_alone(&self, table)`, which is [`Layers::tree_alone`](crate::txn::reads::layers::Layers::tree_alone) of
///   `at_hand`.
macro_rules! reads {
    () => {
        /// The value of `key`.
        ///
        /// # Errors
        /// Damage to the file where the key is looked for; the table not being of this snapshot.
        #[inline(always)]
        pub fn get(
            &self,
            table: &$crate::txn::snapshot::table::Table,
            key: impl AsRef<[u8]>,
        ) -> $crate::error::Result<Option<$crate::pager::Value<'_>>> {
            let key = key.as_ref();
            match self.tree_alone(table) {
                Some((pages, root)) => $crate::tree::get(pages, root, key),
                None => match self.get_in_base(table, key).settled() {
                    Some(value) => Ok(value.map($crate::pager::Value::from)),
                    None => self.get_layered(table, key),
                },
            }
        }

        #[inline(never)]
        fn get_in_base(&self, table: &$crate::txn::snapshot::table::Table, key: &[u8]) -> $crate::format::Found<'_> {
            self.at_hand(table).map_or($crate::format::Found::UNCLEAR, |layers| layers.get_in_base(key))
        }

        #[inline(never)]
        fn get_layered(
            &self,
            table: &$crate::txn::snapshot::table::Table,
            key: &[u8],
        ) -> $crate::error::Result<Option<$crate::pager::Value<'_>>> {
            self.layers(table)?.get(key)
        }

        /// Whether `key` has a value.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn contains_key(
            &self,
            table: &$crate::txn::snapshot::table::Table,
            key: impl AsRef<[u8]>,
        ) -> $crate::error::Result<bool> {
            Ok(self.get(table, key)?.is_some())
        }

        /// The values of many keys, in the order of the keys: several times faster than one by one, because the waits
        /// for memory overlap.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn get_many(
            &self,
            table: &$crate::txn::snapshot::table::Table,
            keys: &[impl AsRef<[u8]>],
        ) -> $crate::error::Result<Vec<Option<$crate::pager::Value<'_>>>> {
            let mut values = Vec::with_capacity(keys.len());
            self.layers(table)?.get_many(keys, |value| values.push(value))?;
            Ok(values)
        }

        /// As [`crate::ReadTxn::get_many`], handing each value to `each` in the order of the keys, without a list
        /// between.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn get_many_with<'t>(
            &'t self,
            table: &$crate::txn::snapshot::table::Table,
            keys: &[impl AsRef<[u8]>],
            each: impl FnMut(Option<$crate::pager::Value<'t>>),
        ) -> $crate::error::Result<()> {
            self.layers(table)?.get_many(keys, each)
        }

        /// The first entry.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn first(
            &self,
            table: &$crate::txn::snapshot::table::Table,
        ) -> $crate::error::Result<Option<($crate::pager::Value<'_>, $crate::pager::Value<'_>)>> {
            self.range(table, ..)?.next().transpose()
        }

        /// The last entry.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn last(
            &self,
            table: &$crate::txn::snapshot::table::Table,
        ) -> $crate::error::Result<Option<($crate::pager::Value<'_>, $crate::pager::Value<'_>)>> {
            self.range(table, ..)?.next_back().transpose()
        }

        /// The entries whose keys lie within `bounds`, in order from either end.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn range(
            &self,
            table: &$crate::txn::snapshot::table::Table,
            bounds: impl $crate::txn::reads::key_range::KeyRange,
        ) -> $crate::error::Result<$crate::txn::reads::range::Range<'_>> {
            Ok($crate::txn::reads::range::Range::new(
                self.layers(table)?,
                $crate::txn::reads::bounds::owned(bounds.low()),
                $crate::txn::reads::bounds::owned(bounds.high()),
            ))
        }

        /// The entries whose keys begin with `prefix`, in order from either end.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn prefix(
            &self,
            table: &$crate::txn::snapshot::table::Table,
            prefix: impl AsRef<[u8]>,
        ) -> $crate::error::Result<$crate::txn::reads::range::Range<'_>> {
            let prefix = prefix.as_ref();
            Ok($crate::txn::reads::range::Range::new(
                self.layers(table)?,
                std::ops::Bound::Included(prefix.into()),
                $crate::txn::reads::bounds::prefix_end(prefix),
            ))
        }

        /// A cursor before the first entry.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn cursor(
            &self,
            table: &$crate::txn::snapshot::table::Table,
        ) -> $crate::error::Result<$crate::txn::reads::cursor::Cursor<'_>> {
            Ok($crate::txn::reads::cursor::Cursor::new(self.layers(table)?))
        }

        /// How many entries lie within `bounds`, exactly: in time that grows with the tree's depth and with the entries
        /// not yet merged into the tree: those of runs, and those in memory.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn count(
            &self,
            table: &$crate::txn::snapshot::table::Table,
            bounds: impl $crate::txn::reads::key_range::KeyRange,
        ) -> $crate::error::Result<u64> {
            self.layers(table)?.count(bounds.low(), bounds.high())
        }

        /// About how many entries lie within `bounds`, with bounds of the error: in time that grows with the tree's
        /// depth. It is exact where few changes lie above the tree; of many it looks at the first ones, and takes the
        /// others to be like these. A write transaction is not checked for it: decide by [`count`](Self::count) what
        /// must not change.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn estimate_count(
            &self,
            table: &$crate::txn::snapshot::table::Table,
            bounds: impl $crate::txn::reads::key_range::KeyRange,
        ) -> $crate::error::Result<$crate::txn::reads::count::Estimate> {
            self.layers(table)?.estimate_count(bounds.low(), bounds.high())
        }

        /// How many entries the table has.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn len(&self, table: &$crate::txn::snapshot::table::Table) -> $crate::error::Result<u64> {
            self.count(table, ..)
        }

        /// Whether the table has no entry.
        ///
        /// # Errors
        /// As [`crate::ReadTxn::get`].
        pub fn is_empty(&self, table: &$crate::txn::snapshot::table::Table) -> $crate::error::Result<bool> {
            Ok(self.first(table)?.is_none())
        }
    };
}

pub(crate) use reads;

/// Read and write transactions alike, for tables that encode what they hold. Not to be implemented elsewhere.
pub trait Read: sealed::Sealed {}

pub(crate) mod sealed {
    use crate::error::Result;
    use crate::txn::reads::layers::Layers;
    use crate::txn::snapshot::table::Table;

    pub trait Sealed {
        fn layers_of(&self, table: &Table) -> Result<Layers<'_>>;
    }
}
