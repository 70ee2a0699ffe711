//! What recovery read back from the log, sorted: the newest change of each key, table by table, for the checkpoint of
//! opening to merge.
//!
//! A log has its changes in the order of commits, a tree wants them in the order of keys. Sorting what was read takes
//! a fraction of the time of inserting it into deltas. A log that stays in memory is sorted *in place*: of each
//! change its place in the log, and eight bytes of its key. A larger one is sorted *apart*: its changes are copied,
//! in runs in files beside the database.
//!
//! Invariants: (1) of several changes of a key the last counts, so changes are gathered in the order in which they
//! were made.
//! (2) Changes of a table that was dropped are skipped when they are merged: its number is not assigned again.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use crate::db::recovery::volume::Volume;
use crate::delta;
use crate::error::{Error, Place, Result};
use crate::format::{LargeValue, Operation as LogOperation, OverflowRef};
use crate::ids::{ExtentId, TableId};
use crate::log::{Images, OperationPlace};
use crate::pager::{Operation, Space};
use crate::sort::{Order, Records, Sorted, Sorter, Walk};
use crate::tree::{Action, Change, Changes};

/// Takes changes in the order in which they were made.
#[derive(Debug)]
pub struct Gathered {
    changes: Unsorted,
    large: TakenExtents,
    database: PathBuf,
}

#[derive(Debug)]
enum Unsorted {
    /// Each with the bytes of its keys and values.
    InPlace(BTreeMap<TableId, (Order, u64)>),
    /// The sorter's keys are the number of the table, and the key; its values the kind of the change, and the value.
    Apart(Box<Sorter>, BTreeMap<TableId, Volume>),
}

/// The extents of the large values that the log refers to: the number in the log, and the number that the values have
/// now ([`Space::take_logged`]).
type TakenExtents = BTreeMap<ExtentId, ExtentId>;

/// What was gathered, sorted.
#[derive(Debug)]
pub struct Replayed {
    changes: InOrder,
    volumes: BTreeMap<TableId, Volume>,
    large: TakenExtents,
    /// The extents of the large values that were returned: they are the newest values of their keys.
    newest: HashSet<ExtentId>,
    database: PathBuf,
}

#[derive(Debug)]
enum InOrder {
    InPlace {
        images: Images,
        /// What is left, the next first.
        tables: VecDeque<(TableId, Order, Walk)>,
    },
    Apart(Box<Sorted>),
}

/// The changes of one table.
#[derive(Debug)]
pub struct TableChanges<'r> {
    source: Source<'r>,
    large: &'r TakenExtents,
    newest: &'r mut HashSet<ExtentId>,
    database: &'r Path,
}

#[derive(Debug)]
enum Source<'r> {
    InPlace(&'r Images, &'r Order, &'r mut Walk),
    Apart(&'r mut Sorted, TableBytes),
    Nothing,
}

impl Gathered {
    /// Nothing yet, of a log of the database at the path `database` that stays in memory.
    pub fn in_place(database: &Path) -> Self {
        Self {
            changes: Unsorted::InPlace(BTreeMap::new()),
            large: TakenExtents::new(),
            database: database.to_path_buf(),
        }
    }

    /// Nothing yet, of a log that does not.
    pub fn apart(database: &Path, sorter: Sorter) -> Self {
        Self {
            changes: Unsorted::Apart(Box::new(sorter), BTreeMap::new()),
            large: TakenExtents::new(),
            database: database.to_path_buf(),
        }
    }

    /// Takes the next change, which is at `place` in the log.
    ///
    /// # Errors
    /// As [`Sorter::push`].
    #[inline]
    pub fn push(&mut self, table: TableId, key: &[u8], change: delta::Change<'_>, place: OperationPlace) -> Result<()> {
        match &mut self.changes {
            Unsorted::InPlace(orders) => {
                let (order, bytes) = orders.entry(table).or_default();
                order.push(key, place.0);
                *bytes += bytes_of(key, &change);
                Ok(())
            }
            Unsorted::Apart(sorter, volumes) => {
                volumes.entry(table).or_default().add(key, bytes_of(key, &change));
                let (bytes, length) = table_bytes(table);
                let key = [&bytes[..length], key];
                match change {
                    delta::Change::Put(value) => sorter.push_parts(key, [&[PUT], value]),
                    delta::Change::PutLarge(at) => sorter.push_parts(key, [&[PUT_LARGE], &at.to_bytes()]),
                    delta::Change::Delete => sorter.push_parts(key, [&[DELETE], &[]]),
                }
            }
        }
    }

    /// Notes a large value that a change refers to, and the extent that it has now.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if another large value of the log has the same extent there.
    pub fn note_large(&mut self, large: &LargeValue, taken: ExtentId) -> Result<()> {
        if self.large.insert(large.value.extent, taken).is_some() {
            let what = "a large value of the log has the extent of another one".to_owned();
            return Err(Error::corrupt(&self.database, Place::Page(large.first_page), what));
        }
        Ok(())
    }

    /// Sorts. A log that stays in memory is in `images`.
    ///
    /// # Errors
    /// As [`Sorter::finish`].
    pub fn sort(self, images: Images) -> Result<Replayed> {
        let Self { changes, large, database } = self;
        let (changes, volumes) = match changes {
            Unsorted::InPlace(orders) => {
                let changes = orders.values().map(|(order, _)| order.count()).sum::<usize>();
                let change_bytes = images.len_bytes() / changes.max(1);
                let (mut volumes, mut tables) = (BTreeMap::new(), VecDeque::new());
                for (table, (mut order, bytes)) in orders {
                    order.sort(&Logged(&images));
                    volumes.insert(table, volume_of(&order, &Logged(&images), bytes));
                    tables.push_back((table, order, Walk::new(change_bytes)));
                }
                (InOrder::InPlace { images, tables }, volumes)
            }
            Unsorted::Apart(sorter, volumes) => (InOrder::Apart(Box::new(sorter.finish()?)), volumes),
        };
        Ok(Replayed { changes, volumes, large, newest: HashSet::new(), database })
    }
}

impl Replayed {
    /// The table of the next change; nothing after the last.
    ///
    /// # Errors
    /// If what was sorted cannot be read back.
    pub fn next_table(&mut self) -> Result<Option<TableId>> {
        match &mut self.changes {
            InOrder::InPlace { images, tables } => {
                while let Some((table, order, walk)) = tables.front_mut() {
                    if walk.place(order, &Logged(images)).is_some() {
                        return Ok(Some(*table));
                    }
                    tables.pop_front();
                }
                Ok(None)
            }
            InOrder::Apart(sorted) => {
                let Some((key, _)) = sorted.peek()? else { return Ok(None) };
                table_of(key).map(Some).ok_or_else(|| damaged(&self.database))
            }
        }
    }

    /// The number of tables that have changes.
    pub fn tables(&self) -> usize {
        self.volumes.len()
    }

    /// How much of all is about a table.
    pub fn volume(&self, table: TableId) -> Volume {
        self.volumes.get(&table).cloned().unwrap_or_default()
    }

    /// The changes of the next table, if it is this one. They must be used up before those of the table after it.
    pub fn of_table(&mut self, table: TableId) -> TableChanges<'_> {
        let source = match &mut self.changes {
            InOrder::InPlace { images, tables } => match tables.front_mut() {
                Some((next, order, walk)) if *next == table => Source::InPlace(images, order, walk),
                _ => Source::Nothing,
            },
            InOrder::Apart(sorted) => Source::Apart(sorted, table_bytes(table)),
        };
        TableChanges { source, large: &self.large, newest: &mut self.newest, database: &self.database }
    }

    /// Passes over the changes of a table.
    ///
    /// # Errors
    /// As [`Replayed::next_table`].
    pub fn skip_table(&mut self, table: TableId) -> Result<()> {
        while self.next_table()? == Some(table) {
            self.of_table(table).advance();
        }
        Ok(())
    }

    /// Decides for each large value whether a tree has it now. Requires: all changes were merged or passed over.
    pub fn settle_large(&self, space: &mut Space, operation: &mut Operation) {
        for extent in self.large.values() {
            if self.newest.contains(extent) {
                space.adopt_logged(operation, *extent);
            } else {
                space.retire_logged(operation, *extent);
            }
        }
    }
}

impl Changes for TableChanges<'_> {
    #[inline]
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        let (key, action) = match &mut self.source {
            Source::InPlace(images, order, walk) => {
                let Some(place) = walk.place(order, &Logged(images)) else { return Ok(None) };
                match images.operation(OperationPlace(place)) {
                    Ok(LogOperation::Put { key, value, .. }) => (key, Action::Put(value)),
                    Ok(LogOperation::PutLarge { key, large, .. }) => (key, Action::PutLarge(large.value)),
                    Ok(LogOperation::Delete { key, .. }) => (key, Action::Delete),
                    Ok(LogOperation::Loaded { .. } | LogOperation::Renamed { .. }) | Err(_) => {
                        return Err(damaged(self.database));
                    }
                }
            }
            Source::Apart(sorted, (bytes, length)) => {
                let Some((key, value)) = sorted.peek()? else { return Ok(None) };
                let Some(key) = key.strip_prefix(&bytes[..*length]) else { return Ok(None) };
                let action = match value.split_first() {
                    Some((&PUT, value)) => Action::Put(value),
                    Some((&DELETE, [])) => Action::Delete,
                    Some((&PUT_LARGE, at)) => {
                        let at = at.first_chunk().ok_or_else(|| damaged(self.database))?;
                        Action::PutLarge(OverflowRef::from_bytes(at))
                    }
                    _ => return Err(damaged(self.database)),
                };
                (key, action)
            }
            Source::Nothing => return Ok(None),
        };
        let action = match action {
            Action::PutLarge(at) => {
                let extent = *self.large.get(&at.extent).ok_or_else(|| damaged(self.database))?;
                self.newest.insert(extent);
                Action::PutLarge(OverflowRef { extent, ..at })
            }
            action => action,
        };
        Ok(Some(Change { key, hash: None, action }))
    }

    #[inline]
    fn advance(&mut self) {
        match &mut self.source {
            Source::InPlace(_, _, walk) => walk.advance(),
            Source::Apart(sorted, _) => sorted.advance(),
            Source::Nothing => {}
        }
    }
}

/// Bytes of a key and a value, without a large value.
#[inline]
fn bytes_of(key: &[u8], change: &delta::Change<'_>) -> u64 {
    let value_bytes = match change {
        delta::Change::Put(value) => value.len(),
        delta::Change::PutLarge(_) | delta::Change::Delete => 0,
    };
    (key.len() + value_bytes) as u64
}

/// What records that are sorted change, whose keys and values take so many bytes.
fn volume_of(order: &Order, records: &impl Records, bytes: u64) -> Volume {
    let key = |position: usize| records.key(order.place(position)).to_vec();
    match order.count() {
        0 => Volume::default(),
        count => Volume { changes: count as u64, bytes, first: key(0), last: key(count - 1) },
    }
}

/// The changes at their places in the log.
struct Logged<'i>(&'i Images);

impl Records for Logged<'_> {
    #[inline]
    fn key(&self, place: u64) -> &[u8] {
        match self.0.operation(OperationPlace(place)) {
            Ok(
                LogOperation::Put { key, .. } | LogOperation::PutLarge { key, .. } | LogOperation::Delete { key, .. },
            ) => key,
            // Reading the operation itself reports the damage.
            Ok(LogOperation::Loaded { .. } | LogOperation::Renamed { .. }) | Err(_) => &[],
        }
    }

    #[inline]
    fn prefetch(&self, place: u64, lines: usize) {
        self.0.prefetch(OperationPlace(place), lines);
    }
}

/// A table's number in bytes that sort as numbers do, and how many of the bytes it takes. None begins with another,
/// and those of the first tables are short: eight bytes of a sorter's key decide most comparisons.
type TableBytes = ([u8; 3], usize);

#[inline]
fn table_bytes(table: TableId) -> TableBytes {
    match table.0 {
        short if short < LONG_NUMBER => ([short as u8, 0, 0], 1),
        long => {
            assert!(table < TableId::END, "a table with changes has a number that was given out");
            let [_, high, middle, low] = long.to_be_bytes();
            ([LONG_NUMBER as u8 | high, middle, low], 3)
        }
    }
}

fn table_of(key: &[u8]) -> Option<TableId> {
    match *key {
        [short, ..] if u32::from(short) < LONG_NUMBER => Some(TableId(u32::from(short))),
        [first, middle, low, ..] => Some(TableId(u32::from_be_bytes([0, first - LONG_NUMBER as u8, middle, low]))),
        _ => None,
    }
}

/// A log that was checked is read from the medium again if memory is short: what has become of it must not stop the
/// process.
#[cold]
fn damaged(database: &Path) -> Error {
    let what = io::Error::new(io::ErrorKind::InvalidData, "a change is damaged that was sound before");
    Error::io("read back the log of", database, what)
}

/// Kinds of changes. They are not stored longer than a sort takes.
const PUT: u8 = 1;
const PUT_LARGE: u8 = 2;
const DELETE: u8 = 3;

/// Tables with numbers from here on take three bytes: this one holds four bits of the number.
const LONG_NUMBER: u32 = 0xF0;

const _: () = assert!(TableId::END.0 == 1 << 20);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::RecordEncoder;
    use crate::ids::{PageNumber, SegmentNumber, Sequence};
    use crate::io::{Disk, MemoryDisk};
    use crate::log::{Keep, Log, ReplayFrom, read_back_keeping};
    use crate::sort::SortOptions;
    use crate::sync::Arc;

    /// A change as a test states it.
    #[derive(Clone, Copy, Debug)]
    enum Made<'m> {
        Put(u32, &'m [u8], &'m [u8]),
        Large(u32, &'m [u8], u32),
        Delete(u32, &'m [u8]),
    }

    /// The changes, each a commit of a log with several segments, sorted in so many bytes apart, or where they stand.
    fn replay(made: &[Made<'_>], memory_bytes: Option<usize>) -> Replayed {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let path = Path::new("/x.ful");
        let from = ReplayFrom { sequence: Sequence(0), first_segment: SegmentNumber(1), first_segment_exists: false };
        let keep = Keep { bytes_max: if memory_bytes.is_none() { 1 << 20 } else { 0 }, map: true };
        let mut log = read_back_keeping(&disk, path, [7; 16], from, keep).unwrap();
        assert!(log.next_commit().unwrap().is_none());
        let mut writer = Log::create(&disk, path, [7; 16], log.finish()).unwrap();
        for (index, change) in made.iter().enumerate() {
            let mut encoder = RecordEncoder::new();
            encoder.begin();
            match change {
                Made::Put(table, key, value) => encoder.put(TableId(*table), key, value),
                Made::Large(table, key, extent) => encoder.put_large(TableId(*table), key, &large(*extent)),
                Made::Delete(table, key) => encoder.delete(TableId(*table), key),
            }
            encoder.finish();
            writer.append(&mut encoder, Sequence(index as u64 + 1)).unwrap();
            if index % 10 == 9 {
                writer.rotate().unwrap();
            }
        }
        writer.write().unwrap();
        let mut log = read_back_keeping(&disk, path, [7; 16], from, keep).unwrap();
        assert_eq!(log.keeps(), memory_bytes.is_none());
        let mut gathered = match memory_bytes {
            None => Gathered::in_place(path),
            Some(memory_bytes) => {
                Gathered::apart(path, Sorter::new(Arc::clone(&disk), path, SortOptions { memory_bytes }))
            }
        };
        while let Some(commit) = log.next_commit().unwrap() {
            let mut operations = commit.operations();
            while let Some(operation) = operations.next() {
                let (table, key, change) = match operation.unwrap() {
                    LogOperation::Put { table, key, value } => (table, key, delta::Change::Put(value)),
                    LogOperation::Delete { table, key } => (table, key, delta::Change::Delete),
                    LogOperation::Loaded { .. } | LogOperation::Renamed { .. } => {
                        panic!("nothing was loaded or renamed")
                    }
                    LogOperation::PutLarge { table, key, large } => {
                        gathered.note_large(&large, large.value.extent).unwrap();
                        (table, key, delta::Change::PutLarge(large.value))
                    }
                };
                gathered.push(table, key, change, operations.place()).unwrap();
            }
        }
        let images = log.take_images();
        gathered.sort(images).unwrap()
    }

    fn large(extent: u32) -> LargeValue {
        let value = OverflowRef { extent: ExtentId(extent), slot: 0, length: 9, checksum: 7 };
        LargeValue { value, first_page: PageNumber(3), page_count: 1 }
    }

    fn all(replayed: &mut Replayed) -> Vec<(u32, Vec<u8>, String)> {
        let mut found = Vec::new();
        while let Some(table) = replayed.next_table().unwrap() {
            assert!(
                replayed.of_table(TableId(table.0 + 1)).peek().unwrap().is_none(),
                "another table's turn comes later"
            );
            let mut changes = replayed.of_table(table);
            while let Some(change) = changes.peek().unwrap() {
                found.push((table.0, change.key.to_vec(), format!("{:?}", change.action)));
                changes.advance();
            }
        }
        found
    }

    /// In place, apart in memory, and apart in runs.
    const WAYS: [Option<usize>; 3] = [None, Some(1 << 20), Some(200)];

    #[test]
    fn the_last_change_of_each_key_comes_out_table_by_table() {
        let mut made = Vec::new();
        for round in [&[0; 20], &[1; 20], &[2; 20]] {
            for table in [300, 1, 2] {
                made.extend([Made::Put(table, b"b", round), Made::Put(table, b"a", round), Made::Put(table, b"", b"")]);
            }
        }
        made.extend([Made::Delete(2, b"a"), Made::Large(1, b"b", 5)]);
        let (newest, empty) = (format!("{:?}", Action::Put(&[2; 20])), "Put([])".to_owned());
        let large = format!("{:?}", Action::PutLarge(large(5).value));
        let of = |table: u32, [empty, a, b]: [&String; 3]| {
            [(&b""[..], empty), (b"a", a), (b"b", b)].map(|(key, action)| (table, key.to_vec(), action.clone()))
        };
        let expected = [
            of(1, [&empty, &newest, &large]),
            of(2, [&empty, &"Delete".to_owned(), &newest]),
            of(300, [&empty, &newest, &newest]),
        ];
        for way in WAYS {
            assert_eq!(all(&mut replay(&made, way)), expected.concat(), "{way:?}");
        }
    }

    #[test]
    fn what_is_known_of_a_table_is_the_same_however_its_changes_are_sorted() {
        let made = [
            Made::Put(1, b"m", &[1; 20]),
            Made::Delete(1, b"z"),
            Made::Put(2, b"k", b"v"),
            Made::Put(1, b"m", b""),
            Made::Large(1, b"a", 5),
        ];
        let expected = Volume { changes: 4, bytes: 24, first: b"a".to_vec(), last: b"z".to_vec() };
        for way in WAYS {
            let replayed = replay(&made, way);
            assert_eq!((replayed.tables(), replayed.volume(TableId(1))), (2, expected.clone()), "{way:?}");
            assert_eq!(replayed.volume(TableId(3)), Volume::default());
        }
    }

    #[test]
    fn only_large_values_that_were_given_out_are_the_newest() {
        let made = [
            Made::Large(1, b"k", 1),
            Made::Large(1, b"k", 2),
            Made::Large(2, b"k", 3),
            Made::Large(3, b"k", 4),
            Made::Put(3, b"k", b"small"),
        ];
        for way in WAYS {
            let mut replayed = replay(&made, way);
            replayed.skip_table(TableId(1)).unwrap();
            assert_eq!(all(&mut replayed).len(), 2);
            assert_eq!(replayed.newest, HashSet::from([ExtentId(3)]), "table 1 was passed over");
            assert_eq!(replayed.large.len(), 4);
        }
    }

    #[test]
    fn numbers_of_tables_sort_as_they_are_and_none_begins_with_another() {
        let numbers = [0, 1, 238, 239, 240, 241, 255, 256, 65_535, 65_536, (1 << 20) - 1];
        let bytes = numbers.map(|number| {
            let (bytes, length) = table_bytes(TableId(number));
            assert_eq!(table_of(&bytes[..length]), Some(TableId(number)));
            bytes[..length].to_vec()
        });
        assert!(bytes.is_sorted());
        for (index, one) in bytes.iter().enumerate() {
            assert!(!bytes[index + 1..].iter().any(|other| other.starts_with(one)), "{one:?}");
        }
    }

    #[test]
    fn what_a_medium_made_of_a_run_is_an_error() {
        let damages: [(&[u8], &[u8]); 6] = [
            (b"", &[PUT]),
            (&[LONG_NUMBER as u8, 1], &[PUT]),
            (&[1], &[]),
            (&[1], &[9]),
            (&[1], &[PUT_LARGE, 0]),
            (&[1], &[DELETE, 0]),
        ];
        for (key, value) in damages {
            let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
            let mut sorter = Sorter::new(disk, Path::new("x.ful"), SortOptions { memory_bytes: 1 << 20 });
            sorter.push(key, value).unwrap();
            let mut replayed = Gathered::apart(Path::new("x.ful"), sorter).sort(Images::default()).unwrap();
            let outcome = replayed.next_table().and_then(|_| replayed.of_table(TableId(1)).peek().map(drop));
            assert!(matches!(outcome, Err(Error::Io { .. })), "{key:?} {value:?}");
        }
    }

    #[test]
    fn what_has_become_of_a_log_that_stays_in_memory_is_an_error() {
        let mut gathered = Gathered::in_place(Path::new("x.ful"));
        gathered.push(TableId(1), b"k", delta::Change::Delete, OperationPlace(u64::MAX)).unwrap();
        let mut replayed = gathered.sort(Images::default()).unwrap();
        assert_eq!(replayed.next_table().unwrap(), Some(TableId(1)));
        assert!(matches!(replayed.of_table(TableId(1)).peek(), Err(Error::Io { .. })));
    }
}
