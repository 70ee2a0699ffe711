//! Runs above a tree against a model: what each says of its keys, and what the tree becomes once they are merged.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;

use super::store::{Delta, DeltaChanges, Random, Store};
use crate::error::Result;
use crate::format::{LeafForm, PageSize, ValueAlign};
use crate::io::{Access, Disk, MemoryDisk};
use crate::pager::{PageFile, PageWriter, Pages, ReadOptions};
use crate::sync::Arc;
use crate::tree::{
    Action, Base, Census, Change, Changes, LayersBelow, Run, RunMerge, RunValue, Stack, StackRange, TreeSummary,
    build_run, check, count, cuts, get, merge,
};

const PATH: &str = "/runs.ful";

/// A tree, the runs above it, the newest first, and a model of them all: that of the store.
struct Layered {
    disk: MemoryDisk,
    store: Store,
    runs: Vec<Run>,
    /// Whether runs state what they add to the count of the layers below.
    counted: bool,
}

/// Changes in a slice.
struct Listed<'a> {
    changes: &'a [(&'a [u8], Action<'a>)],
}

impl Changes for Listed<'_> {
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        Ok(self.changes.first().map(|&(key, action)| Change { key, hash: None, action }))
    }

    fn advance(&mut self) {
        self.changes = &self.changes[1..];
    }
}

impl Layered {
    fn new(page_size: PageSize) -> Self {
        let disk = MemoryDisk::new();
        let store = Store::on(&disk, Path::new(PATH), page_size);
        Self { disk, store, runs: Vec::new(), counted: false }
    }

    /// The layers below a run, the newest of all being number 0.
    fn beneath<'b>(&'b self, pages: &'b Pages, from: usize) -> LayersBelow<'b> {
        LayersBelow::new(pages, &self.runs[from..], self.store.root.as_ref())
    }

    /// Does something, as one checkpoint.
    fn operate<R>(&mut self, work: impl FnOnce(&Pages, &mut PageWriter<'_>) -> Result<R>) -> R {
        let pages = self.store.pages();
        let space = Arc::clone(&self.store.space);
        let mut writer = PageWriter::new(&space);
        let done = work(&pages, &mut writer).expect("no call fails here");
        let operation = writer.finish().expect("no call fails here");
        self.store.publish(operation).expect("no call fails here");
        done
    }

    /// Adds a run of a delta. Values of [`LARGE_BYTES`] are in pages of their own before, as those of large commits do.
    fn add_run(&mut self, delta: &Delta) {
        let (align, counted, runs, root) = (self.store.form.align(), self.counted, self.runs.clone(), self.store.root);
        let run = self.operate(|pages, writer| {
            let mut changes: Vec<(&[u8], Action<'_>)> = Vec::new();
            for (key, value) in delta {
                changes.push(match value {
                    None => (key, Action::Delete),
                    Some(value) if value.len() >= LARGE_BYTES => (key, Action::PutLarge(writer.add_value(value)?)),
                    Some(value) => (key, Action::Put(value)),
                });
            }
            let beneath = LayersBelow::new(pages, &runs, root.as_ref());
            build_run(pages, &mut Listed { changes: &changes }, writer, align, counted.then_some(&beneath))
        });
        for (key, value) in delta {
            match value {
                Some(value) => self.store.model.insert(key.clone(), value.clone()),
                None => self.store.model.remove(key),
            };
        }
        assert!(self.counted || run.is_none() == delta.is_empty());
        self.runs.splice(0..0, run);
    }

    /// Merges all runs into the tree.
    fn merge_runs(&mut self) {
        let (runs, root, form) = (std::mem::take(&mut self.runs), self.store.root, self.store.form);
        self.store.root = self.operate(|pages, writer| {
            let mut changes = RunMerge::new(pages, &runs, (None, None))?;
            let merged = merge(pages, root.as_ref(), &mut changes, writer, form, &mut || Ok(()))?;
            changes.kill_unused_values(writer)?;
            runs.iter().try_for_each(|run| run.remove_but_values(pages, writer))?;
            Ok(merged.root)
        });
    }

    /// Proves that every page belongs to the tree or to one run, once.
    fn check(&self) {
        let pages = self.store.pages();
        let mut census = Census::new(&pages);
        if let Some(root) = &self.store.root {
            check(&pages, root, &mut census);
        }
        for (index, run) in self.runs.iter().enumerate() {
            let beneath = self.beneath(&pages, index + 1);
            run.check(&pages, (None, None), self.counted.then_some(&beneath), &mut census);
        }
        let faults = census.finish(&pages);
        assert!(faults.is_empty(), "{faults:?}");
    }

    /// What the layers have for a key.
    fn get(&self, pages: &Pages, key: &[u8]) -> Option<Vec<u8>> {
        let hash = self.store.file.identity().hash(key);
        for run in &self.runs {
            match said(run, pages, key, hash).expect("the file is sound") {
                RunValue::Unknown => {}
                RunValue::Deleted => return None,
                RunValue::Present(value) => return Some(value.to_vec()),
            }
        }
        let root = self.store.root.as_ref()?;
        get(pages, &Base::new(*root), key).expect("the file is sound").map(|value| value.to_vec())
    }

    /// Reads these keys, through a map and without one, and compares with the model.
    fn compare<'k>(&self, keys: impl Iterator<Item = &'k Vec<u8>> + Clone) {
        for pages in [self.store.pages(), self.unmapped()] {
            for key in keys.clone() {
                assert_eq!(self.get(&pages, key).as_ref(), self.store.model.get(key), "{}", key.escape_ascii());
            }
        }
    }

    /// Counts between some of these keys by what the tree and the runs count, and compares with the model.
    fn compare_counts(&self, keys: &[Vec<u8>], random: &mut Random) {
        let pages = self.store.pages();
        let stack = Stack::new(vec![StackRange { low: [].into(), runs: self.runs.clone() }], true);
        let mut any = || (random.below(8) > 0).then(|| &*keys[random.below(keys.len() as u64) as usize]);
        for _ in 0..40 {
            let (low, high) = (any(), any());
            if high.is_some_and(|high| low.is_some_and(|low| low >= high)) {
                continue;
            }
            let within = |key: &[u8]| low.is_none_or(|low| key >= low) && high.is_none_or(|high| key < high);
            let low = low.map_or(Bound::Unbounded, Bound::Included);
            let high = high.map_or(Bound::Unbounded, Bound::Excluded);
            let stored = self.store.root.map_or(0, |root| count(&pages, &root, low, high).expect("the file is sound"));
            let net = stack.as_ref().map_or(Ok(0), |stack| stack.count_net(&pages, low, high));
            let counted = stored.checked_add_signed(net.expect("the file is sound"));
            let expected = self.store.model.keys().filter(|key| within(key)).count() as u64;
            assert_eq!(counted, Some(expected), "{low:?} {high:?}");
        }
    }

    fn unmapped(&self) -> Pages {
        let raw = self.disk.open(Path::new(PATH), Access::Read).expect("it exists");
        let options = ReadOptions { map: false, huge_pages: false, cache_bytes: 1 << 20 };
        let (size, identity) = (self.store.file.page_size(), *self.store.file.identity());
        let file = PageFile::new(Path::new(PATH), raw, size, identity, options);
        file.pages(Arc::clone(&self.store.map)).expect("the file is whole")
    }
}

/// Keys, some of them too long for a cell, in pairs that differ only past the part that a cell holds of them.
fn key(number: u64) -> Vec<u8> {
    match number % 23 {
        0 | 1 => [vec![b'l'; 1_100], (number / 23 * 2 + number % 23).to_be_bytes().to_vec()].concat(),
        2 => [vec![b'l'; 1_020], (number / 23).to_be_bytes().to_vec()].concat(),
        _ => Random(number).next().to_be_bytes()[..2 + number as usize % 7].to_vec(),
    }
}

fn value(random: &mut Random) -> Vec<u8> {
    let length = match random.below(60) {
        0 => LARGE_BYTES as u64 + random.below(LARGE_BYTES as u64),
        1..4 => random.below(LARGE_BYTES as u64 / 3),
        _ => random.below(100),
    };
    vec![random.next() as u8; length as usize]
}

fn delta(keys: u64, changes: u64, random: &mut Random) -> Delta {
    let change = |random: &mut Random| (key(random.below(keys)), (random.below(3) > 0).then(|| value(random)));
    (0..changes).map(|_| change(random)).collect()
}

#[test]
fn a_run_says_of_each_of_its_keys_what_became_of_it_and_of_others_nothing() {
    // Under an interpreter, which takes half a second for the checksum of a page, few.
    for changes in if cfg!(miri) { [1, 70, 0] } else { [1, 63, 3_000] } {
        let mut layered = Layered::new(PageSize::KiB8);
        let mut random = Random(1);
        let delta = delta(if cfg!(miri) { 200 } else { 5_000 }, changes, &mut random);
        layered.add_run(&delta);
        let Some(run) = layered.runs.first() else { continue };
        assert_eq!((run.entries, run.root.entries), (delta.len() as u64, 0));
        assert_eq!(run.filter.is_some(), delta.len() >= 64);
        let identity = *layered.store.file.identity();
        for pages in [layered.store.pages(), layered.unmapped()] {
            for (key, value) in &delta {
                let expected = value.as_deref();
                match said(run, &pages, key, identity.hash(key)).expect("sound") {
                    RunValue::Present(value) => assert_eq!(Some(&*value), expected),
                    RunValue::Deleted => assert_eq!(None, expected),
                    RunValue::Unknown => panic!("it knows nothing of {}", key.escape_ascii()),
                }
                for other in [[key, b"\0".as_slice()].concat(), key[..key.len() - 1].to_vec()] {
                    if !delta.contains_key(&other) {
                        let said = said(run, &pages, &other, identity.hash(&other)).expect("sound");
                        assert_eq!(said, RunValue::Unknown, "{}", other.escape_ascii());
                    }
                }
            }
        }
        layered.check();
    }
}

/// What a run says of a key.
fn said<'p>(run: &Run, pages: &'p Pages, key: &[u8], hash: u64) -> Result<RunValue<'p>> {
    run.get(pages, run.mapped_filter(pages, hash)?, key, hash)
}

#[test]
fn long_keys_that_share_a_hash_are_told_apart_in_a_run() {
    let mut layered = Layered::new(PageSize::KiB8);
    let keys: Vec<_> = (0..4u8).map(|number| [vec![b'l'; 1_200], vec![number]].concat()).collect();
    let values = [Some(b"zero".to_vec()), None, Some(b"two".to_vec())];
    layered.add_run(&keys.iter().cloned().zip(values.clone()).collect());
    let (pages, run) = (layered.store.pages(), layered.runs[0]);
    // Each is asked for by the hash of each: so it would be if that were its own, too.
    for hash in keys[..3].iter().map(|key| layered.store.file.identity().hash(key)) {
        for (key, value) in keys.iter().zip(&values) {
            match (said(&run, &pages, key, hash).expect("sound"), value) {
                (RunValue::Present(found), Some(value)) => assert_eq!(&*found, &**value),
                (said, value) => assert!(said == RunValue::Deleted && value.is_none(), "{said:?}"),
            }
        }
        assert_eq!(said(&run, &pages, &keys[3], hash).expect("sound"), RunValue::Unknown);
    }
}

#[test]
fn a_delta_without_changes_makes_no_run() {
    let mut layered = Layered::new(PageSize::KiB8);
    layered.add_run(&Delta::new());
    assert!(layered.runs.is_empty());
}

/// Runs added and merged in random numbers, over all kinds of keys and values.
fn merges_equal_the_model(page_size: PageSize, form: LeafForm, counted: bool, seed: u64) {
    println!("seed {seed}: {page_size:?} {form:?}, counted: {counted}");
    let (keys, rounds, changes) = if cfg!(miri) { (60, 2, 12) } else { (1_500, 25, 250) };
    let mut random = Random(seed);
    let mut layered = Layered::new(page_size);
    layered.store.form = form;
    layered.counted = counted;
    let all: Vec<_> = (0..keys + 40).map(key).collect();
    for round in 0..rounds {
        // Also into a tree without entries, and below one run only.
        for _ in 0..1 + random.below(if cfg!(miri) { 3 } else { 12 }) {
            layered.add_run(&delta(keys, 1 + random.below(changes), &mut random));
        }
        if round % 3 == 0 {
            layered.check();
        }
        layered.compare(all.iter());
        if counted {
            layered.compare_counts(&all, &mut random);
        }
        layered.merge_runs();
        layered.check();
        layered.store.check();
        layered.compare(all.iter());
        if random.below(4) == 0 {
            layered.store.reopen();
        }
    }
    layered.store.compare();
    layered.add_run(&layered.store.model.keys().map(|key| (key.clone(), None)).collect());
    layered.merge_runs();
    assert_eq!(layered.store.root, None);
    let stats = layered.store.space.lock().stats();
    assert_eq!((stats.node_pages, stats.value_pages), (0, 0), "an empty tree holds no pages: {stats:?}");
}

#[test]
fn merged_runs_equal_the_model() {
    let one = LeafForm::Tagged(ValueAlign::One);
    merges_equal_the_model(PageSize::KiB8, one, false, 2);
    if !cfg!(miri) {
        merges_equal_the_model(PageSize::KiB16, LeafForm::Tagged(ValueAlign::Eight), false, 3);
        merges_equal_the_model(PageSize::KiB8, one, true, 4);
        merges_equal_the_model(PageSize::KiB8, LeafForm::Packed, false, 5);
        merges_equal_the_model(PageSize::KiB16, LeafForm::Packed, true, 6);
    }
}

/// A catalog that was damaged may say so of a sound run.
#[test]
fn a_run_outside_of_its_range_is_not_merged() {
    let mut layered = Layered::new(PageSize::KiB8);
    let keys = [&b"b"[..], b"c", b"d"];
    layered.add_run(&keys.iter().map(|key| (key.to_vec(), Some(b"v".to_vec()))).collect());
    let pages = layered.store.pages();
    let merged = |low: &'static [u8], end: &'static [u8]| {
        let mut changes = RunMerge::new(&pages, &layered.runs, (Some(low), Some(end)))?;
        let mut count = 0;
        while changes.peek()?.is_some() {
            changes.advance();
            count += 1;
        }
        Ok(count)
    };
    assert_eq!(merged(b"b", b"e").expect("all are within"), 3);
    for (low, end) in [(&b"b\0"[..], &b"e"[..]), (b"a", b"d"), (b"a", b"a")] {
        assert!(merged(low, end).is_err_and(|error: crate::Error| error.is_corruption()), "{low:?} {end:?}");
    }
}

#[test]
fn a_large_value_that_a_newer_run_replaces_is_buried_once() {
    // Of one key, too long for a cell: older runs first.
    let [large, larger] = [1, 2].map(|factor| Some(vec![7; factor * LARGE_BYTES]));
    let histories = [
        vec![large.clone(), None],
        vec![large.clone(), larger.clone()],
        vec![large.clone(), None, larger.clone(), large.clone()],
        vec![None, large.clone(), Some(Vec::new())],
        vec![large.clone(), large.clone(), larger.clone(), None],
    ];
    for in_tree in [None, larger] {
        // An interpreter takes half a second for the checksum of a page.
        for history in histories.iter().take(if cfg!(miri) { 1 } else { histories.len() }) {
            let mut layered = Layered::new(PageSize::KiB8);
            let (key, other) = (vec![b'k'; 1_300], [vec![b'k'; 1_200], vec![b'z']].concat());
            layered.store.apply(&Delta::from([(other.clone(), Some(vec![1])), (key.clone(), in_tree.clone())]));
            for value in history {
                layered.add_run(&Delta::from([(key.clone(), value.clone()), (other.clone(), Some(vec![2]))]));
            }
            layered.check();
            layered.merge_runs();
            layered.check();
            layered.compare([&key, &other].into_iter());
        }
    }
}

#[test]
fn a_run_that_is_removed_leaves_no_page() {
    let mut layered = Layered::new(PageSize::KiB8);
    let mut random = Random(4);
    layered.add_run(&delta(300, if cfg!(miri) { 20 } else { 300 }, &mut random));
    let run = layered.runs.remove(0);
    layered.operate(|pages, writer| run.remove(pages, writer));
    layered.check();
}

/// In a forged file the filter of a run may be a part of something else, too, and die with that.
#[test]
fn a_filter_that_lies_elsewhere_or_nowhere_in_a_later_snapshot_is_noticed() {
    let mut layered = Layered::new(PageSize::KiB8);
    let mut random = Random(4);
    layered.add_run(&delta(300, 300, &mut random));
    let run = layered.runs[0];
    let stack = Stack::new(vec![StackRange { low: [].into(), runs: vec![run] }], false).expect("it has a run");
    let before = layered.store.pages();
    layered.add_run(&delta(300, 300, &mut random));
    assert!(stack.has_same_filters(&before, &layered.store.pages()));
    let filter = run.filter.expect("it has one");
    layered.operate(|_, writer| writer.kill_value(&filter));
    assert!(!stack.has_same_filters(&before, &layered.store.pages()));
    // The extent's number is given out again.
    while layered.store.map.entry(filter.extent).is_none() {
        layered.operate(|_, writer| writer.add_value(&vec![1; filter.length as usize]));
    }
    assert!(!stack.has_same_filters(&before, &layered.store.pages()));
}

/// What a check of a run says is wrong.
fn faults(
    layered: &Layered,
    run: &Run,
    bounds: (Option<&[u8]>, Option<&[u8]>),
    beneath: Option<&LayersBelow<'_>>,
) -> Vec<String> {
    struct Faults(Vec<String>, BTreeSet<(u32, u32)>);
    impl crate::tree::check::CheckVisitor for Faults {
        fn reached(&mut self, at: crate::ids::PageRef, _pages: u32) -> bool {
            self.1.insert((at.extent.0, at.slot))
        }
        fn fault(&mut self, error: crate::Error) {
            self.0.push(error.to_string());
        }
    }
    let mut faults = Faults(Vec::new(), BTreeSet::new());
    run.check(&layered.store.pages(), bounds, beneath, &mut faults);
    faults.0
}

#[test]
fn a_check_of_a_run_finds_what_is_wrong_with_it() {
    let mut layered = Layered::new(PageSize::KiB8);
    let numbered = |number: u64| format!("key {number:04}").into_bytes();
    let all = |numbers: std::ops::Range<u64>| numbers.map(|number| (numbered(number), Some(vec![1]))).collect();
    layered.add_run(&all(100..200));
    layered.add_run(&all(101..200));
    let [other, run] = [layered.runs[0], layered.runs[1]];
    let bounds = (numbered(100), numbered(200));
    let (low, high) = (Some(&*bounds.0), Some(&*bounds.1));
    let finds = |run: Run, bounds: (Option<&[u8]>, Option<&[u8]>), expected: &[&str]| {
        let found = faults(&layered, &run, bounds, None);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(found.iter().zip(expected).all(|(found, expected)| found.contains(expected)), "{found:?}");
    };
    finds(run, (low, high), &[]);
    finds(run, (None, None), &[]);
    finds(run, (Some(&numbered(101)), high), &["the first key is below"]);
    finds(run, (low, Some(&numbered(199))), &["the last key is above"]);
    finds(Run { entries: 99, ..run }, (low, high), &["not as many entries"]);
    finds(Run { filter: other.filter, ..run }, (low, high), &["holds back 1 of its keys"]);
    finds(Run { filter: None, ..run }, (low, high), &[]);
    let pages = layered.store.pages();
    let found = faults(&layered, &run, (low, high), Some(&layered.beneath(&pages, 2)));
    assert!(matches!(&found[..], [one] if one.contains("wrongly of 100 of its keys")), "{found:?}");
    let mut filter = run.filter.expect("it has one");
    filter.checksum ^= 1;
    finds(Run { filter: Some(filter), ..run }, (low, high), &["checksum"]);
    let pages = layered.store.pages();
    let mut census = Census::new(&pages);
    for run in [run, Run { filter: run.filter, ..other }] {
        run.check(&pages, (low, high), None, &mut census);
    }
    let found: Vec<_> = census.finish(&pages).iter().map(ToString::to_string).collect();
    assert!(found.iter().any(|fault| fault.contains("pages of a filter are referred to more than once")), "{found:?}");
}

/// Cuts a tree between bounds, and returns how many entries each part has.
fn parts_of(store: &Store, (low, high): (Option<&[u8]>, Option<&[u8]>), parts: usize) -> (Vec<u64>, Vec<Box<[u8]>>) {
    let (pages, root) = (store.pages(), store.root.expect("it is loaded"));
    let keys = cuts(&pages, &root, (low, high), parts).expect("sound");
    assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(keys.iter().all(|key| low.is_none_or(|low| *low < **key) && high.is_none_or(|high| **key < *high)));
    assert!(keys.len() < parts);
    let inner = keys.iter().map(|key| Some(&**key));
    let ends: Vec<_> = [low].into_iter().chain(inner).chain([high]).collect();
    let counted = ends.windows(2).map(|pair| {
        let high = pair[1].map_or(Bound::Unbounded, Bound::Excluded);
        count(&pages, &root, pair[0].map_or(Bound::Unbounded, Bound::Included), high).expect("sound")
    });
    (counted.collect(), keys)
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn cuts_divide_a_tree_into_about_equal_parts_between_bounds() {
    let mut store = Store::in_memory(PageSize::KiB8);
    let numbered = |number: u64| format!("key {number:08}").into_bytes();
    store.apply(&(0..200_000).map(|number| (numbered(number), Some(vec![1; 30]))).collect());
    let bounds = [numbered(20_000), numbered(120_000)];
    let [low, high] = [&bounds[0], &bounds[1]].map(|bound| Some(&**bound));
    for parts in [1, 2, 3, 7, 16, 60] {
        for (bounds, entries) in [((None, None), 200_000), ((low, high), 100_000), ((None, high), 120_000)] {
            let (counted, _) = parts_of(&store, bounds, parts);
            assert_eq!((counted.len(), counted.iter().sum::<u64>()), (parts, entries));
            let fair = entries / parts as u64;
            assert!(counted.iter().all(|part| (fair / 2..=fair * 2).contains(part)), "{parts} parts: {counted:?}");
        }
    }
    // No finer than leaves, and not at all where no separator is.
    let (counted, _) = parts_of(&store, (None, None), 1_000_000);
    assert!(counted.len() > 500, "{} parts", counted.len());
    let next = numbered(20_001);
    assert_eq!(parts_of(&store, (low, Some(&next)), 8).0, [1]);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn separators_that_are_too_long_for_a_cell_cut_nothing() {
    let mut store = Store::in_memory(PageSize::KiB8);
    let long = |number: u64| [vec![b'p'; 1_500], number.to_be_bytes().to_vec()].concat();
    let short = |number: u64| [b"q".to_vec(), number.to_be_bytes().to_vec()].concat();
    store.apply(&(0..600).map(|number| (long(number), Some(vec![1]))).collect());
    assert_eq!(parts_of(&store, (None, None), 4), (vec![600], Vec::new()));
    store.apply(&(0..3_000).map(|number| (short(number), Some(vec![1; 100]))).collect());
    let (counted, keys) = parts_of(&store, (None, None), 4);
    assert!(keys.len() >= 2 && keys.iter().all(|key| key.starts_with(b"q")), "{counted:?}");
}

#[test]
fn a_tree_of_one_leaf_is_not_cut() {
    let mut store = Store::in_memory(PageSize::KiB8);
    store.apply(&Delta::from([(b"a".to_vec(), Some(vec![1])), (b"b".to_vec(), Some(vec![2]))]));
    assert_eq!(parts_of(&store, (None, None), 8).0, [2]);
}

#[test]
fn a_run_of_what_is_left_until_an_end_leaves_the_rest() {
    let mut layered = Layered::new(PageSize::KiB8);
    let delta: Delta = (0..9u8).map(|number| (vec![number], Some(vec![number]))).collect();
    let ends = [Some(vec![3u8]), Some(vec![3, 0]), Some(vec![8]), None];
    let runs = layered.operate(|pages, writer| {
        let mut changes = DeltaChanges::new(&delta);
        let mut run = |end: &Option<Vec<u8>>| {
            let mut until = crate::tree::Until::new(&mut changes, end.as_deref());
            build_run(pages, &mut until, writer, ValueAlign::One, None)
        };
        ends.iter().map(&mut run).collect::<Result<Vec<_>>>()
    });
    let entries: Vec<_> = runs.iter().flatten().map(|run| run.entries).collect();
    assert_eq!(entries, [3, 1, 4, 1]);
    layered.runs = runs.into_iter().flatten().collect();
    layered.store.model = delta.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<BTreeMap<_, _>>();
    layered.check();
    layered.compare((0..10u8).map(|number| vec![number]).collect::<Vec<_>>().iter());
    let summary = layered.runs[0].check(
        &layered.store.pages(),
        (None, Some(&[3])),
        None,
        &mut Census::new(&layered.store.pages()),
    );
    assert_eq!(summary, TreeSummary { entries: 3, leaves: 1, key_bytes: 3, value_bytes: 3, ..TreeSummary::default() });
}

/// Values of so many bytes are in the file before their commit is.
const LARGE_BYTES: usize = if cfg!(miri) { 9_000 } else { 66_000 };
