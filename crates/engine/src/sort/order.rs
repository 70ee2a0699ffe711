//! Sorts records without moving them.
//!
//! Each record is an entry of 16 bytes: eight bytes of its key as a number (the *head*), and its place. Entries are
//! compared as whole numbers, which takes no branch and touches no key. Only where heads tie is more of the keys read:
//! those of a tie are given new heads from where their common beginning ends, and sorted again. So a key is read once
//! per eight bytes that matter, and long shared beginnings (IRIs, paths) cost little.

use std::cmp::Ordering;
use std::ops::Range;

/// Where the records are that an [`Order`] sorts. A place is theirs to give out; places rise in the order that
/// records came.
pub trait Records {
    /// The key of the record at a place that was given out.
    fn key(&self, place: u64) -> &[u8];

    /// Asks the processor for so many of the record's first cache lines.
    fn prefetch(&self, place: u64, lines: usize);
}

/// A head above, a record's place below: places rise in the order that records came, so equal keys keep it.
type Entry = u128;

/// The places of records: first as they came, then in order of their keys, and where keys are equal as they came.
#[derive(Debug, Default)]
pub struct Order {
    entries: Vec<Entry>,
    /// The beginning that all keys share.
    shared: Vec<u8>,
    /// So many of the first entries have heads from further on in their keys: more seemed to be shared when they came.
    outdated: usize,
}

impl Order {
    /// Memory for each record.
    pub const ENTRY_BYTES: usize = size_of::<Entry>();

    /// Takes the next record.
    #[inline]
    pub fn push(&mut self, key: &[u8], place: u64) {
        if !key.starts_with(&self.shared) || self.entries.is_empty() {
            self.share_less(key);
        }
        self.entries.push(entry(key, self.shared.len(), place));
    }

    #[cold]
    fn share_less(&mut self, key: &[u8]) {
        if self.entries.is_empty() {
            self.shared.extend_from_slice(key);
        } else {
            self.shared.truncate(common_prefix(&self.shared, key));
        }
        self.outdated = self.entries.len();
    }

    /// Sorts.
    pub fn sort(&mut self, records: &impl Records) {
        let Self { entries, shared, outdated } = self;
        let depth = shared.len();
        for old in &mut entries[..*outdated] {
            let place = place(*old);
            *old = entry(records.key(place), depth, place);
        }
        *outdated = 0;
        entries.sort_unstable();
        let mut ties = Vec::new();
        find_ties(entries, 0, depth, &mut ties);
        while let Some(tie) = ties.pop() {
            break_tie(records, entries, tie, &mut ties);
        }
    }

    /// Forgets the records and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.shared.clear();
        self.outdated = 0;
    }

    /// The number of records.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The beginning that all keys share.
    pub fn shared_prefix(&self) -> &[u8] {
        &self.shared
    }

    /// The place of the record at `position` in the order.
    #[inline]
    pub fn place(&self, position: usize) -> u64 {
        place(self.entries[position])
    }

    /// Whether the record at `position` and the next, if there is one, may have the same key. Requires: they are
    /// sorted.
    ///
    /// Keys that are equal were in the same ties, and so have the same head, whichever bytes of theirs it was made of
    /// last.
    #[inline]
    fn may_repeat(&self, position: usize) -> bool {
        self.entries.get(position + 1).is_some_and(|next| next >> 64 == self.entries[position] >> 64)
    }
}

/// A walk through records in their order, which passes over those that a later one with the same key replaces.
///
/// Each record is somewhere else in memory, so each read would wait. The walk prefetches many of the next records at
/// once, so that their misses overlap. Prefetched one at a time, each well ahead of its use, they take half as long
/// again.
#[derive(Debug)]
pub struct Walk {
    position: usize,
    /// Whether the record there is the last of those with its key.
    settled: bool,
    /// Records before this position were asked for.
    asked: usize,
    /// Cache lines of a record to ask for.
    lines: usize,
}

impl Walk {
    /// At the first record. Most records take about so many bytes.
    pub fn new(record_bytes: usize) -> Self {
        let lines = (record_bytes / LINE_BYTES + 1).min(PREFETCHED_LINES_MAX);
        Self { position: 0, settled: false, asked: 0, lines }
    }

    /// The place of the record at hand; nothing after the last.
    #[inline]
    pub fn place(&mut self, order: &Order, records: &impl Records) -> Option<u64> {
        if !self.settled {
            self.settle(order, records);
        }
        (self.position < order.count()).then(|| order.place(self.position))
    }

    /// Goes on to the next record.
    #[inline]
    pub fn advance(&mut self) {
        self.position += 1;
        self.settled = false;
    }

    fn settle(&mut self, order: &Order, records: &impl Records) {
        self.settled = true;
        loop {
            let position = self.position;
            if position >= self.asked {
                self.asked = (position + PREFETCHED_AT_ONCE).min(order.count());
                (position..self.asked).for_each(|next| records.prefetch(order.place(next), self.lines));
            }
            let is_replaced = order.may_repeat(position)
                && records.key(order.place(position)) == records.key(order.place(position + 1));
            if !is_replaced {
                return;
            }
            self.position += 1;
        }
    }
}

/// Entries with one head: their keys are equal up to `depth`, and in the eight bytes from there, with zeros for those
/// that a shorter key lacks.
#[derive(Debug)]
struct Tie {
    range: Range<usize>,
    depth: usize,
}

/// Eight bytes of `key` from `depth` on as a number that sorts as they do; zeros stand for what is missing.
///
/// Requires: `depth <= key.len()`.
#[inline]
pub(super) fn head(key: &[u8], depth: usize) -> u64 {
    let rest = &key[depth..];
    match rest.first_chunk() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => {
            let mut eight = [0; HEAD_BYTES];
            eight[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(eight)
        }
    }
}

/// How many bytes two strings have in common at their beginning.
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut length = 0;
    for (eight_a, eight_b) in a.chunks_exact(HEAD_BYTES).zip(b.chunks_exact(HEAD_BYTES)) {
        if eight_a != eight_b {
            break;
        }
        length += HEAD_BYTES;
    }
    length + a[length..].iter().zip(&b[length..]).take_while(|(a, b)| a == b).count()
}

#[inline]
fn entry(key: &[u8], depth: usize, place: u64) -> Entry {
    u128::from(head(key, depth)) << 64 | u128::from(place)
}

#[inline]
fn place(entry: Entry) -> u64 {
    entry as u64
}

/// Appends the ties among sorted entries, which begin at `start` of all, and whose heads are those at `depth`.
fn find_ties(entries: &[Entry], start: usize, depth: usize, ties: &mut Vec<Tie>) {
    let mut begin = 0;
    for end in 1..=entries.len() {
        if entries.get(end).map(|entry| entry >> 64) != entries.get(begin).map(|entry| entry >> 64) {
            if end - begin > 1 {
                ties.push(Tie { range: start + begin..start + end, depth });
            }
            begin = end;
        }
    }
}

/// Sorts the entries of a tie by the rest of their keys, or leaves smaller ties to do.
fn break_tie(records: &impl Records, entries: &mut [Entry], tie: Tie, ties: &mut Vec<Tie>) {
    let depth = tie.depth + HEAD_BYTES;
    let all = &mut entries[tie.range.clone()];
    let length = |entry: &Entry| records.key(place(*entry)).len();
    let ended = all.iter().filter(|entry| length(entry) <= depth).count();
    if ended > 0 {
        // Keys that have ended are the beginning of all others here, zeros of the head included, so they come first and
        // the shorter before the longer. Entries are in order of their places; a stable sort leaves equal keys so.
        all.sort_by_cached_key(|entry| length(entry).min(depth + 1));
    }
    let rest = &mut all[ended..];
    if rest.len() <= COMPARED_MAX {
        rest.sort_unstable_by(|a, b| compare(records, *a, *b, depth));
        return;
    }
    let first = records.key(place(rest[0]));
    let mut common = first.len();
    for entry in &rest[1..] {
        common = depth + common_prefix(&first[depth..common], &records.key(place(*entry))[depth..]);
        if common == depth {
            break;
        }
    }
    for entry in rest.iter_mut() {
        let place = place(*entry);
        *entry = self::entry(records.key(place), common, place);
    }
    rest.sort_unstable();
    find_ties(rest, tie.range.start + ended, common, ties);
}

fn compare(records: &impl Records, a: Entry, b: Entry, depth: usize) -> Ordering {
    let (a, b) = (place(a), place(b));
    records.key(a)[depth..].cmp(&records.key(b)[depth..]).then(a.cmp(&b))
}

/// Bytes of a key in a head.
const HEAD_BYTES: usize = 8;
/// Up to so many keys are sorted by comparing them, which is then quicker than to read them all for new heads.
const COMPARED_MAX: usize = 16;
/// Enough to keep the processor busy, and few enough to stay in its first cache.
const PREFETCHED_AT_ONCE: usize = 32;
/// Beyond so many lines the processor foresees the reading itself.
const PREFETCHED_LINES_MAX: usize = 6;
/// What the processor fetches at once.
const LINE_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::arena::Arena;
    use crate::sort::sorter::tests::Random;

    fn check(keys: &[Vec<u8>]) {
        let (mut arena, mut order) = (Arena::default(), Order::default());
        for (index, key) in keys.iter().enumerate() {
            let (start, end) = key.split_at(index % (key.len() + 1));
            let place = arena.push([start, end], [&index.to_le_bytes(), &[]], usize::MAX);
            order.push(key, place);
            assert!(key.starts_with(order.shared_prefix()));
        }
        let mut expected: Vec<(&[u8], usize)> = keys.iter().enumerate().map(|(index, key)| (&key[..], index)).collect();
        expected.sort();
        order.sort(&arena);
        assert_eq!(order.count(), keys.len());
        for (position, (key, index)) in expected.iter().enumerate() {
            assert_eq!(arena.record(order.place(position)), (*key, &index.to_le_bytes()[..]), "position {position}");
        }
        expected.reverse();
        expected.dedup_by_key(|(key, _)| *key);
        expected.reverse();
        let mut walk = Walk::new(arena.len_bytes() / keys.len().max(1));
        for (key, index) in expected {
            for _ in 0..2 {
                let place = walk.place(&order, &arena).unwrap();
                assert_eq!(arena.record(place), (key, &index.to_le_bytes()[..]));
            }
            walk.advance();
        }
        assert_eq!(walk.place(&order, &arena), None);
    }

    #[test]
    fn few_or_no_records_are_sorted() {
        check(&[]);
        check(&[b"one".to_vec()]);
        check(&[Vec::new(), Vec::new()]);
    }

    #[test]
    fn keys_that_end_in_zeros_come_after_their_beginnings() {
        let mut keys: Vec<Vec<u8>> = (0..40).map(|length| vec![0; length]).collect();
        keys.extend((0..40).map(|length| [vec![0; length], vec![1]].concat()));
        keys.extend(keys.clone());
        keys.reverse();
        check(&keys);
    }

    #[test]
    fn every_key_a_beginning_of_the_next_is_sorted() {
        let keys: Vec<Vec<u8>> = (0..600).map(|number| vec![b'a'; number * 7 % 600]).collect();
        check(&keys);
    }

    #[test]
    fn many_equal_keys_keep_the_order_they_came_in() {
        check(&vec![b"the same key, longer than a head".to_vec(); 500]);
        check(&(0..500).map(|number| vec![b'k'; 1 + number % 3 * 20]).collect::<Vec<_>>());
    }

    #[test]
    fn random_keys_over_few_bytes_with_shared_beginnings_are_sorted() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let beginnings: Vec<Vec<u8>> = (0..4).map(|_| random.bytes(40, b"ab")).collect();
            let letters: &[u8] = if seed % 2 == 0 { &[0, 1, 0xFF] } else { &[0] };
            let keys: Vec<Vec<u8>> = (0..random.below(2_000))
                .map(|_| [beginnings[random.below(4)].clone(), random.bytes(30, letters)].concat())
                .collect();
            check(&keys);
        }
    }

    #[test]
    fn common_prefixes_are_counted_to_the_byte() {
        for length in 0..40 {
            let a = vec![7; length];
            for difference in 0..=length {
                let mut b = a.clone();
                b.truncate(difference);
                assert_eq!(common_prefix(&a, &b), difference);
                b.resize(length, 8);
                assert_eq!(common_prefix(&a, &b), difference);
            }
        }
    }
}
