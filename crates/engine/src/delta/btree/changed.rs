//! Which keys of a range have changed since a sequence, for the validation of a transaction.
//!
//! A walk visits the leaves of the range, from fence to fence, and reads only one line, the header, of most: a leaf
//! whose latest insert is not later than the sequence has no changed key.
//!
//! It misses no insert that happened before it began. What it reads of a leaf is the leaf's state at one moment of
//! the walk: the fences, the latest insert, the keys. The next leaf is the one that begins at the fence where this
//! one ended at that moment, whatever has happened to either since. So the walk skips no stretch of keys, however
//! leaves are split meanwhile, and in each it finds what was there before the walk.

use crate::delta::btree::node::{LEAF_KEYS, Leaf, Stamp};
use crate::delta::btree::tree::Tree;
use crate::delta::record::RecordRef;
use crate::ids::Sequence;
use crate::sync::before_retry;
use std::ops::Bound;

/// The position of a walk over leaves.
#[derive(Clone, Copy)]
struct Walk<'t> {
    leaf: &'t Leaf,
    stamp: Stamp,
    /// The key where the leaf begins; none in the first leaf of the range.
    begins_at: Option<RecordRef>,
    /// How many leaves after this one have prefetched headers.
    ahead: usize,
}

/// What a leaf held at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// Its first key from the begin of the range on that has changed.
    changed: Option<RecordRef>,
    /// Where it ended; `None` at the tree's right edge.
    fence: Option<RecordRef>,
}

/// The first key between `low` and `high` that has a version later than `since`.
pub(in crate::delta) fn first_changed<'t>(
    tree: &'t Tree,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
    since: Sequence,
) -> Option<&'t [u8]> {
    first_changed_counting(tree, low, high, since, &mut 0)
}

/// As [`first_changed`]. Counts at how many leaves it looks.
fn first_changed_counting<'t>(
    tree: &'t Tree,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
    since: Sequence,
    looks: &mut usize,
) -> Option<&'t [u8]> {
    let mut walk = Walk::begin(tree, low)?;
    // Where the last leaf of the range began when the walk left its first leaf.
    let mut last = None;
    // Whether the range may end in the walk's leaf. Comparing the fence of each leaf would wait for its record.
    let mut may_end = true;
    loop {
        *looks += 1;
        let Some(seen) = walk.look(tree, low, since) else {
            before_retry();
            walk = walk.again(tree, low)?;
            continue;
        };
        if let Some(record) = seen.changed {
            return Some(tree.key(record)).filter(|key| is_within(key, high));
        }
        let fence = seen.fence?;
        if may_end && !is_within(tree.key(fence), high) {
            return None;
        }
        if walk.begins_at.is_none() {
            last = last_leaf(tree, high).and_then(|leaf| leaf.low());
            may_end = false;
        }
        // Once it was reached, the range ends there or in a leaf that was split from it since.
        may_end |= last == Some(fence);
        walk = walk.next(tree, fence)?;
    }
}

impl<'t> Walk<'t> {
    /// At the leaf where the range begins. None: there is no leaf.
    fn begin(tree: &'t Tree, low: Bound<&[u8]>) -> Option<Self> {
        let (leaf, stamp, ahead) = tree.descend_ahead(key_of(low).unwrap_or_default())?;
        Some(Self { leaf, stamp, begins_at: None, ahead })
    }

    /// Once more at the same place, when the leaf has changed.
    fn again(self, tree: &'t Tree, low: Bound<&[u8]>) -> Option<Self> {
        match self.begins_at {
            Some(fence) => Self::at(tree, fence),
            None => Self::begin(tree, low),
        }
    }

    /// At the leaf that begins at `fence`, where this one ended when it was looked at.
    fn next(self, tree: &'t Tree, fence: RecordRef) -> Option<Self> {
        let near = if self.ahead > 0 { tree.leaf_after(self.leaf, self.stamp) } else { None };
        match near {
            Some((leaf, stamp)) => Some(Self { leaf, stamp, begins_at: Some(fence), ahead: self.ahead - 1 }),
            None => Self::at(tree, fence),
        }
    }

    /// At the leaf that begins at `fence`, found from the root.
    fn at(tree: &'t Tree, fence: RecordRef) -> Option<Self> {
        let (leaf, stamp, ahead) = tree.descend_ahead(tree.key(fence))?;
        debug_assert!(leaf.low() == Some(fence), "a fence stays the begin of a leaf");
        Some(Self { leaf, stamp, begins_at: Some(fence), ahead })
    }

    /// What the leaf held when the walk came to it. None: it has changed since.
    fn look(&self, tree: &Tree, low: Bound<&[u8]>, since: Sequence) -> Option<Seen> {
        let leaf = self.leaf;
        let fence = leaf.high();
        if leaf.latest() <= since {
            return leaf.is_unchanged(self.stamp).then_some(Seen { changed: None, fence });
        }
        let start = match key_of(low).filter(|_| self.begins_at.is_none()) {
            Some(key) => {
                let found = leaf.search(key, |record| tree.key(record))?;
                found.position + usize::from(found.exact && matches!(low, Bound::Excluded(_)))
            }
            None => 0,
        };
        let mut records = [None; LEAF_KEYS];
        for (slot, index) in records.iter_mut().zip(start..leaf.count()) {
            *slot = leaf.key(index);
        }
        if !leaf.is_unchanged(self.stamp) {
            return None;
        }
        let mut records = records.into_iter().flatten();
        records.clone().for_each(|record| tree.prefetch(record));
        let changed = records.find(|record| tree.record(*record).newest_sequence() > since);
        Some(Seen { changed, fence })
    }
}

/// The leaf where a range ends now. None if nothing ends it.
fn last_leaf<'t>(tree: &'t Tree, high: Bound<&[u8]>) -> Option<&'t Leaf> {
    let (leaf, _) = match high {
        Bound::Included(key) => tree.descend_to(key)?,
        Bound::Excluded(key) => tree.descend_below(key)?,
        Bound::Unbounded => return None,
    };
    Some(leaf)
}

/// Whether a range that ends at `high` goes on at `key` or beyond it.
fn is_within(key: &[u8], high: Bound<&[u8]>) -> bool {
    match high {
        Bound::Unbounded => true,
        Bound::Included(high) => key <= high,
        Bound::Excluded(high) => key < high,
    }
}

fn key_of(bound: Bound<&[u8]>) -> Option<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

#[cfg(test)]
mod tests {
    //! The steps of a walk with a writer between them: races too narrow for threads to hit.

    use super::*;
    use crate::delta::btree::insert::Entry;
    use crate::delta::change::Change;
    use crate::format::ValueAlign;

    const LOW: Bound<&[u8]> = Bound::Unbounded;
    const SINCE: Sequence = Sequence(5);

    fn insert(tree: &Tree, number: u32, at: u64) {
        let key = number.to_be_bytes();
        tree.insert(&Entry { key: &key, hash: 0, at: Sequence(at), change: Change::Delete }, None);
    }

    /// A tree of some leaves with the multiples of 1000, all unchanged.
    fn unchanged() -> Tree {
        let tree = Tree::new(ValueAlign::One);
        (0..100).for_each(|number| insert(&tree, number * 37 % 100 * 1000, 5));
        tree
    }

    /// Splits the leaf of the keys from `number` on in its middle, without any change that counts.
    fn split(tree: &Tree, number: u32) {
        (1..=LEAF_KEYS as u32 * 2).rev().for_each(|offset| insert(tree, number + offset, 4));
    }

    fn number(tree: &Tree, record: Option<RecordRef>) -> Option<u32> {
        record.map(|record| u32::from_be_bytes(tree.key(record).try_into().expect("a key is a number")))
    }

    /// The rest of a walk: what it finds, and at how many leaves it looks.
    fn finish<'t>(tree: &'t Tree, mut walk: Walk<'t>) -> (Option<u32>, usize) {
        for count in 1.. {
            let seen = walk.look(tree, LOW, SINCE).expect("the tree is at rest");
            match (seen.changed, seen.fence) {
                (None, Some(fence)) => walk = walk.next(tree, fence).expect("the tree is not empty"),
                (changed, _) => return (number(tree, changed), count),
            }
        }
        unreachable!("a walk ends")
    }

    #[test]
    fn a_leaf_that_was_split_before_it_was_looked_at_is_looked_at_again() {
        for changed in [500, 30_500, 90_500] {
            let tree = unchanged();
            let walk = Walk::begin(&tree, LOW).expect("the tree is not empty");
            insert(&tree, changed, 6);
            split(&tree, 0);
            assert_eq!(walk.look(&tree, LOW, SINCE), None);
            let walk = walk.again(&tree, LOW).expect("the tree is not empty");
            assert_eq!(finish(&tree, walk).0, Some(changed));
        }
    }

    #[test]
    fn a_walk_goes_on_where_the_leaf_ended_when_it_was_looked_at() {
        let tree = unchanged();
        let walk = Walk::begin(&tree, LOW).expect("the tree is not empty");
        let seen = walk.look(&tree, LOW, SINCE).expect("the tree is at rest");
        let fence = seen.fence.expect("the tree has several leaves");
        let end = number(&tree, Some(fence)).expect("a fence is a key");
        // The changed key is right after the fence, and then in the first of several parts.
        insert(&tree, end + 500, 6);
        split(&tree, 0);
        split(&tree, end);
        let next = walk.next(&tree, fence).expect("the tree is not empty");
        assert_eq!(next.leaf.low(), Some(fence));
        assert_eq!(finish(&tree, next).0, Some(end + 500));
    }

    #[test]
    fn a_step_to_a_leaf_that_is_split_before_it_is_looked_at_misses_none_of_its_parts() {
        let tree = unchanged();
        let walk = Walk::begin(&tree, LOW).expect("the tree is not empty");
        let fence = walk.look(&tree, LOW, SINCE).and_then(|seen| seen.fence).expect("the tree has several leaves");
        let end = number(&tree, Some(fence)).expect("a fence is a key");
        let next = walk.next(&tree, fence).expect("the tree is not empty");
        let last = number(&tree, next.leaf.high()).map_or(99_500, |high| high - 500);
        insert(&tree, last, 6);
        split(&tree, end);
        assert_eq!(next.look(&tree, LOW, SINCE), None);
        let next = next.again(&tree, LOW).expect("the tree is not empty");
        assert_eq!(next.begins_at, Some(fence));
        let (changed, leaves) = finish(&tree, next);
        assert_eq!(changed, Some(last));
        assert!(leaves > 1, "it is in a later part");
    }

    #[test]
    fn a_leaf_without_later_inserts_is_passed_by_its_header_alone() {
        let tree = unchanged();
        let walk = Walk::begin(&tree, LOW).expect("the tree is not empty");
        let first = walk.leaf;
        let latest = |leaf: &Leaf| leaf.latest();
        insert(&tree, 0, 6);
        assert_eq!(latest(first), Sequence(6));
        split(&tree, 0);
        let (right, _) = tree.leaf_after(first, first.stamp()).expect("the tree is at rest");
        assert_eq!([latest(first), latest(right)], [Sequence(6); 2], "both parts of a leaf that is split keep it");
        let (last, _) = tree.descend_to_last().expect("the tree is not empty");
        assert_eq!(latest(last), Sequence(5), "no other leaf is raised");
    }

    #[test]
    fn a_walk_looks_at_no_leaf_beyond_its_range() {
        let tree = unchanged();
        (0..5).for_each(|part| split(&tree, part * 20_000));
        let begins: Vec<u32> = std::iter::successors(Walk::begin(&tree, LOW), |walk| {
            let fence = walk.look(&tree, LOW, SINCE)?.fence?;
            walk.next(&tree, fence)
        })
        .filter_map(|walk| number(&tree, walk.begins_at))
        .collect();
        let leaves = begins.len() + 1;
        assert!(leaves > 8);
        let looks = |low: Bound<u32>, high: Bound<u32>| {
            let [low, high] = [low, high].map(|bound| bound.map(u32::to_be_bytes));
            let mut looks = 0;
            let [low, high] = [&low, &high].map(|bound| bound.as_ref().map(|key| &key[..]));
            assert_eq!(first_changed_counting(&tree, low, high, SINCE, &mut looks), None);
            looks
        };
        assert_eq!(looks(Bound::Unbounded, Bound::Unbounded), leaves);
        for (leaf, begin) in begins.iter().enumerate() {
            assert_eq!(looks(Bound::Unbounded, Bound::Included(*begin)), leaf + 2);
            assert_eq!(looks(Bound::Unbounded, Bound::Excluded(*begin)), leaf + 1);
            assert_eq!(looks(Bound::Included(*begin), Bound::Unbounded), leaves - leaf - 1);
            assert_eq!(looks(Bound::Included(*begin), Bound::Excluded(*begin + 1)), 1);
            assert_eq!(looks(Bound::Included(*begin), Bound::Included(0)), 1);
        }
    }
}
