//! What a serializable transaction has read: keys, including absent ones, and ranges, as far as they were read.
//!
//! At the commit none of it may have changed. Memory is bounded: beyond some ten thousand reads, neighbours are
//! joined into ranges. A change between them may then count as a conflict, but no conflict is missed.
//!
//! A range that is still being read, or whose iterator was leaked, counts as read completely.

use std::ops::Bound;

use crate::ids::TableId;
use crate::pager::Value;
use crate::sync::{LockRank, Mutex};
use crate::txn::reads::bounds::OwnedBound;

/// See the module. Behind a lock ([`LockRank::ReadSet`]), because threads may share a transaction to read from it.
#[derive(Debug)]
pub struct ReadSet(Mutex<Reads>);

/// The reads of one transaction.
#[derive(Debug, Default)]
pub struct Reads {
    points: Vec<PointRead>,
    /// The keys of all points, one behind the other.
    keys: Vec<u8>,
    ranges: Vec<RangeRead>,
    /// Bytes of their bounds.
    range_bytes: usize,
    /// Ranges whose iterators are still there, by number.
    open: Vec<(u64, RangeRead)>,
    ranges_opened: u64,
    /// Whether names of tables were looked up.
    names: bool,
}

#[derive(Clone, Copy, Debug)]
struct PointRead {
    table: TableId,
    hash: u64,
    start: usize,
    length: u32,
}

/// A range of a table that was read.
#[derive(Clone, Debug)]
pub struct RangeRead {
    /// The table.
    pub table: TableId,
    /// Its lower bound.
    pub low: OwnedBound,
    /// Its upper bound.
    pub high: OwnedBound,
}

/// A key that was read.
#[derive(Clone, Copy, Debug)]
pub struct KeyRead<'r> {
    /// The table.
    pub table: TableId,
    /// The key.
    pub key: &'r [u8],
    /// Its hash.
    pub hash: u64,
}

impl Default for ReadSet {
    fn default() -> Self {
        Self(Mutex::ranked(LockRank::ReadSet, Reads::default()))
    }
}

impl ReadSet {
    /// Notes that the value of `key`, or its absence, was read.
    pub fn note_key(&self, table: TableId, key: &[u8], hash: u64) {
        self.0.lock().note_key(table, key, hash);
    }

    /// Notes that all of a range was read.
    pub fn note_range(&self, table: TableId, low: Bound<&[u8]>, high: Bound<&[u8]>) {
        self.0.lock().note_range(RangeRead { table, low: low.map(Box::from), high: high.map(Box::from) });
    }

    /// Notes that names of tables were looked up.
    pub fn note_names(&self) {
        self.0.lock().names = true;
    }

    /// Begins to read a range from both ends.
    pub fn open_range(&self, table: TableId, low: Bound<&[u8]>, high: Bound<&[u8]>) -> OpenRange<'_> {
        let number = self.begin_range(table, low, high);
        OpenRange { set: self, number, front: None, back: None, whole: false }
    }

    /// As [`ReadSet::open_range`], for a caller that cannot borrow the set meanwhile. Returns a number for
    /// [`ReadSet::end_range`]; until that call the range counts as read whole.
    pub fn begin_range(&self, table: TableId, low: Bound<&[u8]>, high: Bound<&[u8]>) -> u64 {
        let (low, high) = (low.map(Box::from), high.map(Box::from));
        let mut reads = self.0.lock();
        reads.ranges_opened += 1;
        let number = reads.ranges_opened;
        reads.open.push((number, RangeRead { table, low, high }));
        number
    }

    /// Ends the reading of a range.
    pub fn end_range(&self, number: u64, gone_through: GoneThrough<'_>) {
        let mut reads = self.0.lock();
        let Some(at) = reads.open.iter().rposition(|&(of, _)| of == number) else { return };
        let (_, range) = reads.open.swap_remove(at);
        let GoneThrough::To { front, back } = gone_through else { return reads.note_range(range) };
        if let Some(front) = front {
            reads.note_range(RangeRead { high: Bound::Included(Box::from(front)), ..range.clone() });
        }
        if let Some(back) = back {
            reads.note_range(RangeRead { low: Bound::Included(Box::from(back)), ..range });
        }
    }

    /// All reads. Requires: the transaction reads no more.
    pub fn reads(&mut self) -> &Reads {
        &*self.0.get_mut()
    }
}

/// How much of a range was read.
#[derive(Clone, Copy, Debug)]
pub enum GoneThrough<'k> {
    /// All of it.
    Whole,
    /// Up to these keys, from each end that was read from.
    To {
        /// From the lower bound on.
        front: Option<&'k [u8]>,
        /// From the upper bound down.
        back: Option<&'k [u8]>,
    },
}

/// A range that is being read. When it is dropped, it records how far that was.
#[derive(Debug)]
pub struct OpenRange<'t> {
    set: &'t ReadSet,
    number: u64,
    /// The last keys returned from each end.
    front: Option<Value<'t>>,
    back: Option<Value<'t>>,
    /// Whether the ends have met, or an error hides how far they came.
    whole: bool,
}

impl<'t> OpenRange<'t> {
    /// All keys up to this one were read, from the end that it came from.
    pub fn read_to(&mut self, key: &Value<'t>, back: bool) {
        let end = if back { &mut self.back } else { &mut self.front };
        *end = Some(key.clone());
    }

    /// All of it was read.
    pub fn read_whole(&mut self) {
        self.whole = true;
    }
}

impl Drop for OpenRange<'_> {
    fn drop(&mut self) {
        let gone_through = match self.whole {
            true => GoneThrough::Whole,
            false => GoneThrough::To { front: self.front.as_deref(), back: self.back.as_deref() },
        };
        self.set.end_range(self.number, gone_through);
    }
}

/// The keys that a cursor has passed. Until it is dropped it counts as the whole table.
#[derive(Debug)]
pub struct CursorReads<'t> {
    set: &'t ReadSet,
    path: CursorPath,
}

impl<'t> CursorReads<'t> {
    /// Of a cursor that has not moved yet.
    pub fn new(set: &'t ReadSet, table: TableId) -> Self {
        Self { set, path: CursorPath::new(set, table) }
    }

    /// As [`CursorPath::jump`].
    pub fn jump(&mut self, start: Bound<&[u8]>, upward: bool, reached: Option<&[u8]>) {
        self.path.jump(self.set, start, upward, reached);
    }

    /// As [`CursorPath::step`].
    pub fn step(&mut self, upward: bool, reached: Option<&[u8]>) {
        self.path.step(upward, reached);
    }
}

impl Drop for CursorReads<'_> {
    fn drop(&mut self) {
        self.path.end(self.set);
    }
}

/// As [`CursorReads`], for a cursor that cannot borrow the set while it is not moving. Until [`CursorPath::end`] it
/// counts as the whole table.
#[derive(Debug)]
pub struct CursorPath {
    /// From where to where the cursor went without a jump.
    gone_over: Option<RangeRead>,
    table: TableId,
    /// The number of an open range over the whole table, which counts if the cursor is leaked.
    number: u64,
}

impl CursorPath {
    /// Of a cursor that has not moved yet.
    pub fn new(set: &ReadSet, table: TableId) -> Self {
        let number = set.begin_range(table, Bound::Unbounded, Bound::Unbounded);
        Self { gone_over: None, table, number }
    }

    /// The cursor jumped to `start`, and found `reached` from there on; none: the end.
    pub fn jump(&mut self, set: &ReadSet, start: Bound<&[u8]>, upward: bool, reached: Option<&[u8]>) {
        self.flush(set);
        let start = start.map(Box::from);
        let (low, high) = if upward { (start, end(reached)) } else { (end(reached), start) };
        self.gone_over = Some(RangeRead { table: self.table, low, high });
    }

    /// The cursor went on to `reached`.
    pub fn step(&mut self, upward: bool, reached: Option<&[u8]>) {
        if let Some(range) = &mut self.gone_over {
            *(if upward { &mut range.high } else { &mut range.low }) = end(reached);
        }
    }

    /// The cursor is gone.
    pub fn end(&mut self, set: &ReadSet) {
        self.flush(set);
        set.end_range(self.number, GoneThrough::To { front: None, back: None });
    }

    fn flush(&mut self, set: &ReadSet) {
        if let Some(range) = self.gone_over.take() {
            set.0.lock().note_range(range);
        }
    }
}

fn end(reached: Option<&[u8]>) -> OwnedBound {
    reached.map_or(Bound::Unbounded, |key| Bound::Included(Box::from(key)))
}

impl Reads {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.ranges.is_empty() && self.open.is_empty() && !self.names
    }

    /// Whether names of tables were looked up.
    pub fn names(&self) -> bool {
        self.names
    }

    /// The keys that were read.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = KeyRead<'_>> {
        let key = |point: &PointRead| self.key(point);
        self.points.iter().map(move |point| KeyRead { table: point.table, key: key(point), hash: point.hash })
    }

    /// The ranges that were read.
    pub fn ranges(&self) -> impl Iterator<Item = &RangeRead> {
        self.ranges.iter().chain(self.open.iter().map(|(_, range)| range))
    }

    fn key(&self, point: &PointRead) -> &[u8] {
        &self.keys[point.start..point.start + point.length as usize]
    }

    fn note_key(&mut self, table: TableId, key: &[u8], hash: u64) {
        if let Some(last) = self.points.last()
            && (last.hash, last.table) == (hash, table)
            && self.key(last) == key
        {
            return;
        }
        if self.points.len() >= POINTS_MAX || self.keys.len() + key.len() > KEY_BYTES_HELD_MAX {
            self.join_points();
        }
        let length = u32::try_from(key.len()).expect("no key is longer than a table's may be");
        self.points.push(PointRead { table, hash, start: self.keys.len(), length });
        self.keys.extend_from_slice(key);
    }

    fn note_range(&mut self, range: RangeRead) {
        self.range_bytes += bound_bytes(&range);
        self.ranges.push(range);
        if self.ranges.len() > RANGES_MAX
            || (self.range_bytes > KEY_BYTES_HELD_MAX && self.ranges.len() > JOINED_RANGES)
        {
            self.join_ranges();
        }
    }

    /// Turns the points into ranges, each from the first to the last of some neighbours.
    #[cold]
    fn join_points(&mut self) {
        let mut points = std::mem::take(&mut self.points);
        points.sort_unstable_by(|a, b| (a.table, self.key(a)).cmp(&(b.table, self.key(b))));
        let share = points.len().div_ceil(JOINED_RANGES).max(1);
        for of_table in points.chunk_by(|a, b| a.table == b.table) {
            for neighbours in of_table.chunks(share) {
                let (first, last) = (&neighbours[0], &neighbours[neighbours.len() - 1]);
                let bound = |point| Bound::Included(Box::from(self.key(point)));
                let range = RangeRead { table: first.table, low: bound(first), high: bound(last) };
                self.range_bytes += bound_bytes(&range);
                self.ranges.push(range);
            }
        }
        self.keys.clear();
        if self.ranges.len() > RANGES_MAX {
            self.join_ranges();
        }
    }

    /// Joins neighbouring ranges, including the keys between them.
    #[cold]
    fn join_ranges(&mut self) {
        let mut ranges = std::mem::take(&mut self.ranges);
        ranges.sort_by(|a, b| a.table.cmp(&b.table).then_with(|| cmp_low(&a.low, &b.low)));
        let share = ranges.len().div_ceil(JOINED_RANGES).max(1);
        let mut joined: Vec<(usize, RangeRead)> = Vec::with_capacity(JOINED_RANGES + 1);
        for range in ranges {
            match joined.last_mut() {
                Some((count, last)) if last.table == range.table && *count < share => {
                    *count += 1;
                    if cmp_high(&last.high, &range.high).is_lt() {
                        last.high = range.high;
                    }
                }
                _ => joined.push((1, range)),
            }
        }
        self.ranges = joined.into_iter().map(|(_, range)| range).collect();
        self.range_bytes = self.ranges.iter().map(bound_bytes).sum();
    }
}

fn bound_bytes(range: &RangeRead) -> usize {
    let bytes = |bound: &OwnedBound| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.len(),
        Bound::Unbounded => 0,
    };
    bytes(&range.low) + bytes(&range.high)
}

/// The lower bound that admits more keys comes first.
fn cmp_low(a: &OwnedBound, b: &OwnedBound) -> std::cmp::Ordering {
    let rank = |bound: &OwnedBound| match bound {
        Bound::Unbounded => 0,
        Bound::Included(_) => 1,
        Bound::Excluded(_) => 2,
    };
    match (a, b) {
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) => {
            x.cmp(y).then(rank(a).cmp(&rank(b)))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

/// The upper bound that admits more keys comes last.
fn cmp_high(a: &OwnedBound, b: &OwnedBound) -> std::cmp::Ordering {
    let rank = |bound: &OwnedBound| match bound {
        Bound::Excluded(_) => 0,
        Bound::Included(_) => 1,
        Bound::Unbounded => 2,
    };
    match (a, b) {
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) => {
            x.cmp(y).then(rank(a).cmp(&rank(b)))
        }
        _ => (rank(a) == 2).cmp(&(rank(b) == 2)),
    }
}

/// Keys that are kept separately.
const POINTS_MAX: usize = 64 << 10;
/// Bytes of keys held.
const KEY_BYTES_HELD_MAX: usize = 64 << 20;
/// Ranges that are kept separately.
const RANGES_MAX: usize = 16 << 10;
/// How many ranges neighbours are joined into, about.
const JOINED_RANGES: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::RangeBounds;

    const TABLE: TableId = TableId(3);

    fn is_covered(reads: &Reads, table: TableId, key: &[u8]) -> bool {
        let by_range = |range: &RangeRead| {
            let bounds = (range.low.as_ref().map(|key| &**key), range.high.as_ref().map(|key| &**key));
            range.table == table && RangeBounds::<[u8]>::contains(&bounds, key)
        };
        reads.keys().any(|read| (read.table, read.key) == (table, key)) || reads.ranges().any(by_range)
    }

    fn value(key: &[u8]) -> Value<'_> {
        Value::from(key)
    }

    #[test]
    fn a_range_counts_as_far_as_it_was_read_from_each_end() {
        let mut set = ReadSet::default();
        let bounds = (Bound::Included(&b"b"[..]), Bound::Excluded(&b"y"[..]));
        let mut range = set.open_range(TABLE, bounds.0, bounds.1);
        range.read_to(&value(b"c"), false);
        range.read_to(&value(b"e"), false);
        range.read_to(&value(b"v"), true);
        drop(range);
        drop(set.open_range(TABLE, Bound::Unbounded, Bound::Unbounded));
        let reads = set.reads();
        for (key, covered) in
            [("a", false), ("b", true), ("e", true), ("f", false), ("u", false), ("v", true), ("x", true), ("y", false)]
        {
            assert_eq!(is_covered(reads, TABLE, key.as_bytes()), covered, "{key}");
        }
        assert!(!is_covered(reads, TableId(4), b"c"));
    }

    #[test]
    fn a_range_counts_whole_if_it_was_read_to_its_end_or_its_iterator_was_leaked() {
        for leaked in [false, true] {
            let mut set = ReadSet::default();
            let mut range = set.open_range(TABLE, Bound::Excluded(b"b"), Bound::Included(b"y"));
            range.read_to(&value(b"c"), false);
            if leaked {
                std::mem::forget(range);
            } else {
                range.read_whole();
                drop(range);
            }
            let reads = set.reads();
            assert!(is_covered(reads, TABLE, b"c") && is_covered(reads, TABLE, b"y"));
            assert!(!is_covered(reads, TABLE, b"b") && !is_covered(reads, TABLE, b"z"));
        }
    }

    #[test]
    fn a_cursor_counts_where_it_went() {
        let mut set = ReadSet::default();
        let mut cursor = CursorReads::new(&set, TABLE);
        cursor.jump(Bound::Included(b"c"), true, Some(b"d"));
        cursor.step(true, Some(b"f"));
        cursor.jump(Bound::Excluded(b"t"), false, Some(b"s"));
        cursor.step(false, Some(b"r"));
        cursor.jump(Bound::Excluded(b"y"), true, None);
        drop(cursor);
        let reads = set.reads();
        for key in ["c", "cc", "f", "r", "rr", "s", "ss", "ya", "z"] {
            assert!(is_covered(reads, TABLE, key.as_bytes()), "{key}");
        }
        for key in ["b", "g", "q", "t", "u", "y"] {
            assert!(!is_covered(reads, TABLE, key.as_bytes()), "{key}");
        }
        let mut set = ReadSet::default();
        std::mem::forget(CursorReads::new(&set, TABLE));
        assert!(is_covered(set.reads(), TABLE, b""), "where a leaked one went is not known");
    }

    #[test]
    fn many_reads_are_joined_and_all_of_them_still_count() {
        let mut set = ReadSet::default();
        let key = |number: usize| (number as u32).wrapping_mul(2_654_435_761).to_be_bytes();
        let count = POINTS_MAX * 2 + 100;
        for number in 0..count {
            set.note_key(TableId(number as u32 % 3), &key(number), 0);
        }
        for number in 0..RANGES_MAX + 100 {
            let low = key(number * 7);
            set.note_range(TableId(9), Bound::Included(&low), Bound::Included(&low));
        }
        let reads = set.reads();
        assert!(reads.points.len() < POINTS_MAX && reads.ranges.len() <= RANGES_MAX);
        for number in (0..count).step_by(997) {
            assert!(is_covered(reads, TableId(number as u32 % 3), &key(number)), "{number}");
        }
        for number in (0..RANGES_MAX + 100).step_by(101) {
            assert!(is_covered(reads, TableId(9), &key(number * 7)), "{number}");
        }
    }

    #[test]
    fn bounds_are_ordered_by_the_keys_they_let_in() {
        use Bound::{Excluded, Included, Unbounded};
        let key = |text: &str| Box::<[u8]>::from(text.as_bytes());
        let lows: [OwnedBound; 5] =
            [Unbounded, Included(key("a")), Excluded(key("a")), Included(key("b")), Excluded(key("b"))];
        let highs: [OwnedBound; 5] =
            [Excluded(key("a")), Included(key("a")), Excluded(key("b")), Included(key("b")), Unbounded];
        for (bounds, compare) in [(lows, cmp_low as fn(&_, &_) -> _), (highs, cmp_high as fn(&_, &_) -> _)] {
            for (i, a) in bounds.iter().enumerate() {
                for (j, b) in bounds.iter().enumerate() {
                    assert_eq!(compare(a, b), i.cmp(&j), "{a:?} and {b:?}");
                }
            }
        }
    }
}
