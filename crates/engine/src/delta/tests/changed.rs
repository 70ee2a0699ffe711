//! What validation asks, at the edges of ranges and across splits.

use super::*;

const UNBOUNDED: Bound<&[u8]> = Bound::Unbounded;

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn changed<'d>(delta: &'d Delta, low: Bound<&[u8]>, high: Bound<&[u8]>, since: u64) -> Option<&'d [u8]> {
    delta.first_changed_since(low, high, Sequence(since))
}

/// A delta of many leaves with even numbers as keys, all at sequence 1.
fn even_numbers(count: u32) -> Delta {
    let delta = Delta::new(ValueAlign::One);
    for number in 0..count {
        insert(&delta, &key(number * 7919 % count * 2), 1, &Owned::Delete);
    }
    delta
}

#[test]
fn a_range_is_judged_by_its_bounds_alone() {
    let count = if cfg!(miri) { 60 } else { 2000 };
    let delta = even_numbers(count);
    let step = count / 20 * 2;
    for at in (0..count * 2).step_by(step as usize) {
        // Keys that are there already, and one of its own.
        insert(&delta, &key(at), 5, &Owned::Put(vec![1]));
        insert(&delta, &key(at + 1), 6, &Owned::Delete);
    }
    for at in (0..count * 2).step_by(step as usize) {
        let (this, own, next) = (key(at), key(at + 1), key(at + step));
        let (this, own, next) = (&this[..], &own[..], &next[..]);
        assert_eq!(changed(&delta, Bound::Included(this), UNBOUNDED, 4), Some(this));
        assert_eq!(changed(&delta, Bound::Included(this), Bound::Included(this), 4), Some(this));
        assert_eq!(changed(&delta, Bound::Included(this), Bound::Excluded(this), 4), None);
        assert_eq!(changed(&delta, Bound::Included(this), UNBOUNDED, 5), Some(own));
        assert_eq!(changed(&delta, Bound::Excluded(this), Bound::Included(own), 4), Some(own));
        assert_eq!(changed(&delta, Bound::Excluded(this), Bound::Excluded(own), 4), None);
        assert_eq!(changed(&delta, Bound::Excluded(own), Bound::Excluded(next), 4), None);
        assert_eq!(changed(&delta, Bound::Excluded(own), Bound::Excluded(next), 0).is_some(), step > 2);
        let expected = (at + step < count * 2).then_some(next);
        assert_eq!(changed(&delta, Bound::Excluded(own), Bound::Included(next), 4), expected);
        assert_eq!(changed(&delta, Bound::Excluded(own), UNBOUNDED, 4), expected);
        assert_eq!(changed(&delta, UNBOUNDED, UNBOUNDED, 6), None);
        assert_eq!(changed(&delta, Bound::Included(next), Bound::Included(this), 0), None, "a range that is none");
    }
    assert_eq!(changed(&delta, UNBOUNDED, UNBOUNDED, 4), Some(&key(0)[..]));
    assert_eq!(changed(&delta, UNBOUNDED, UNBOUNDED, 5), Some(&key(1)[..]));
}

#[test]
fn a_key_that_nobody_can_see_yet_has_changed_all_the_same() {
    let delta = even_numbers(10);
    insert(&delta, &key(7), u64::MAX, &Owned::Delete);
    assert_eq!(changed(&delta, UNBOUNDED, UNBOUNDED, 1_000_000), Some(&key(7)[..]));
    assert_eq!(delta.newest_sequence(&key(7), xxh3_64(&key(7))), Some(Sequence(u64::MAX)));
    assert_eq!(delta.newest_sequence(&key(5), xxh3_64(&key(5))), None);
    let empty = Delta::new(ValueAlign::One);
    assert_eq!(changed(&empty, UNBOUNDED, UNBOUNDED, 0), None);
}

/// The leaf of a late change is split again and again by changes that come before it in sequence.
#[test]
fn a_change_is_found_after_its_leaf_was_split() {
    let (count, places) = if cfg!(miri) { (40, 3..5) } else { (600, 0..10) };
    for place in places {
        for version in [false, true] {
            let delta = Delta::new(ValueAlign::One);
            let late = key(count * 100 / 10 * place + 50);
            if version {
                insert(&delta, &late, 1, &Owned::Delete);
            }
            insert(&delta, &late, 9, &Owned::Delete);
            for number in 0..count {
                insert(&delta, &key(number * 7919 % count * 100), 2, &Owned::Delete);
                assert_eq!(changed(&delta, UNBOUNDED, UNBOUNDED, 2), Some(&late[..]));
            }
            for (order, numbers) in [(0..count).collect::<Vec<_>>(), (0..count).rev().collect()].iter().enumerate() {
                // In order too: those fill leaves and begin new ones.
                numbers
                    .iter()
                    .for_each(|number| insert(&delta, &key(number * 100 + 10 + order as u32), 3, &Owned::Delete));
                assert_eq!(changed(&delta, UNBOUNDED, UNBOUNDED, 3), Some(&late[..]));
            }
        }
    }
}

#[test]
fn every_key_of_a_leaf_that_was_begun_anew_is_found() {
    let count = if cfg!(miri) { 100 } else { 1000 };
    for descending in [false, true] {
        let delta = Delta::new(ValueAlign::One);
        for number in 0..count {
            let number = if descending { count - number } else { number };
            insert(&delta, &key(number), 1 + u64::from(number), &Owned::Delete);
        }
        for number in 1..count {
            let (key, since) = (key(number), u64::from(number));
            assert_eq!(changed(&delta, Bound::Included(&key), Bound::Included(&key), since), Some(&key[..]));
            assert_eq!(changed(&delta, UNBOUNDED, UNBOUNDED, since), Some(&key[..]));
        }
    }
}
