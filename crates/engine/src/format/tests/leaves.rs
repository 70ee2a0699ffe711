//! Leaves: what the builder writes, the verifier accepts and the view finds, against a sorted list.

use std::collections::HashMap;
use std::ops::Range;

use crate::format::tests::shapes::{
    AT, BIRTH, Check, LongStore, PAGE_SIZES, Random, SHAPES, Shape, brief, identity, neighbours, on_every_isa, shapes,
};
use crate::format::{
    CellKey, CellValue, ExtentTablePage, Leaf, LeafBuilder, Op, OverflowRef, PageSize, PlainEntries, Search,
    ValueAlign, seal_page,
};
use crate::ids::ExtentId;

const OPS: [Op; 4] = [Op::PutNew, Op::PutReplace, Op::DeleteCounted, Op::Delete];

/// An entry as the model keeps it.
struct Entry {
    key: Vec<u8>,
    op: Op,
    value: Result<Vec<u8>, OverflowRef>,
}

impl Entry {
    fn value(&self) -> CellValue<'_> {
        match &self.value {
            Ok(bytes) => CellValue::Inline(bytes),
            Err(at) => CellValue::Overflow(*at),
        }
    }
}

fn entries(keys: Vec<Vec<u8>>, value_bytes_max: usize, mixed_ops: bool, random: &mut Random) -> Vec<Entry> {
    let entry = |key| {
        let op = if mixed_ops { OPS[random.below(4)] } else { Op::PutNew };
        let value = match random.below(20) {
            _ if op.is_delete() => Ok(Vec::new()),
            0 if mixed_ops => {
                Err(OverflowRef { extent: ExtentId(3), slot: 5, length: 70_000, checksum: random.next() })
            }
            // An interpreter draws one byte for all.
            _ if cfg!(miri) => Ok(vec![random.next() as u8; random.below(value_bytes_max + 1)]),
            _ => Ok((0..random.below(value_bytes_max + 1)).map(|_| random.next() as u8).collect()),
        };
        Entry { key, op, value }
    };
    keys.into_iter().map(entry).collect()
}

/// Fills pages with entries, and checks each on every instruction set.
fn check_pages(entries: &[Entry], page_size: PageSize, align: ValueAlign, random: &mut Random) {
    let identity = identity();
    let mut builder = LeafBuilder::new(page_size, align);
    let mut from = 0;
    let mut store = LongStore::default();
    for (index, entry) in entries.iter().enumerate() {
        let key = store.cell_key(&entry.key, &identity);
        if !builder.fits(key.stored_length(), entry.value().stored_length()) {
            check_page(&mut builder, &entries[from..index], &store, random);
            from = index;
        }
        builder.push(entry.op, key, entry.value(), identity.hash(&entry.key));
    }
    check_page(&mut builder, &entries[from..], &store, random);
}

fn check_page(builder: &mut LeafBuilder, entries: &[Entry], store: &LongStore, random: &mut Random) {
    let page_size = builder_page_size(builder);
    let mut page = vec![0xAA; page_size];
    let used = builder.bytes_used();
    let summary = builder.finish(&mut page);
    assert!(builder.is_empty());
    assert_eq!(summary.entries, entries.len());
    assert_eq!(summary.net_count, entries.iter().map(|entry| entry.op.net() as i64).sum::<i64>());
    seal_page(&mut page, &identity(), AT, BIRTH);
    let leaf = Leaf::verify(&page, &identity(), AT, BIRTH).expect("a built page verifies");
    assert_eq!(leaf.net_count(), summary.net_count);
    assert_eq!(leaf.has_overflow(), summary.has_overflow);
    assert_eq!(leaf.bytes_used(), used);
    assert_eq!(leaf.all_new(), entries.iter().all(|entry| entry.op == Op::PutNew));
    assert_eq!(leaf.cells(0..leaf.count()).len(), entries.len());
    for (cell, entry) in leaf.cells(0..leaf.count()).zip(entries) {
        assert_eq!(store.whole(cell.key), entry.key);
        assert_eq!((cell.op, cell.value), (entry.op, entry.value()));
    }
    let reversed: Vec<_> = leaf.cells(0..leaf.count()).rev().map(|cell| store.whole(cell.key)).collect();
    assert!(reversed.iter().eq(entries.iter().rev().map(|entry| &entry.key)));
    check_inline_cells(leaf, entries, random);
    let mut queries: Vec<_> = (0..if cfg!(miri) { 1 } else { 30 }).flat_map(|_| around(entries, random)).collect();
    queries.extend([vec![], vec![0], vec![0xFF; 9], vec![0; 9]]);
    on_every_isa(&Queries { leaf, entries, store, queries });
}

/// Entries taken from both ends by turns, after the iterator was set back and ahead.
fn check_inline_cells(leaf: Leaf<'_>, entries: &[Entry], random: &mut Random) {
    let Some(mut cells) = leaf.inline_cells(0..leaf.count()) else {
        assert!(leaf.has_overflow(), "only an overflow keeps cells from being inline");
        return;
    };
    assert!(cells.clone().map(|(key, _)| key).eq(entries.iter().map(|entry| &*entry.key)));
    assert!(cells.clone().rev().map(|(key, _)| key).eq(entries.iter().rev().map(|entry| &*entry.key)));
    let from = random.below(leaf.count());
    let to = from + random.below(leaf.count() - from + 1);
    cells.set_indices(from..to);
    // Whatever is read ahead, inside of a page or far from it, changes nothing.
    cells.read_ahead(leaf.page(), random.next() as usize);
    let mut expected = entries[from..to].iter();
    while cells.len() > 0 {
        let upward = random.below(2) == 0;
        let (found, entry) =
            if upward { (cells.next(), expected.next()) } else { (cells.next_back(), expected.next_back()) };
        let (found, entry) = (found.expect("there are more"), entry.expect("as many"));
        assert_eq!((found.0, CellValue::Inline(found.1)), (&*entry.key, entry.value()));
    }
    assert!(cells.next().is_none() && cells.next_back().is_none() && expected.next().is_none());
}

fn builder_page_size(builder: &LeafBuilder) -> usize {
    builder.page_size().bytes()
}

fn around(entries: &[Entry], random: &mut Random) -> Vec<Vec<u8>> {
    neighbours(&entries[random.below(entries.len())].key, random)
}

struct Queries<'t> {
    leaf: Leaf<'t>,
    entries: &'t [Entry],
    store: &'t LongStore,
    queries: Vec<Vec<u8>>,
}

impl Check for Queries<'_> {
    fn check<S: Search>(&self) {
        let mut unsettled = 0;
        for key in &self.queries {
            let place = self.entries.binary_search_by(|entry| entry.key.cmp(key));
            let hash = identity().hash(key);
            let found = self.leaf.find::<S>(key, hash);
            match place {
                Ok(index) => {
                    let (cell, entry) = (found.expect("the key is there"), &self.entries[index]);
                    assert_eq!((cell.op, cell.value), (entry.op, entry.value()));
                    assert_eq!(self.store.whole(cell.key), *key);
                }
                Err(_) => assert_eq!(found, None, "{}", brief(key)),
            }
            if key.len() <= 1024 {
                let long = found.is_some_and(|cell| matches!(cell.value, CellValue::Overflow(_)));
                match self.leaf.value_of::<S>(key, hash).settled() {
                    Some(value) => {
                        assert!(!long, "a value elsewhere takes a longer look");
                        let stored = found.filter(|cell| !cell.op.is_delete()).map(|cell| cell.value);
                        assert_eq!(value.map(CellValue::Inline), stored, "{} {}", S::ISA, brief(key));
                    }
                    None => unsettled += 1,
                }
                let halves = self.leaf.candidate::<S>(key, hash).and_then(|c| self.leaf.confirm::<S>(c, key, hash));
                assert_eq!(halves, found);
            }
            let Ok(bound) = self.leaf.lower_bound::<S, _>(key, self.store);
            assert_eq!(bound, place.unwrap_or_else(|index| index), "{} {}", S::ISA, brief(key));
        }
        assert!(unsettled < self.queries.len(), "some key is settled at the first look");
    }
}

fn count_for(shape: &Shape) -> u64 {
    let long = (shape.key)(0).len() > 900;
    match (cfg!(miri), long) {
        (false, false) => 2000,
        (false, true) => 200,
        (true, false) => 18,
        (true, true) => 6,
    }
}

#[test]
fn finds_every_key_and_no_other_on_every_shape() {
    for (number, shape) in shapes().enumerate() {
        let mut random = Random(1);
        let all = entries(shape.keys(count_for(shape)), 30, false, &mut random);
        let first = number % PAGE_SIZES.len();
        for page_size in if cfg!(miri) { &PAGE_SIZES[first..=first] } else { PAGE_SIZES } {
            check_pages(&all, *page_size, ValueAlign::One, &mut random);
        }
    }
}

#[test]
fn stores_every_operation_and_overflow_values_at_every_alignment() {
    for (number, shape) in shapes().enumerate() {
        let mut random = Random(2);
        let all = entries(shape.keys((count_for(shape) / 4).max(2)), 100, true, &mut random);
        let aligns = [1, 4, 8, 16].map(|bytes| ValueAlign::from_bytes(bytes).expect("a legal alignment"));
        for align in if cfg!(miri) { aligns[number % 4..].iter().take(1) } else { aligns.iter().take(4) } {
            check_pages(&all, PAGE_SIZES[0], *align, &mut random);
        }
    }
}

/// A leaf of entries without values, as many as fit.
fn page_of(keys: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = LeafBuilder::new(PageSize::KiB16, ValueAlign::One);
    for key in keys {
        builder.push(Op::PutNew, CellKey::Inline(key), CellValue::Inline(key), identity().hash(key));
    }
    let mut page = vec![0; PageSize::KiB16.bytes()];
    builder.finish(&mut page);
    seal_page(&mut page, &identity(), AT, BIRTH);
    page
}

/// Which of these keys a leaf settles at the first look, all of them as a sorted list would.
struct Settled<'t> {
    leaf: Leaf<'t>,
    stored: &'t [Vec<u8>],
    queries: &'t [Vec<u8>],
    least: usize,
}

impl Check for Settled<'_> {
    fn check<S: Search>(&self) {
        let mut settled = 0;
        for key in self.queries {
            let found = self.leaf.value_of::<S>(key, identity().hash(key)).settled();
            if let Some(value) = found {
                let stored = self.stored.binary_search(key).is_ok();
                assert_eq!(value, stored.then_some(&key[..]), "{} {}", S::ISA, brief(key));
                settled += 1;
            }
        }
        assert!(settled >= self.least, "{}: {settled} of {} settled", S::ISA, self.queries.len());
    }
}

#[test]
fn ties_across_blocks_are_settled_at_the_first_look() {
    for count in if cfg!(miri) { &[18][..] } else { &[17, 18, 40, 9 * 16 - 1, 9 * 16] } {
        let count = *count;
        let all: Vec<Vec<u8>> = (0..2 * count).map(|i| format!("MMMM{}{i:04}", i % 3).into_bytes()).collect();
        let mut stored: Vec<Vec<u8>> = all.iter().step_by(2).cloned().collect();
        stored.push(b"A".to_vec()); // So that the heads are what ties, not the prefix.
        stored.sort();
        stored.truncate(count);
        let page = page_of(&stored);
        let leaf = Leaf::verify(&page, &identity(), AT, BIRTH).expect("a built page verifies");
        // Tags that happen to be equal take a longer look: one in hundreds of keys.
        on_every_isa(&Settled { leaf, stored: &stored, queries: &all, least: all.len() * 97 / 100 });
    }
}

#[test]
fn keys_whose_tags_are_equal_are_told_apart() {
    if cfg!(miri) {
        return; // It hashes tens of thousands of keys, and the search of portable code is run elsewhere.
    }
    let mut by_tag: HashMap<u64, Vec<Vec<u8>>> = HashMap::new();
    for i in 0..200_000u32 {
        let key = format!("MMMM{i:06}").into_bytes();
        by_tag.entry(identity().hash(&key) >> 48).or_default().push(key);
    }
    let keys_of = |tags: Range<u64>| tags.flat_map(|tag| by_tag.get(&tag).cloned().unwrap_or_default());
    for tags in [0..40, 1..40, 100..140] {
        // Tag 0 is that of places without an entry, too.
        let queries: Vec<Vec<u8>> = keys_of(tags.clone()).chain(keys_of(0..1)).collect();
        for (stored, of) in [(1, 2), (1, 5), (2, 3)] {
            let keys = keys_of(tags.clone()).enumerate().filter(|(index, _)| index % of < stored).map(|(_, key)| key);
            let mut keys: Vec<Vec<u8>> = keys.chain([b"A".to_vec()]).collect();
            keys.sort();
            let page = page_of(&keys);
            let leaf = Leaf::verify(&page, &identity(), AT, BIRTH).expect("a built page verifies");
            on_every_isa(&Settled { leaf, stored: &keys, queries: &queries, least: queries.len() / 4 });
        }
    }
}

#[test]
fn fits_thousands_of_tiny_entries_in_one_page() {
    let all = entries(SHAPES[4].keys(if cfg!(miri) { 100 } else { 5000 }), 0, false, &mut Random(3));
    let mut builder = LeafBuilder::new(PageSize::KiB16, ValueAlign::One);
    let fitting = all.iter().take_while(|entry| {
        let fits = builder.fits(entry.key.len(), 0);
        if fits {
            builder.push(entry.op, CellKey::Inline(&entry.key), entry.value(), identity().hash(&entry.key));
        }
        fits
    });
    // 16,336 bytes of body, 10.25 an entry beside the header, blocks in whole cache lines.
    assert_eq!(fitting.count(), if cfg!(miri) { 100 } else { 1584 });
    assert!(ExtentTablePage::capacity(PageSize::KiB16) == 254 && ExtentTablePage::capacity(PageSize::KiB8) == 126);
}

#[test]
fn values_begin_at_multiples_of_the_alignment() {
    let mut random = Random(4);
    let all = entries(SHAPES[8].keys(if cfg!(miri) { 12 } else { 300 }), 40, false, &mut random);
    for bytes in if cfg!(miri) { &[8][..] } else { &[4, 8, 16] } {
        let bytes = *bytes;
        let mut builder = LeafBuilder::new(PageSize::KiB16, ValueAlign::from_bytes(bytes).expect("legal"));
        let fitting: Vec<_> = all.iter().filter(|entry| builder_push(&mut builder, entry)).collect();
        let mut page = vec![0; 16384];
        let cut = fitting.len() / 3;
        builder.finish_first(cut, &mut page);
        builder.finish(&mut page);
        seal_page(&mut page, &identity(), AT, BIRTH);
        let leaf = Leaf::verify(&page, &identity(), AT, BIRTH).expect("a built page verifies");
        assert_eq!(leaf.count(), fitting.len() - cut);
        for (cell, entry) in leaf.cells(0..leaf.count()).zip(&fitting[cut..]) {
            assert_eq!(cell.value, entry.value());
            let CellValue::Inline(value) = cell.value else { panic!("all values are inline") };
            assert_eq!((value.as_ptr() as usize - page.as_ptr() as usize) % bytes, 0);
        }
    }
}

fn builder_push(builder: &mut LeafBuilder, entry: &Entry) -> bool {
    let fits = builder.fits(entry.key.len(), entry.value().stored_length());
    if fits {
        builder.push(entry.op, CellKey::Inline(&entry.key), entry.value(), identity().hash(&entry.key));
    }
    fits
}

#[test]
fn cuts_share_staged_entries_between_pages() {
    let mut random = Random(5);
    for value_bytes_max in if cfg!(miri) { &[4000][..] } else { &[0, 10, 400, 4000] } {
        let value_bytes_max = *value_bytes_max;
        let all = entries(SHAPES[1].keys(if cfg!(miri) { 20 } else { 2500 }), value_bytes_max, false, &mut random);
        let mut builder = LeafBuilder::new(PageSize::KiB16, ValueAlign::One);
        let mut staged = 0;
        while builder.bytes_used() < 16384 * 5 / 4 {
            let entry = &all[staged];
            builder.push(entry.op, CellKey::Inline(&entry.key), entry.value(), identity().hash(&entry.key));
            staged += 1;
        }
        let fill = builder.fill_point();
        assert!(builder.bytes_of(fill) <= PageSize::KiB16.body_bytes());
        assert!(builder.bytes_of(fill + 1) > PageSize::KiB16.body_bytes());
        let split = builder.split_point();
        let before = builder.bytes_used();
        let mut pages = [vec![0; 16384], vec![0; 16384]];
        let first = builder.bytes_of(split);
        builder.finish_first(split, &mut pages[0]);
        let second = builder.bytes_used();
        builder.finish(&mut pages[1]);
        assert!(first.abs_diff(second) <= value_bytes_max + 200, "{first} {second} of {before}");
        let mut index = 0;
        for page in &mut pages {
            seal_page(page, &identity(), AT, BIRTH);
            let leaf = Leaf::verify(page, &identity(), AT, BIRTH).expect("a built page verifies");
            for cell in leaf.cells(0..leaf.count()) {
                assert_eq!(cell.key, CellKey::Inline(&all[index].key));
                assert_eq!(cell.value, all[index].value());
                index += 1;
            }
        }
        assert_eq!(index, staged);
    }
}

#[test]
fn a_stretch_of_a_page_is_staged_like_its_entries_one_by_one() {
    let identity = identity();
    for &page_size in PAGE_SIZES {
        let mut random = Random(11);
        // More than fit into a page.
        let mut keys: Vec<Vec<u8>> =
            (0..if cfg!(miri) { 130 } else { 2000 }).map(|_| random.next().to_be_bytes().repeat(4)).collect();
        keys.sort();
        let entries = entries(keys, 100, false, &mut random);
        let push = |builder: &mut LeafBuilder, entry: &Entry| {
            builder.push(entry.op, CellKey::Inline(&entry.key), entry.value(), identity.hash(&entry.key));
        };
        let mut builder = LeafBuilder::new(page_size, ValueAlign::One);
        let fits = |builder: &LeafBuilder, entry: &Entry| builder.fits(32, entry.value().stored_length());
        let mut count = 0;
        while fits(&builder, &entries[count]) {
            push(&mut builder, &entries[count]);
            count += 1;
        }
        let mut page = vec![0; page_size.bytes()];
        builder.finish(&mut page);
        let plain = PlainEntries::of(&page).expect("all entries are plain");
        let stretches = [(0, 1, count), (3, 7, 8), (9, 9, 40), (0, 0, count), (3, 7, 7), (16, 16, count)];
        for &(before, from, to) in &stretches[..if cfg!(miri) { 3 } else { 6 }] {
            let [mut whole, mut single] = [(); 2].map(|()| LeafBuilder::new(page_size, ValueAlign::One));
            for entry in &entries[..before] {
                push(&mut whole, entry);
                push(&mut single, entry);
            }
            assert_eq!(whole.push_plain(&plain, from..to), to - from, "{before} {from} {to}");
            entries[from..to].iter().for_each(|entry| push(&mut single, entry));
            let (mut one, mut other) = (vec![1; page_size.bytes()], vec![2; page_size.bytes()]);
            if whole.count() > 0 {
                assert_eq!(whole.finish(&mut one), single.finish(&mut other));
                let body = ..page_size.body_bytes();
                assert!(one[body] == other[body], "{before} {from} {to}");
            }
        }
        // What does not fit is left for the next page.
        let mut builder = LeafBuilder::new(page_size, ValueAlign::One);
        let low = Entry { key: vec![0; 32], op: Op::PutNew, value: Ok(vec![0; 1000]) };
        push(&mut builder, &low);
        let taken = builder.push_plain(&plain, 0..count);
        assert!(taken < count && !fits(&builder, &entries[taken]));
        assert_eq!(builder.count(), taken + 1);
    }
}

#[test]
fn entries_that_are_not_plain_are_not_staged_as_they_stand() {
    let identity = identity();
    let page_size = PAGE_SIZES[0];
    for (op, align) in [(Op::PutReplace, ValueAlign::One), (Op::PutNew, ValueAlign::Eight)] {
        let mut builder = LeafBuilder::new(page_size, align);
        builder.push(op, CellKey::Inline(b"key"), CellValue::Inline(b"value"), identity.hash(b"key"));
        let mut page = vec![0; page_size.bytes()];
        builder.finish(&mut page);
        assert!(PlainEntries::of(&page).is_none(), "{op:?} {align:?}");
    }
}
