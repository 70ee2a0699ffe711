//! Parts of streams: which chunks have the events of a stream. The index of streams has them in two forms.
//!
//! ```text
//! entry  key    0  stream, u64    8  first version, u64
//!        value  a place for each part:    0  chunk, u64    8  number of events, u32
//! block  key    0  all bits set, u64    8  number, u64
//!        value  a record for each part:   0  stream, u64, big-endian    8  first version, u64, big-endian    16  place
//! ```
//!
//! An entry has parts of one stream, whose versions follow each other. A block has parts of many streams, in the order
//! of streams and versions: a transaction that appends to many streams puts one value and not one for each of them.
//! `store/folding.rs` moves the parts of blocks into entries. `docs/reference/events.md` specifies both forms.

use std::ops::{Range, RangeFrom};

use crate::ids::{Position, StreamId, Version};
use crate::layout::keys;

/// Some events of a stream: those with neighbouring versions in one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The stream.
    pub stream: StreamId,
    /// The version of the first of the events.
    pub version: Version,
    /// The first position of the chunk.
    pub chunk: Position,
    /// How many events.
    pub count: u32,
}

/// The bytes of a part in an entry.
type Place = [u8; PLACE_BYTES];
/// The bytes of a part in a block.
type Record = [u8; RECORD_BYTES];

impl Part {
    /// The version after the last of the events. None if there is no such version.
    pub fn end(&self) -> Option<Version> {
        self.version.0.checked_add(u64::from(self.count)).map(Version)
    }

    /// Whether it has an event with one of these versions.
    pub fn overlaps(&self, versions: &Range<u64>) -> bool {
        self.version.0 < versions.end && self.end().is_some_and(|end| end.0 > versions.start)
    }

    /// The order of parts in entries and blocks. Numbers are compared several times as fast as bytes.
    pub fn order(&self) -> u128 {
        (u128::from(self.stream.0) << 64) | u128::from(self.version.0)
    }

    /// Adds the events of the next part, if they follow in the same chunk. Returns whether they do.
    pub fn join(&mut self, next: &Self) -> bool {
        let is_next = self.chunk == next.chunk && self.precedes(next);
        if is_next {
            self.count += next.count;
        }
        is_next
    }

    /// Whether the versions of another part follow.
    fn precedes(&self, next: &Self) -> bool {
        self.stream == next.stream && self.end() == Some(next.version)
    }

    /// The key of an entry that begins with this part.
    pub fn key(&self) -> [u8; 16] {
        keys::stream_part(self.stream, self.version)
    }

    /// Its bytes in an entry.
    pub fn place(&self) -> Place {
        let mut place = [0; PLACE_BYTES];
        place[..8].copy_from_slice(&self.chunk.0.to_le_bytes());
        place[8..].copy_from_slice(&self.count.to_le_bytes());
        place
    }

    fn of_place(stream: StreamId, version: Version, place: &Place) -> Self {
        let (chunk, count) = place.split_at(8);
        let chunk = chunk.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let count = count.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        Self { stream, version, chunk: Position(chunk), count }
    }

    fn of_record(record: &Record) -> Self {
        let (key, place) = record.split_at(KEY_BYTES);
        let (stream, version) = keys::parse_stream_part(key).unwrap_or_default();
        Self::of_place(stream, version, place.first_chunk().unwrap_or(&[0; PLACE_BYTES]))
    }
}

/// An entry of a stream that is read.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'e> {
    /// The stream.
    pub stream: StreamId,
    /// The version of the first event.
    pub first: Version,
    /// The version after the last event.
    pub end: Version,
    places: &'e [Place],
}

impl<'e> Entry<'e> {
    /// The entry with this key and this value. None if it is malformed.
    pub fn parse(key: &[u8], value: &'e [u8]) -> Option<Self> {
        let (stream, first) = keys::parse_stream_part(key)?;
        let (places, rest) = value.as_chunks::<PLACE_BYTES>();
        if places.is_empty() || !rest.is_empty() {
            return None;
        }
        let events = places.iter().map(|place| u64::from(Part::of_place(stream, first, place).count)).sum();
        let end = Version(first.0.checked_add(events)?);
        Some(Self { stream, first, end, places })
    }

    /// Its parts, in the order of versions.
    pub fn parts(self) -> impl Iterator<Item = Part> + use<'e> {
        let Self { stream, first, places, .. } = self;
        let mut version = first.0;
        places.iter().map(move |place| {
            let part = Part::of_place(stream, Version(version), place);
            version += u64::from(part.count);
            part
        })
    }

    /// The first position of its last chunk.
    pub fn last_chunk(self) -> Position {
        self.places.last().map_or(Position::START, |place| Part::of_place(self.stream, self.first, place).chunk)
    }
}

/// Parts as entries.
#[derive(Debug)]
pub struct Entries {
    /// The places of all parts.
    places: Vec<u8>,
    /// The key of each entry, and where its places end.
    ends: Vec<([u8; 16], usize)>,
}

impl Entries {
    /// Requires: the parts are in order.
    pub fn of(parts: &[Part]) -> Self {
        let (mut places, mut ends) = (Vec::with_capacity(parts.len() * PLACE_BYTES), Vec::new());
        for run in parts.chunk_by(Part::precedes).flat_map(|run| run.chunks(ENTRY_PARTS_MAX)) {
            run.iter().for_each(|part| places.extend_from_slice(&part.place()));
            ends.extend(run.first().map(|first| (first.key(), places.len())));
        }
        Self { places, ends }
    }

    /// Whether one of them has several parts.
    pub fn share(&self) -> bool {
        self.places.len() > self.ends.len() * PLACE_BYTES
    }

    /// Their keys and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = ([u8; 16], &[u8])> {
        let mut begin = 0;
        self.ends.iter().map(move |&(key, end)| (key, &self.places[std::mem::replace(&mut begin, end)..end]))
    }
}

/// A block that is read.
#[derive(Clone, Copy, Debug)]
pub struct Block<'b>(&'b [Record]);

impl<'b> Block<'b> {
    /// The block with this value. None if it is malformed.
    pub fn parse(value: &'b [u8]) -> Option<Self> {
        let (records, rest) = value.as_chunks::<RECORD_BYTES>();
        (rest.is_empty() && !records.is_empty()).then_some(Self(records))
    }

    /// How many parts it has.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// All its parts, in order.
    pub fn parts(self) -> impl Iterator<Item = Part> + use<'b> {
        self.0.iter().map(Part::of_record)
    }

    /// The parts of a stream, in the order of versions.
    pub fn of_stream(self, stream: StreamId) -> impl Iterator<Item = Part> + use<'b> {
        let from = self.0.partition_point(|record| record[..8] < stream.0.to_be_bytes()[..]);
        self.0[from..].iter().map(Part::of_record).take_while(move |part| part.stream == stream)
    }
}

/// Whether the parts of a transaction are of so many streams that blocks cost less than entries. Requires: they are in
/// order.
pub fn need_block(parts: &[Part]) -> bool {
    parts.chunk_by(Part::precedes).nth(BLOCK_STREAMS_MIN - 1).is_some()
}

/// The value of a block. Requires: the parts are in order.
pub fn block(parts: &[Part]) -> Vec<u8> {
    let mut value = Vec::with_capacity(parts.len() * RECORD_BYTES);
    for part in parts {
        value.extend_from_slice(&part.key());
        value.extend_from_slice(&part.place());
    }
    value
}

/// The key of a block. A transaction numbers its blocks from its first position on. It has fewer blocks than events, so
/// transactions use different numbers.
pub fn block_key(number: u64) -> [u8; 16] {
    keys::stream_part(BLOCKS, Version(number))
}

/// The keys of all blocks. They follow those of all entries.
pub fn blocks() -> RangeFrom<[u8; 16]> {
    block_key(0)..
}

/// No stream has this number.
const BLOCKS: StreamId = StreamId(u64::MAX);
const KEY_BYTES: usize = 16;
const PLACE_BYTES: usize = 12;
const RECORD_BYTES: usize = KEY_BYTES + PLACE_BYTES;
/// Parts of an entry: a reader that needs one of them goes over all.
const ENTRY_PARTS_MAX: usize = 64;
/// Parts of a block: it is no large value of the engine, which begins at 64 KiB.
pub const BLOCK_PARTS_MAX: usize = 2000;
/// Transactions that append to fewer streams put entries.
const BLOCK_STREAMS_MIN: usize = 16;

const _: () = assert!(BLOCK_PARTS_MAX * RECORD_BYTES < 64 << 10);

#[cfg(test)]
mod tests {
    use super::*;

    fn part(stream: u64, version: u64, chunk: u64, count: u32) -> Part {
        Part { stream: StreamId(stream), version: Version(version), chunk: Position(chunk), count }
    }

    #[test]
    fn parts_whose_versions_follow_share_an_entry() {
        let parts =
            [part(1, 0, 10, 3), part(1, 3, 20, 1), part(1, 5, 30, 1), part(2, 6, 30, 2), part(u64::MAX - 1, 0, 40, 1)];
        let entries = Entries::of(&parts);
        let found: Vec<_> = entries.iter().map(|(key, value)| Entry::parse(&key, value).unwrap()).collect();
        let firsts: Vec<_> = found.iter().map(|entry| (entry.stream.0, entry.first.0, entry.end.0)).collect();
        assert_eq!(firsts, [(1, 0, 4), (1, 5, 6), (2, 6, 8), (u64::MAX - 1, 0, 1)]);
        assert_eq!(found[0].last_chunk(), Position(20));
        assert_eq!(found.iter().flat_map(|entry| entry.parts()).collect::<Vec<_>>(), parts);
        assert!(entries.iter().all(|(key, _)| key < blocks().start));
        assert!(entries.share() && !Entries::of(&parts[1..]).share() && !Entries::of(&[]).share());
    }

    #[test]
    fn a_long_run_of_parts_is_cut_into_entries() {
        let parts: Vec<_> = (0..200).map(|number| part(7, 2 * number, 100 + number, 2)).collect();
        let entries = Entries::of(&parts);
        let found: Vec<_> = entries.iter().map(|(key, value)| Entry::parse(&key, value).unwrap()).collect();
        assert_eq!(found.iter().map(|entry| entry.parts().count()).collect::<Vec<_>>(), [64, 64, 64, 8]);
        assert_eq!(found.iter().flat_map(|entry| entry.parts()).collect::<Vec<_>>(), parts);
        assert_eq!(Entries::of(&[]).iter().count(), 0);
    }

    #[test]
    fn a_block_is_for_parts_of_many_streams() {
        let many: Vec<_> = (0..16).map(|stream| part(stream, 0, 10, 1)).collect();
        let one: Vec<_> = (0..100).map(|version| part(7, version, 10 + version, 1)).collect();
        assert_eq!([&many[..], &many[..15], &one, &[]].map(need_block), [true, false, false, false]);
    }

    #[test]
    fn neighbouring_parts_of_one_chunk_are_joined() {
        let mut parts = vec![part(1, 0, 10, 1), part(1, 1, 10, 1), part(1, 2, 20, 1), part(2, 3, 20, 1)];
        parts.dedup_by(|next, part| part.join(next));
        assert_eq!(parts, [part(1, 0, 10, 2), part(1, 2, 20, 1), part(2, 3, 20, 1)]);
    }

    #[test]
    fn a_block_has_the_parts_of_each_stream() {
        let parts = [part(1, 4, 10, 3), part(3, 0, 10, 1), part(3, 1, 20, 2), part(9, 0, 20, 1)];
        let value = block(&parts);
        let read = Block::parse(&value).unwrap();
        assert_eq!((read.parts().collect::<Vec<_>>(), read.len()), (parts.to_vec(), 4));
        for stream in 0..11 {
            let expected: Vec<_> = parts.into_iter().filter(|part| part.stream.0 == stream).collect();
            assert_eq!(read.of_stream(StreamId(stream)).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_part_overlaps_a_range_of_versions() {
        let part = part(1, 4, 10, 3);
        let overlaps = |from: u64, to: u64| part.overlaps(&(from..to));
        let found = [(0, 4), (0, 5), (6, 7), (7, 9), (4, 4)].map(|(from, to)| overlaps(from, to));
        assert_eq!(found, [false, true, true, false, false]);
    }

    #[test]
    fn malformed_entries_and_blocks_are_none() {
        let key = block_key(0);
        assert!(Entry::parse(&key[1..], &[0; 12]).is_none());
        assert!([0, 11, 13].into_iter().all(|length| Entry::parse(&[0; 16], &vec![0; length]).is_none()));
        let last = keys::stream_part(StreamId(1), Version(u64::MAX));
        assert!(Entry::parse(&last, &part(1, 0, 0, 1).place()).is_none(), "its versions end after the last one");
        assert!([0, 27, 29].into_iter().all(|length| Block::parse(&vec![0; length]).is_none()));
        assert_eq!(part(1, u64::MAX, 0, 1).end(), None);
    }
}
