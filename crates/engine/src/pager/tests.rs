//! Tests of the pager as a whole: what is placed, dies, comes free and is read back.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::*;
use crate::error::{Error, Place};
use crate::format::{
    BranchBuilder, CellKey, CellValue, Child, ExtentEntry, ExtentKind, Identity, LargeValue, LeafBuilder, Op,
    OverflowRef, PageSize, ValueAlign,
};
use crate::ids::{Birth, ExtentId, PageNumber, PageRef};
use crate::io::{Access, Disk, File, ForwardFile, MemoryDisk};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};

const PAGE: u64 = 16384;

/// A file that has no space past a length.
#[derive(Debug)]
struct FullFile {
    inner: Arc<dyn File>,
    length_max: AtomicU64,
    sync_fails: AtomicBool,
    /// Syncs, and the times that it was to be forgotten, in their order.
    calls: Mutex<Vec<&'static str>>,
}

impl ForwardFile for FullFile {
    fn inner(&self) -> &dyn File {
        &*self.inner
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        if offset + length > self.length_max.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.inner.allocate(offset, length)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.calls.lock().push("sync");
        if self.sync_fails.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.inner.sync_data()
    }
    fn forget_cached(&self) {
        self.calls.lock().push("forget");
    }
}

struct Fixture {
    disk_file: Arc<FullFile>,
    file: Arc<PageFile>,
    space: Mutex<Space>,
    map: Arc<ExtentMap>,
}

impl Fixture {
    fn new(quota: Option<u64>) -> Self {
        let path = Path::new("/pager.ful");
        let inner = MemoryDisk::new().open(path, Access::CreateNew).expect("the disk is empty");
        inner.write_at(0, &[0; PAGE as usize]).expect("memory has space");
        let (length_max, sync_fails) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
        let disk_file = Arc::new(FullFile { inner, length_max, sync_fails, calls: Mutex::default() });
        let options = ReadOptions { map: true, huge_pages: true, cache_bytes: 1 << 20 };
        let as_file: Arc<dyn File> = Arc::clone(&disk_file) as _;
        let file = PageFile::new(path, as_file, PageSize::KiB16, Identity::new([9; 16]), options);
        let space = Space::open(Arc::clone(&file), Vec::new(), 1, Birth(0), quota).expect("an empty file is sound");
        Self { disk_file, file, space: Mutex::new(space), map: Arc::new(ExtentMap::empty(1)) }
    }

    fn commit(&mut self, mut operation: Operation) -> Birth {
        let mut space = self.space.lock();
        let prepared = space.prepare(&mut operation).expect("there is space");
        let read =
            read_extent_table(&self.file, &prepared.table, prepared.page_count, prepared.birth).expect("just written");
        assert_eq!(read, prepared.entries);
        space.commit(operation, &prepared);
        self.map = Arc::new(ExtentMap::new(prepared.entries, prepared.page_count, Some(&self.map)));
        prepared.birth
    }

    /// Writes `count` leaves of one entry each and commits them.
    fn leaves(&mut self, count: u64) -> (Vec<PageRef>, Birth) {
        let mut writer = PageWriter::new(&self.space);
        let leaves = (0..count).map(|number| add_leaf(&mut writer, number)).collect();
        let operation = writer.finish().expect("there is space");
        (leaves, self.commit(operation))
    }

    fn kill(&mut self, pages: &[PageRef]) -> Birth {
        let mut writer = PageWriter::new(&self.space);
        pages.iter().for_each(|at| writer.kill_page(*at).expect("it is live"));
        let operation = writer.finish().expect("there is space");
        self.commit(operation)
    }

    fn reclaim(&self, births: &[Birth], oldest_elsewhere: Option<Birth>) -> u64 {
        self.space.lock().reclaim(Pins { births, oldest_elsewhere })
    }

    fn pages(&self) -> Pages {
        self.file.pages(Arc::clone(&self.map)).expect("the file is whole")
    }

    fn key_of(&self, at: PageRef) -> Vec<u8> {
        let pages = self.pages();
        let page = pages.page(at).expect("it is live");
        let leaf = page.leaf().expect("it is a leaf");
        leaf.tagged().expect("it has tags").key(0).part().to_vec()
    }
}

fn add_leaf(writer: &mut PageWriter<'_>, number: u64) -> PageRef {
    let mut builder = LeafBuilder::new(PageSize::KiB16, ValueAlign::One);
    let key = number.to_be_bytes();
    let hash = writer.file().identity().hash(&key);
    builder.push(Op::PutNew, CellKey::Inline(&key), CellValue::Inline(b"value"), hash);
    writer.add_leaf(|page| builder.finish(page)).expect("there is space").0
}

#[test]
#[cfg_attr(miri, ignore = "a thousand checksums of pages")]
fn pages_read_back_as_written_across_many_extents() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(1000);
    for (number, at) in leaves.iter().enumerate() {
        assert_eq!(fixture.key_of(*at), (number as u64).to_be_bytes());
    }
    let largest = fixture.map.iter().map(|(_, entry)| entry.page_count).max();
    assert_eq!(largest, Some(128), "an operation that writes much gets full extents");
    let aligned = fixture.map.iter().filter(|(_, entry)| entry.page_count == 128);
    aligned.for_each(|(_, entry)| assert_eq!(entry.first_page.0 % 128, 0));
}

/// The first extents of a tree's branches are small. They came to lie among its leaves, and as full extents begin at
/// multiples of their size, what followed the small ones stayed free: up to 2 MiB of a file of any size.
#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn small_extents_among_large_ones_leave_no_hole() {
    for leaves in [50, 127, 128, 129, 1000, 1111, 2000] {
        let mut fixture = Fixture::new(None);
        let mut writer = PageWriter::new(&fixture.space);
        for number in 0..leaves {
            add_leaf(&mut writer, number);
            if number % 100 == 99 {
                let mut branch = BranchBuilder::new(PageSize::KiB16, 1);
                let child = Child { page: PageRef { extent: ExtentId(0), slot: 0 }, has_overflow: false };
                branch.push(CellKey::Inline(b""), child, 1);
                writer.add_branch(|page| branch.finish(page)).expect("there is space");
            }
            if number % 300 == 299 {
                writer.add_value(&[7; 100]).expect("there is space");
            }
        }
        let operation = writer.finish().expect("there is space");
        fixture.commit(operation);
        assert_eq!(fixture.space.lock().stats().free_pages, 0, "{leaves} leaves");
        let full = fixture.map.iter().filter(|(_, entry)| entry.page_count == 128);
        assert!(full.count() as u64 >= (leaves / 128).saturating_sub(1), "{leaves} leaves");
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn operations_that_append_leave_no_hole_between_them() {
    let mut fixture = Fixture::new(None);
    for _ in 0..50 {
        fixture.leaves(200);
        fixture.reclaim(&[], None);
    }
    let stats = fixture.space.lock().stats();
    // Each operation frees the table of the one before.
    assert!(stats.free_pages <= 4 && stats.extents < 250, "{stats:?}");
    let full: Vec<_> = fixture.map.iter().filter(|(_, entry)| entry.page_count == 128).collect();
    assert!(full.len() >= 25, "{} full extents", full.len());
    assert!(full.iter().all(|(_, entry)| entry.first_page.0.is_multiple_of(128)));
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn what_is_free_is_used_before_the_file_grows() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(1000);
    for start in [100, 300, 600] {
        fixture.kill(&leaves[start..start + 90]);
    }
    fixture.reclaim(&[], None);
    let before = fixture.space.lock().stats().total_pages();
    fixture.leaves(90);
    fixture.leaves(90);
    assert_eq!(fixture.space.lock().stats().total_pages(), before);
}

/// An extent that was to fill the gap at the file's end went into any free place instead, and so did all after it.
#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn extents_do_not_shrink_to_the_gap_at_the_end_of_a_file_with_free_places() {
    for (hole, holes) in [(100, 40), (1, 2000)] {
        let mut fixture = Fixture::new(None);
        let (leaves, _) = fixture.leaves(9_000);
        let step = leaves.len() / holes;
        let dead: Vec<_> = (0..holes).flat_map(|at| leaves[at * step..at * step + hole].iter().copied()).collect();
        fixture.kill(&dead);
        fixture.reclaim(&[], None);
        for _ in 0..3 {
            // Too long for any hole, so it moves the end.
            let mut space = fixture.space.lock();
            let mut operation = space.begin();
            let id = space.reserve_id(&mut operation);
            space.place(&mut operation, id, ExtentKind::Values, 109, true).expect("there is space");
            drop(space);
            fixture.commit(operation);
            let before = fixture.space.lock().stats().extents;
            fixture.leaves(2_000);
            let extents = fixture.space.lock().stats().extents - before;
            assert!(extents <= 40, "{extents} extents for 2,000 pages, with holes of {hole}");
        }
    }
}

#[test]
fn dead_pages_wait_for_the_snapshots_that_show_them() {
    let mut fixture = Fixture::new(None);
    let (leaves, born) = fixture.leaves(8);
    let died = fixture.kill(&leaves[2..5]);
    assert!(born < died);
    // The table of the first checkpoint died as well.
    assert_eq!(fixture.reclaim(&[born], None), 0, "a snapshot of the first checkpoint shows them");
    assert_eq!(fixture.reclaim(&[], Some(born)), 0, "so may one of another process");
    assert_eq!(fixture.reclaim(&[died], Some(died)), 4, "younger ones show none of them");
    let (_, later) = fixture.leaves(1);
    assert_eq!(fixture.reclaim(&[later], Some(later)), 1);
}

#[test]
fn a_snapshot_between_two_open_operations_keeps_what_the_second_kills() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(4);
    let first = PageWriter::new(&fixture.space).finish().expect("nothing is written");
    let mut second = fixture.space.lock().begin();
    fixture.space.lock().kill(&mut second, leaves[0], 1, ExtentKind::Nodes).expect("it is live");
    let between = fixture.commit(first);
    fixture.reclaim(&[between], None);
    let after = fixture.commit(second);
    assert!(between < after, "checkpoints can be told apart");
    let table_only = fixture.reclaim(&[after], Some(between));
    assert_eq!(table_only, 0);
    assert_eq!(fixture.reclaim(&[between], None), 0, "the page and the table are shown by the snapshot between");
    assert_eq!(fixture.reclaim(&[after], None), 2);
}

#[test]
fn what_was_free_before_opening_waits_for_readers_left_behind() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(8);
    let died = fixture.kill(&leaves[2..5]);
    let entries = table_entries(&fixture);
    let reopen = || Space::open(Arc::clone(&fixture.file), entries.clone(), fixture.map.page_count(), died, None);
    let mut space = reopen().expect("the file is sound");
    assert_eq!(space.stats().free_pages, 0);
    let before = Birth(died.0 - 1);
    assert_eq!(space.reclaim(Pins { births: &[], oldest_elsewhere: Some(before) }), 0);
    assert!(space.reclaim(Pins { births: &[], oldest_elsewhere: Some(died) }) >= 3);
    assert_eq!(space.stats().pending_pages, 0);
}

fn table_entries(fixture: &Fixture) -> Vec<crate::format::ExtentEntry> {
    let mut entries = Vec::new();
    for (id, entry) in fixture.map.iter() {
        entries.resize(id.0 as usize, crate::format::ExtentEntry::default());
        entries.push(*entry);
    }
    entries
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of checksums of pages")]
fn an_aborted_operation_leaves_no_trace() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(300);
    fixture.reclaim(&[], None);
    let before = (fixture.space.lock().stats(), table_entries(&fixture));
    let mut writer = PageWriter::new(&fixture.space);
    for number in 0..500 {
        add_leaf(&mut writer, number);
    }
    writer.add_value(&vec![1; 5 << 20]).expect("there is space");
    writer.kill_page(leaves[7]).expect("it is live");
    assert!(fixture.space.lock().stats().placed_pages > 300);
    drop(writer);
    let stats = fixture.space.lock().stats();
    assert_eq!((stats.node_pages, stats.placed_pages), (before.0.node_pages, 0));
    assert_eq!(stats.free_pages + stats.reserve_pages, stats.total_pages() - 1 - stats.node_pages - stats.table_pages);
    fixture.kill(&leaves[7..8]);
    assert_eq!(fixture.key_of(leaves[8]), 8u64.to_be_bytes());
}

#[test]
#[cfg_attr(miri, ignore = "checksums of megabytes")]
fn a_full_disk_is_an_error_that_changes_nothing() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(100);
    fixture.reclaim(&[], None);
    let before = fixture.space.lock().stats();
    fixture.disk_file.length_max.store(before.total_pages() * PAGE, Ordering::Relaxed);
    let mut writer = PageWriter::new(&fixture.space);
    let failed = writer.add_value(&vec![1; 20 << 20]);
    assert!(matches!(failed, Err(Error::DiskFull { .. })), "{failed:?}");
    drop(writer);
    assert_eq!(fixture.space.lock().stats(), before);
    assert_eq!(fixture.key_of(leaves[99]), 99u64.to_be_bytes());
    // There is room for what is needed, though none for growing ahead.
    fixture.disk_file.length_max.store(before.total_pages() * PAGE + 21 * (1 << 20), Ordering::Relaxed);
    let mut writer = PageWriter::new(&fixture.space);
    writer.add_value(&vec![1; 20 << 20]).expect("it just fits");
}

#[test]
#[cfg_attr(miri, ignore = "a checksum of a megabyte")]
fn the_quota_is_a_typed_error_and_may_be_used_to_the_last_page() {
    let limit = 64 * PAGE;
    let fixture = Fixture::new(Some(limit));
    let mut writer = PageWriter::new(&fixture.space);
    let failed = (0..).try_for_each(|number: u64| {
        let value = number.to_be_bytes().repeat(2048);
        writer.add_value(&value).map(drop)
    });
    match failed {
        Err(Error::QuotaExceeded { limit_bytes, needed_bytes, .. }) => {
            assert_eq!(limit_bytes, limit);
            assert!(needed_bytes > limit);
        }
        other => panic!("{other:?}"),
    }
    drop(writer);
    assert!(fixture.file.length_bytes().expect("open") <= limit);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn the_file_shrinks_when_its_end_is_free() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(2000);
    fixture.kill(&leaves[4..]);
    fixture.reclaim(&[], None);
    assert_eq!(fixture.space.lock().truncate_to_used().expect("open") % PAGE, 0);
    // The next checkpoint states the smaller size; only then may the file be cut to it.
    fixture.kill(&[]);
    fixture.reclaim(&[], None);
    fixture.kill(&[]);
    fixture.reclaim(&[], None);
    assert!(fixture.space.lock().truncate_to_used().expect("open") > 1000 * PAGE);
    assert!(fixture.file.length_bytes().expect("open") < 100 * PAGE);
    assert_eq!(fixture.key_of(leaves[3]), 3u64.to_be_bytes());
    let stats = fixture.space.lock().stats();
    assert_eq!(stats.total_pages() * PAGE, fixture.file.length_bytes().expect("open"));
}

#[test]
fn values_of_every_length_read_back() {
    let mut fixture = Fixture::new(None);
    let lengths = [1, 5000, 16383, 16384, 16385, 100_000, 2 << 20, (2 << 20) + 1, 7_000_001];
    // An interpreter takes a second for the checksum of a page.
    let (lengths, count) = if cfg!(miri) { (&lengths[..5], 7) } else { (&lengths[..], 30) };
    let mut writer = PageWriter::new(&fixture.space);
    let mut stored = Vec::new();
    for (index, length) in lengths.iter().copied().cycle().take(count).enumerate() {
        let bytes: Vec<u8> = (0..length).map(|at: usize| (at * 7 + index) as u8).collect();
        let at = if index % 2 == 0 {
            writer.add_value(&bytes).expect("there is space")
        } else {
            let mut stream = writer.begin_value(length as u32).expect("there is space");
            bytes.chunks(100_003).for_each(|chunk| stream.write(chunk).expect("there is space"));
            stream.finish().expect("there is space")
        };
        assert_eq!(at.checksum, writer.file().identity().hash(&bytes));
        stored.push((at, bytes));
    }
    let operation = writer.finish().expect("there is space");
    fixture.commit(operation);
    let pages = fixture.pages();
    for (at, bytes) in &stored {
        assert!(pages.value(at).expect("it was written") == bytes, "value of {} bytes", bytes.len());
    }
    let used: BTreeMap<u32, u32> = stored.iter().map(|(at, _)| (at.extent.0, at.slot)).collect();
    assert!(used.len() < stored.len(), "small values share extents");
}

#[test]
fn a_damaged_page_is_an_error_that_names_it() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(13);
    let number = fixture.map.page_number(leaves[11]).expect("it exists");
    fixture.disk_file.inner.write_at(number * PAGE + 5000, b"!").expect("memory has space");
    let pages = fixture.pages();
    match pages.page(leaves[11]) {
        Err(Error::Corrupt { place: Place::Page(PageNumber(found)), .. }) => assert_eq!(found, number),
        other => panic!("{other:?}"),
    }
    assert!(pages.page(leaves[12]).is_ok());
}

#[test]
fn references_to_nowhere_are_errors() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(13);
    fixture.kill(&leaves[3..4]);
    let pages = fixture.pages();
    let extent = leaves[0].extent;
    let table = fixture.map.iter().find(|(_, entry)| entry.kind == ExtentKind::ExtentTable).expect("there is one").0;
    let nowhere = [
        PageRef { extent, slot: 100 },
        PageRef { extent, slot: PageRef::SLOTS_MAX - 1 },
        PageRef { extent: crate::ids::ExtentId(999), slot: 0 },
        PageRef { extent: crate::ids::ExtentId(u32::MAX), slot: u32::MAX },
        PageRef { extent: table, slot: 0 },
        leaves[3],
    ];
    for at in nowhere {
        assert!(matches!(pages.page(at), Err(Error::Corrupt { .. })), "{at}");
        let value = OverflowRef { extent: at.extent, slot: at.slot, length: u32::MAX, checksum: 0 };
        assert!(matches!(pages.value(&value), Err(Error::Corrupt { .. })), "{at}");
        let mut writer = PageWriter::new(&fixture.space);
        assert!(matches!(writer.kill_page(at), Err(Error::Corrupt { .. })), "{at}");
        assert!(matches!(writer.kill_value(&value), Err(Error::Corrupt { .. })), "{at}");
    }
}

#[test]
fn a_logged_value_is_taken_back_from_what_an_opened_file_does_not_use() {
    let mut fixture = Fixture::new(None);
    fixture.leaves(10);
    let value = vec![5; 3 << 20];
    let large = fixture.space.lock().place_logged(value.len() as u32, 0).expect("there is space");
    fixture.file.write_value(large.first_page, &value).expect("memory has space");
    let committed = (table_entries(&fixture), fixture.map.page_count(), fixture.space.lock().last_birth());
    // The checkpoint states an end before the value's: part of it is behind the end, part of it may be in free space.
    for end in [committed.1, large.first_page.0 + 5] {
        let opened = Space::open(Arc::clone(&fixture.file), committed.0.clone(), end, committed.2, None);
        let mut space = opened.expect("the file is sound");
        let extent = space.take_logged(&large).expect("nothing else is there");
        assert!(space.take_logged(&large).is_err(), "it is taken");
        let before = space.stats();
        space.reclaim(Pins::default());
        assert_eq!(space.stats().placed_pages, before.placed_pages);
        assert!(before.placed_pages >= 192);
        space.discard_logged(extent);
        assert_eq!(space.stats().placed_pages, 0);
    }
}

#[test]
fn a_logged_value_gets_a_low_extent_wherever_the_log_has_its_own() {
    let mut fixture = Fixture::new(None);
    fixture.leaves(10);
    let large = fixture.space.lock().place_logged(3 << 20, 0).expect("there is space");
    fixture.file.write_value(large.first_page, &vec![5; 3 << 20]).expect("memory has space");
    let (entries, pages) = (table_entries(&fixture), fixture.map.page_count());
    let birth = fixture.space.lock().last_birth();
    for extent in [large.value.extent.0, 1 << 17, u32::MAX - 1, u32::MAX] {
        let opened = Space::open(Arc::clone(&fixture.file), entries.clone(), pages, birth, None);
        let mut space = opened.expect("the file is sound");
        let value = OverflowRef { extent: ExtentId(extent), ..large.value };
        let taken = space.take_logged(&LargeValue { value, ..large }).expect("nothing else is there");
        assert!(taken.0 as usize <= entries.len(), "extent {extent} of the log became {taken:?}");
    }
    let used = entries.iter().position(|entry| entry.kind != ExtentKind::Unused).expect("there are leaves");
    let mut space = Space::open(Arc::clone(&fixture.file), entries, pages, birth, None).expect("the file is sound");
    let value = OverflowRef { extent: ExtentId(used as u32), ..large.value };
    let refused = space.take_logged(&LargeValue { value, ..large }).expect_err("a leaf has this extent");
    assert!(refused.to_string().contains("has the extent of something else"), "{refused}");
}

/// The system held pages as if they were written that a failed sync had not written. Opened again from them, the
/// database wrote to them once more, synced, and ext4 lost that.
#[test]
fn what_the_system_has_in_memory_is_forgotten_when_a_sync_fails_and_when_the_file_is_closed_after_that() {
    let mut fixture = Fixture::new(None);
    fixture.leaves(10);
    let disk_file = Arc::clone(&fixture.disk_file);
    let calls = || disk_file.calls.lock().clone();
    disk_file.calls.lock().clear();
    fixture.file.sync().expect("memory does not fail");
    assert_eq!(calls(), ["sync"]);
    disk_file.sync_fails.store(true, Ordering::Relaxed);
    let error = fixture.file.sync().expect_err("it fails");
    assert!(matches!(error, Error::Io { .. }), "a full disk that only a sync reports has lost something: {error}");
    assert_eq!(calls(), ["sync", "sync", "forget"]);
    disk_file.sync_fails.store(false, Ordering::Relaxed);
    assert!(matches!(fixture.file.sync(), Err(Error::Poisoned { .. })));
    fixture.file.distrust();
    assert_eq!(calls().len(), 3);
    drop(fixture);
    // What another thread was writing when the sync failed cannot be forgotten before it is written.
    assert_eq!(calls()[3..], ["sync", "forget"], "what was mapped is not any more");
}

/// Two large values may be committed in another order than their pages were placed. The first of them to get into the
/// table then left the other one's number among the unused, which the next operation took: it replaced a live extent.
#[test]
fn the_number_of_a_value_that_is_adopted_after_a_later_one_is_not_given_out_again() {
    let mut fixture = Fixture::new(None);
    let value = vec![5; 3 << 20];
    let values: Vec<LargeValue> = (0..4)
        .map(|_| {
            let large = fixture.space.lock().place_logged(value.len() as u32, 0).expect("there is space");
            fixture.file.write_value(large.first_page, &value).expect("memory has space");
            large
        })
        .collect();
    let mut operation = fixture.space.lock().begin();
    for at in [3, 1, 2, 0] {
        fixture.space.lock().adopt_logged(&mut operation, values[at].value.extent);
    }
    fixture.commit(operation);
    let mut space = fixture.space.lock();
    let mut next = space.begin();
    for _ in 0..10 {
        let id = space.reserve_id(&mut next);
        assert!(values.iter().all(|large| large.value.extent != id), "{id:?} is in use");
    }
}

#[test]
fn a_page_cannot_die_twice() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(13);
    let mut writer = PageWriter::new(&fixture.space);
    writer.kill_page(leaves[1]).expect("it is live");
    assert!(matches!(writer.kill_page(leaves[1]), Err(Error::Corrupt { .. })));
}

#[test]
fn a_table_that_is_not_the_metas_is_refused() {
    let fixture = Fixture::new(None);
    let writer = PageWriter::new(&fixture.space);
    let mut operation = writer.finish().expect("nothing is written");
    let prepared = fixture.space.lock().prepare(&mut operation).expect("there is space");
    let (file, good, pages, newest) = (&fixture.file, prepared.table, prepared.page_count, prepared.birth);
    assert!(read_extent_table(file, &good, pages, newest).is_ok());
    let bad = [
        crate::format::ExtentTableRef { birth: Birth(77), ..good },
        crate::format::ExtentTableRef { checksum: 1, ..good },
        crate::format::ExtentTableRef { entry_count: good.entry_count + 1, ..good },
        crate::format::ExtentTableRef { entry_count: u32::MAX, ..good },
        crate::format::ExtentTableRef { page_count: u32::MAX, ..good },
        crate::format::ExtentTableRef { first_page: PageNumber(u64::MAX), ..good },
        crate::format::ExtentTableRef { first_page: PageNumber(0), ..good },
    ];
    for table in bad {
        assert!(matches!(read_extent_table(file, &table, pages, newest), Err(Error::Corrupt { .. })), "{table:?}");
    }
    file.refuse_cut_off(pages).expect("the file is whole");
    assert!(matches!(file.refuse_cut_off(pages + 1_000_000), Err(Error::Corrupt { .. })), "the file ends before");
    fixture.space.lock().abort(operation);
}

#[test]
fn extents_that_share_a_live_page_leave_the_file_or_come_from_the_future_are_refused() {
    let mut fixture = Fixture::new(None);
    fixture.leaves(13);
    let entries = table_entries(&fixture);
    let (pages, newest) = (fixture.map.page_count(), fixture.space.lock().last_birth());
    let check = super::extents::check_extents;
    assert!(check(&entries, pages, newest).is_ok());
    assert!(check(&entries, 3, newest).is_err());
    let first = entries[0];
    assert!(check(&entries, pages, Birth(first.birth.0 - 1)).is_err());
    let mut overlapping = entries.clone();
    overlapping.push(crate::format::ExtentEntry { live: 1, page_count: 1, ..first });
    assert!(check(&overlapping, pages, newest).is_err());
    // Dead slots may lie anywhere: their pages may be others' by now.
    overlapping.pop();
    overlapping.push(crate::format::ExtentEntry { live: 0, ..first });
    assert!(check(&overlapping, pages, newest).is_ok());
}

#[test]
fn what_a_process_wrote_itself_is_its_own_and_nothing_older() {
    let mut fixture = Fixture::new(None);
    assert!(!fixture.file.is_written_here(Birth(u64::MAX - 1)), "who only reads has written nothing");
    let before = fixture.space.lock().last_birth();
    let (leaves, _) = fixture.leaves(3);
    let birth = fixture.map.birth(leaves[0].extent).expect("it is there");
    assert!(fixture.file.is_written_here(birth));
    assert!(!fixture.file.is_written_here(before));
}

#[test]
fn verified_bits_pass_to_the_next_map_only_for_the_same_extent() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(3);
    assert!(fixture.map.verified().page(leaves[0]).is_none());
    fixture.pages().page(leaves[0]).expect("it is live");
    assert!(fixture.map.verified().page(leaves[0]).is_some());
    fixture.kill(&leaves[1..2]);
    assert!(fixture.map.verified().page(leaves[0]).is_some());
    fixture.kill(&leaves[..1]);
    assert!(fixture.map.verified().page(leaves[0]).is_none(), "it is dead");
}

/// A reference to a node may lead, in a forged file, to a value. Its checksum says nothing about its being a page,
/// and whatever is taken for a verified node is read without bounds checks.
#[test]
fn a_value_that_was_verified_is_no_node() {
    let mut fixture = Fixture::new(None);
    let mut writer = PageWriter::new(&fixture.space);
    let mut bytes = vec![0xFF; PAGE as usize];
    bytes[..2].copy_from_slice(&[1, 0]);
    let value = writer.add_value(&bytes).expect("there is space");
    let operation = writer.finish().expect("there is space");
    fixture.commit(operation);
    let pages = fixture.pages();
    for _ in 0..2 {
        assert_eq!(pages.value(&value).expect("it was written"), bytes);
        assert!(fixture.map.is_value_verified(value.page()));
        assert!(fixture.map.verified().page(value.page()).is_none());
        assert!(matches!(pages.page(value.page()), Err(Error::Corrupt { .. })));
        // What is known passes on to the next map, and only as what it is.
        fixture.leaves(1);
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn what_is_to_lie_low_fills_small_holes_and_goes_no_further_than_it_may() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(4096);
    // Holes of 63 pages, all over.
    let dead: Vec<_> = leaves.chunks(128).flat_map(|extent| &extent[32..95]).copied().collect();
    fixture.kill(&dead);
    fixture.reclaim(&[], None);
    let before = fixture.map.entries().to_vec();
    let below = PageNumber(2000);
    let mut writer = PageWriter::new(&fixture.space);
    writer.set_placing(Placing::Low(below));
    for number in 0..700 {
        add_leaf(&mut writer, number);
    }
    let operation = writer.finish().expect("there is space");
    fixture.commit(operation);
    let placed = fixture.map.entries().iter().enumerate().filter(|(id, entry)| before.get(*id) != Some(entry));
    let nodes: Vec<_> = placed.map(|(_, entry)| entry).filter(|entry| entry.kind == ExtentKind::Nodes).collect();
    assert_eq!(nodes.iter().map(|entry| entry.page_count).sum::<u32>(), 700);
    let is_low = |entry: &&ExtentEntry| entry.first_page.0 + u64::from(entry.page_count) <= below.0;
    assert!(nodes.iter().all(is_low), "{nodes:?}");
    assert!(nodes.iter().any(|entry| entry.page_count > 50), "{nodes:?}");
}

/// A move of everything that was placed behind all other pages must know where that begins, which is before the
/// file's end.
#[test]
fn what_is_placed_behind_all_begins_where_the_pages_in_use_end() {
    let mut fixture = Fixture::new(None);
    let (leaves, _) = fixture.leaves(200);
    fixture.kill(&leaves[150..]);
    fixture.reclaim(&[], None);
    fixture.kill(&[]);
    fixture.reclaim(&[], None);
    let used_end = fixture.space.lock().used_end();
    assert!(used_end.0 * PAGE < fixture.file.length_bytes().expect("open"), "the file has room behind them");
    let mut writer = PageWriter::new(&fixture.space);
    writer.set_placing(Placing::AtEnd);
    let at = add_leaf(&mut writer, 7);
    let operation = writer.finish().expect("there is space");
    let (_, entry) = operation.placed().find(|(id, _)| *id == at.extent).expect("it was placed");
    assert_eq!(entry.first_page, used_end);
    fixture.commit(operation);
    assert_eq!(fixture.key_of(at), 7u64.to_be_bytes());
}
