//! Inserts of one commit into one delta, of rising keys.
//!
//! Keys that are near each other go along a [`Trail`]: the leaf of the one before is in the caches. Where each key goes
//! to another leaf, a large delta would wait for the memory of each. There, [`AHEAD`] inserts are begun before the
//! first of them is completed: the leaf is prefetched first, then the record that a search will compare, and both
//! arrive while other keys are inserted.

use crate::delta::btree::Entry;
use crate::delta::change::Change;
use crate::delta::table_delta::{Approach, Delta, Trail};
use crate::ids::Sequence;

/// See the module. [`Inserts::finish`] must be called before it is dropped.
#[must_use]
pub struct Inserts<'d, 'e> {
    delta: &'d Delta,
    at: Sequence,
    trail: Trail,
    /// A ring of inserts that have begun; `next` is the place of the oldest. Empty while keys go along the trail.
    begun: [Option<Begun<'e>>; AHEAD],
    next: usize,
    /// Whether inserts are begun ahead.
    pub(super) is_ahead: bool,
    /// Keys in a row that call for the other way.
    contrary: usize,
}

struct Begun<'e> {
    entry: Entry<'e>,
    approach: Option<Approach>,
}

/// How many inserts are begun before the first of them is completed: their misses overlap.
const AHEAD: usize = 8;
/// When so many more have begun, the leaf of an insert has arrived.
const LEAF_ARRIVED: usize = 4;
/// Keys in a row that are far from each other before inserts are begun ahead.
const FAR_KEYS: usize = 4;
/// Keys in a row that are near each other before they go along a trail again.
const NEAR_KEYS: usize = 8;

impl<'d, 'e> Inserts<'d, 'e> {
    /// Inserts into `delta` by the commit `at`.
    pub fn new(delta: &'d Delta, at: Sequence) -> Self {
        let begun = [const { None }; AHEAD];
        Self { delta, at, trail: Trail::default(), begun, next: 0, is_ahead: false, contrary: 0 }
    }

    /// Inserts as [`Delta::insert`], at once or before [`Inserts::finish`] returns. Faster if keys rise.
    ///
    /// # Panics
    /// As [`Delta::insert`].
    #[inline]
    pub fn insert(&mut self, key: &'e [u8], hash: u64, change: Change<'e>) {
        if self.is_ahead {
            self.begin(Entry { key, hash, at: self.at, change });
            return;
        }
        self.delta.insert_along(&mut self.trail, key, hash, self.at, change);
        self.contrary = if self.trail.is_near() { 0 } else { self.contrary + 1 };
        if self.contrary == FAR_KEYS {
            (self.is_ahead, self.contrary) = (true, 0);
        }
    }

    /// Completes the inserts that have begun.
    pub fn finish(&mut self) {
        if !self.is_ahead {
            return;
        }
        for _ in 0..AHEAD {
            self.complete(self.next);
            self.next = (self.next + 1) % AHEAD;
        }
    }

    fn begin(&mut self, entry: Entry<'e>) {
        let place = self.next;
        self.complete(place);
        let approach = self.delta.approach(entry.key, entry.hash);
        let before = self.begun[(place + AHEAD - 1) % AHEAD].as_ref().and_then(|begun| begun.approach.as_ref());
        let is_near = approach.as_ref().zip(before).is_some_and(|(approach, before)| approach.is_beside(before));
        self.contrary = if is_near { self.contrary + 1 } else { 0 };
        self.begun[place] = Some(Begun { entry, approach });
        self.next = (place + 1) % AHEAD;
        if let Some(Begun { entry, approach: Some(approach) }) = &mut self.begun[(place + LEAF_ARRIVED) % AHEAD] {
            self.delta.prefetch_record(approach, entry.key);
        }
        if self.contrary == NEAR_KEYS {
            self.finish();
            (self.is_ahead, self.contrary, self.trail) = (false, 0, Trail::default());
        }
    }

    fn complete(&mut self, place: usize) {
        match self.begun[place].take() {
            Some(Begun { entry, approach: Some(approach) }) => {
                self.delta.insert_near(&approach, entry.key, entry.at, entry.change);
            }
            Some(Begun { entry, approach: None }) => {
                self.delta.insert(entry.key, entry.hash, entry.at, entry.change);
            }
            None => {}
        }
    }
}
