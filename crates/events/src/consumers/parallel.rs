//! Rebuilding a view on several threads.
//!
//! Each thread folds the streams of one partition into the new tables, up to the end that the log has at the beginning.
//! One transaction then puts one position in the place of theirs, and one thread folds what was appended since.
//!
//! Invariant: the new tables have the events of a partition before the position that is stored for it, each once.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use fulgurite::WriteTxn;

use crate::consumers::rebuilding::Rebuilding;
use crate::consumers::view::{View, ViewContext, ViewProgress};
use crate::error::Result;
use crate::event::Event;
use crate::ids::Position;
use crate::layout::keys;
use crate::reading::partition::Partition;
use crate::reading::scan::EndsOthers;
use crate::store::handle::EventStore;

/// A partition of the view that is rebuilt.
struct Share {
    view: View,
    progress: ViewProgress,
}

/// What the threads of a rebuild learn from each other. Relaxed: nothing else is read because of it.
#[derive(Default)]
struct Threads {
    has_failed: AtomicBool,
    /// How many transactions they have committed.
    committed: AtomicU64,
}

impl Threads {
    fn committed(&self) -> u64 {
        self.committed.load(Ordering::Relaxed)
    }
}

impl EventStore {
    /// As [`EventStore::rebuild_view`], but folds on `threads` threads, 64 at most. All events of a stream are folded
    /// on one thread, in their order. Events of different streams are folded in any order.
    ///
    /// Transactions of two threads conflict if they change the same keys, and are folded again then. So this is for
    /// views whose keys follow from the stream, or that change the keys of several streams with
    /// [`WriteTxn::merge`](fulgurite::WriteTxn::merge), which does not conflict.
    ///
    /// Each thread reads the whole log, and has a transaction of its own: memory of up to
    /// [`Options::write_set_bytes`](fulgurite::Options::write_set_bytes) each.
    ///
    /// # Errors
    /// As [`EventStore::rebuild_view`]. [`Error::Invalid`](crate::Error::Invalid) if another call rebuilds the view.
    ///
    /// # Panics
    /// If `fold` panics.
    pub fn rebuild_view_parallel<F>(&self, view: &View, threads: usize, fold: F) -> Result<ViewProgress>
    where
        F: Fn(&mut WriteTxn, &ViewContext<'_>, &Event<'_>) -> Result<()> + Sync,
    {
        let _alone = Rebuilding::alone(&self.shared, view.group())?;
        let beside = self.begin_rebuild(view)?;
        let progress = match threads.min(THREADS_MAX) {
            0 | 1 => ViewProgress::default(),
            threads => self.fold_shares(&beside, threads as u32, &fold)?,
        };
        let mut fold = |txn: &mut WriteTxn, context: &ViewContext<'_>, event: &Event<'_>| fold(txn, context, event);
        self.finish_rebuild(view, &beside, progress, &mut fold)
    }

    /// Folds the events that there are on several threads.
    fn fold_shares<F>(&self, beside: &View, threads: u32, fold: &F) -> Result<ViewProgress>
    where
        F: Fn(&mut WriteTxn, &ViewContext<'_>, &Event<'_>) -> Result<()> + Sync,
    {
        let end = self.snapshot()?.head()?;
        let partitions = (0..threads).filter_map(|index| Partition::new(index, threads));
        let share = |partition| Share {
            view: beside.clone().until(end).partition(partition),
            progress: ViewProgress::default(),
        };
        let mut shares: Vec<_> = partitions.map(share).collect();
        loop {
            let threads = &Threads::default();
            thread::scope(|scope| {
                let fold_share = |share| scope.spawn(move || self.fold_share(share, fold, threads));
                let workers: Vec<_> = shares.iter_mut().map(fold_share).collect();
                let join = |worker: thread::ScopedJoinHandle<'_, Result<()>>| {
                    worker.join().expect("the program's function does not panic")
                };
                workers.into_iter().try_for_each(join)
            })?;
            // A call of `drop_view` may have dropped what threads had folded that have ended before.
            if self.repeat(|txn| self.join_shares(txn, beside, &shares, end))? {
                return Ok(total(&shares, end));
            }
        }
    }

    /// Folds the events of a partition up to the end of its view, or until another thread has failed or panicked.
    fn fold_share<F>(&self, share: &mut Share, fold: &F, threads: &Threads) -> Result<()>
    where
        F: Fn(&mut WriteTxn, &ViewContext<'_>, &Event<'_>) -> Result<()>,
    {
        let _others = EndsOthers(&threads.has_failed);
        let mut fold = |txn: &mut WriteTxn, context: &ViewContext<'_>, event: &Event<'_>| fold(txn, context, event);
        while !threads.has_failed.load(Ordering::Relaxed) {
            let committed = threads.committed();
            let batch = match self.fold_batch(&share.view, &mut fold) {
                // The other threads have committed meanwhile. When they have ended, there is none to conflict with.
                Err(error) if error.is_retryable() && threads.committed() > committed => continue,
                batch => batch,
            };
            if batch.is_err() {
                threads.has_failed.store(true, Ordering::Relaxed);
            }
            let batch = batch?;
            threads.committed.fetch_add(1, Ordering::Relaxed);
            if batch.before < share.progress.position {
                share.progress = ViewProgress::default();
            }
            share.progress.add(&batch);
            if batch.position >= batch.head {
                break;
            }
        }
        Ok(())
    }

    /// Puts one position in the place of those of the partitions. Returns false if one of them lacks events.
    fn join_shares(&self, txn: &mut WriteTxn, beside: &View, shares: &[Share], end: Position) -> Result<bool> {
        let consumers = &self.shared.tables.consumers;
        for share in shares {
            // It is above the end if retention has removed the events there.
            if self.position_in(txn, &share.view.consumer())? < end {
                return Ok(false);
            }
            txn.delete(consumers, share.view.consumer())?;
        }
        txn.put(consumers, beside.consumer(), keys::number(end.0))?;
        Ok(true)
    }
}

/// What all threads have folded.
fn total(shares: &[Share], end: Position) -> ViewProgress {
    let mut total = ViewProgress { position: end, ..ViewProgress::default() };
    for Share { progress, .. } in shares {
        total.events += progress.events;
        // Each thread passes over all that retention has removed. What is above the end is passed over again.
        total.missed = total.missed.max(progress.missed.saturating_sub(progress.position.0.saturating_sub(end.0)));
    }
    total
}

/// Each thread reads the whole log.
const THREADS_MAX: usize = 64;
