//! [`Follower`]: every event once, in order, as it becomes visible.

use std::time::Duration;

use fulgurite::Durability;

use crate::consumers::signal::Signal;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::ids::Position;
use crate::reading::locate;
use crate::reading::partition::Partition;
use crate::reading::query::EventQuery;
use crate::reading::snapshot::Snapshot;
use crate::store::bell::Attention;
use crate::store::handle::EventStore;

/// Follows a store within the process that appends to it. It sees every event from a position on once, in the order of
/// positions, without gaps, as soon as an append of it would return: with [`Durability::Disk`] no power cut loses an
/// event that it has seen.
///
/// It waits on a condition variable. If events come quickly, it spins before it sleeps, for 300 µs at most.
#[derive(Debug)]
pub struct Follower {
    store: EventStore,
    next: Position,
    batch_events: u64,
    behind_max: u64,
    partition: Partition,
    /// None for all events.
    query: Option<EventQuery>,
    has_caught_up: bool,
    /// The positions that were skipped, and how many of them a call has returned.
    missed: u64,
    missed_returned: u64,
    /// A signal that no call has returned yet.
    signal: Option<Signal>,
    attention: Attention,
}

/// The result of a call of [`Follower::poll`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivered {
    /// How many events.
    pub events: u64,
    /// How many positions before them retention had removed before the follower came to them.
    pub missed: u64,
    /// Set when the follower has caught up, or has fallen behind.
    pub signal: Option<Signal>,
}

impl EventStore {
    /// Follows the store from a position on. The position of the next event is allowed too.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use fulgurite_events::{EventData, EventStore, Expected, Position, Signal};
    /// # fn main() -> fulgurite_events::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// let store = EventStore::create(directory.path().join("a.ful"))?;
    /// store.append("a", Expected::Any, &[EventData::new("counted", b"1")])?;
    /// let mut follower = store.follow(Position::START)?;
    /// let mut seen = Vec::new();
    /// loop {
    ///     let delivered = follower.poll(Duration::from_secs(1), |_, event| {
    ///         seen.push(event.payload.to_vec());
    ///         Ok(())
    ///     })?;
    ///     if delivered.signal == Some(Signal::CaughtUp) {
    ///         break;
    ///     }
    /// }
    /// assert_eq!(seen, [b"1"]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the store has no event yet at the position before `from`; errors of the disk.
    pub fn follow(&self, from: Position) -> Result<Follower> {
        // Events that are not durable yet have positions too. A log without a position may be one whose end is damaged.
        let end = self.shared.bell.position();
        if from.0 > end || end == 0 {
            self.snapshot()?.check_follows(from)?;
        }
        Ok(Follower {
            store: self.clone(),
            next: from,
            batch_events: BATCH_EVENTS,
            behind_max: BEHIND_MAX,
            partition: Partition::ALL,
            query: None,
            has_caught_up: false,
            missed: 0,
            missed_returned: 0,
            signal: None,
            attention: Attention::of_follower(&self.shared.bell),
        })
    }
}

impl Follower {
    /// Sets how many events a call delivers at most. Default: 10,000.
    #[must_use]
    pub fn batch_events(mut self, events: u64) -> Self {
        self.batch_events = events.max(1);
        self
    }

    /// Sets how many events may be waiting before [`Signal::FellBehind`]. Default: 10,000.
    #[must_use]
    pub fn behind_max(mut self, events: u64) -> Self {
        self.behind_max = events;
        self
    }

    /// Delivers only events of a member's streams.
    #[must_use]
    pub fn partition(mut self, partition: Partition) -> Self {
        self.partition = partition;
        self
    }

    /// Delivers only events that match a query. The follower reads the others too, and skips them.
    #[must_use]
    pub fn query(mut self, query: EventQuery) -> Self {
        self.query = (!query.items.is_empty()).then_some(query);
        self
    }

    /// For a thread that sends the events to another process.
    pub(super) fn sends(self) -> Self {
        Self { attention: Attention::of_sender(&self.store.shared.bell), ..self }
    }

    /// The position of the next event that it delivers. Store it to continue there later.
    pub fn position(&self) -> Position {
        self.next
    }

    /// How many positions were skipped since it began, because retention had removed their events before it came to
    /// them. It counts them also if the call failed that skipped them.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// The store that it follows.
    pub fn store(&self) -> &EventStore {
        &self.store
    }

    /// Passes the next events to `each`. If there are none, it waits at most `wait` for some. When it has delivered all
    /// that there are, the next call returns [`Signal::CaughtUp`] at once, without events. With a query or a partition,
    /// a call that has only skipped events returns without waiting.
    ///
    /// If `each` fails, the event counts as not delivered: the next call begins with it, and returns what the failed
    /// call has missed.
    ///
    /// # Errors
    /// Those of `each`; errors of the disk.
    pub fn poll(
        &mut self,
        wait: Duration,
        mut each: impl FnMut(&Snapshot, &Event<'_>) -> Result<()>,
    ) -> Result<Delivered> {
        self.poll_while(wait, |snapshot, event| each(snapshot, event).map(|()| true))
    }

    /// As [`Follower::poll`], but ends after an event for which `each` returns false.
    pub(super) fn poll_while(
        &mut self,
        wait: Duration,
        mut each: impl FnMut(&Snapshot, &Event<'_>) -> Result<bool>,
    ) -> Result<Delivered> {
        let bell = &self.store.shared.bell;
        if bell.position() <= self.next.0 {
            if !self.has_caught_up {
                self.has_caught_up = true;
                self.signal = Some(Signal::CaughtUp);
                return Ok(self.delivered(0));
            }
            if self.missed == self.missed_returned && !bell.wait(self.next.0, wait, &mut self.attention) {
                return Ok(Delivered::default());
            }
        }
        let snapshot = match self.store.shared.durability {
            Durability::Disk => self.store.durable_snapshot()?,
            _ => self.store.snapshot()?,
        };
        // Not beyond the snapshot: what it does not have would be skipped.
        let head = bell.position().min(snapshot.head()?.0);
        let events = head.saturating_sub(self.next.0);
        if self.has_caught_up && events > self.behind_max {
            self.has_caught_up = false;
            self.signal = Some(Signal::FellBehind { events });
        }
        let start = snapshot.start()?;
        if self.next < start {
            self.missed += start.0 - self.next.0;
            self.next = start;
        }
        let end = Position(head.min(self.next.0.saturating_add(self.batch_events)).max(self.next.0));
        let query = self.query.as_ref().map(|query| snapshot.resolve(query)).transpose()?;
        let is_asked_for = |event: &Event<'_>| query.as_ref().is_none_or(|query| query.matches(event));
        let (next, partition, mut delivered) = (&mut self.next, self.partition, 0);
        let ended = snapshot.try_scan(*next..end, |event| {
            let mut goes_on = true;
            if partition.contains(event.stream) && is_asked_for(event) {
                goes_on = each(&snapshot, event)?;
                delivered += 1;
            }
            next.0 = event.position.0 + 1;
            if goes_on { Ok(()) } else { Err(Ended::Enough) }
        });
        match ended {
            // Removed events at the end leave their positions.
            Ok(()) if delivered == 0 && end.0 < head => {
                self.next = locate::after_gap(snapshot.txn(), &self.store.shared.tables, end, Position(head))?;
            }
            Ok(()) => self.next = end,
            Err(Ended::Enough) => {}
            Err(Ended::Failed(error)) => return Err(error),
        }
        Ok(self.delivered(delivered))
    }

    /// What a call returns, with what earlier ones could not return because they failed.
    fn delivered(&mut self, events: u64) -> Delivered {
        let missed = self.missed - self.missed_returned;
        self.missed_returned = self.missed;
        Delivered { events, missed, signal: self.signal.take() }
    }
}

/// Why a scan ended before its end.
enum Ended {
    Enough,
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// See [`Follower::batch_events`].
const BATCH_EVENTS: u64 = 10_000;
/// See [`Follower::behind_max`].
const BEHIND_MAX: u64 = 10_000;
