//! One tree in one file, checkpoint after checkpoint, as `db` would drive it, beside its model.

use std::collections::BTreeMap;
use std::collections::btree_map::Iter;
use std::iter::Peekable;
use std::ops::Bound;
use std::path::Path;

use crate::error::{Error, Result};
use crate::format::{Identity, Leaf, LeafBuilder, LeafForm, PageSize, ValueAlign};
use crate::ids::{Birth, PageRef};
use crate::io::{Access, Disk, MemoryDisk};
use crate::pager::{
    ExtentMap, Operation, PageFile, PageWriter, Pages, Pins, ReadOptions, Space, Value, read_extent_table,
};
use crate::sync::{Arc, Mutex};
use crate::tree::check::CheckVisitor;
use crate::tree::{
    Action, Base, Census, Change, Changes, Cursor, MergeOutcome, Range, Root, Seek, TreeSummary, check, count, get,
    get_many, merge,
};

/// Values by key; `None` deletes.
pub type Delta = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

pub struct Store {
    pub file: Arc<PageFile>,
    pub space: Arc<Mutex<Space>>,
    pub map: Arc<ExtentMap>,
    pub root: Option<Root>,
    pub model: BTreeMap<Vec<u8>, Vec<u8>>,
    pub form: LeafForm,
    /// Births that snapshots of the test still show.
    pub pins: Vec<Birth>,
    pub pages_written: u64,
}

pub struct DeltaChanges<'a> {
    entries: Peekable<Iter<'a, Vec<u8>, Option<Vec<u8>>>>,
}

impl<'a> DeltaChanges<'a> {
    pub fn new(delta: &'a Delta) -> Self {
        Self { entries: delta.iter().peekable() }
    }
}

impl Changes for DeltaChanges<'_> {
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        Ok(self.entries.peek().map(|(key, value)| Change {
            key,
            hash: None,
            action: value.as_ref().map_or(Action::Delete, |value| Action::Put(value)),
        }))
    }

    fn advance(&mut self) {
        self.entries.next();
    }
}

impl Store {
    pub fn in_memory(page_size: PageSize) -> Self {
        Self::on(&MemoryDisk::new(), Path::new("/test.ful"), page_size)
    }

    pub fn on(disk: &dyn Disk, path: &Path, page_size: PageSize) -> Self {
        let file = disk.open(path, Access::CreateNew).expect("the disk is empty");
        file.write_at(0, &vec![0; page_size.bytes()]).expect("there is space");
        let options = ReadOptions { map: true, huge_pages: true, cache_bytes: 1 << 20 };
        let file = PageFile::new(path, file, page_size, Identity::new(*b"0123456789abcdef"), options);
        let space = Space::open(Arc::clone(&file), Vec::new(), 1, Birth(0), None).expect("an empty file is sound");
        Self {
            file,
            space: Arc::new(Mutex::new(space)),
            map: Arc::new(ExtentMap::empty(1)),
            root: None,
            model: BTreeMap::new(),
            form: LeafForm::Tagged(ValueAlign::One),
            pins: Vec::new(),
            pages_written: 0,
        }
    }

    pub fn pages(&self) -> Pages {
        self.file.pages(Arc::clone(&self.map)).expect("the file is whole")
    }

    /// Merges a delta into the tree and the model, as one checkpoint.
    pub fn apply(&mut self, delta: &Delta) -> MergeOutcome {
        let outcome = self.try_apply(delta).expect("no call fails here");
        for (key, value) in delta {
            match value {
                Some(value) => self.model.insert(key.clone(), value.clone()),
                None => self.model.remove(key),
            };
        }
        outcome
    }

    /// Merges a delta into the tree alone; on an error all is as before.
    pub fn try_apply(&mut self, delta: &Delta) -> Result<MergeOutcome> {
        let mut changes = DeltaChanges::new(delta);
        self.merge(&mut changes)
    }

    pub fn merge(&mut self, changes: &mut impl Changes) -> Result<MergeOutcome> {
        let pages = self.file.pages(Arc::clone(&self.map))?;
        let space = Arc::clone(&self.space);
        let mut writer = PageWriter::new(&space);
        let outcome = merge(&pages, self.root.as_ref(), changes, &mut writer, self.form, &mut || Ok(()))?;
        self.pages_written = writer.pages_added();
        let operation = writer.finish()?;
        self.publish(operation)?;
        self.root = outcome.root;
        Ok(outcome)
    }

    /// What `db` does with a finished operation, except for the meta: prepares, reads the table back, commits,
    /// reclaims.
    pub fn publish(&mut self, mut operation: Operation) -> Result<()> {
        let mut space = self.space.lock();
        let prepared = match space.prepare(&mut operation) {
            Ok(prepared) => prepared,
            Err(error) => {
                space.abort(operation);
                return Err(error);
            }
        };
        let entries = read_extent_table(&self.file, &prepared.table, prepared.page_count, prepared.birth)?;
        assert_eq!(entries, prepared.entries);
        space.commit(operation, &prepared);
        self.map = Arc::new(ExtentMap::new(entries, prepared.page_count, Some(&self.map)));
        space.reclaim(Pins { births: &self.pins, oldest_elsewhere: None });
        let stats = space.stats();
        let page_bytes = self.file.page_size().bytes() as u64;
        assert_eq!(stats.total_pages(), self.file.length_bytes()? / page_bytes, "{stats:?}");
        assert_eq!(stats.placed_pages, 0, "{stats:?}");
        Ok(())
    }

    /// The newest checkpoint's birth, for a pin.
    pub fn birth(&self) -> Birth {
        self.space.lock().last_birth()
    }

    /// Opens the space again from the file, and compares.
    pub fn reopen(&mut self) {
        let (old, last) = {
            let space = self.space.lock();
            (space.stats(), space.last_birth())
        };
        let entries: Vec<_> = {
            let mut entries = Vec::new();
            for (id, entry) in self.map.iter() {
                entries.resize(id.0 as usize, crate::format::ExtentEntry::default());
                entries.push(*entry);
            }
            entries
        };
        let space = Space::open(Arc::clone(&self.file), entries, self.map.page_count(), last, None);
        let mut space = space.expect("the map was committed");
        let new = space.stats();
        assert_eq!((new.node_pages, new.value_pages, new.extents), (old.node_pages, old.value_pages, old.extents));
        assert_eq!(new.free_pages, 0);
        space.reclaim(Pins { births: &self.pins, oldest_elsewhere: None });
        *self.space.lock() = space;
    }

    /// Checks the tree whole, and that its pages are all there are.
    pub fn check(&self) -> TreeSummary {
        let (summary, faults) = self.try_check();
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(summary.entries, self.model.len() as u64);
        assert_eq!(self.root.map_or(0, |root| root.entries), self.model.len() as u64);
        summary
    }

    pub fn try_check(&self) -> (TreeSummary, Vec<Error>) {
        let pages = self.pages();
        let mut census = Census::new(&pages);
        let summary = self.root.map_or(TreeSummary::default(), |root| check(&pages, &root, &mut census));
        (summary, census.finish(&pages))
    }

    /// How full each leaf is, in percent, in order.
    pub fn leaf_fill(&self) -> Vec<usize> {
        struct Fill<'a>(&'a Store, Vec<usize>);
        impl CheckVisitor for Fill<'_> {
            fn reached(&mut self, _at: PageRef, _pages: u32) -> bool {
                true
            }
            fn fault(&mut self, error: Error) {
                panic!("{error}");
            }
            fn leaf(&mut self, leaf: Leaf<'_>) {
                let page_size = self.0.file.page_size();
                let mut builder = LeafBuilder::new(page_size, self.0.form.align());
                leaf.cells(0..leaf.count()).for_each(|cell| {
                    let hash = match cell.key {
                        crate::format::CellKey::Inline(key) => self.0.file.identity().hash(key),
                        crate::format::CellKey::Overflow { hash, .. } => hash,
                    };
                    builder.push(cell.op, cell.key, cell.value, hash);
                });
                self.1.push(builder.bytes_used() * 100 / page_size.body_bytes());
            }
        }
        let mut fill = Fill(self, Vec::new());
        if let Some(root) = &self.root {
            check(&self.pages(), root, &mut fill);
        }
        fill.1
    }

    /// Reads everything in every way and compares it with the model.
    pub fn compare(&self) {
        let pages = self.pages();
        let Some(root) = &self.root else {
            assert!(self.model.is_empty());
            return;
        };
        for base in [Base::new(*root), Base::with_shortcut(*root, &pages)] {
            for (key, value) in &self.model {
                let found = get(&pages, &base, key).expect("the file is sound");
                assert_eq!(found.as_deref(), Some(&**value), "get {key:?}");
            }
            self.compare_misses(&pages, &base);
            self.compare_many(&pages, &base);
            base.compare_ways(&pages, self.model.keys().map(|key| &**key));
        }
        let mut forward = Range::new(&pages, Some(root), Bound::Unbounded, Bound::Unbounded).expect("sound");
        for (key, value) in &self.model {
            let entry = forward.next().expect("sound").expect("the model has more");
            assert!(entry.key == key && entry.value == value, "{:?} is not {key:?}", entry.key);
        }
        assert!(forward.next().expect("sound").is_none());
        let mut backward = Range::new(&pages, Some(root), Bound::Unbounded, Bound::Unbounded).expect("sound");
        for (key, value) in self.model.iter().rev() {
            let entry = backward.next_back().expect("sound").expect("the model has more");
            assert!(entry.key == key && entry.value == value, "{:?} is not {key:?}", entry.key);
        }
        assert!(backward.next_back().expect("sound").is_none());
    }

    fn compare_misses(&self, pages: &Pages, base: &Base) {
        for key in self.model.keys() {
            let longer = [key, b"\0".as_slice()].concat();
            if !self.model.contains_key(&longer) {
                assert!(get(pages, base, &longer).expect("sound").is_none());
            }
        }
    }

    fn compare_many(&self, pages: &Pages, base: &Base) {
        let longer: Vec<_> = self.model.keys().map(|key| [key, b"\0".as_slice()].concat()).collect();
        let keys: Vec<&[u8]> = self.model.keys().zip(&longer).flat_map(|(key, longer)| [&**key, &**longer]).collect();
        let hashes: Vec<u64> = keys.iter().map(|key| self.file.identity().hash(key)).collect();
        let mut values: Vec<Option<Value<'_>>> = vec![None; keys.len()];
        get_many(pages, base, &keys, &hashes, &mut values).expect("sound");
        for (key, value) in keys.iter().zip(values) {
            assert_eq!(value.as_deref(), self.model.get(*key).map(|value| &**value), "get_many {key:?}");
        }
    }

    /// Compares a range in a random mixture of steps from both ends, its count, and a cursor's walk around its start.
    pub fn compare_range(&self, low: Bound<&[u8]>, high: Bound<&[u8]>, random: &mut Random) {
        let pages = self.pages();
        let crossed = match (low, high) {
            (Bound::Included(low), Bound::Included(high)) => low > high,
            (Bound::Excluded(low) | Bound::Included(low), Bound::Excluded(high) | Bound::Included(high)) => low >= high,
            _ => false,
        };
        let mut model: std::collections::VecDeque<_> = match crossed {
            true => Default::default(),
            false => self.model.range::<[u8], _>((low, high)).collect(),
        };
        let counted = self.root.map_or(0, |root| count(&pages, &root, low, high).expect("sound"));
        assert_eq!(counted, model.len() as u64, "count of {low:?} to {high:?}");
        let mut range = Range::new(&pages, self.root.as_ref(), low, high).expect("sound");
        let mut forward = true;
        loop {
            if random.below(3) == 0 {
                forward = !forward;
            }
            if random.below(40) == 0 {
                let cells = if forward { range.next_inline(usize::MAX) } else { range.next_inline_back() };
                let mut cells = cells.expect("sound").into_iter().flatten();
                while let Some(found) = if forward { cells.next() } else { cells.next_back() } {
                    let expected = if forward { model.pop_front() } else { model.pop_back() };
                    let (key, value) = expected.expect("the range ends where the model does");
                    assert_eq!(found, (&**key, &**value));
                }
            }
            let (found, expected) = match forward {
                true => (range.next().expect("sound"), model.pop_front()),
                false => (range.next_back().expect("sound"), model.pop_back()),
            };
            let found = found.map(|entry| (entry.key.to_vec(), entry.value.to_vec()));
            assert_eq!(found.as_ref().map(|(key, value)| (key, value)), expected);
            if expected.is_none() {
                break;
            }
        }
        self.compare_cursor(&pages, low, random);
    }

    fn compare_cursor(&self, pages: &Pages, low: Bound<&[u8]>, random: &mut Random) {
        let Some(root) = &self.root else { return };
        let seek = match low {
            Bound::Included(key) => Seek::AtLeast(key),
            Bound::Excluded(key) => Seek::Above(key),
            Bound::Unbounded => Seek::First,
        };
        let mut cursor = Cursor::seek(pages, root, seek).expect("sound");
        cursor.settle(pages).expect("sound");
        let keys: Vec<_> = self.model.keys().collect();
        // One before the first is -1, one behind the last is the length.
        let mut place = match low {
            Bound::Included(key) => keys.partition_point(|other| &other[..] < key),
            Bound::Excluded(key) => keys.partition_point(|other| &other[..] <= key),
            Bound::Unbounded => 0,
        } as i64;
        for _ in 0..20 {
            let found = cursor.entry(pages).expect("sound").map(|entry| entry.key.to_vec());
            assert_eq!(found.as_ref(), usize::try_from(place).ok().and_then(|place| keys.get(place).copied()));
            if random.below(2) == 0 {
                cursor.next(pages).expect("sound");
                place = (place + 1).min(keys.len() as i64);
            } else {
                cursor.previous(pages).expect("sound");
                place = (place - 1).max(-1);
            }
        }
    }
}

/// A small generator of random numbers (SplitMix64), so that each test prints the one number that repeats it.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
