//! The newest state of the database and the newest visible commit, and how a state replaces the one before.
//!
//! Invariants:
//! (1) States are published one after the other, under one lock, and each is derived from the one before.
//! (2) When a [`Replaced`] has ended, no slot of a thread holds the state that was replaced.

use crate::ids::Sequence;
use crate::planted::give_way;
use crate::sync::{Arc, Instant, LockRank, Mutex};
use crate::txn::coordination::slots::{Leave, Slots};
use crate::txn::coordination::visible::Visible;
use crate::txn::snapshot::state::{Snapshot, State, address};

/// The newest state, and the newest visible commit.
///
/// `W` is what transactions that may write leave in their slots.
#[derive(Debug)]
pub struct Published<W: Leave> {
    /// [`LockRank::Published`].
    state: Mutex<Arc<State>>,
    visible: Visible,
    /// Where read transactions leave what they hold.
    readers: Arc<Slots<Snapshot>>,
    /// Where transactions that may write leave what they hold.
    writers: Arc<Slots<W>>,
}

impl<W: Leave> Published<W> {
    /// Begins with `state`, all of whose floor is visible.
    pub fn new(state: State) -> Self {
        let (visible, state) = (Visible::new(state.floor), Arc::new(state));
        let (readers, writers) = (Arc::clone(&state.slots), Arc::<Slots<W>>::default());
        readers.set_newest(address(&state));
        writers.set_newest(address(&state));
        Self { visible, readers, writers, state: Mutex::ranked(LockRank::Published, state) }
    }

    /// The present moment.
    pub fn snapshot(&self) -> Snapshot {
        // The number is read before the state: a state taken later holds at least the deltas that the number needs,
        // and a floor above the number only means that more is visible by now.
        let visible = self.visible();
        give_way();
        let state = Arc::clone(&self.state.lock());
        let sequence = visible.max(state.floor);
        Snapshot { state, sequence }
    }

    /// The newest state.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.lock())
    }

    /// Whether `state` is the newest.
    #[inline]
    pub fn is_newest(&self, state: &Arc<State>) -> bool {
        self.readers.is_newest(address(state))
    }

    /// Where read transactions leave what they hold.
    #[inline]
    pub fn read_slots(&self) -> &Slots<Snapshot> {
        &self.readers
    }

    /// Where transactions that may write leave what they hold.
    #[inline]
    pub fn write_slots(&self) -> &Arc<Slots<W>> {
        &self.writers
    }

    /// Drops what is in the slots, and from now on nothing is left there.
    pub fn close_slots(&self) {
        self.writers.close();
        self.readers.close();
    }

    /// The newest visible commit.
    pub fn visible(&self) -> Sequence {
        self.visible.through()
    }

    /// Whether a commit may get this number: not too many are under way.
    pub fn has_room(&self, sequence: Sequence) -> bool {
        self.visible.has_room(sequence)
    }

    /// The commit's changes are in the deltas of the newest state: it is visible as soon as all before it are.
    pub fn finish(&self, sequence: Sequence) {
        self.visible.finish(sequence);
    }

    /// A commit that has a number will never finish, because its thread panicked.
    pub fn abandon(&self) {
        self.visible.abandon();
    }

    /// Waits until all commits up to this one are visible.
    ///
    /// # Panics
    /// If one of them was abandoned.
    pub fn wait(&self, sequence: Sequence) {
        self.visible.wait(sequence);
    }

    /// Waits until all commits up to this one are visible, or one is abandoned. Whether they are visible.
    pub fn arrives(&self, sequence: Sequence) -> bool {
        self.visible.arrives(sequence)
    }

    /// Waits until all commits up to this one are visible, or one is abandoned, or `deadline` comes. Whether they are
    /// visible.
    pub fn wait_until(&self, sequence: Sequence, deadline: Instant) -> bool {
        self.visible.wait_until(sequence, Some(deadline))
    }

    /// Replaces the newest state by one derived from it.
    pub fn update(&self, derive: impl FnOnce(&State) -> State) -> Replaced<'_, W> {
        let mut newest = self.state.lock();
        let state = Arc::new(derive(&newest));
        let before = std::mem::replace(&mut *newest, Arc::clone(&state));
        self.readers.set_newest(address(&state));
        self.writers.set_newest(address(&state));
        Replaced { published: self, state, _before: before }
    }
}

impl<W: Leave> Drop for Published<W> {
    /// What is left in a slot keeps the slots alive, and they keep it.
    fn drop(&mut self) {
        self.close_slots();
    }
}

/// The newest state has been replaced. When this is dropped, it releases the state before, whose last holder frees it
/// with its deltas, and clears what transactions left of that state in their slots.
///
/// Requires: the thread that drops it holds neither the log's lock, for which all commits would wait then, nor the
/// history's or one of a higher rank, which are taken there.
#[must_use = "it ends when no lock is held"]
#[derive(Debug)]
pub struct Replaced<'p, W: Leave> {
    published: &'p Published<W>,
    state: Arc<State>,
    _before: Arc<State>,
}

impl<W: Leave> Replaced<'_, W> {
    /// The new state.
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }
}

impl<W: Leave> Drop for Replaced<'_, W> {
    fn drop(&mut self) {
        self.published.writers.clear();
        self.published.readers.clear();
    }
}
