//! Hostile pages: whatever bytes a page has, it is either refused or behaves as a page.
//!
//! Half of the mutants keep their checksum and must be refused for it. The other half are sealed again, as by
//! an attacker: those that pass are read in every way, and each answer is compared with a
//! walk through the page.

use crate::format::tests::shapes::{
    AT, BIRTH, Check, LongStore, Random, SHAPES, Shape, identity, neighbours, on_every_isa,
};
use crate::format::verify::verify_body;
use crate::format::{
    Branch, BranchBuilder, CellKey, CellValue, Child, ExtentEntry, ExtentFlags, ExtentKind, ExtentTablePage, Leaf,
    LeafBuilder, Op, OverflowRef, PackedBuilder, PackedLeaf, PageKind, PageSize, Search, ValueAlign, seal_page,
    verify_page,
};
use crate::ids::{Birth, ExtentId, PageNumber, PageRef};

const PAGE_SIZE: PageSize = PageSize::KiB8;

/// Pages of every kind and with every feature, and the keys in them.
fn pages() -> Vec<(Vec<u8>, Vec<Vec<u8>>)> {
    let mut pages = Vec::new();
    // An interpreter takes half a second for a checksum: the two shapes there have pages with and without overflow.
    for (number, shape) in SHAPES.iter().enumerate().filter(|(number, _)| !cfg!(miri) || [1, 12].contains(number)) {
        let align = ValueAlign::from_bytes([1, 4, 8, 16][number % 4]).expect("a legal alignment");
        pages.push(leaf(shape, align, number % 3 == 0));
        pages.push(branch(shape, 1 + (number % 2) as u8));
    }
    for (number, values) in [(0, false), (3, true), (8, true)].into_iter().take(if cfg!(miri) { 2 } else { 3 }) {
        pages.push(packed(&SHAPES[number], values));
    }
    pages.push((extent_table(), Vec::new()));
    pages
}

fn leaf(shape: &Shape, align: ValueAlign, mixed: bool) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut store = LongStore::default();
    let mut random = Random(1);
    let mut builder = LeafBuilder::new(PAGE_SIZE, align);
    let mut keys = shape.keys(if cfg!(miri) { 18 } else { 300 });
    for (index, key) in keys.iter().enumerate() {
        let cell_key = store.cell_key(key, &identity());
        if !builder.fits(cell_key.stored_length(), 24) {
            keys.truncate(index);
            break;
        }
        let op =
            if mixed { [Op::PutNew, Op::PutReplace, Op::DeleteCounted, Op::Delete][index % 4] } else { Op::PutNew };
        let bytes = vec![0x5A; random.below(24)];
        let value = match index % 7 {
            _ if op.is_delete() => CellValue::Inline(&[]),
            3 if mixed => CellValue::Overflow(OverflowRef { extent: ExtentId(5), slot: 9, length: 9999, checksum: 77 }),
            _ => CellValue::Inline(&bytes),
        };
        builder.push(op, cell_key, value, identity().hash(key));
    }
    let mut page = vec![0; PAGE_SIZE.bytes()];
    builder.finish(&mut page);
    (page, keys)
}

fn packed(shape: &Shape, values: bool) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut random = Random(2);
    let mut builder = PackedBuilder::new(PAGE_SIZE);
    let mut keys = shape.keys(if cfg!(miri) { 18 } else { 1_000 });
    for (index, key) in keys.iter().enumerate() {
        let bytes = vec![0x5A; if values { random.below(200) } else { 0 }];
        let value = match index % 7 {
            3 if values => {
                CellValue::Overflow(OverflowRef { extent: ExtentId(5), slot: 9, length: 9999, checksum: 77 })
            }
            _ => CellValue::Inline(&bytes),
        };
        if !builder.fits(key, &value) {
            keys.truncate(index);
            break;
        }
        builder.push(key, &value);
    }
    let mut page = vec![0; PAGE_SIZE.bytes()];
    builder.finish_first(builder.count(), &mut page);
    (page, keys)
}

fn branch(shape: &Shape, level: u8) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut store = LongStore::default();
    let mut builder = BranchBuilder::new(PAGE_SIZE, level);
    let mut keys = shape.keys(if cfg!(miri) { 18 } else { 200 });
    for (index, key) in keys.iter().enumerate() {
        let separator = store.cell_key(key, &identity());
        if !builder.fits(separator) {
            keys.truncate(index);
            break;
        }
        let page = PageRef { extent: ExtentId(index as u32), slot: index as u32 };
        builder.push(separator, Child { page, has_overflow: index % 2 == 0 }, index as i64);
    }
    let mut page = vec![0; PAGE_SIZE.bytes()];
    builder.finish(&mut page);
    (page, keys)
}

fn extent_table() -> Vec<u8> {
    let entry = |index: u32| match index % 3 {
        0 => ExtentEntry::default(),
        1 => ExtentEntry {
            first_page: PageNumber(1 + index as u64 * 128),
            page_count: 128,
            kind: ExtentKind::Nodes,
            flags: ExtentFlags::default(),
            birth: Birth(index as u64),
            live: u128::MAX >> (index % 100),
        },
        _ => ExtentEntry {
            first_page: PageNumber(1 << 40),
            page_count: 200_000,
            kind: ExtentKind::Values,
            flags: ExtentFlags { single: true },
            birth: Birth(3),
            live: 1,
        },
    };
    let entries: Vec<_> = (0..100).map(entry).collect();
    let mut page = vec![0; PAGE_SIZE.bytes()];
    ExtentTablePage::encode(ExtentId(400), &entries, &mut page);
    page
}

/// Changes a few bytes, somewhere that is read.
fn mutate(page: &mut [u8], random: &mut Random) {
    // Headers and offsets are where the harm is: half of the mutations go there.
    let reach = if random.below(2) == 0 { 256 } else { page.len() };
    let at = random.below(reach);
    match random.below(8) {
        0 | 1 => page[at] ^= 1 << random.below(8),
        2 => page[at] = random.next() as u8,
        3 => page[at] = page[at].wrapping_add(1),
        4 => {
            let other = random.below(page.len());
            page.swap(at, other);
        }
        5 => {
            let length = random.below(65).min(page.len() - at);
            page[at..at + length].fill([0, 0xFF][random.below(2)]);
        }
        6 => {
            let from = random.below(page.len() - 64);
            let to = at.min(page.len() - 64);
            page.copy_within(from..from + 64, to);
        }
        _ => (0..4).for_each(|_| page[random.below(reach)] = random.next() as u8),
    }
}

/// Reads a page that was accepted in every way there is.
fn read_all(page: &[u8], kind: PageKind, keys: &[Vec<u8>], random: &mut Random) {
    let mut queries: Vec<_> = match keys.len() {
        0 => Vec::new(),
        count => {
            (0..if cfg!(miri) { 1 } else { 4 }).flat_map(|_| neighbours(&keys[random.below(count)], random)).collect()
        }
    };
    queries.extend([vec![], vec![0xFF; 12]]);
    match kind {
        PageKind::Leaf => {
            let leaf = Leaf::verify(page, &identity(), AT, BIRTH).expect("it was accepted before");
            queries.extend((0..leaf.count()).step_by(7).map(|index| leaf.key(index).part().to_vec()));
            on_every_isa(&LeafReads { leaf, queries });
        }
        PageKind::Packed => {
            let leaf = PackedLeaf::verify(page, &identity(), AT, BIRTH).expect("it was accepted before");
            read_packed(leaf, &queries);
        }
        PageKind::Branch => {
            let branch = Branch::verify(page, &identity(), AT, BIRTH).expect("it was accepted before");
            on_every_isa(&BranchReads { branch, queries });
        }
        _ => assert!(ExtentTablePage::decode(page).is_ok()),
    }
}

struct LeafReads<'p> {
    leaf: Leaf<'p>,
    queries: Vec<Vec<u8>>,
}

impl Check for LeafReads<'_> {
    fn check<S: Search>(&self) {
        let leaf = self.leaf;
        let cells: Vec<_> = leaf.cells(0..leaf.count()).collect();
        assert_eq!(leaf.net_count(), cells.iter().map(|cell| cell.op.net() as i64).sum::<i64>());
        assert!(leaf.cells(0..leaf.count()).rev().eq(cells.iter().rev().copied()));
        for key in &self.queries {
            let found = leaf.find::<S>(key, identity().hash(key));
            let walked = cells.iter().find(|cell| match cell.key {
                CellKey::Inline(bytes) => bytes == key,
                CellKey::Overflow { prefix, hash, at } => {
                    key.len() == at.length as usize && key.starts_with(prefix) && hash == identity().hash(key)
                }
            });
            assert_eq!(found.as_ref(), walked);
            let Ok(bound) = leaf.lower_bound::<S, _>(key, &LongStore::default());
            assert!(bound <= cells.len());
            if !leaf.has_overflow() {
                assert_eq!(bound, cells.partition_point(|cell| cell.key.part() < key.as_slice()));
            }
        }
    }
}

fn read_packed(leaf: PackedLeaf<'_>, queries: &[Vec<u8>]) {
    let entries = leaf.unpack(0..leaf.count());
    assert!(entries.iter().is_sorted_by(|(before, _), (after, _)| before < after));
    let own = entries.iter().step_by(7).map(|(key, _)| key);
    for key in queries.iter().map(Vec::as_slice).chain(own) {
        let lower = entries.iter().take_while(|(stored, _)| *stored < key).count();
        let found = (lower < entries.len() && entries.key(lower) == key).then(|| entries.value(lower));
        assert_eq!((leaf.lower_bound(key), leaf.find(key)), (lower, found));
    }
}

struct BranchReads<'p> {
    branch: Branch<'p>,
    queries: Vec<Vec<u8>>,
}

impl Check for BranchReads<'_> {
    fn check<S: Search>(&self) {
        let branch = self.branch;
        let mut separators = Vec::new();
        let mut has_long = false;
        for index in 0..branch.separator_count() {
            let mut buffer = Vec::new();
            let separator = branch.separator(index, &mut buffer);
            has_long |= separator.is_overflow();
            separators.push(separator.part().to_vec());
        }
        (0..branch.children()).for_each(|index| assert!(branch.child(index).page.slot < PageRef::SLOTS_MAX));
        let _ = branch.count_of(0..branch.children());
        for key in &self.queries {
            let Ok(index) = branch.route::<S, _>(key, &LongStore::default());
            assert!(index < branch.children());
            if !has_long {
                assert_eq!(index, separators.partition_point(|separator| separator <= key));
            }
        }
    }
}

#[test]
fn mutants_are_refused_or_behave_as_pages() {
    let rounds = if cfg!(miri) { 2 } else { 300 };
    let (mut refused, mut accepted) = (0, 0);
    for (number, (page, keys)) in pages().into_iter().enumerate() {
        let mut random = Random(number as u64);
        // Of a page that keeps its checksum, Miri would interpret the checksum alone.
        for round in usize::from(cfg!(miri))..rounds {
            let mut mutant = page.clone();
            if round % 2 == 0 {
                seal_page(&mut mutant, &identity(), AT, BIRTH);
                let original = mutant.clone();
                mutate(&mut mutant, &mut random);
                let verdict = verify_page(&mutant, &identity(), AT, BIRTH);
                assert_eq!(verdict.is_ok(), mutant == original);
                continue;
            }
            mutate(&mut mutant, &mut random);
            seal_page(&mut mutant, &identity(), AT, BIRTH);
            match verify_page(&mutant, &identity(), AT, BIRTH) {
                Err(offence) => {
                    assert!((offence.at as usize) < mutant.len(), "{offence}");
                    refused += 1;
                }
                Ok(kind) => {
                    read_all(&mutant, kind, &keys, &mut random);
                    accepted += 1;
                }
            }
        }
    }
    println!("{refused} mutants refused, {accepted} accepted and read");
    assert!(refused > 0 || cfg!(miri));
    assert!(accepted > 0 || cfg!(miri));
}

#[test]
fn every_bit_of_a_header_matters() {
    for (number, (page, keys)) in pages().into_iter().enumerate() {
        let header = if [PageKind::Leaf as u8, PageKind::Packed as u8].contains(&page[0]) { 16 } else { 64 };
        // Under Miri one bit of each page, of another field than that of the page before.
        let bits = header * 8;
        let first = number * 67 % bits;
        for bit in if cfg!(miri) { first..first + 1 } else { 0..bits } {
            let mut mutant = page.clone();
            mutant[bit / 8] ^= 1 << (bit % 8);
            seal_page(&mut mutant, &identity(), AT, BIRTH);
            let verdict = verify_page(&mutant, &identity(), AT, BIRTH);
            // Alignment says nothing where all lengths happen to be multiples of it; the level, and which extent ids
            // a page of the table holds, are checked by those who know what they must be.
            if let Ok(kind) = verdict {
                let harmless = match kind {
                    PageKind::Leaf => bit / 8 == 14,
                    PageKind::Packed => false,
                    PageKind::Branch => bit / 8 == 1,
                    PageKind::ExtentTable => (2..8).contains(&(bit / 8)),
                };
                assert!(harmless, "page {number} bit {bit}");
                read_all(&mutant, kind, &keys, &mut Random(0));
            }
        }
    }
}

#[test]
fn random_bytes_are_refused() {
    let mut random = Random(3);
    for round in 0..if cfg!(miri) { 2 } else { 1000 } {
        // Small numbers get further than large ones.
        let kept = if round % 2 == 0 { 0x00FF_00FF_00FF_00FF } else { u64::MAX };
        let mut page = vec![0; PAGE_SIZE.bytes()];
        for word in page.as_chunks_mut().0 {
            *word = (random.next() & kept).to_le_bytes();
        }
        page[0] = (round % 8) as u8;
        seal_page(&mut page, &identity(), AT, BIRTH);
        assert!(verify_page(&page, &identity(), AT, BIRTH).is_err());
    }
}

#[test]
fn a_page_belongs_to_its_place_its_database_and_its_birth() {
    let (mut page, _) = leaf(&SHAPES[0], ValueAlign::One, false);
    seal_page(&mut page, &identity(), AT, BIRTH);
    assert_eq!(verify_page(&page, &identity(), AT, BIRTH), Ok(PageKind::Leaf));
    for at in [PageRef { slot: AT.slot + 1, ..AT }, PageRef { extent: ExtentId(AT.extent.0 + 1), ..AT }] {
        assert!(verify_page(&page, &identity(), at, BIRTH).is_err());
    }
    for birth in [BIRTH.0 - 1, BIRTH.0 + 1] {
        let offence = verify_page(&page, &identity(), AT, Birth(birth)).expect_err("another birth");
        assert_eq!(offence.what, "page is older or younger than its extent");
    }
    let other = crate::format::Identity::new([9; 16]);
    assert!(verify_page(&page, &other, AT, BIRTH).is_err());
    assert!(verify_page(&page[1..], &identity(), AT, BIRTH).is_err());
    assert!(verify_page(&[], &identity(), AT, BIRTH).is_err());
}

#[test]
fn of_a_page_that_was_built_here_only_the_tags_are_not_looked_at() {
    let (page, _) = leaf(&SHAPES[0], ValueAlign::One, false);
    let own = |page: &[u8]| verify_body(page, None).is_ok();
    let foreign = |page: &[u8]| verify_body(page, Some(&identity())).is_ok();
    assert!(own(&page) && foreign(&page));
    let blocks = crate::format::bytes::get_u16(&page, 8) as usize;
    let mut tags = 0;
    // Each page that is looked at takes Miri a second.
    let step = if cfg!(miri) { 23 } else { 1 };
    for byte in (0..blocks + 128).step_by(step) {
        let mut mutant = page.clone();
        mutant[byte] ^= 4;
        let is_tag = (blocks..).step_by(64).take(2).any(|block| (block..block + 32).contains(&byte));
        assert!(!foreign(&mutant), "byte {byte}");
        // A kind that is not written is refused, and so is all but a tag of an entry.
        assert!(is_tag || !own(&mutant), "byte {byte}");
        tags += u32::from(is_tag && own(&mutant));
    }
    assert!(tags >= if cfg!(miri) { 1 } else { 32 }, "{tags} bytes of tags");
}

#[test]
fn page_kinds_that_are_reserved_are_refused() {
    let (page, _) = leaf(&SHAPES[0], ValueAlign::One, false);
    for kind in if cfg!(miri) { &[4][..] } else { &[0, 4, 5, 7, 8, 255] } {
        let mut page = page.clone();
        page[0] = *kind;
        seal_page(&mut page, &identity(), AT, BIRTH);
        let offence = verify_page(&page, &identity(), AT, BIRTH).expect_err("a kind that is not written");
        let what = match kind {
            4 | 5 | 7 => "a kind of page that is reserved for later versions",
            _ => "unknown kind of page",
        };
        assert_eq!((offence.at, offence.what), (0, what));
    }
}
