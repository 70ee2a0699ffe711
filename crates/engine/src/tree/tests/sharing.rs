//! What a merge writes and what it shares: changes cost what they touch, and pages stay full.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::store::{Delta, DeltaChanges, Random, Store};
use crate::error::Error;
use crate::format::PageSize;
use crate::io::RealDisk;
use crate::pager::{PageWriter, Pages};
use crate::tree::{Sorted, merge, remove};

fn key(number: u64) -> Vec<u8> {
    format!("key{number:012}").into_bytes()
}

/// A store loaded with `count` numbered keys, `step` apart, with values of 50 bytes.
fn loaded(count: u64, step: u64) -> Store {
    let mut store = Store::in_memory(PageSize::KiB16);
    let all: Delta = (0..count).map(|number| (key(number * step), Some(vec![1; 50]))).collect();
    store.apply(&all);
    store
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn a_load_in_order_fills_all_pages_but_the_last() {
    let store = loaded(50_000, 1);
    let fill = store.leaf_fill();
    let (last, others) = fill.split_last().expect("there are leaves");
    assert!(others.iter().all(|percent| *percent >= 97), "{others:?}");
    assert!(*last > 0);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn loads_that_append_leave_all_pages_full() {
    let mut store = Store::in_memory(PageSize::KiB16);
    for part in 0..40u64 {
        let delta = (0..1000).map(|number| (key(part * 1000 + number), Some(vec![1; 50]))).collect();
        let outcome = store.apply(&delta);
        assert!(part == 0 || outcome.adopted > 0);
        assert!(store.pages_written < 20, "{} pages for one part", store.pages_written);
    }
    store.check();
    let fill = store.leaf_fill();
    let (_, others) = fill.split_last().expect("there are leaves");
    assert!(others.iter().all(|percent| *percent >= 97), "{others:?}");
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn one_change_writes_one_page_of_each_level() {
    let mut store = loaded(400_000, 1);
    let depth = u64::from(store.root.expect("it is loaded").level) + 1;
    let total = store.space.lock().stats().node_pages;
    assert!(total > 1500 && depth == 3, "{total} pages, {depth} levels");
    for number in [0, 399_999, 123_456, 200_000] {
        let outcome = store.apply(&Delta::from([(key(number), Some(vec![2; 50]))]));
        assert_eq!((outcome.replaced, outcome.inserted, outcome.deleted), (1, 0, 0));
        assert_eq!(store.pages_written, depth);
    }
    store.check();
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn a_change_in_a_full_leaf_splits_it_evenly() {
    let mut store = loaded(100_000, 2);
    store.apply(&Delta::from([(key(100_001), Some(vec![2; 50]))]));
    let fill = store.leaf_fill();
    let halves = fill[..fill.len() - 1].iter().filter(|percent| **percent < 97).collect::<Vec<_>>();
    assert!(halves.len() == 2 && halves.iter().all(|percent| (48..60).contains(*percent)), "{halves:?}");
    store.check();
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn no_leaf_is_left_below_half_but_the_last() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let mut store = loaded(30_000, 4);
        for _ in 0..25 {
            let start = random.below(120_000);
            let mut delta = Delta::new();
            for _ in 0..1 + random.below(400) {
                let number = match seed % 2 {
                    0 => random.below(120_000),
                    _ => start + random.below(3000),
                };
                delta.insert(key(number), (random.below(2) > 0).then(|| vec![3; random.below(120) as usize]));
            }
            store.apply(&delta);
            let fill = store.leaf_fill();
            let (_, others) = fill.split_last().expect("there are leaves");
            // An entry cannot be cut: the two halves differ by up to one.
            assert!(others.iter().all(|percent| *percent >= 48), "seed {seed}: {others:?}");
        }
        store.check();
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn a_leftover_is_merged_with_the_next_leaf_and_no_further() {
    let mut store = loaded(100_000, 1);
    // Leaves one entry in ten of a leaf in the middle.
    let delta: Delta = (50_000..50_200).filter(|number| number % 10 > 0).map(|number| (key(number), None)).collect();
    store.apply(&delta);
    assert!(store.pages_written <= 7, "{} pages", store.pages_written);
    store.check();
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn deleting_a_stretch_leaves_the_rest_shared() {
    let mut store = loaded(400_000, 1);
    let delta: Delta = (100_000..300_000).map(|number| (key(number), None)).collect();
    store.apply(&delta);
    // Some leaves behind the stretch are copied, because so many before them were not taken over.
    assert!(store.pages_written <= 16, "{} pages", store.pages_written);
    store.check();
}

/// Single unchanged leaves among changed ones, taken over, left no stretch of free space long enough for another
/// extent.
#[test]
fn an_unchanged_leaf_among_changed_ones_is_copied() {
    let mut store = loaded(200_000, 1);
    let leaves = store.leaf_fill().len() as u64;
    let step = 200_000 / leaves;
    let changed = |number: u64| !(number / step).is_multiple_of(10);
    let delta: Delta =
        (0..200_000).filter(|&number| changed(number)).map(|number| (key(number), Some(vec![2; 50]))).collect();
    let outcome = store.apply(&delta);
    assert!(outcome.adopted < leaves / 100, "{} of {leaves} leaves", outcome.adopted);
    store.check();
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn what_a_mostly_dead_extent_holds_is_copied_when_met() {
    let mut store = loaded(200_000, 1);
    let full = store.map.iter().filter(|(_, entry)| entry.page_count == 128).count();
    assert!(full >= 4);
    // A third of the leaves is left alone, forty in a row: extents end up under half alive.
    let step = 40 * 200_000 / store.leaf_fill().len() as u64;
    let delta: Delta = (0..200_000)
        .filter(|number| !(number / step).is_multiple_of(3))
        .map(|number| (key(number), Some(vec![2; 50])))
        .collect();
    store.apply(&delta);
    let sparse = |store: &Store| store.map.iter().filter(|(id, _)| store.map.is_sparse(*id)).count();
    let before = sparse(&store);
    assert!(before >= 3, "{before} extents are sparse");
    let whole = store.pages_written;
    let outcome = store.apply(&Delta::from([(key(77), Some(vec![3; 50]))]));
    assert!(store.pages_written > 50 && store.pages_written < whole, "{} pages", store.pages_written);
    assert!(outcome.adopted > 0);
    assert!(sparse(&store) < before);
    store.check();
    // Once what it meets is copied, a change costs its path again.
    let written: Vec<_> = (0..4)
        .map(|value| {
            store.apply(&Delta::from([(key(77), Some(vec![value; 50]))]));
            store.pages_written
        })
        .collect();
    assert_eq!(written.last(), Some(&3), "{written:?}");
    store.check();
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn many_small_checkpoints_neither_grow_the_file_nor_scatter_it() {
    let mut store = loaded(60_000, 1);
    let mut random = Random(5);
    let mut written = 0;
    for _ in 0..1500 {
        store.apply(&Delta::from([(key(random.below(60_000)), Some(vec![3; 50]))]));
        written += store.pages_written;
    }
    let stats = store.space.lock().stats();
    assert!(stats.extents < 64 + 2 * stats.node_pages / 32, "{stats:?}");
    assert!(stats.total_pages() < 2 * stats.node_pages + 200, "{stats:?}");
    assert!(written < 1500 * 12, "{written} pages");
    store.check();
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn the_file_stays_on_a_plateau_under_random_overwrites() {
    let mut store = loaded(40_000, 1);
    let mut random = Random(6);
    for _ in 0..60 {
        let delta = (0..2000).map(|_| (key(random.below(40_000)), Some(vec![3; 50]))).collect();
        store.apply(&delta);
    }
    store.check();
    let stats = store.space.lock().stats();
    assert!(stats.total_pages() < 4 * stats.node_pages + 64, "{stats:?}");
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn a_long_reader_keeps_its_tree_while_others_go_on() {
    let mut store = loaded(20_000, 1);
    let mut random = Random(7);
    let mut readers: Vec<(Pages, _, BTreeMap<_, _>)> = Vec::new();
    for round in 0..30 {
        if round % 6 == 0 {
            store.pins.push(store.birth());
            readers.push((store.pages(), store.root, store.model.clone()));
        }
        let delta =
            (0..1500).map(|_| (key(random.below(20_000)), (random.below(4) > 0).then(|| vec![3; 80]))).collect();
        store.apply(&delta);
    }
    store.check();
    for (pages, root, model) in readers {
        let unbounded = Bound::Unbounded;
        let mut range = crate::tree::Range::new(&pages, root.as_ref(), unbounded, unbounded).expect("sound");
        for (key, value) in &model {
            let entry = range.next().expect("sound").expect("the snapshot has more");
            assert!(entry.key == key && entry.value == value);
        }
    }
    assert!(store.space.lock().stats().pending_pages > 0);
    store.pins.clear();
    store.apply(&Delta::new());
    assert_eq!(store.space.lock().stats().pending_pages, 0);
}

#[test]
fn a_sorted_load_out_of_order_is_refused_at_its_place() {
    let mut store = Store::in_memory(PageSize::KiB16);
    let pairs = [b"a", b"c", b"b"].map(|key| Ok((key.to_vec(), Vec::new())));
    let failed = store.merge(&mut Sorted::new(pairs.into_iter()));
    assert!(matches!(failed, Err(Error::OutOfOrder { index: 2 })), "{failed:?}");
    let twice = [b"a", b"a"].map(|key| Ok((key.to_vec(), Vec::new())));
    assert!(matches!(store.merge(&mut Sorted::new(twice.into_iter())), Err(Error::OutOfOrder { index: 1 })));
    assert_eq!(store.space.lock().stats().placed_pages, 0);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn a_step_that_fails_ends_the_merge() {
    let store = loaded(20_000, 1);
    let delta: Delta = (0..20_000).map(|number| (key(number), Some(vec![2; 50]))).collect();
    let pages = store.pages();
    let mut writer = PageWriter::new(&store.space);
    let mut steps = 0;
    let mut step = || {
        steps += 1;
        if steps < 5 { Ok(()) } else { Err(Error::Closed { path: "x".into() }) }
    };
    let mut changes = DeltaChanges::new(&delta);
    let ended = merge(&pages, store.root.as_ref(), &mut changes, &mut writer, store.form, &mut step);
    assert!(matches!(ended, Err(Error::Closed { .. })));
    drop(writer);
    assert_eq!(steps, 5);
    store.check();
    store.compare();
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn a_removed_tree_gives_all_its_pages_back() {
    let mut store = loaded(20_000, 1);
    let long = |number: u64| [vec![b'k'; 2000], number.to_be_bytes().to_vec()].concat();
    store.apply(&(0..30).map(|number| (long(number), Some(vec![1; 50_000]))).collect());
    store.check();
    let pages = store.pages();
    let space = crate::sync::Arc::clone(&store.space);
    let mut writer = PageWriter::new(&space);
    remove(&pages, &store.root.expect("it is loaded"), &mut writer, &mut || Ok(())).expect("sound");
    let operation = writer.finish().expect("nothing is written");
    store.publish(operation).expect("there is space");
    let stats = space.lock().stats();
    assert_eq!((stats.node_pages, stats.value_pages), (0, 0));
}

#[test]
#[cfg_attr(miri, ignore = "it maps a file")]
fn a_mapped_file_reads_as_the_model_while_it_outgrows_its_window() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut store = Store::on(&RealDisk, &directory.path().join("map.ful"), PageSize::KiB16);
    let mut random = Random(8);
    for _ in 0..12 {
        let delta = (0..3000)
            .map(|_| {
                let length = if random.below(50) == 0 { random.below(60_000) } else { random.below(100) };
                (key(random.below(30_000)), (random.below(5) > 0).then(|| vec![7; length as usize]))
            })
            .collect();
        store.apply(&delta);
        store.check();
        let (low, high) = (key(random.below(30_000)), key(random.below(30_000)));
        store.compare_range(Bound::Included(&low), Bound::Excluded(&high), &mut random);
    }
    store.compare();
    let window = store.file.window();
    assert!(cfg!(not(target_os = "linux")) || window.is_some(), "the file is mapped");
}
