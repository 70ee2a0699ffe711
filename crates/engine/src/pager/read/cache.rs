//! Owns the frames of pages read by `pread`, where the file is not mapped: a bounded, sharded cache.
//!
//! Invariants: (1) every frame in the cache has been verified. (2) A frame is never changed after it was made, so
//! that its holder may read it after it left the cache. (3) The cache itself holds at most its bound; frames pinned
//! by readers come on top. Called only by [`Pages`](super::Pages).

use std::collections::HashMap;

use crate::ids::{Birth, PageRef};
use crate::sync::{Arc, Mutex};

/// Bytes that left the file: one verified page, or one long value. Immutable.
#[derive(Debug)]
pub struct Frame {
    bytes: Box<[u8]>,
}

impl Frame {
    /// Wraps bytes, verified where they come from a file.
    pub fn new(bytes: Box<[u8]>) -> Arc<Self> {
        Arc::new(Self { bytes })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Names a page for all time: an extent's number is used again, but never with the same birth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::pager) struct FrameKey {
    pub at: PageRef,
    pub birth: Birth,
}

/// A bounded cache of verified pages, replaced by the clock algorithm.
#[derive(Debug)]
pub(in crate::pager) struct FrameCache {
    /// Each guards one part of the cache. No other lock is taken under it, and no file is read.
    shards: Box<[Mutex<Shard>]>,
}

impl FrameCache {
    /// A cache of about `cache_bytes`, at least a few pages.
    pub fn new(cache_bytes: usize, page_bytes: usize) -> Self {
        let frames = (cache_bytes / page_bytes).max(FRAMES_MIN);
        let shards = (frames / FRAMES_MIN).clamp(1, SHARDS_MAX);
        let capacity = frames / shards;
        Self { shards: (0..shards).map(|_| Mutex::new(Shard::new(capacity))).collect() }
    }

    /// The frame, if it is here.
    pub fn get(&self, key: FrameKey) -> Option<Arc<Frame>> {
        self.shard(key).lock().get(key)
    }

    /// Adds a verified frame, in place of one that was not used lately.
    pub fn insert(&self, key: FrameKey, frame: &Arc<Frame>) {
        let evicted = self.shard(key).lock().insert(key, Arc::clone(frame));
        // Freed outside the lock.
        drop(evicted);
    }

    fn shard(&self, key: FrameKey) -> &Mutex<Shard> {
        let mixed = (u64::from(key.at.extent.0) << 32 | u64::from(key.at.slot)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.shards[(mixed >> 32) as usize % self.shards.len()]
    }
}

#[derive(Debug)]
struct Shard {
    places: HashMap<FrameKey, usize>,
    slots: Vec<Slot>,
    hand: usize,
    capacity: usize,
}

#[derive(Debug)]
struct Slot {
    key: FrameKey,
    frame: Arc<Frame>,
    used: bool,
}

impl Shard {
    fn new(capacity: usize) -> Self {
        Self { places: HashMap::new(), slots: Vec::new(), hand: 0, capacity }
    }

    fn get(&mut self, key: FrameKey) -> Option<Arc<Frame>> {
        let slot = &mut self.slots[*self.places.get(&key)?];
        slot.used = true;
        Some(Arc::clone(&slot.frame))
    }

    /// Returns the frame that had to leave.
    fn insert(&mut self, key: FrameKey, frame: Arc<Frame>) -> Option<Arc<Frame>> {
        if self.places.contains_key(&key) {
            return None; // Two readers missed the same page at once.
        }
        let slot = Slot { key, frame, used: false };
        if self.slots.len() < self.capacity {
            self.places.insert(key, self.slots.len());
            self.slots.push(slot);
            return None;
        }
        while std::mem::take(&mut self.slots[self.hand].used) {
            self.hand = (self.hand + 1) % self.capacity;
        }
        let old = std::mem::replace(&mut self.slots[self.hand], slot);
        self.places.remove(&old.key);
        self.places.insert(key, self.hand);
        self.hand = (self.hand + 1) % self.capacity;
        Some(old.frame)
    }
}

const FRAMES_MIN: usize = 16;
const SHARDS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ExtentId;

    fn key(slot: u32) -> FrameKey {
        FrameKey { at: PageRef { extent: ExtentId(1), slot }, birth: Birth(1) }
    }

    #[test]
    fn the_cache_keeps_to_its_bound() {
        let cache = FrameCache::new(64 * 100, 100);
        for slot in 0..1000 {
            cache.insert(key(slot), &Frame::new(vec![slot as u8; 100].into()));
        }
        let held = (0..1000).filter(|&slot| cache.get(key(slot)).is_some()).count();
        assert!((32..=64).contains(&held), "{held} frames are held");
    }

    #[test]
    fn a_frame_in_use_outlives_one_that_is_not() {
        let mut shard = Shard::new(4);
        for slot in 0..4 {
            shard.insert(key(slot), Frame::new(vec![slot as u8].into()));
        }
        for slot in 4..50 {
            assert!(shard.get(key(2)).is_some(), "frame 2 is used between all inserts");
            shard.insert(key(slot), Frame::new(vec![slot as u8].into()));
        }
    }

    #[test]
    fn another_birth_is_another_page() {
        let cache = FrameCache::new(1 << 20, 100);
        cache.insert(key(1), &Frame::new(vec![1].into()));
        assert!(cache.get(FrameKey { birth: Birth(2), ..key(1) }).is_none());
    }
}
