//! Views: tables of the program that are folded from events, each event exactly once.
//!
//! Invariant: the changes that a batch of events makes and the position after the batch are one transaction.

use std::thread;
use std::time::Duration;

use fulgurite::{Database, Read, ReadTxn, Table, TableOptions, UPDATE_ATTEMPTS, WriteTxn};

use crate::consumers::signal::Signal;
use crate::consumers::stop::Stop;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::ids::Position;
use crate::layout::keys;
use crate::layout::tables::{self, BESIDE};
use crate::reading::locate;
use crate::reading::partition::Partition;
use crate::reading::snapshot::{Snapshot, parse_position};
use crate::store::bell::Attention;
use crate::store::handle::EventStore;

/// A view: its name, its tables, and how it is folded.
///
/// ```
/// use fulgurite_events::{EventData, EventStore, Expected, View};
///
/// # fn main() -> fulgurite_events::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// let store = EventStore::create(directory.path().join("shop.ful"))?;
/// store.append("order-7", Expected::Any, &[EventData::new("placed", b"3"), EventData::new("paid", b"")])?;
///
/// let view = View::new("counts").table("counts by type", Default::default());
/// store.run_view(&view, |txn, context, event| {
///     let table = context.table(0);
///     let kind = context.snapshot().event_type(event.kind)?.name.clone();
///     let before = txn.get(table, &*kind)?.map_or(0, |value| value[0]);
///     Ok(txn.put(table, &*kind, [before + 1])?)
/// })?;
///
/// let counts = store.database().open_table("counts by type")?;
/// assert_eq!(store.database().read()?.get(&counts, "paid")?.as_deref(), Some(&[1][..]));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct View {
    name: String,
    tables: Vec<(String, TableOptions)>,
    batch_events: u64,
    partition: Partition,
    /// Events from this position on are not folded.
    end: Position,
}

/// The arguments of a view's function besides the transaction and the event.
#[derive(Debug)]
pub struct ViewContext<'v> {
    tables: &'v [Table],
    snapshot: &'v Snapshot,
}

/// How far a view is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewProgress {
    /// How many events this call has folded.
    pub events: u64,
    /// The first position that the view has not folded.
    pub position: Position,
    /// How many positions this call has skipped because retention had removed their events before the view came to
    /// them: the view lacks these events.
    pub missed: u64,
}

impl ViewProgress {
    /// Adds what a transaction has folded.
    pub(super) fn add(&mut self, batch: &Batch) {
        self.events += batch.events;
        self.missed += batch.missed;
        self.position = batch.position;
    }
}

impl View {
    /// A view without tables. Its name is that of the consumer which stores its position. It must not be empty, nor end
    /// in `~rebuild`.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            tables: Vec::new(),
            batch_events: BATCH_EVENTS,
            partition: Partition::ALL,
            end: Position(u64::MAX),
        }
    }

    /// Adds a table, which is created if it does not exist. [`ViewContext::table`] finds it by its index: the first
    /// table that was added is 0.
    ///
    /// A view owns its tables: [`EventStore::rebuild_view`] and [`EventStore::drop_view`] drop them. A table of an
    /// event store, one whose name ends in `~rebuild`, and one that was added before are refused when the view is used.
    /// If options are given, [`EventStore::run_view`] refuses a table that exists with other ones.
    #[must_use]
    pub fn table(mut self, name: impl Into<String>, options: TableOptions) -> Self {
        self.tables.push((name.into(), options));
        self
    }

    /// Sets how many events a transaction folds at most. Default: 10,000.
    #[must_use]
    pub fn batch_events(mut self, events: u64) -> Self {
        self.batch_events = events.max(1);
        self
    }

    /// Folds only events of a member's streams. The members of a group store a position each:
    /// [`Partition::consumer`]. Members run on any threads. Transactions of two conflict if they change the same keys.
    #[must_use]
    pub fn partition(mut self, partition: Partition) -> Self {
        self.partition = partition;
        self
    }

    /// The name under which it stores its position.
    pub fn consumer(&self) -> String {
        self.partition.consumer(&self.name)
    }

    /// The name of the view, which is that of its group.
    pub(super) fn group(&self) -> &str {
        &self.name
    }

    /// Refuses what would change tables that other members of the group have filled too.
    pub(super) fn check_whole(&self, what: &str) -> Result<()> {
        if self.partition == Partition::ALL {
            return Ok(());
        }
        let message = format!(
            "cannot {what} only `{}`: the tables have events of all members; {what} the view without a partition",
            self.consumer()
        );
        Err(Error::Invalid { message })
    }

    /// The same view in tables beside its own.
    pub(super) fn beside(&self) -> Self {
        let tables = self.tables.iter().map(|(name, options)| (format!("{name}{BESIDE}"), options.clone())).collect();
        Self { name: format!("{}{BESIDE}", self.name), tables, ..self.clone() }
    }

    /// The same view, without the events from a position on.
    pub(super) fn until(self, end: Position) -> Self {
        Self { end, ..self }
    }

    pub(super) fn table_names(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|(name, _)| name.as_str())
    }

    /// Refuses names of views and tables that it would be wrong to fold into, to exchange or to drop.
    ///
    /// # Errors
    /// [`Error::Invalid`]; those of the engine.
    pub(super) fn check_names(&self, txn: &ReadTxn) -> Result<()> {
        let (view, refuse) = (&self.name, |message: String| Err(Error::Invalid { message }));
        if view.is_empty() {
            return refuse("the name of a view is empty; give it one".into());
        }
        if view.ends_with(BESIDE) {
            return refuse(format!("a view cannot have the name `{view}`: {RESERVED}"));
        }
        for (index, (name, _)) in self.tables.iter().enumerate() {
            if let Some(store) = tables::store_of(txn, name)? {
                return refuse(format!(
                    "the view `{view}` cannot have the table `{name}`, which is of the event store `{store}`; choose \
                     another name"
                ));
            }
            if name.ends_with(BESIDE) {
                return refuse(format!("the view `{view}` cannot have the table `{name}`: {RESERVED}"));
            }
            if self.tables[..index].iter().any(|(other, _)| other == name) {
                return refuse(format!("the view `{view}` has the table `{name}` twice; add it once"));
            }
        }
        Ok(())
    }

    /// Refuses tables that exist with other options than those that are given. A rebuild replaces such tables.
    ///
    /// # Errors
    /// [`fulgurite::Error::TableMismatch`]; others of the engine.
    fn check_options(&self, db: &Database) -> Result<()> {
        for (name, options) in self.tables.iter().filter(|(_, options)| *options != TableOptions::new()) {
            match db.open_table(name) {
                // It is there, so this compares it only.
                Ok(_) => drop(db.open_or_create_table(name, options.clone())?),
                Err(fulgurite::Error::TableNotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Opens its tables. Creates those that do not exist.
    ///
    /// # Errors
    /// Those of the engine.
    pub(super) fn open_tables(&self, txn: &mut WriteTxn) -> Result<Vec<Table>> {
        let open = |(name, options): &(String, TableOptions)| match txn.open_table(name) {
            Err(fulgurite::Error::TableNotFound { .. }) => txn.create_table(name, options.clone()),
            table => table,
        };
        Ok(self.tables.iter().map(open).collect::<fulgurite::Result<_>>()?)
    }
}

impl ViewContext<'_> {
    /// The table with this index: the first that was added to the view is 0.
    ///
    /// # Panics
    /// If there is none.
    pub fn table(&self, index: usize) -> &Table {
        &self.tables[index]
    }

    /// The snapshot from which the events are read: it has the names of streams and types.
    pub fn snapshot(&self) -> &Snapshot {
        self.snapshot
    }
}

impl EventStore {
    /// Folds all events that there are, from the position of the view on. Each event is folded exactly once, also if
    /// the process is killed: the changes of a batch and the position after it are one transaction. Two threads or
    /// handles that run the same view at once take turns.
    ///
    /// `fold` is called again for the events of a batch whose transaction conflicted with another one, so it should
    /// have no effects outside the transaction.
    ///
    /// # Errors
    /// Those of `fold`: its batch is not folded then. [`Error::Invalid`] if the view or a table of it must not have its
    /// name, [`TableMismatch`](fulgurite::Error::TableMismatch) if a table has other options: see [`View::table`].
    /// Errors of the disk. That events are missing is not an error: see [`ViewProgress::missed`].
    pub fn run_view<F>(&self, view: &View, mut fold: F) -> Result<ViewProgress>
    where
        F: FnMut(&mut WriteTxn, &ViewContext<'_>, &Event<'_>) -> Result<()>,
    {
        self.check_view(view)?;
        let mut progress = ViewProgress::default();
        loop {
            let batch = self.fold_batch(view, &mut fold)?;
            progress.add(&batch);
            if batch.position >= batch.head {
                return Ok(progress);
            }
        }
    }

    /// As [`EventStore::run_view`], but continues with new events until it is stopped. `on_signal` learns when the view
    /// has caught up, and when it has fallen more than 10,000 events behind.
    ///
    /// # Errors
    /// As [`EventStore::run_view`].
    pub fn follow_view<F>(
        &self,
        view: &View,
        stop: &Stop,
        mut on_signal: impl FnMut(Signal),
        mut fold: F,
    ) -> Result<ViewProgress>
    where
        F: FnMut(&mut WriteTxn, &ViewContext<'_>, &Event<'_>) -> Result<()>,
    {
        self.check_view(view)?;
        let (mut progress, mut has_caught_up) = (ViewProgress::default(), false);
        let mut attention = Attention::of_follower(&self.shared.bell);
        while !stop.is_stopped() {
            let batch = self.fold_batch(view, &mut fold)?;
            progress.add(&batch);
            let behind = batch.head.0.saturating_sub(batch.position.0);
            if behind > BEHIND_MAX && has_caught_up {
                has_caught_up = false;
                on_signal(Signal::FellBehind { events: behind });
            }
            if behind == 0 {
                if !has_caught_up {
                    has_caught_up = true;
                    on_signal(Signal::CaughtUp);
                }
                // Events are visible to a view before they are durable: its own commits are later in the log.
                while !stop.is_stopped() && !self.shared.bell.wait(batch.position.0, WAIT, &mut attention) {}
            }
        }
        Ok(progress)
    }

    fn check_view(&self, view: &View) -> Result<()> {
        view.check_names(&self.shared.db.read()?)?;
        view.check_options(&self.shared.db)
    }

    /// Folds the next events of a view in one transaction. Requires: the tables of the view are known to be its own.
    pub(super) fn fold_batch<F>(&self, view: &View, fold: &mut F) -> Result<Batch>
    where
        F: FnMut(&mut WriteTxn, &ViewContext<'_>, &Event<'_>) -> Result<()>,
    {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.try_batch(view, fold) {
                Err(error) if error.is_retryable() && attempt < UPDATE_ATTEMPTS => thread::yield_now(),
                outcome => return outcome,
            }
        }
    }

    fn try_batch<F>(&self, view: &View, fold: &mut F) -> Result<Batch>
    where
        F: FnMut(&mut WriteTxn, &ViewContext<'_>, &Event<'_>) -> Result<()>,
    {
        let (mut txn, snapshot) = (self.shared.db.write()?, self.snapshot()?);
        let consumer = view.consumer();
        let tables = view.open_tables(&mut txn)?;
        let before = self.position_in(&txn, &consumer)?;
        let head = snapshot.head()?.min(view.end);
        let from = before.max(snapshot.start()?);
        let mut position = Position(head.0.min(from.0.saturating_add(view.batch_events))).max(from);
        let (context, mut events, mut has_seen) = (ViewContext { tables: &tables, snapshot: &snapshot }, 0, false);
        snapshot.try_scan(from..position, |event| {
            has_seen = true;
            if view.partition.contains(event.stream) {
                events += 1;
                fold(&mut txn, &context, event)?;
            }
            Ok::<(), Error>(())
        })?;
        if !has_seen && position < head {
            position = locate::after_gap(snapshot.txn(), &self.shared.tables, position, head)?;
        }
        if position > before {
            txn.put(&self.shared.tables.consumers, &consumer, keys::number(position.0))?;
        }
        txn.commit()?;
        Ok(Batch { events, before, position, missed: from.0 - before.0, head })
    }

    /// The position of a consumer, as a transaction sees it.
    pub(super) fn position_in(&self, txn: &impl Read, consumer: &str) -> Result<Position> {
        match txn.get(&self.shared.tables.consumers, consumer)? {
            Some(value) => parse_position(&self.shared.tables, &value),
            None => Ok(Position::START),
        }
    }
}

/// What a transaction has folded.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) events: u64,
    /// The position that the view had.
    pub(super) before: Position,
    pub(super) position: Position,
    /// Positions before `position` that retention had removed.
    pub(super) missed: u64,
    /// The head of the log as the transaction saw it, or the end of the view if that is lower.
    pub(super) head: Position,
}

/// See [`View::batch_events`].
const BATCH_EVENTS: u64 = 10_000;
/// Events that may wait before a view has fallen behind.
const BEHIND_MAX: u64 = 10_000;
/// How long a view waits for events at once. It is woken when some come, and when it is stopped.
const WAIT: Duration = Duration::from_secs(1);
/// Why names that end so are refused.
const RESERVED: &str = "names that end in `~rebuild` are those of views that are being rebuilt; choose another name";
