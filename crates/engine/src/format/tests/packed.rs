//! Packed leaves: what the builder writes, the verifier accepts and the view finds, against a sorted list.

use std::ops::Range;

use crate::format::tests::shapes::{AT, BIRTH, PAGE_SIZES, Random, brief, identity, neighbours, shapes};
use crate::format::{
    CellKey, CellValue, KeySuffix, Op, OverflowRef, PackedBuilder, PackedKeys, PackedLeaf, PageSize, PrefixEnd,
    Unpacked, seal_page,
};
use crate::ids::ExtentId;

type Entry = (Vec<u8>, Result<Vec<u8>, OverflowRef>);

/// Parts of a page, and entries of it, that are looked at.
const CHECKS: usize = if cfg!(miri) { 1 } else { 8 };

/// How long values are.
#[derive(Clone, Copy, Debug)]
enum Values {
    None,
    Eight,
    UpTo(usize),
    /// All of one length but some late ones: the lengths of the others come into the page with these.
    OneThenOthers,
    /// Some of eight bytes, some in overflows.
    Overflows,
}

fn entries(keys: Vec<Vec<u8>>, values: Values, random: &mut Random) -> Vec<Entry> {
    let count = keys.len();
    let of = |(index, key): (usize, Vec<u8>)| {
        let length = match values {
            Values::None => 0,
            Values::Eight | Values::Overflows => 8,
            Values::UpTo(max) => random.below(max + 1),
            Values::OneThenOthers => 5 + usize::from(index + 3 > count) * random.below(300),
        };
        let at = OverflowRef { extent: ExtentId(3), slot: 5, length: 70_000, checksum: random.next() };
        let is_overflow = matches!(values, Values::Overflows) && index % 5 == 3;
        let value = (0..length).map(|_| random.next() as u8).collect();
        (key, if is_overflow { Err(at) } else { Ok(value) })
    };
    keys.into_iter().enumerate().map(of).collect()
}

fn stored(entry: &Entry) -> CellValue<'_> {
    match &entry.1 {
        Ok(value) => CellValue::Inline(value),
        Err(at) => CellValue::Overflow(*at),
    }
}

fn sealed(builder: &mut PackedBuilder, count: usize, page_size: PageSize) -> Vec<u8> {
    let mut page = vec![0xAA; page_size.bytes()];
    let bytes = builder.bytes_of(count);
    let summary = builder.finish_first(count, &mut page);
    assert_eq!((summary.entries, summary.net_count), (count, count as i64));
    let leaf = PackedLeaf::of(&page);
    assert_eq!((leaf.bytes_used(), leaf.has_overflow()), (bytes, summary.has_overflow));
    seal_page(&mut page, &identity(), AT, BIRTH);
    page
}

/// Fills pages with entries, and checks each.
fn check_pages(entries: &[Entry], page_size: PageSize, random: &mut Random) {
    let mut builder = PackedBuilder::new(page_size);
    let mut from = 0;
    for (index, entry) in entries.iter().enumerate() {
        let (key, value) = (&entry.0, &stored(entry));
        if !builder.fits(key, value) {
            let page = sealed(&mut builder, index - from, page_size);
            check_page(&page, &entries[from..index], random);
            from = index;
            assert!(builder.is_empty());
        }
        builder.push(key, value);
    }
    // The last ones, cut in two where the builder would: the second part begins new blocks.
    let staged = builder.count();
    let cut = builder.split_point().unwrap_or(staged);
    let page = sealed(&mut builder, cut, page_size);
    check_page(&page, &entries[from..from + cut], random);
    if cut < staged {
        let page = sealed(&mut builder, staged - cut, page_size);
        check_page(&page, &entries[from + cut..], random);
    }
}

fn check_page(page: &[u8], entries: &[Entry], random: &mut Random) {
    let leaf = PackedLeaf::verify(page, &identity(), AT, BIRTH).unwrap_or_else(|offence| panic!("{offence}"));
    assert_eq!(leaf.count(), entries.len());
    let unpacked = leaf.unpack(0..entries.len());
    assert_eq!(leaf.has_overflow(), entries.iter().any(|entry| entry.1.is_err()));
    assert!(unpacked.values().eq(entries.iter().map(stored)));
    assert!(unpacked.value_places().map(|place| leaf.value(&place)).eq(entries.iter().map(stored)));
    assert!(unpacked.iter().map(|(key, _)| key).eq(entries.iter().map(|(key, _)| &key[..])));
    assert!(unpacked.iter().rev().map(|(key, _)| key).eq(entries.iter().rev().map(|(key, _)| &key[..])));
    for _ in 0..CHECKS {
        let (one, other) = (random.below(entries.len() + 1), random.below(entries.len() + 1));
        let range = one.min(other)..one.max(other);
        let part = leaf.unpack(range.clone());
        assert_eq!(part.len(), range.len());
        assert!(part.iter().map(|(key, _)| key).eq(entries[range.clone()].iter().map(|(key, _)| &key[..])));
        assert!(part.values().eq(entries[range.clone()].iter().map(stored)));
        check_suffixes(leaf, &entries[range.clone()], range);
    }
    check_suffixes(leaf, entries, 0..entries.len());
    let mut key = b"left from before".to_vec();
    for _ in 0..CHECKS {
        let index = random.below(entries.len());
        let value = leaf.key(index, &mut key);
        assert_eq!((&key, value), (&entries[index].0, stored(&entries[index])));
        let cell = unpacked.cell(index);
        assert_eq!((cell.op, cell.key, cell.value), (Op::PutNew, CellKey::Inline(&key), value));
        for query in neighbours(&key, random) {
            check_query(leaf, entries, &query, &unpacked);
        }
    }
    check_query(leaf, entries, &[], &unpacked);
    check_query(leaf, entries, &[0xFF; 40], &unpacked);
}

/// Puts the keys of a range together from what each has beyond the one before.
fn check_suffixes(leaf: PackedLeaf<'_>, entries: &[Entry], range: Range<usize>) {
    let mut first = Vec::new();
    let suffixes = PackedKeys::new(leaf, range.clone(), &mut first);
    let is_within_a_block = !range.is_empty() && !first.is_empty();
    assert_eq!(suffixes.len() + usize::from(is_within_a_block), range.len());
    let whole = is_within_a_block.then_some(KeySuffix::whole(&first));
    let mut key = Vec::new();
    for (suffix, (expected, _)) in whole.into_iter().chain(suffixes).zip(entries) {
        suffix.complete(&mut key);
        assert_eq!((&key, suffix.key_len()), (expected, expected.len()));
        for at in 0..suffix.suffix().len() {
            let left = &suffix.suffix()[at..];
            let bytes = suffix.word(at).to_be_bytes();
            assert!(bytes.iter().zip(left).all(|(byte, expected)| byte == expected));
        }
    }
}

fn check_query(leaf: PackedLeaf<'_>, entries: &[Entry], query: &[u8], unpacked: &Unpacked<'_>) {
    let lower = entries.partition_point(|(key, _)| key.as_slice() < query);
    let found = entries.get(lower).filter(|(key, _)| key == query);
    assert_eq!(leaf.find(query), found.map(stored), "{}", brief(query));
    assert_eq!(leaf.lower_bound(query), lower, "{}", brief(query));
    assert_eq!(leaf.upper_bound(query), lower + usize::from(found.is_some()), "{}", brief(query));
    assert_eq!(unpacked.lower_bound(query), lower);
    if let Some((key, _)) = entries.get(lower) {
        assert_eq!(leaf.compare(lower, query), key.as_slice().cmp(query));
    }
    let lengths = [query.len() / 2, query.len().saturating_sub(1), query.len()];
    for (place, length) in lengths.into_iter().enumerate() {
        // Under Miri each length has one of the limits.
        let limits = [usize::MAX, 3, 1];
        for most in if cfg!(miri) { &limits[place..=place] } else { &limits[..] } {
            check_prefix(leaf, entries, &query[..length], *most);
        }
    }
}

fn check_prefix(leaf: PackedLeaf<'_>, entries: &[Entry], prefix: &[u8], most: usize) {
    let begin_so = |(_, (key, _)): &(usize, &Entry)| key.starts_with(prefix);
    let lower = entries.partition_point(|(key, _)| key.as_slice() < prefix);
    let expected: Vec<_> = entries.iter().enumerate().skip(lower).take_while(begin_so).take(most).collect();
    let next = entries.get(lower + expected.len());
    let why = match next {
        None => PrefixEnd::Leaf,
        Some((key, _)) if key.starts_with(prefix) => PrefixEnd::Enough,
        Some(_) => PrefixEnd::Passed,
    };
    let (mut key, mut given) = (Vec::new(), Vec::new());
    let outcome = leaf.for_each_with_prefix(prefix, most, |suffix| {
        suffix.complete(&mut key);
        given.push(key.clone());
    });
    assert_eq!(outcome, (given.len(), why), "{}", brief(prefix));
    assert!(given.iter().eq(expected.into_iter().map(|(_, (key, _))| key)), "{}", brief(prefix));
}

#[test]
fn packed_leaves_of_every_shape_hold_what_was_put_into_them() {
    let mut random = Random(5);
    // An interpreter takes half a second for a checksum.
    for shape in shapes().filter(|shape| !cfg!(miri) || shape.name == "long shared prefixes") {
        for values in [
            Values::None,
            // A few pages.
            Values::UpTo(if cfg!(miri) { 1_000 } else { 3_000 }),
            Values::OneThenOthers,
            Values::Overflows,
            // Left out under Miri: the others run the same code.
            Values::Eight,
            Values::UpTo(40),
        ]
        .into_iter()
        .take(if cfg!(miri) { 4 } else { 6 })
        {
            for &page_size in PAGE_SIZES {
                let mut keys = shape.keys(if cfg!(miri) { 18 } else { 4_000 });
                keys.retain(|key| key.len() <= 1024);
                if !keys.is_empty() {
                    check_pages(&entries(keys, values, &mut random), page_size, &mut random);
                }
            }
        }
    }
}

#[test]
fn a_cut_leaves_two_parts_that_fit_whatever_entries_take_at_other_places() {
    if cfg!(miri) {
        return; // It compares long keys for a minute, and pages are cut elsewhere too.
    }
    let key = |number: usize| [&vec![b'a' + (number / 16) as u8; 500][..], &[(number % 16) as u8]].concat();
    for full in [200, 208, 217, 224] {
        let mut builder = PackedBuilder::new(PageSize::KiB8);
        (0..full + 32).for_each(|number| builder.push(&key(number), &CellValue::Inline(&[])));
        // What is staged here takes more than a page.
        let cut = builder.split_point().expect("it takes less than one and a half");
        let mut page = vec![0; PageSize::KiB8.bytes()];
        assert_eq!(builder.finish_first(cut, &mut page).entries, cut);
        let rest = builder.count();
        assert_eq!(builder.finish_first(rest, &mut page).entries, full + 32 - cut);
    }
}

#[test]
fn keys_that_share_their_beginnings_take_a_third() {
    let count = if cfg!(miri) { 64 } else { 2_000 };
    let mut builder = PackedBuilder::new(PageSize::KiB16);
    for number in 0..count as u32 {
        let key = [&b"a shared beginning"[..], &number.to_be_bytes()].concat();
        assert!(builder.fits(&key, &CellValue::Inline(&[])));
        builder.push(&key, &CellValue::Inline(&[]));
    }
    assert!(3 * builder.bytes_used() < 22 * count, "{} bytes", builder.bytes_used());
}

#[test]
fn a_packed_leaf_takes_no_long_keys_and_no_deletes() {
    let holds = |op, key: &CellKey<'_>, value: &CellValue<'_>| PackedBuilder::can_hold(PageSize::KiB8, op, key, value);
    let (key, value) = (CellKey::Inline(&[1; 1024]), CellValue::Inline(&[2; 4000]));
    assert!(holds(Op::PutNew, &key, &value));
    assert!(!holds(Op::PutReplace, &key, &value) && !holds(Op::Delete, &key, &CellValue::Inline(&[])));
    assert!(!holds(Op::PutNew, &key, &CellValue::Inline(&[2; 8000])));
    let at = OverflowRef { extent: ExtentId(1), slot: 2, length: 9_999, checksum: 4 };
    assert!(holds(Op::PutNew, &key, &CellValue::Overflow(at)));
    assert!(!holds(Op::PutNew, &CellKey::Overflow { prefix: &[1; 1024], hash: 4, at }, &value));
}
