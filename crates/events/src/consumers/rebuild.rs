//! Rebuilding a view beside the old one.

use std::collections::BTreeSet;
use std::thread;

use fulgurite::{Read, UPDATE_ATTEMPTS, WriteTxn};

use crate::consumers::rebuilding::Rebuilding;
use crate::consumers::view::{View, ViewContext, ViewProgress};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::ids::Position;
use crate::layout::keys;
use crate::reading::partition::Partition;
use crate::store::handle::EventStore;

impl EventStore {
    /// Folds a view again from the first event, in tables beside its own. Then it exchanges tables and position in one
    /// transaction. Until then the old view can be read, and can continue: the exchange waits until the new view
    /// has folded as many events.
    ///
    /// If members of a group fill the view ([`View::partition`]), pass the view without a partition: it is folded as a
    /// whole, and all members continue after it.
    ///
    /// A rebuild that was interrupted begins again at the first event. Handles of the old tables are invalid
    /// afterwards: open them by name. The new tables have the options of `view`; the old ones may have others.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the view is that of one member, because the tables have events of the others too, or if a
    /// consumer is of a group of more than 10,000 members, or while [`EventStore::rebuild_view_parallel`] rebuilds the
    /// view. As [`EventStore::run_view`]; the old view stays.
    pub fn rebuild_view<F>(&self, view: &View, mut fold: F) -> Result<ViewProgress>
    where
        F: FnMut(&mut WriteTxn, &ViewContext<'_>, &Event<'_>) -> Result<()>,
    {
        let _noted = Rebuilding::beside_others(&self.shared, view.group())?;
        let beside = self.begin_rebuild(view)?;
        self.finish_rebuild(view, &beside, ViewProgress::default(), &mut fold)
    }

    /// Drops what an interrupted rebuild has left. Returns the view that is folded beside the old one. Its tables are
    /// created, because threads that create them at once conflict.
    pub(super) fn begin_rebuild(&self, view: &View) -> Result<View> {
        view.check_whole("rebuild")?;
        view.check_names(&self.shared.db.read()?)?;
        let beside = view.beside();
        self.repeat(|txn| {
            self.group_sizes(txn, view)?;
            self.drop_view_in(txn, &beside)?;
            beside.open_tables(txn).map(|_| true)
        })?;
        Ok(beside)
    }

    /// Folds the events that the new view lacks, and exchanges it for the old one.
    pub(super) fn finish_rebuild<F>(
        &self,
        view: &View,
        beside: &View,
        mut progress: ViewProgress,
        fold: &mut F,
    ) -> Result<ViewProgress>
    where
        F: FnMut(&mut WriteTxn, &ViewContext<'_>, &Event<'_>) -> Result<()>,
    {
        loop {
            let batch = self.fold_batch(beside, fold)?;
            if batch.before < progress.position {
                // A call of `drop_view`, or another rebuild, has dropped what was folded.
                progress = ViewProgress::default();
            }
            progress.add(&batch);
            let folded = progress.position;
            if folded >= batch.head && self.repeat(|txn| self.exchange(txn, view, beside, folded))? {
                return Ok(progress);
            }
        }
    }

    /// Drops the tables of a view and its position, those of all members of its group, and what an interrupted rebuild
    /// has left. A rebuild that is running begins again.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the view is that of one member, because the tables have events of
    /// the others too, or if the view or a table of it must not have its name: see [`View::table`]. Errors of the disk.
    pub fn drop_view(&self, view: &View) -> Result<()> {
        view.check_whole("drop")?;
        view.check_names(&self.shared.db.read()?)?;
        let beside = view.beside();
        let dropped = self.repeat(|txn| {
            self.drop_view_in(txn, view)?;
            self.drop_view_in(txn, &beside).map(|()| true)
        });
        dropped.map(drop)
    }

    fn drop_view_in(&self, txn: &mut WriteTxn, view: &View) -> Result<()> {
        for name in view.table_names() {
            match txn.open_table(name) {
                Ok(table) => txn.drop_table(&table)?,
                Err(fulgurite::Error::TableNotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let consumers = &self.shared.tables.consumers;
        txn.delete(consumers, view.consumer())?;
        for (member, _) in self.stored_members(txn, view)? {
            txn.delete(consumers, member)?;
        }
        Ok(())
    }

    /// The members of a view's group that have stored their positions, and the sizes of their groups.
    fn stored_members(&self, txn: &WriteTxn, view: &View) -> Result<Vec<(String, u32)>> {
        let prefix = format!("{}#", view.group());
        let mut members = Vec::new();
        for entry in txn.prefix(&self.shared.tables.consumers, &prefix)? {
            let (key, _) = entry?;
            let member = std::str::from_utf8(&key).ok().map(str::to_owned);
            members.extend(member.and_then(|key| Partition::count_of(view.group(), &key).map(|count| (key, count))));
        }
        Ok(members)
    }

    /// The positions of the members of a view's group: of groups of all sizes that have stored any, with those members
    /// that have not stored theirs.
    fn members(&self, txn: &WriteTxn, view: &View) -> Result<Vec<(String, Position)>> {
        let counts = self.group_sizes(txn, view)?;
        let members = counts.iter().flat_map(|&count| (0..count).filter_map(move |index| Partition::new(index, count)));
        let consumers = members.map(|member| member.consumer(view.group()));
        let position = |consumer: String| self.position_in(txn, &consumer).map(|position| (consumer, position));
        consumers.map(position).collect()
    }

    /// The sizes of a view's groups whose members have stored positions.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a group is so large that the positions of all its members should not be put.
    fn group_sizes(&self, txn: &WriteTxn, view: &View) -> Result<BTreeSet<u32>> {
        let members = self.stored_members(txn, view)?;
        if let Some((member, count)) = members.iter().find(|(_, count)| *count > MEMBERS_MAX) {
            let message = format!(
                "cannot rebuild the view: the consumer `{member}` is of a group of {count} members, and a rebuild sets \
                 the positions of at most {MEMBERS_MAX}; drop the view, and run it from the first event"
            );
            return Err(Error::Invalid { message });
        }
        Ok(members.into_iter().map(|(_, count)| count).collect())
    }

    /// Puts the new tables in the place of the old ones, unless the old view is further, or the new view was dropped
    /// since it had folded the events before `folded`.
    fn exchange(&self, txn: &mut WriteTxn, view: &View, beside: &View, folded: Position) -> Result<bool> {
        let position = self.position_in(txn, &beside.consumer())?;
        if position < folded {
            return Ok(false);
        }
        // The position of an empty log does not show that tables were dropped.
        for name in beside.table_names() {
            match txn.open_table(name) {
                Err(fulgurite::Error::TableNotFound { .. }) => return Ok(false),
                table => drop(table?),
            }
        }
        let members = self.members(txn, view)?;
        let reached = members.iter().map(|(_, position)| *position).max().unwrap_or_default();
        if position < reached.max(self.position_in(txn, &view.consumer())?) {
            return Ok(false);
        }
        self.drop_view_in(txn, view)?;
        for (name, new) in view.table_names().zip(beside.table_names()) {
            let table = txn.open_table(new)?;
            txn.rename_table(&table, name)?;
        }
        txn.put(&self.shared.tables.consumers, view.consumer(), keys::number(position.0))?;
        // The new tables have the events of all members up to here.
        for (member, _) in members {
            txn.put(&self.shared.tables.consumers, member, keys::number(position.0))?;
        }
        txn.delete(&self.shared.tables.consumers, beside.consumer())?;
        Ok(true)
    }

    /// As [`fulgurite::Database::update`], with the errors of this crate. Commits if `change` returns true.
    pub(super) fn repeat(&self, mut change: impl FnMut(&mut WriteTxn) -> Result<bool>) -> Result<bool> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut txn = self.shared.db.write()?;
            let outcome = match change(&mut txn) {
                Ok(true) => txn.commit().map(|_| true).map_err(Into::into),
                outcome => outcome,
            };
            match outcome {
                Err(error) if error.is_retryable() && attempt < UPDATE_ATTEMPTS => thread::yield_now(),
                outcome => return outcome,
            }
        }
    }
}

/// A rebuild puts a position for each member of a group of at most so many.
const MEMBERS_MAX: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventData, Expected};

    /// The position of such a view became 0, and the rebuild returned the end of the log.
    #[test]
    fn a_new_view_without_tables_that_was_dropped_is_not_exchanged() -> Result<()> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = EventStore::create(directory.path().join("a.ful"))?;
        store.append("s", Expected::Any, &[EventData::new("x", b"")])?;
        let view = View::new("v");
        let beside = view.beside();
        let mut nothing = |_: &mut WriteTxn, _: &ViewContext<'_>, _: &Event<'_>| Ok::<(), Error>(());
        let folded = store.fold_batch(&beside, &mut nothing)?.position;
        assert_eq!(folded, Position(1));
        store.drop_view(&view)?;
        assert!(!store.repeat(|txn| store.exchange(txn, &view, &beside, folded))?);
        assert_eq!(store.snapshot()?.consumers()?, []);
        store.fold_batch(&beside, &mut nothing)?;
        assert!(store.repeat(|txn| store.exchange(txn, &view, &beside, folded))?);
        assert_eq!(store.snapshot()?.consumer_position("v")?, folded);
        Ok(())
    }

    /// The log is empty, so the position of the new view is 0 before and after it is dropped.
    #[test]
    fn a_new_view_of_an_empty_store_whose_tables_were_dropped_is_not_exchanged() -> Result<()> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = EventStore::create(directory.path().join("a.ful"))?;
        let view = View::new("v").table("t", Default::default());
        let beside = view.beside();
        let mut nothing = |_: &mut WriteTxn, _: &ViewContext<'_>, _: &Event<'_>| Ok::<(), Error>(());
        let folded = store.fold_batch(&beside, &mut nothing)?.position;
        store.drop_view(&view)?;
        assert!(!store.repeat(|txn| store.exchange(txn, &view, &beside, folded))?);
        store.fold_batch(&beside, &mut nothing)?;
        assert!(store.repeat(|txn| store.exchange(txn, &view, &beside, folded))?);
        Ok(())
    }
}
