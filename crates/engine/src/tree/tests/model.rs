//! Random merges against the model, over key and value shapes, both page sizes and alignments.

use std::ops::Bound;

use super::store::{Delta, Random, Store};
use crate::format::{LeafForm, PageSize, ValueAlign};

/// Shapes of keys that trees must bear.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Numbers,
    Hashed,
    SharedPrefixes,
    Words,
    /// In groups of 16 that begin alike, and otherwise than the others.
    Groups,
    /// Over 1,024 bytes, most of them sharing their first 1,024.
    Long,
    /// Over 1,024 bytes, in groups that share their first 1,024, and differ in the last of these.
    LongGroups,
}

fn key(shape: Shape, number: u64) -> Vec<u8> {
    match shape {
        Shape::Numbers => number.to_be_bytes().to_vec(),
        Shape::Hashed => Random(number).next().to_be_bytes().repeat(3),
        Shape::SharedPrefixes => {
            format!("http://www.department{}.university.example/student/{}", number % 7, number / 7).into_bytes()
        }
        Shape::Words => {
            let mut key = format!("{:b}", number).into_bytes();
            key.truncate(number as usize % 14);
            key
        }
        Shape::Groups => {
            let mut key = (number / 16).to_be_bytes().repeat(40);
            key.push((number % 16) as u8);
            key
        }
        Shape::Long => {
            let mut key = vec![b'x'; 900 + (number % 3) as usize * 200];
            key.extend_from_slice(&(number / 3).to_be_bytes());
            key.extend(std::iter::repeat_n(b'y', (number % 5) as usize * 100));
            key
        }
        Shape::LongGroups => {
            let mut key = vec![b'x'; 1023];
            key.push(1 + (number % 40) as u8);
            // Some are no longer than what branches store of longer ones.
            if number >= 40 {
                key.extend_from_slice(&Random(number / 40).next().to_be_bytes());
            }
            key
        }
    }
}

fn value(random: &mut Random) -> Vec<u8> {
    let length = match random.below(100) {
        0 => random.below(60_000),
        1 => random.below(9_000),
        2..10 => 0,
        _ => random.below(200),
    };
    vec![random.next() as u8; length as usize]
}

fn bound<'k>(key: &'k [u8], random: &mut Random) -> Bound<&'k [u8]> {
    match random.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Excluded(key),
        _ => Bound::Included(key),
    }
}

/// One delta: spread over all keys, or dense in one stretch, or deleting a stretch or everything, or appending.
fn delta(shape: Shape, keys: u64, store: &Store, random: &mut Random) -> Delta {
    let mut delta = Delta::new();
    let start = random.below(keys);
    let length = 1 + random.below(keys / 4);
    match random.below(12) {
        0 => delta.extend(store.model.keys().filter(|_| random.below(40) > 0).map(|key| (key.clone(), None))),
        1 | 2 => {
            let doomed = store.model.keys().skip(start as usize / 2).take(length as usize);
            delta.extend(doomed.map(|key| (key.clone(), None)));
        }
        3 | 4 => {
            for _ in 0..1 + random.below(5) {
                delta.insert(key(shape, random.below(keys)), Some(value(random)));
            }
        }
        5 | 6 => {
            for number in start..start + length {
                delta.insert(key(shape, number % keys), Some(value(random)));
            }
        }
        7 => {
            for number in keys..keys + length {
                delta.insert(key(shape, number), Some(value(random)));
            }
        }
        _ => {
            for _ in 0..length {
                let value = (random.below(3) > 0).then(|| value(random));
                delta.insert(key(shape, random.below(keys)), value);
            }
        }
    }
    delta
}

fn run(shape: Shape, page_size: PageSize, form: LeafForm, keys: u64, merges: u32, seed: u64) {
    println!("seed {seed}: {shape:?} {page_size:?} {form:?}");
    // An interpreter takes half a second for the checksum of a page.
    let (keys, merges) = if cfg!(miri) { (keys / 50, merges / 20) } else { (keys, merges) };
    let mut random = Random(seed);
    let mut store = Store::in_memory(page_size);
    store.form = form;
    for _ in 0..merges {
        let delta = delta(shape, keys, &store, &mut random);
        let before = store.model.len() as u64;
        let outcome = store.apply(&delta);
        assert_eq!(before + outcome.inserted - outcome.deleted, store.model.len() as u64);
        store.check();
        if random.below(4) == 0 {
            store.compare();
        }
        if random.below(8) == 0 {
            store.reopen();
        }
        for _ in 0..4 {
            let (from, to) = (key(shape, random.below(keys)), key(shape, random.below(keys)));
            let (low, high) = (bound(&from, &mut random), bound(&to, &mut random));
            store.compare_range(low, high, &mut random);
        }
    }
    store.compare();
    let all: Delta = store.model.keys().map(|key| (key.clone(), None)).collect();
    assert_eq!(store.apply(&all).root, None);
    store.check();
    let stats = store.space.lock().stats();
    assert_eq!((stats.node_pages, stats.value_pages), (0, 0), "an empty tree holds no pages: {stats:?}");
}

#[test]
fn numbers_equal_the_model_after_every_merge() {
    run(Shape::Numbers, PageSize::KiB16, LeafForm::Tagged(ValueAlign::One), 20_000, 60, 1);
    run(Shape::Numbers, PageSize::KiB8, LeafForm::Tagged(ValueAlign::Eight), 9_000, 60, 2);
    run(Shape::Numbers, PageSize::KiB16, LeafForm::Packed, 12_000, 60, 11);
}

#[test]
fn hashed_keys_equal_the_model_after_every_merge() {
    run(Shape::Hashed, PageSize::KiB16, LeafForm::Tagged(ValueAlign::Sixteen), 12_000, 60, 3);
    run(Shape::Hashed, PageSize::KiB8, LeafForm::Tagged(ValueAlign::One), 6_000, 60, 4);
    run(Shape::Hashed, PageSize::KiB8, LeafForm::Packed, 6_000, 40, 12);
}

#[test]
fn keys_with_shared_prefixes_equal_the_model_after_every_merge() {
    run(Shape::SharedPrefixes, PageSize::KiB16, LeafForm::Tagged(ValueAlign::One), 12_000, 50, 5);
    run(Shape::SharedPrefixes, PageSize::KiB8, LeafForm::Tagged(ValueAlign::Four), 6_000, 50, 6);
    run(Shape::SharedPrefixes, PageSize::KiB16, LeafForm::Packed, 12_000, 50, 13);
}

#[test]
fn short_words_and_the_empty_key_equal_the_model_after_every_merge() {
    run(Shape::Words, PageSize::KiB16, LeafForm::Tagged(ValueAlign::One), 20_000, 60, 7);
    run(Shape::Words, PageSize::KiB8, LeafForm::Tagged(ValueAlign::One), 10_000, 60, 8);
    run(Shape::Words, PageSize::KiB8, LeafForm::Packed, 10_000, 60, 14);
}

#[test]
fn keys_in_groups_equal_the_model_after_every_merge() {
    run(Shape::Groups, PageSize::KiB8, LeafForm::Packed, 12_000, 60, 16);
    run(Shape::Groups, PageSize::KiB16, LeafForm::Packed, 12_000, 40, 17);
}

#[test]
fn long_keys_equal_the_model_after_every_merge() {
    run(Shape::Long, PageSize::KiB16, LeafForm::Tagged(ValueAlign::One), 900, 60, 9);
    run(Shape::Long, PageSize::KiB8, LeafForm::Tagged(ValueAlign::Eight), 700, 80, 10);
    run(Shape::Long, PageSize::KiB8, LeafForm::Packed, 700, 60, 15);
    run(Shape::LongGroups, PageSize::KiB8, LeafForm::Tagged(ValueAlign::One), 1500, 40, 18);
    run(Shape::LongGroups, PageSize::KiB8, LeafForm::Packed, 1500, 40, 19);
}
