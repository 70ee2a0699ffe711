//! Edges: nothing, the largest, many versions, misuse.

use super::*;

#[test]
fn an_empty_delta_is_small_and_knows_nothing() {
    let delta = Delta::new(ValueAlign::One);
    assert!(size_of::<Delta>() < 1024);
    assert_eq!(delta.memory_bytes(), size_of::<Delta>());
    assert!(delta.is_empty());
    assert_eq!((delta.entries(), delta.versions(), delta.last_sequence()), (0, 0, Sequence(0)));
    assert_eq!(get(&delta, b"", 9), None);
    let at = Sequence(9);
    for mut position in [delta.first(at), delta.last(at), delta.seek(b"", at), delta.seek_before(b"x", at)] {
        assert_eq!(entry(&delta, &position), None);
        delta.next(&mut position);
        delta.previous(&mut position);
        assert_eq!(entry(&delta, &position), None);
    }
    assert!(delta.range_is_empty(Bound::Unbounded, Bound::Unbounded, at));
}

#[test]
fn the_first_entries_take_a_few_kilobytes() {
    let delta = Delta::new(ValueAlign::One);
    for number in 0..10_u8 {
        insert(&delta, &[number], 1, &Owned::Put(vec![number; 20]));
    }
    assert!(delta.memory_bytes() < 8 << 10, "{} bytes", delta.memory_bytes());
}

#[test]
fn a_position_past_an_end_comes_back() {
    let delta = Delta::new(ValueAlign::One);
    for key in [b"a", b"b", b"c"] {
        insert(&delta, key, 1, &Owned::Delete);
    }
    let at = Sequence(1);
    let key_at = |position: &Position| delta.entry(position).map(|(key, _)| key[0]);
    let mut position = delta.seek(b"d", at);
    assert_eq!(key_at(&position), None);
    delta.next(&mut position);
    assert_eq!(key_at(&position), None);
    delta.previous(&mut position);
    assert_eq!(key_at(&position), Some(b'c'));
    let mut position = delta.seek_before(b"a", at);
    delta.previous(&mut position);
    assert_eq!(key_at(&position), None);
    delta.next(&mut position);
    assert_eq!(key_at(&position), Some(b'a'));
}

#[test]
fn a_later_change_at_one_sequence_replaces_the_first() {
    let delta = Delta::new(ValueAlign::One);
    insert(&delta, b"k", 3, &Owned::Put(b"first".to_vec()));
    insert(&delta, b"k", 3, &Owned::Delete);
    assert_eq!(get(&delta, b"k", 2), None);
    assert_eq!(get(&delta, b"k", 3), Some(Owned::Delete));
    assert_eq!((delta.entries(), delta.versions()), (1, 2));
    let hash_and_sequence = delta.hash_and_sequence(&delta.first(Sequence(9)));
    assert_eq!(hash_and_sequence, Some((xxh3_64(b"k"), Sequence(3))));
}

#[test]
fn every_version_of_a_hot_key_is_found() {
    let count = if cfg!(miri) { 40 } else { 20_000 };
    let delta = Delta::new(ValueAlign::Eight);
    for at in 1..=count {
        insert(&delta, b"hot", at * 2, &Owned::Put(at.to_le_bytes().to_vec()));
    }
    assert_eq!(get(&delta, b"hot", 1), None);
    for at in 1..=count {
        let expected = Some(Owned::Put(at.to_le_bytes().to_vec()));
        assert_eq!(get(&delta, b"hot", at * 2), expected);
        assert_eq!(get(&delta, b"hot", at * 2 + 1), expected);
    }
}

#[test]
fn value_bytes_lie_at_multiples_of_the_alignment() {
    for align in [ValueAlign::One, ValueAlign::Four, ValueAlign::Eight, ValueAlign::Sixteen] {
        let delta = Delta::new(align);
        for at in 1..4 {
            for length in [0, 1, 5, 24, 31, 1000, 40_000] {
                let key = vec![b'k'; length % 37];
                insert(&delta, &key, at, &Owned::Put(vec![at as u8; length]));
                let Some(Change::Put(value)) = delta.get(&key, xxh3_64(&key), Sequence(at)) else { panic!("lost") };
                assert_eq!(value, vec![at as u8; length]);
                assert_eq!(value.as_ptr().addr() % align.bytes(), 0);
            }
        }
    }
}

#[test]
fn keys_and_values_of_megabytes_are_kept() {
    let large = if cfg!(miri) { 40_000 } else { 64 << 20 };
    let delta = Delta::new(ValueAlign::One);
    let key = |last: u8| {
        let mut key = vec![b'x'; large];
        key[large - 1] = last;
        key
    };
    for last in [9, 1, 5] {
        insert(&delta, &key(last), 1, &Owned::Put(vec![last; large / 64]));
    }
    assert_eq!(get(&delta, &key(5), 1), Some(Owned::Put(vec![5; large / 64])));
    assert_eq!(get(&delta, &key(4), 1), None);
    let mut position = delta.seek(&key(2), Sequence(1));
    for last in [5, 9] {
        assert_eq!(delta.entry(&position).map(|(found, _)| found[large - 1]), Some(last));
        delta.next(&mut position);
    }
    assert!(delta.memory_bytes() >= 3 * large);
}

#[test]
fn ascending_keys_fill_their_leaves() {
    let count = if cfg!(miri) { 150 } else { 20_000 };
    let ascending = Delta::new(ValueAlign::One);
    let mixed = Delta::new(ValueAlign::One);
    for number in 0..count {
        insert(&ascending, format!("{number:08}").as_bytes(), 1, &Owned::Delete);
        insert(&mixed, format!("{:08}", number * 7919 % count).as_bytes(), 1, &Owned::Delete);
    }
    assert_eq!(ascending.entries(), mixed.entries());
    assert!(ascending.memory_bytes() < mixed.memory_bytes());
}

#[test]
#[should_panic(expected = "another delta")]
fn a_position_of_another_delta_is_refused() {
    let one = Delta::new(ValueAlign::One);
    let other = Delta::new(ValueAlign::One);
    insert(&one, b"k", 1, &Owned::Delete);
    other.entry(&one.first(Sequence(1)));
}

#[test]
fn a_successor_lives_in_the_memory_of_a_delta_that_was_dropped() {
    let fill = |delta: &Delta, byte: u8| {
        for number in 0..4_000_u64 {
            let key = number.to_be_bytes();
            delta.insert(&key, xxh3_64(&key), Sequence(number + 1), Change::Put(&[byte; 1000]));
        }
    };
    let last = |delta: &Delta| {
        let key = 3_999_u64.to_be_bytes();
        match delta.get(&key, xxh3_64(&key), Sequence(4_000)) {
            Some(Change::Put(value)) => (value.as_ptr().addr(), value[0]),
            found => panic!("the last value is {found:?}"),
        }
    };
    let first = Delta::new(ValueAlign::One);
    let (second, third) = (first.successor(), first.successor());
    fill(&first, 1);
    fill(&second, 2);
    let (first_last, second_last) = (last(&first), last(&second));
    assert_ne!(first_last.0, second_last.0);
    drop(first);
    fill(&third, 3);
    assert_eq!((last(&third), last(&second)), ((first_last.0, 3), second_last));
}

#[test]
fn a_successor_knows_none_of_the_keys_that_filled_the_index_before_it() {
    let key = |number: u32| number.to_be_bytes();
    let count = if cfg!(miri) { 100 } else { 40_000 };
    let first = Delta::new(ValueAlign::One);
    let second = first.successor();
    for number in 0..count {
        first.insert(&key(number), xxh3_64(&key(number)), Sequence(1), Change::Delete);
    }
    drop(first);
    for number in count..2 * count {
        second.insert(&key(number), xxh3_64(&key(number)), Sequence(1), Change::Delete);
    }
    for number in 0..2 * count {
        let found = second.get(&key(number), xxh3_64(&key(number)), Sequence(1));
        assert_eq!(found.is_some(), number >= count, "{number}");
    }
}

/// A table that was loaded once would keep the memory of its one large delta for as long as the database is open.
#[test]
fn what_a_dropped_delta_leaves_is_given_back_when_its_successor_is_not_used() {
    let key = |number: u32| number.to_be_bytes();
    let fill = |delta: &Delta| {
        for number in 0..if cfg!(miri) { 100 } else { 200_000 } {
            delta.insert(&key(number), xxh3_64(&key(number)), Sequence(1), Change::Delete);
        }
    };
    let spares = |delta: &Delta| (delta.tree.spare_count(), delta.index.spare_count());
    let is_kept = |delta: &Delta| cfg!(miri) || spares(delta).0 > 0 && spares(delta).1 > 0;
    let first = Delta::new(ValueAlign::One);
    let (second, third) = (first.successor(), first.successor());
    fill(&first);
    drop(first);
    assert!(is_kept(&second), "it is kept for the next one");
    second.forget_spares();
    assert_eq!(spares(&second), (0, 0));
    // A reader may hold a delta for longer than anybody writes.
    fill(&second);
    second.forget_spares();
    third.insert(&key(0), xxh3_64(&key(0)), Sequence(1), Change::Delete);
    drop(second);
    assert_eq!(spares(&third), (0, 0), "nobody asked for much memory since");
    fill(&third);
    let fourth = third.successor();
    drop(third);
    assert!(is_kept(&fourth), "once more, it is kept for the next one");
}
