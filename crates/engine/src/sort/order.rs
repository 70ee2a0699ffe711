//! Sorts the records of an arena without moving them.
//!
//! Each record is an entry of 16 bytes: eight bytes of its key as a number (the *head*), and its offset. Entries are
//! compared as whole numbers, which takes no branch and touches no key. Only where heads tie is more of the keys read:
//! those of a tie are given new heads from where their common beginning ends, and sorted again. So a key is read once
//! per eight bytes that matter, and long shared beginnings (IRIs, paths) cost little.

use std::cmp::Ordering;
use std::ops::Range;

use super::arena::Arena;

/// A head above, a record's offset below: offsets rise in the order that records came, so equal keys keep it.
type Entry = u128;

/// The offsets of the arena's records in order of their keys; where keys are equal, in the order they came.
#[derive(Debug, Default)]
pub(super) struct Order {
    entries: Vec<Entry>,
}

impl Order {
    /// Memory for each record.
    pub const ENTRY_BYTES: usize = size_of::<Entry>();

    /// Sorts.
    pub fn of(arena: &Arena) -> Self {
        let depth = arena.shared_prefix().len();
        let mut entries = Vec::with_capacity(arena.count());
        entries.extend(arena.offsets().map(|offset| entry(arena.key(offset), depth, offset)));
        entries.sort_unstable();
        let mut ties = Vec::new();
        find_ties(&entries, 0, depth, &mut ties);
        while let Some(tie) = ties.pop() {
            break_tie(arena, &mut entries, tie, &mut ties);
        }
        Self { entries }
    }

    /// The number of records.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The offset of the record at `position` in the order.
    #[inline]
    pub fn offset(&self, position: usize) -> usize {
        offset(self.entries[position])
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
fn entry(key: &[u8], depth: usize, offset: usize) -> Entry {
    u128::from(head(key, depth)) << 64 | offset as u128
}

#[inline]
fn offset(entry: Entry) -> usize {
    entry as u64 as usize
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
fn break_tie(arena: &Arena, entries: &mut [Entry], tie: Tie, ties: &mut Vec<Tie>) {
    let depth = tie.depth + HEAD_BYTES;
    let all = &mut entries[tie.range.clone()];
    let length = |entry: &Entry| arena.key(offset(*entry)).len();
    let ended = all.iter().filter(|entry| length(entry) <= depth).count();
    if ended > 0 {
        // Keys that have ended are the beginning of all others here, zeros of the head included, so they come first and
        // the shorter before the longer. Entries are in order of their offsets; a stable sort leaves equal keys so.
        all.sort_by_cached_key(|entry| length(entry).min(depth + 1));
    }
    let rest = &mut all[ended..];
    if rest.len() <= COMPARED_MAX {
        rest.sort_unstable_by(|a, b| compare(arena, *a, *b, depth));
        return;
    }
    let first = arena.key(offset(rest[0]));
    let mut common = first.len();
    for entry in &rest[1..] {
        common = depth + common_prefix(&first[depth..common], &arena.key(offset(*entry))[depth..]);
        if common == depth {
            break;
        }
    }
    for entry in rest.iter_mut() {
        let offset = offset(*entry);
        *entry = self::entry(arena.key(offset), common, offset);
    }
    rest.sort_unstable();
    find_ties(rest, tie.range.start + ended, common, ties);
}

fn compare(arena: &Arena, a: Entry, b: Entry, depth: usize) -> Ordering {
    let (a, b) = (offset(a), offset(b));
    arena.key(a)[depth..].cmp(&arena.key(b)[depth..]).then(a.cmp(&b))
}

/// Bytes of a key in a head.
const HEAD_BYTES: usize = 8;
/// Up to so many keys are sorted by comparing them, which is then quicker than to read them all for new heads.
const COMPARED_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::sorter::tests::Random;

    fn check(keys: &[Vec<u8>]) {
        let mut arena = Arena::default();
        for (index, key) in keys.iter().enumerate() {
            arena.push(key, &index.to_le_bytes(), usize::MAX);
        }
        let mut expected: Vec<(&[u8], usize)> = keys.iter().enumerate().map(|(index, key)| (&key[..], index)).collect();
        expected.sort();
        let order = Order::of(&arena);
        assert_eq!(order.count(), keys.len());
        for (position, (key, index)) in expected.into_iter().enumerate() {
            assert_eq!(arena.record(order.offset(position)), (key, &index.to_le_bytes()[..]), "position {position}");
        }
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
