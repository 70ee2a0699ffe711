//! The fast way over many events: whole leaves of the log, without a call or an allocation for each event.

use std::ops::{Bound, Range, RangeBounds};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::error::{Error, Result};
use crate::event::Event;
use crate::ids::Position;
use crate::layout::chunk::Chunk;
use crate::layout::keys;
use crate::reading::locate;
use crate::reading::snapshot::Snapshot;

impl Snapshot {
    /// Passes the events at these positions to `each`, in order. This is the fastest way to replay many events: it
    /// reads the leaves of the log, and copies nothing.
    ///
    /// ```
    /// # use fulgurite_events::{EventData, EventStore, Expected, Position};
    /// # fn main() -> fulgurite_events::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let store = EventStore::create(directory.path().join("a.ful"))?;
    /// store.append("a", Expected::Any, &[EventData::new("counted", b"12"), EventData::new("counted", b"345")])?;
    /// let mut bytes = 0;
    /// store.snapshot()?.scan(Position::START.., |event| bytes += event.payload.len())?;
    /// assert_eq!(bytes, 5);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    #[inline]
    pub fn scan(&self, positions: impl RangeBounds<Position>, mut each: impl FnMut(&Event<'_>)) -> Result<()> {
        self.try_scan(positions, |event| {
            each(event);
            Ok::<(), Error>(())
        })
    }

    /// As [`Snapshot::scan`], but ends with the first error that `each` returns.
    ///
    /// # Errors
    /// As [`Snapshot::scan`]; those of `each`.
    #[inline]
    pub fn try_scan<E: From<Error>>(
        &self,
        positions: impl RangeBounds<Position>,
        mut each: impl FnMut(&Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (from, to) = bounds(&positions);
        let start = locate::chunk_start(self.txn(), self.tables(), Position(from))?;
        let range = keys::number(start.0)..keys::number(to.max(start.0));
        for batch in self.txn().leaf_batches(&self.tables().log, range).map_err(Error::from)? {
            for (key, value) in &batch.map_err(Error::from)? {
                let chunk = locate::parse(self.tables(), key, value)?;
                if chunk.first.0 >= from && chunk.end().0 <= to {
                    self.whole(&chunk, &mut each)?;
                } else {
                    self.whole(&chunk, &mut |event| match (from..to).contains(&event.position.0) {
                        true => each(event),
                        false => Ok(()),
                    })?;
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn whole<E: From<Error>>(
        &self,
        chunk: &Chunk<'_>,
        each: &mut impl FnMut(&Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut events = chunk.events();
        for event in events.by_ref() {
            each(&event)?;
        }
        if events.is_whole() { Ok(()) } else { Err(self.tables().damaged(&self.tables().log, MALFORMED).into()) }
    }

    /// Passes the events at these positions to `each` on several threads. Each thread has a part of the positions and a
    /// state of its own, and sees its events in order. Returns the states in the order of the parts, so a fold that is
    /// associative can combine them.
    ///
    /// A fold that needs all events of a stream on one thread uses [`Partition`](crate::Partition) instead: every
    /// thread scans all, and skips streams that are not its own.
    ///
    /// # Errors
    /// As [`Snapshot::scan`].
    ///
    /// # Panics
    /// If `each` panics.
    pub fn scan_parallel<S: Send>(
        &self,
        positions: impl RangeBounds<Position>,
        threads: usize,
        state: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, &Event<'_>) + Sync,
    ) -> Result<Vec<S>> {
        self.in_parts(positions, threads, |part| {
            let mut state = state();
            self.scan(part, |event| each(&mut state, event)).map(|()| state)
        })
    }

    /// As [`Snapshot::scan_parallel`], but ends with an error that `each` returns. The other threads end then at their
    /// next events, and also if `each` panics. If `each` fails on several threads, the error is that of the first part.
    ///
    /// # Errors
    /// As [`Snapshot::scan`]; those of `each`.
    ///
    /// # Panics
    /// If `each` panics.
    pub fn try_scan_parallel<S: Send, E: From<Error> + Send>(
        &self,
        positions: impl RangeBounds<Position>,
        threads: usize,
        state: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, &Event<'_>) -> Result<(), E> + Sync,
    ) -> Result<Vec<S>, E> {
        let has_failed = AtomicBool::new(false);
        let states = self.in_parts(positions, threads, |part| {
            let _others = EndsOthers(&has_failed);
            let mut state = state();
            let scanned = self.try_scan(part, |event| {
                // Relaxed: nothing else is read because of it.
                if has_failed.load(Ordering::Relaxed) {
                    return Err(Ended::ByAnother);
                }
                each(&mut state, event).map_err(Ended::ByItself)
            });
            match scanned {
                Ok(()) => Ok(Some(state)),
                Err(Ended::ByAnother) => Ok(None),
                Err(Ended::ByItself(error)) => {
                    has_failed.store(true, Ordering::Relaxed);
                    Err(error)
                }
            }
        });
        // A thread that was ended by another one has no state, but then the other one has an error.
        Ok(states?.into_iter().flatten().collect())
    }

    /// Calls `run` on several threads, each with a part of the positions. Returns the results in the order of the
    /// parts, or the first error.
    fn in_parts<T: Send, E: From<Error> + Send>(
        &self,
        positions: impl RangeBounds<Position>,
        threads: usize,
        run: impl Fn(Range<Position>) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        let (from, to) = bounds(&positions);
        let from = from.max(self.start()?.0);
        let to = to.min(self.head()?.0).max(from);
        let threads = threads.max(1) as u64;
        let bound = |part: u64| Position(from + (to - from) / threads * part + (to - from) % threads * part / threads);
        let run = &run;
        thread::scope(|scope| {
            let spawn = |part: u64| scope.spawn(move || run(bound(part)..bound(part + 1)));
            let workers: Vec<_> = (0..threads).map(spawn).collect();
            workers.into_iter().map(|worker| worker.join().expect("the program's function does not panic")).collect()
        })
    }
}

/// If its thread panics, other threads learn that they are to end. Relaxed: nothing else is read because of it.
#[derive(Debug)]
pub struct EndsOthers<'f>(pub &'f AtomicBool);

impl Drop for EndsOthers<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Why a thread of [`Snapshot::try_scan_parallel`] has ended early.
enum Ended<E> {
    ByItself(E),
    ByAnother,
}

impl<E: From<Error>> From<Error> for Ended<E> {
    fn from(error: Error) -> Self {
        Self::ByItself(error.into())
    }
}

/// The first position within the bounds, and the first after them.
pub fn bounds(positions: &impl RangeBounds<Position>) -> (u64, u64) {
    let from = match positions.start_bound() {
        Bound::Included(position) => position.0,
        Bound::Excluded(position) => position.0.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let to = match positions.end_bound() {
        Bound::Included(position) => position.0.saturating_add(1),
        Bound::Excluded(position) => position.0,
        Bound::Unbounded => u64::MAX,
    };
    (from, to)
}

/// What damage of an event is called.
const MALFORMED: &str = "an event is malformed";
