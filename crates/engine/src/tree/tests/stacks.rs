//! Which range of a stack a key belongs to, against a plain search.

use std::ops::Bound;

use super::store::Random;
use crate::format::{Search, StoredRange, StoredRoot, StoredRun, WithSearch, head8, supported, with_isa};
use crate::ids::{ExtentId, PageRef};
use crate::tree::root::Root;
use crate::tree::{RUNS_MAX, Run, Stack, StackRange};

/// A run that nobody reads.
fn run() -> Run {
    let page = PageRef { extent: ExtentId(1), slot: 2 };
    Run { root: Root { page, level: 0, entries: 0, has_overflow: false }, entries: 3, filter: None }
}

/// A stack with a run in each range whose number is even.
fn stack_of(bounds: &[Vec<u8>]) -> Stack {
    let lows = [Vec::new()].into_iter().chain(bounds.iter().cloned());
    let ranges = lows.enumerate().map(|(index, low)| {
        let runs = if index % 2 == 0 { vec![run()] } else { Vec::new() };
        StackRange { low: low.into(), runs }
    });
    Stack::new(ranges.collect(), false).expect("the first range has a run")
}

/// A key of a few different bytes, zeros among them, so that many are prefixes of others and begin alike.
fn key(prefix: &[u8], random: &mut Random) -> Vec<u8> {
    let length = random.below(12);
    let bytes = (0..length).map(|_| [0, 0, 1, b'a', 0xFF][random.below(5) as usize]);
    [prefix, &bytes.collect::<Vec<_>>()].concat()
}

/// That heads decide the range of a key, unless it does not begin as all bounds do, or ties with one.
struct Told<'a> {
    stack: &'a Stack,
    bounds: &'a [Vec<u8>],
    key: &'a [u8],
    expected: usize,
}

impl WithSearch for &Told<'_> {
    type Output = ();

    fn run<S: Search>(self) {
        let told = self.stack.range_by_heads::<S>(self.key);
        assert!(told.is_none_or(|range| range == self.expected), "{told:?} of {}", self.key.escape_ascii());
        let alike = match (self.bounds.first(), self.bounds.last()) {
            (Some(first), Some(last)) => first.iter().zip(last).take_while(|(a, b)| a == b).count(),
            _ => 0,
        };
        let head = |key: &[u8]| head8(key, alike);
        let is_clear = self.bounds.first().is_none_or(|first| self.key.starts_with(&first[..alike]))
            && self.bounds.iter().all(|bound| head(bound) != head(self.key))
            && head(self.key) != u64::MAX;
        assert!(told.is_some() || !is_clear, "nothing of {} within {:?}", self.key.escape_ascii(), self.bounds);
    }
}

#[test]
fn the_range_of_a_key_is_the_one_that_a_plain_search_finds() {
    let mut random = Random(5);
    for round in 0..if cfg!(miri) { 6 } else { 300 } {
        println!("round {round}");
        let prefix = [&b""[..], b"a", b"prefix", b"a prefix of bounds", &[0; 9]][round % 5];
        let mut bounds: Vec<_> = (0..random.below(40)).map(|_| key(prefix, &mut random)).collect();
        bounds.retain(|bound| !bound.is_empty());
        bounds.sort();
        bounds.dedup();
        let stack = stack_of(&bounds);
        let mut keys = vec![Vec::new(), vec![0], vec![0xFF; 30]];
        keys.extend((0..100).map(|_| key(prefix, &mut random)));
        keys.extend((0..20).map(|_| key(b"", &mut random)));
        keys.extend((0..=prefix.len()).map(|length| prefix[..length].to_vec()));
        for bound in &bounds {
            keys.extend([bound.clone(), [bound, &b"\0"[..]].concat(), bound[..bound.len() - 1].to_vec()]);
        }
        for key in &keys {
            let expected = bounds.partition_point(|bound| bound <= key);
            assert_eq!(stack.range_of(key), expected, "{} within {bounds:?}", key.escape_ascii());
            let told = Told { stack: &stack, bounds: &bounds, key, expected };
            assert!(supported().all(|isa| with_isa(isa, &told).is_some()));
            assert_eq!(stack.runs_of(key).is_empty(), expected % 2 == 1);
            let (low, high) = stack.bounds(expected);
            assert!(low.is_none_or(|low| *low <= **key) && high.is_none_or(|high| **key < *high));
        }
        for _ in 0..60 {
            let [low, high] = [0, 1].map(|_| &keys[random.below(keys.len() as u64) as usize]);
            compare_between(&stack, &keys, bound(low, &mut random), bound(high, &mut random));
        }
    }
}

fn bound<'k>(key: &'k [u8], random: &mut Random) -> Bound<&'k [u8]> {
    match random.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Excluded(key),
        _ => Bound::Included(key),
    }
}

/// The ranges between bounds are all that have a key there, and no more than two without one.
fn compare_between(stack: &Stack, keys: &[Vec<u8>], low: Bound<&[u8]>, high: Bound<&[u8]>) {
    let between = stack.ranges_between(low, high);
    let is_clear = stack.is_clear(low, high);
    let is_within = |key: &[u8]| {
        (match low {
            Bound::Included(low) => low <= key,
            Bound::Excluded(low) => low < key,
            Bound::Unbounded => true,
        }) && match high {
            Bound::Included(high) => key <= high,
            Bound::Excluded(high) => key < high,
            Bound::Unbounded => true,
        }
    };
    for key in keys.iter().filter(|key| is_within(key)) {
        assert!(between.contains(&stack.range_of(key)), "{key:?} from {low:?} to {high:?}: {between:?}");
        assert!(!is_clear || stack.runs_of(key).is_empty(), "{key:?} from {low:?} to {high:?}");
    }
    let ends = [low, high].map(|bound| match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(stack.range_of(key)),
        Bound::Unbounded => None,
    });
    let [first, last] = [ends[0].unwrap_or(0), ends[1].unwrap_or(stack.ranges().len() - 1)];
    if first <= last {
        assert_eq!(between, first..last + 1);
        assert_eq!(is_clear, first == last && first % 2 == 1);
    } else {
        assert!(between.is_empty() && is_clear);
    }
}

#[test]
fn a_stack_of_ranges_without_runs_is_none() {
    assert!(Stack::new(Vec::new(), false).is_none());
    let low = |low: &[u8]| StackRange { low: low.into(), runs: Vec::new() };
    assert!(Stack::new(vec![low(b""), low(b"k")], false).is_none());
}

#[test]
fn a_stack_reads_back_as_it_was_stored_and_one_of_too_many_runs_is_refused() {
    let stack = stack_of(&[b"a".to_vec(), b"b".to_vec(), b"c".to_vec()]);
    let stored = stack.store();
    assert_eq!((stored.len(), stack.depth(), stack.runs().count()), (4, 1, 2));
    assert_eq!(stored[2].runs[0].root.entries, 3, "entries of the run, not the net count of its tree");
    let loaded = Stack::load(&stored, false).expect("it was stored").expect("it has runs");
    assert_eq!(loaded.store(), stored);
    assert_eq!(loaded.ranges()[2].runs, [run()]);
    assert!(Stack::load(&[], false).expect("no ranges are no stack").is_none());
    let page = PageRef { extent: ExtentId(1), slot: 2 };
    let root = StoredRoot { page, level: 0, entries: 1, has_overflow: false };
    let deep = |runs: usize| {
        let runs = vec![StoredRun { root, filter: None }; runs];
        Stack::load(&[StoredRange { low: Box::default(), runs }], false)
            .map(|stack| stack.map_or(0, |stack| stack.depth()))
    };
    assert_eq!(deep(RUNS_MAX), Ok(RUNS_MAX));
    assert!(deep(RUNS_MAX + 1).is_err());
}
