//! The filter and hash table in front of a delta's tree, for point reads: most of them learn here that the delta does
//! not have their key, and the others go straight to its record.
//!
//! A list of generations, each eight times as large as the one before and filled before the next is begun: nothing is
//! ever rebuilt, so growth costs no insert anything. A generation is a filter (four bits of one 64-bit word per key)
//! and a hash table of records (open addressing). A miss reads one filter word of each generation, and all but the
//! newest are small enough for the near caches.
//!
//! Large generations of an index that is dropped serve the next one: see [`Spares`].
//!
//! Ordering: a key is added before the insert of any of its versions returns. A read at a sequence from an acquiring
//! load after that insert finds it. Other reads may not find it, and would not see its version either.
//!
//! A record may be added more than once, when threads that insert versions of a new key do not wait for each other.
//! Both entries name the same record, so it does not matter which is found. Each is numbered, so that no generation
//! gets more entries than it was made for: a search in a full table would never end.

use crate::delta::arena::{prefetch, zeroed_words};
use crate::delta::record::RecordRef;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, OnceLock};

/// Keys that the first generation is made for. (A model checker affords few.)
const FIRST_KEYS: usize = if cfg!(model_checked) { 8 } else { 256 };
/// How many times larger than the one before each generation is, as a power of two.
const GROWTH_LOG2: usize = 3;
/// The first generation that is as large as a near cache: 1.5 MiB of slots for 131,072 keys.
const LARGE_GENERATION: usize = 3;
/// Together these hold 613M keys, more than fit into an arena.
const GENERATIONS_MAX: usize = 8;
/// 16 filter bits for a key: with four of them in one word, 0.5 % of strangers pass a full generation.
const KEYS_PER_WORD: usize = 4;
/// Half as many slots again as keys: a full generation finds a key in 2 steps on average.
const SLOTS_PER_TWO_KEYS: usize = 3;
/// Smaller generations cost too little to be kept.
const SPARE_BYTES_MIN: usize = if cfg!(model_checked) { 1 } else { 1 << 20 };

const _: () = assert!((FIRST_KEYS / KEYS_PER_WORD).is_power_of_two() && FIRST_KEYS / KEYS_PER_WORD > 1);
const _: () = assert!(GENERATIONS_MAX <= u32::BITS as usize);

/// See the module.
pub(super) struct Index {
    generations: [OnceLock<Generation>; GENERATIONS_MAX],
    bytes: AtomicUsize,
    spares: Arc<Spares>,
}

/// Large generations that dropped indexes left to later ones, two of each size at most, as chunks of an arena.
/// Zeroing them again costs a tenth of new memory. Nothing is locked under the lock.
#[derive(Default)]
struct Spares(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    generations: [[Option<Generation>; 2]; GENERATIONS_MAX],
    /// No index has needed a large generation since the last [`Index::forget_spares`]: generations that are dropped
    /// are freed.
    unwanted: bool,
}

struct Generation {
    /// A power of two of words, so that a shift finds one.
    filter: Box<[AtomicU64]>,
    filter_shift: u32,
    /// The low half of a hash, and the unit of its record; 0 where there is none.
    slots: Box<[AtomicU64]>,
}

impl Index {
    /// An index that owns nothing yet.
    pub(super) fn new() -> Self {
        Self::with(Arc::default())
    }

    /// An index that will reuse the memory of this one and those before it.
    pub(super) fn successor(&self) -> Self {
        Self::with(Arc::clone(&self.spares))
    }

    /// Frees the memory that is kept for reuse.
    pub(super) fn forget_spares(&self) {
        *self.spares.0.lock() = Kept { unwanted: true, ..Kept::default() };
    }

    /// How many generations are kept for reuse.
    #[cfg(test)]
    pub(super) fn spare_count(&self) -> usize {
        self.spares.0.lock().generations.iter().flatten().flatten().count()
    }

    fn with(spares: Arc<Spares>) -> Self {
        Self { generations: [const { OnceLock::new() }; GENERATIONS_MAX], bytes: AtomicUsize::new(0), spares }
    }

    /// Adds a record. Entries are numbered from 0: no two of them have the same `ordinal`.
    pub(super) fn add(&self, hash: u64, ordinal: usize, record: RecordRef) {
        let generation = self.generation(generation_of(ordinal));
        let slots = &generation.slots;
        let entry = hash << 32 | u64::from(record.unit().get());
        let mut place = place_of(hash, slots.len());
        // Release pairs with the Acquire in `find`: the record is there. Relaxed: a slot that is taken is passed by.
        while slots[place].compare_exchange(0, entry, Ordering::Release, Ordering::Relaxed).is_err() {
            place = after(place, slots.len());
        }
        // Relaxed: see the module.
        generation.filter_word(hash).fetch_or(mask_of(hash), Ordering::Relaxed);
    }

    /// Fetches what [`Index::add`] will write.
    pub(super) fn prefetch_add(&self, hash: u64, ordinal: usize) {
        if let Some(generation) = self.generations[generation_of(ordinal)].get() {
            prefetch_word(&generation.slots[place_of(hash, generation.slots.len())]);
            prefetch_word(generation.filter_word(hash));
        }
    }

    /// Whether any generation may hold a key with this hash.
    #[inline(always)]
    pub(super) fn may_know(&self, hash: u64) -> bool {
        self.candidates(hash) != 0
    }

    /// A bit for each generation that may hold a key with this hash.
    #[inline(always)]
    fn candidates(&self, hash: u64) -> u32 {
        let mask = mask_of(hash);
        // All generations, without a branch on each result: which of them holds a key cannot be predicted.
        self.made().enumerate().fold(0, |candidates, (number, generation)| {
            let word = generation.filter_word(hash).load(Ordering::Relaxed);
            candidates | u32::from(word & mask == mask) << number
        })
    }

    /// The record with this hash that `is_it` confirms.
    #[inline(always)]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(RecordRef) -> bool) -> Option<RecordRef> {
        let mut candidates = self.candidates(hash);
        // The newest first: it is the largest, once it is full.
        while let Some(number) = candidates.checked_ilog2() {
            let found = self.generations[number as usize].get().and_then(|generation| generation.find(hash, &is_it));
            if found.is_some() {
                return found;
            }
            candidates ^= 1 << number;
        }
        None
    }

    /// Fetches what [`Index::find`] will read first.
    pub(super) fn prefetch(&self, hash: u64) {
        self.made().for_each(|generation| prefetch_word(generation.filter_word(hash)));
        // The newest generation has most keys.
        if let Some(newest) = self.made().last() {
            prefetch_word(&newest.slots[place_of(hash, newest.slots.len())]);
        }
    }

    /// Whether it has outgrown the near caches of a processor.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        self.generations[LARGE_GENERATION].get().is_some()
    }

    /// Bytes of all generations.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn made(&self) -> impl Iterator<Item = &Generation> {
        self.generations.iter().map_while(OnceLock::get)
    }

    /// The generation, which is made if it is missing, and those before it first: readers stop at the first missing
    /// one.
    fn generation(&self, number: usize) -> &Generation {
        self.generations[number].get_or_init(|| {
            if number > 0 {
                self.generation(number - 1);
            }
            let spare = self.spares.0.lock().generations[number].iter_mut().find_map(Option::take);
            let made = spare.map_or_else(|| Generation::new(number), Generation::emptied);
            if made.bytes() >= SPARE_BYTES_MIN {
                self.spares.0.lock().unwanted = false;
            }
            self.bytes.fetch_add(made.bytes(), Ordering::Relaxed);
            made
        })
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let mut spares = self.spares.0.lock_after_panic();
        if spares.unwanted {
            return;
        }
        for (generation, places) in self.generations.iter_mut().zip(&mut spares.generations) {
            if let Some(place) = places.iter_mut().find(|place| place.is_none()) {
                *place = generation.take().filter(|left| left.bytes() >= SPARE_BYTES_MIN);
            }
        }
    }
}

impl Generation {
    fn new(number: usize) -> Self {
        let keys = FIRST_KEYS << (GROWTH_LOG2 * number);
        let (filter, slots) = (zeroed_words(keys / KEYS_PER_WORD), zeroed_words(keys * SLOTS_PER_TWO_KEYS / 2));
        let filter_shift = u64::BITS - filter.len().ilog2();
        Self { filter, filter_shift, slots }
    }

    /// The same memory without any key.
    fn emptied(mut self) -> Self {
        for word in self.filter.iter_mut().chain(&mut self.slots) {
            *word.get_mut() = 0;
        }
        self
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.filter) + size_of_val(&*self.slots)
    }

    /// The word of the filter for a hash: its top bits choose one.
    #[inline(always)]
    fn filter_word(&self, hash: u64) -> &AtomicU64 {
        &self.filter[(hash >> self.filter_shift) as usize]
    }

    #[inline(always)]
    fn find(&self, hash: u64, is_it: impl Fn(RecordRef) -> bool) -> Option<RecordRef> {
        let mut place = place_of(hash, self.slots.len());
        loop {
            let entry = self.slots[place].load(Ordering::Acquire);
            let record = RecordRef::from_unit(entry as u32)?;
            if entry >> 32 == hash & u64::from(u32::MAX) && is_it(record) {
                return Some(record);
            }
            place = after(place, self.slots.len());
        }
    }
}

fn prefetch_word(word: &AtomicU64) {
    prefetch(std::ptr::from_ref(word).cast());
}

/// The generation that key number `ordinal` belongs to.
fn generation_of(ordinal: usize) -> usize {
    let mut end = FIRST_KEYS;
    let mut number = 0;
    while ordinal >= end && number + 1 < GENERATIONS_MAX {
        number += 1;
        end += FIRST_KEYS << (GROWTH_LOG2 * number);
    }
    number
}

/// The top bits of a hash choose a place among `count`.
#[inline(always)]
fn place_of(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

#[inline(always)]
fn after(place: usize, count: usize) -> usize {
    if place + 1 == count { 0 } else { place + 1 }
}

/// The low 24 bits choose four bits of the word.
#[inline(always)]
fn mask_of(hash: u64) -> u64 {
    (1 << (hash & 63)) | (1 << (hash >> 6 & 63)) | (1 << (hash >> 12 & 63)) | (1 << (hash >> 18 & 63))
}
