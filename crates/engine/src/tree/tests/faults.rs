//! Damaged and forged pages: an error, never a panic, a hang or an answer that nobody stored.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;

use super::store::{Delta, DeltaChanges, Random, Store};
use crate::error::{Error, Result};
use crate::format::{ExtentKind, Identity, LeafForm, PageSize, ValueAlign, seal_page};
use crate::ids::{Birth, ExtentId, PageNumber, PageRef};
use crate::io::{Access, Disk, File, MemoryDisk};
use crate::pager::{ExtentMap, PageFile, PageWriter, Pages, ReadOptions, Space};
use crate::sync::{Arc, Mutex};
use crate::tree::{Base, Census, Range, Root, Seek, check, count, get, get_many, merge, remove};

const PATH: &str = "/hostile.ful";
const PAGE_SIZE: PageSize = PageSize::KiB8;
/// Under an interpreter, which takes half a second for the checksum of a page, too few for a third level.
const ENTRIES: u64 = if cfg!(miri) { 400 } else { 12_000 };

fn key(number: u64) -> Vec<u8> {
    match number % 97 {
        0 => [vec![b'z'; 1100], number.to_be_bytes().to_vec()].concat(),
        _ => format!("key{number:08}").into_bytes(),
    }
}

fn value(number: u64) -> Vec<u8> {
    let length = match number % 61 {
        0 => 9000,
        _ => number % 40,
    };
    vec![number as u8; length as usize]
}

const TAGGED: LeafForm = LeafForm::Tagged(ValueAlign::One);

/// A sound tree of three levels or more, and the means to damage its file.
struct Target {
    store: Store,
    raw: Arc<dyn File>,
    nodes: Vec<PageRef>,
}

impl Target {
    fn new(form: LeafForm) -> Self {
        let disk = MemoryDisk::new();
        let mut store = Store::on(&disk, Path::new(PATH), PAGE_SIZE);
        store.form = form;
        store.apply(&(0..ENTRIES).map(|number| (key(number), Some(value(number)))).collect());
        // Several births, and holes.
        store.apply(&(0..ENTRIES).step_by(300).map(|number| (key(number), Some(value(number)))).collect());
        store.apply(&(ENTRIES / 6..ENTRIES / 5).map(|number| (key(number), None)).collect());
        assert!(
            store.root.is_some_and(|root| root.level >= if cfg!(miri) || form == LeafForm::Packed { 1 } else { 2 })
        );
        store.check();
        let raw = disk.open(Path::new(PATH), Access::Write).expect("it exists");
        let nodes =
            store.map.iter().filter(|(_, entry)| entry.kind == ExtentKind::Nodes).flat_map(|(extent, entry)| {
                let live = entry.live;
                (0..entry.page_count)
                    .filter(move |slot| live >> slot & 1 != 0)
                    .map(move |slot| PageRef { extent, slot })
            });
        let nodes = nodes.collect();
        Self { store, raw, nodes }
    }

    fn identity(&self) -> Identity {
        *self.store.file.identity()
    }

    fn read(&self, at: PageRef) -> Vec<u8> {
        let mut bytes = vec![0; PAGE_SIZE.bytes()];
        self.raw.read_at(self.offset(at), &mut bytes).expect("it is inside the file");
        bytes
    }

    fn write(&self, at: PageRef, bytes: &[u8]) {
        self.raw.write_at(self.offset(at), bytes).expect("memory has space");
    }

    fn reseal(&self, at: PageRef, bytes: &mut [u8]) {
        let birth = self.store.map.birth(at.extent).expect("it is in use");
        seal_page(bytes, &self.identity(), at, birth);
    }

    fn offset(&self, at: PageRef) -> u64 {
        let PageNumber(number) = PageNumber(self.store.map.page_number(at).expect("it is in use"));
        number * PAGE_SIZE.bytes() as u64
    }

    /// The file as it is when opened now.
    fn opened(&self) -> Opened {
        let options = ReadOptions { map: false, huge_pages: false, cache_bytes: 1 << 20 };
        let file = PageFile::new(Path::new(PATH), Arc::clone(&self.raw), PAGE_SIZE, self.identity(), options);
        let entries = self.store.map.entries().to_vec();
        let map = ExtentMap::new(entries.clone(), self.store.map.page_count(), None);
        let pages = file.pages(Arc::new(map)).expect("the file is whole");
        let space = Space::open(file, entries, self.store.map.page_count(), self.store.birth(), None);
        Opened { pages, space: Mutex::new(space.expect("the extents are sound")), form: self.store.form }
    }
}

struct Opened {
    pages: Pages,
    space: Mutex<Space>,
    form: LeafForm,
}

/// Reads and writes a tree in every way. Whatever succeeds is compared, if the file is damaged rather than forged.
fn use_all(opened: &Opened, root: &Root, model: Option<&BTreeMap<Vec<u8>, Vec<u8>>>, random: &mut Random) {
    let pages = &opened.pages;
    let entries_max = 200_000;
    for backward in [false, true] {
        if let Ok(found) = scan(pages, root, backward, entries_max)
            && let Some(model) = model
        {
            assert_eq!(found, model.len());
        }
    }
    let keys: Vec<_> = (0..64).map(|_| key(random.below(ENTRIES + 300))).collect();
    let hashes: Vec<_> = keys.iter().map(|key| pages.file().identity().hash(key)).collect();
    let expected = |key: &Vec<u8>| model.and_then(|model| model.get(key));
    let slices: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
    for base in [Base::new(*root), Base::with_shortcut(*root, pages)] {
        for key in &keys {
            if let Ok(found) = get(pages, &base, key)
                && model.is_some()
            {
                assert_eq!(found.as_deref(), expected(key).map(|value| &**value));
            }
        }
        let mut values = vec![None; keys.len()];
        if get_many(pages, &base, &slices, &hashes, &mut values).is_ok() && model.is_some() {
            for (key, found) in keys.iter().zip(&values) {
                assert_eq!(found.as_deref(), expected(key).map(|value| &**value));
            }
        }
    }
    if let Ok(found) = count(pages, root, Bound::Included(&keys[0]), Bound::Excluded(&keys[1]))
        && let Some(model) = model
    {
        let exact = match keys[0] < keys[1] {
            true => model.range(keys[0].clone()..keys[1].clone()).count(),
            false => 0,
        };
        assert_eq!(found, exact as u64);
    }
    let mut cursor = crate::tree::Cursor::seek(pages, root, Seek::AtLeast(&keys[2])).ok();
    for step in 0..20 {
        if let Some(cursor) = &mut cursor {
            let _ = if step % 3 == 0 { cursor.previous(pages) } else { cursor.next(pages) };
            let _ = cursor.entry(pages);
        }
    }
    write_all(opened, root, random);
}

fn scan(pages: &Pages, root: &Root, backward: bool, entries_max: usize) -> Result<usize> {
    let mut range = Range::new(pages, Some(root), Bound::Unbounded, Bound::Unbounded)?;
    let mut found = 0;
    while found < entries_max && (if backward { range.next_back()? } else { range.next()? }).is_some() {
        found += 1;
    }
    Ok(found)
}

fn write_all(opened: &Opened, root: &Root, random: &mut Random) {
    let pages = &opened.pages;
    let mut census = Census::new(pages);
    check(pages, root, &mut census);
    census.finish(pages);
    for dense in [false, true] {
        let mut delta = Delta::new();
        for _ in 0..if dense { ENTRIES / 12 } else { 10 } {
            let number = random.below(ENTRIES + 300);
            delta.insert(key(number), (!number.is_multiple_of(3)).then(|| value(number)));
        }
        let mut writer = PageWriter::new(&opened.space);
        let mut changes = DeltaChanges::new(&delta);
        let _ = merge(pages, Some(root), &mut changes, &mut writer, opened.form, &mut || Ok(()));
    }
    let mut writer = PageWriter::new(&opened.space);
    let _ = remove(pages, root, &mut writer, &mut || Ok(()));
}

/// Changes some bytes of a page, of its header more often than elsewhere.
fn flip(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = match random.below(4) {
            0 => random.below(64),
            1 => random.below(2048),
            _ => random.below(bytes.len() as u64 - 16),
        } as usize;
        bytes[at] = match random.below(4) {
            0 => bytes[at] ^ 1 << random.below(8),
            1 => 0,
            2 => 0xFF,
            _ => random.next() as u8,
        };
    }
}

#[test]
fn damage_is_found_or_does_not_matter() {
    for form in [TAGGED, LeafForm::Packed] {
        let target = Target::new(form);
        let mut random = Random(11);
        let root = target.store.root.expect("it is loaded");
        for round in 0..if cfg!(miri) { 3 } else { 60 } {
            let at = target.nodes[random.below(target.nodes.len() as u64) as usize];
            let sound = target.read(at);
            let mut bytes = sound.clone();
            match round % 3 {
                0 => flip(&mut bytes, &mut random),
                1 => bytes = target.read(target.nodes[random.below(target.nodes.len() as u64) as usize]),
                _ => bytes.fill(0),
            }
            target.write(at, &bytes);
            use_all(&target.opened(), &root, Some(&target.store.model), &mut random);
            target.write(at, &sound);
        }
        use_all(&target.opened(), &root, Some(&target.store.model), &mut random);
    }
}

#[test]
fn forged_pages_cause_no_panic() {
    for form in [TAGGED, LeafForm::Packed] {
        let target = Target::new(form);
        let mut random = Random(12);
        let root = target.store.root.expect("it is loaded");
        for round in 0..if cfg!(miri) { 2 } else { 400 } {
            // Branches are few: every second time one of them.
            let branches = target.nodes.iter().filter(|at| target.read(**at)[0] == 2).collect::<Vec<_>>();
            let at = match round % 2 {
                0 => *branches[random.below(branches.len() as u64) as usize],
                _ => target.nodes[random.below(target.nodes.len() as u64) as usize],
            };
            let sound = target.read(at);
            let mut bytes = sound.clone();
            match random.below(4) {
                0 => bytes = target.read(target.nodes[random.below(target.nodes.len() as u64) as usize]),
                _ => flip(&mut bytes, &mut random),
            }
            target.reseal(at, &mut bytes);
            target.write(at, &bytes);
            use_all(&target.opened(), &root, None, &mut random);
            target.write(at, &sound);
        }
    }
}

/// Children of a branch lie at an offset that its header names; each is extent u32, slot u24, flags u8.
fn children_offset(bytes: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([bytes[10], bytes[11]]))
}

#[test]
fn forged_children_cause_no_panic_and_no_endless_walk() {
    let target = Target::new(TAGGED);
    let mut random = Random(13);
    let root = target.store.root.expect("it is loaded");
    let branches: Vec<_> = target.nodes.iter().copied().filter(|at| target.read(*at)[0] == 2).collect();
    let forged = |at: PageRef, random: &mut Random| match random.below(8) {
        0 => at,
        1 => root.page,
        2 => PageRef { extent: ExtentId(random.next() as u32), slot: 0 },
        3 => PageRef { extent: at.extent, slot: random.below(1 << 24) as u32 },
        4 => branches[random.below(branches.len() as u64) as usize],
        _ => target.nodes[random.below(target.nodes.len() as u64) as usize],
    };
    for _ in 0..if cfg!(miri) { 3 } else { 200 } {
        let at = branches[random.below(branches.len() as u64) as usize];
        let sound = target.read(at);
        let mut bytes = sound.clone();
        let count = usize::from(u16::from_le_bytes([bytes[2], bytes[3]])) + 1;
        for _ in 0..1 + random.below(3) {
            let child = forged(at, &mut random);
            let place = children_offset(&bytes) + 8 * random.below(count as u64) as usize;
            bytes[place..place + 4].copy_from_slice(&child.extent.0.to_le_bytes());
            bytes[place + 4..place + 7].copy_from_slice(&child.slot.to_le_bytes()[..3]);
        }
        target.reseal(at, &mut bytes);
        target.write(at, &bytes);
        use_all(&target.opened(), &root, None, &mut random);
        target.write(at, &sound);
    }
}

#[test]
fn forged_roots_are_errors() {
    let target = Target::new(TAGGED);
    let mut random = Random(14);
    let root = target.store.root.expect("it is loaded");
    let leaf = target.nodes.iter().copied().find(|at| target.read(*at)[0] == 1).expect("there are leaves");
    let roots = [
        Root { level: 0, ..root },
        Root { level: root.level - 1, ..root },
        Root { level: root.level + 1, ..root },
        Root { level: 63, ..root },
        Root { level: 255, ..root },
        Root { page: leaf, ..root },
        Root { page: PageRef { extent: ExtentId(77_777), slot: 1 }, ..root },
        Root { page: PageRef { slot: u32::MAX, ..root.page }, ..root },
    ];
    for forged in &roots[..if cfg!(miri) { 3 } else { 8 }] {
        let forged = *forged;
        let opened = target.opened();
        assert!(matches!(scan(&opened.pages, &forged, false, 100), Err(Error::Corrupt { .. })), "{forged:?}");
        assert!(matches!(get(&opened.pages, &Base::new(forged), b"key"), Err(Error::Corrupt { .. })), "{forged:?}");
        use_all(&opened, &forged, None, &mut random);
    }
    for entries in if cfg!(miri) { &[u64::MAX][..] } else { &[0, 1, u64::MAX] } {
        let entries = *entries;
        use_all(&target.opened(), &Root { entries, ..root }, None, &mut random);
    }
}

#[test]
fn a_page_of_an_older_birth_is_refused() {
    let target = Target::new(TAGGED);
    let at = target.nodes[3];
    let sound = target.read(at);
    let mut stale = sound.clone();
    let birth = target.store.map.birth(at.extent).expect("it is in use");
    seal_page(&mut stale, &target.identity(), at, Birth(birth.0 - 1));
    target.write(at, &stale);
    assert!(matches!(target.opened().pages.page(at), Err(Error::Corrupt { .. })));
}

#[test]
fn a_check_counts_a_shared_and_a_lost_page() {
    let target = Target::new(TAGGED);
    let root = target.store.root.expect("it is loaded");
    let mut bytes = target.read(root.page);
    let place = children_offset(&bytes);
    let first = bytes[place..place + 8].to_vec();
    bytes[place + 8..place + 16].copy_from_slice(&first);
    target.reseal(root.page, &mut bytes);
    target.write(root.page, &bytes);
    let opened = target.opened();
    let mut census = Census::new(&opened.pages);
    check(&opened.pages, &root, &mut census);
    let faults: Vec<_> = census.finish(&opened.pages).iter().map(ToString::to_string).collect();
    assert!(faults.iter().any(|fault| fault.contains("more than once")), "{faults:?}");
    assert!(faults.iter().any(|fault| fault.contains("belong to no tree")), "{faults:?}");
}

/// A leaf of long keys whose stored parts are equal, and whose pages say that they begin otherwise.
#[test]
fn long_keys_that_lie_about_how_they_begin_are_refused_by_a_merge() {
    const WRONG_KEYS: u8 = 6;
    let disk = MemoryDisk::new();
    let mut store = Store::on(&disk, Path::new(PATH), PAGE_SIZE);
    let long = |number: u8| [vec![b'p'; 1100], vec![number]].concat();
    store.apply(&(0..WRONG_KEYS).map(|number| (long(number), Some(vec![number]))).collect());
    let root = store.root.filter(|root| root.level == 0).expect("all fit one leaf");
    let identity = *store.file.identity();
    let raw = disk.open(Path::new(PATH), Access::Write).expect("it exists");
    let mut bytes = vec![0; raw.len().expect("it is in memory") as usize];
    raw.read_at(0, &mut bytes).expect("it is in memory");
    let mut replace_all = |from: &[u8], to: &[u8]| {
        let places: Vec<usize> = (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
        places.iter().for_each(|&at| bytes[at..at + to.len()].copy_from_slice(to));
        places.len()
    };
    for number in 0..WRONG_KEYS {
        let (truth, mut lie) = (long(number), long(number));
        // Each begins below the one before.
        lie[0] = b'z' - number;
        assert_eq!(replace_all(&truth, &lie), 1);
        let (truth, lie) = (identity.hash(&truth), identity.hash(&lie));
        assert_eq!(replace_all(&truth.to_le_bytes(), &lie.to_le_bytes()), 2, "hash and checksum");
    }
    raw.write_at(0, &bytes).expect("memory has space");
    let offset = store.map.page_number(root.page).expect("it is in use") * PAGE_SIZE.bytes() as u64;
    let mut page = vec![0; PAGE_SIZE.bytes()];
    raw.read_at(offset, &mut page).expect("it is inside the file");
    for index in 0..usize::from(WRONG_KEYS) {
        // One block after one line of hints; a tag is the top of the hash, which follows the key's part in its cell.
        let slot = u16::from_le_bytes([page[96 + 2 * index], page[97 + 2 * index]]) as usize & 0x3FFF;
        let tag = [page[slot + 4 + 1024 + 6], page[slot + 4 + 1024 + 7]];
        page[64 + 2 * index..66 + 2 * index].copy_from_slice(&tag);
    }
    seal_page(&mut page, &identity, root.page, store.map.birth(root.page.extent).expect("it is in use"));
    raw.write_at(offset, &page).expect("memory has space");
    store.reopen();
    assert!(get(&store.pages(), &Base::new(root), &long(0)).is_ok(), "the forgery passes for a sound leaf");
    // So many more keys, and there are two leaves, which a separator is to divide.
    let more = (0..3).map(|number| ([vec![b'p'; 1090], vec![number]].concat(), Some(vec![number])));
    let outcome = store.try_apply(&more.collect());
    assert!(matches!(outcome, Err(Error::Corrupt { .. })), "{outcome:?}");
}
