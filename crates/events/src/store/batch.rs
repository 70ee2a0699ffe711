//! What a transaction appends, as entries of the tables.

use fulgurite::{Table, WriteTxn};

use crate::error::Result;
use crate::event::EventData;
use crate::ids::{Position, StreamId, Timestamp, TypeId, Version};
use crate::layout::chunk::{Chunk, ChunkBuilder};
use crate::layout::keys;
use crate::layout::tables::Tables;

/// The events that a transaction appends. They are written to the tables when it commits.
#[derive(Debug)]
pub struct Batch {
    time: Timestamp,
    /// The position that the next event gets.
    pub next: Position,
    chunk: ChunkBuilder,
    /// The position of the first event of `chunk`.
    first: Position,
    /// The stream that is being appended to, its first version in the chunk, and how many events it has there.
    part: Option<(StreamId, Version, u32)>,
    types: Vec<TypeId>,
    tags: Vec<u64>,
    chunks: Vec<([u8; 8], Vec<u8>)>,
    parts: Vec<([u8; 16], [u8; 12])>,
    by_type: Vec<[u8; 12]>,
    by_tag: Vec<[u8; 16]>,
}

impl Batch {
    /// Events that are appended at a time, from a position on.
    pub fn new(next: Position, time: Timestamp) -> Self {
        Self {
            time,
            next,
            chunk: ChunkBuilder::default(),
            first: next,
            part: None,
            types: Vec::new(),
            tags: Vec::new(),
            chunks: Vec::new(),
            parts: Vec::new(),
            by_type: Vec::new(),
            by_tag: Vec::new(),
        }
    }

    /// When its events are appended.
    pub fn time(&self) -> Timestamp {
        self.time
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, stream: StreamId, version: Version, kind: TypeId, event: &EventData<'_>) {
        if !self.chunk.fits(event) {
            self.end_chunk();
        }
        match &mut self.part {
            Some((of, first, count)) if *of == stream && first.0 + u64::from(*count) == version.0 => *count += 1,
            _ => {
                self.end_part();
                self.part = Some((stream, version, 1));
            }
        }
        if self.types.last() != Some(&kind) && !self.types.contains(&kind) {
            self.types.push(kind);
        }
        for tag in event.tags {
            let hash = keys::tag_hash(tag.as_bytes());
            if !self.tags.contains(&hash) {
                self.tags.push(hash);
            }
        }
        self.chunk.push(stream, version, kind, event);
        self.next = Position(self.next.0 + 1);
    }

    fn end_part(&mut self) {
        if let Some((stream, version, count)) = self.part.take() {
            let part = keys::Part { chunk: self.first, count };
            self.parts.push((keys::stream_part(stream, version), part.to_bytes()));
        }
    }

    fn end_chunk(&mut self) {
        self.end_part();
        if self.chunk.count() == 0 {
            return;
        }
        let first = self.first;
        self.by_type.extend(self.types.drain(..).map(|kind| keys::type_chunk(kind, first)));
        self.by_tag.extend(self.tags.drain(..).map(|hash| keys::tag_chunk(hash, first)));
        self.chunks.push((keys::number(first.0), self.chunk.finish(self.time)));
        self.first = self.next;
    }

    /// The chunks so far, for conditions that events of the same transaction may break.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk<'_>> {
        let ended = self.chunks.iter().filter_map(|(key, value)| Chunk::parse(key, value));
        ended.chain((self.chunk.count() > 0).then(|| self.chunk.chunk(self.first)))
    }

    /// Writes the events to the tables.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn write(&mut self, txn: &mut WriteTxn, tables: &Tables) -> Result<()> {
        self.end_chunk();
        if self.chunks.is_empty() {
            return Ok(());
        }
        // Numbers are compared several times as fast as bytes. Keys differ: a stream has a version once.
        self.parts.sort_unstable_by_key(|(key, _)| u128::from_be_bytes(*key));
        self.by_type.sort_unstable();
        self.by_tag.sort_unstable();
        put_all(txn, &tables.log, self.chunks.drain(..))?;
        put_all(txn, &tables.index, self.parts.drain(..))?;
        put_all(txn, &tables.by_type, self.by_type.drain(..).map(|key| (key, [])))?;
        put_all(txn, &tables.by_tag, self.by_tag.drain(..).map(|key| (key, [])))
    }
}

/// Puts entries in the order of keys. Many appends have one entry for each table: a lone put costs less than a list.
fn put_all<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    txn: &mut WriteTxn,
    table: &Table,
    mut entries: impl ExactSizeIterator<Item = (K, V)>,
) -> Result<()> {
    if entries.len() > 1 {
        return Ok(txn.put_many(table, entries)?);
    }
    match entries.next() {
        Some((key, value)) => Ok(txn.put(table, key, value)?),
        None => Ok(()),
    }
}
