//! Branches: what the builder writes, the verifier accepts and the view routes, against a sorted list.

use crate::format::tests::shapes::{
    AT, BIRTH, Check, LongStore, PAGE_SIZES, Random, SHAPES, brief, identity, neighbours, on_every_isa, shapes,
};
use crate::format::{Branch, BranchBuilder, Child, INLINE_KEY_BYTES_MAX, PageSize, Search, key_start, seal_page};
use crate::ids::{ExtentId, PageRef};

fn child(index: usize) -> (Child, i64) {
    let page = PageRef { extent: ExtentId(index as u32 * 3), slot: (index as u32 * 7919) % PageRef::SLOTS_MAX };
    (Child { page, has_overflow: index.is_multiple_of(5) }, index as i64 % 100 - 10)
}

/// Fills pages with children whose separators are `keys`, and checks each.
fn check_pages(keys: &[Vec<u8>], page_size: PageSize, level: u8, random: &mut Random) {
    let identity = identity();
    let mut store = LongStore::default();
    let mut builder = BranchBuilder::new(page_size, level);
    let mut from = 0;
    for (index, key) in keys.iter().enumerate() {
        let separator = store.cell_key(key, &identity);
        if !builder.fits(separator) {
            assert_eq!(builder.fill_point(), builder.count());
            check_page(&mut builder, page_size, &keys[from..index], from, &store, random);
            from = index;
        }
        let (child, count) = child(index);
        builder.push(separator, child, count);
    }
    check_page(&mut builder, page_size, &keys[from..], from, &store, random);
}

fn check_page(
    builder: &mut BranchBuilder,
    page_size: PageSize,
    keys: &[Vec<u8>],
    from: usize,
    store: &LongStore,
    random: &mut Random,
) {
    let mut page = vec![0xAA; page_size.bytes()];
    let level = builder.level();
    assert_eq!(builder.bytes_used(), builder.bytes_of(builder.count()));
    assert!(builder.bytes_used() <= page_size.body_bytes());
    let summary = builder.finish(&mut page);
    assert!(builder.is_empty());
    seal_page(&mut page, &identity(), AT, BIRTH);
    let branch = Branch::verify(&page, &identity(), AT, BIRTH).expect("a built page verifies");
    assert_eq!((branch.level(), branch.children()), (level, keys.len()));
    assert_eq!(summary.children, keys.len());
    assert_eq!(summary.net_count, branch.count_of(0..keys.len()));
    let mut buffer = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        assert_eq!((branch.child(index), branch.count(index)), child(from + index));
        if index > 0 {
            assert_eq!(store.whole(branch.separator(index - 1, &mut buffer)), *key);
        }
    }
    let mut queries: Vec<_> = (0..if cfg!(miri) { 1 } else { 40 })
        .flat_map(|_| neighbours(&keys[random.below(keys.len())], random))
        .collect();
    queries.extend([vec![], vec![0], vec![0xFF; 9], vec![0; 9]]);
    on_every_isa(&Queries { branch, keys, store, queries });
}

struct Queries<'t> {
    branch: Branch<'t>,
    keys: &'t [Vec<u8>],
    store: &'t LongStore,
    queries: Vec<Vec<u8>>,
}

impl Check for Queries<'_> {
    fn check<S: Search>(&self) {
        for key in &self.queries {
            let expected = self.keys[1..].partition_point(|separator| separator <= key);
            let Ok(index) = self.branch.route::<S, _>(key, self.store);
            assert_eq!(index, expected, "{} {}", S::ISA, brief(key));
            if key.len() <= INLINE_KEY_BYTES_MAX {
                let found = self.branch.child_of_short::<S>(key, key_start(key));
                let is_unasked =
                    found == PageRef::NOWHERE && self.keys.iter().any(|key| key.len() > INLINE_KEY_BYTES_MAX);
                assert!(is_unasked || found == self.branch.child(expected).page, "{} {}", S::ISA, brief(key));
            }
        }
    }
}

#[test]
fn routes_as_a_sorted_list_does_on_every_shape() {
    for (number, shape) in (0..).zip(shapes()) {
        let long = (shape.key)(0).len() > 900;
        let count = if cfg!(miri) { 18 } else { 3000 };
        let keys = shape.keys(if long { count / 15 + 2 } else { count });
        let mut random = Random(1);
        for page_size in PAGE_SIZES {
            for level in if cfg!(miri) { 1 + number % 2..2 + number % 2 } else { 1..3 } {
                check_pages(&keys, *page_size, level, &mut random);
            }
        }
    }
}

#[test]
fn keys_are_routed_whatever_part_of_them_the_prefix_takes() {
    // Prefixes that end within the first eight bytes of a key, at their end and after them, above keys that end near
    // there too.
    let lengths = if cfg!(miri) { vec![0, 7, 8, 41] } else { (0..44).collect::<Vec<_>>() };
    let mut random = Random(5);
    for length in lengths {
        let prefix: Vec<u8> = (0..length).map(|at| [0, b'p', 0xFF][at % 3]).collect();
        let mut keys: Vec<Vec<u8>> = (0..if cfg!(miri) { 18 } else { 400u16 })
            .map(|number| {
                [&prefix[..], &number.to_be_bytes()[..1 + usize::from(number % 2)], &[7; 9][..number as usize % 10]]
                    .concat()
            })
            .collect();
        keys.sort();
        keys.dedup();
        check_pages(&keys, PAGE_SIZES[0], 1, &mut random);
    }
}

#[test]
fn separators_whose_heads_tie_are_told_apart_wherever_they_differ() {
    // After four bytes that many share: nothing, zeros, a difference in the next eight bytes, at their end, or after
    // them.
    let ends: [&[u8]; 11] =
        [b"", b"\0", b"\0\0\0", b"a", b"ab", b"abcdefg", b"abcdefgh", b"abcdefgh\0", b"abcdefghi", b"abcdefgz", b"b"];
    let mut random = Random(4);
    for ties in (1..=ends.len()).step_by(if cfg!(miri) { 10 } else { 1 }) {
        let mut keys: Vec<Vec<u8>> = (0..if cfg!(miri) { 5 } else { 30 })
            .flat_map(|i| {
                let head = [b'm', 0, i, 7];
                let from = random.below(ends.len() - ties + 1);
                ends[from..from + ties].iter().map(move |end| [&head[..], end].concat()).collect::<Vec<_>>()
            })
            .collect();
        keys.extend([b"a".to_vec(), b"z".to_vec(), [&b"m\0\x03\x07"[..], &[b'q'; 1100]].concat()]);
        keys.sort();
        check_pages(&keys, PAGE_SIZES[0], 1, &mut random);
    }
}

#[test]
fn a_branch_may_have_few_children() {
    for (number, shape) in shapes().enumerate().take(if cfg!(miri) { 3 } else { usize::MAX }) {
        let keys = shape.keys(if cfg!(miri) { 8 } else { 40 });
        let mut random = Random(2);
        for count in if cfg!(miri) { 1 + number % 3..2 + number % 3 } else { 1..keys.len().min(4) } {
            check_pages(&keys[..count], PAGE_SIZES[0], 1, &mut random);
        }
    }
}

#[test]
fn cuts_share_children_between_pages() {
    // More than a page takes: under Miri few large ones, which take it less time than many.
    let keys = if cfg!(miri) {
        SHAPES[1].keys(60).into_iter().map(|key| key.repeat(6)).collect()
    } else {
        SHAPES[3].keys(1200)
    };
    let mut store = LongStore::default();
    let mut builder = BranchBuilder::new(PageSize::KiB8, 1);
    let mut staged = 0;
    while builder.is_empty() || builder.bytes_used() < 8192 * 5 / 4 {
        let (child, count) = child(staged);
        builder.push(store.cell_key(&keys[staged], &identity()), child, count);
        staged += 1;
    }
    let fill = builder.fill_point();
    assert!(builder.bytes_of(fill) <= PageSize::KiB8.body_bytes());
    assert!(builder.bytes_of(fill + 1) > PageSize::KiB8.body_bytes());
    let split = staged / 2;
    let mut page = vec![0; 8192];
    assert_eq!(builder.finish_first(split, &mut page).children, split);
    assert_eq!(builder.separator(0).part(), keys[split]);
    assert_eq!(builder.child(0), child(split));
    check_page(&mut builder, PageSize::KiB8, &keys[split..staged], split, &store, &mut Random(3));
}
