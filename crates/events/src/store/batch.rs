//! What a transaction appends, as entries of the tables.

use fulgurite::{Table, WriteTxn};

use crate::error::Result;
use crate::event::EventData;
use crate::ids::{Position, StreamId, Timestamp, TypeId, Version};
use crate::layout::chunk::{CHUNK_BYTES_MAX, Chunk, ChunkBuilder};
use crate::layout::keys;
use crate::layout::parts::{self, BLOCK_PARTS_MAX, Entries, Part};
use crate::layout::tables::Tables;
use crate::store::folding::{Blocks, PARTS_MAX};

/// The events that a transaction appends. They are written to the tables when it commits.
#[derive(Debug)]
pub struct Batch {
    time: Timestamp,
    /// The position of the first event.
    begin: Position,
    /// The position that the next event gets.
    pub next: Position,
    chunk: ChunkBuilder,
    /// The position of the first event of `chunk`.
    first: Position,
    types: Vec<TypeId>,
    /// Hashes of the tags of `chunk`, some of them repeatedly.
    tags: Vec<u64>,
    chunks: Vec<([u8; 8], Vec<u8>)>,
    parts: Vec<Part>,
    by_type: Vec<[u8; 12]>,
    by_tag: Vec<[u8; 16]>,
    /// The blocks of parts that were written.
    blocks: Blocks,
    /// Buffers for chunks.
    buffers: Vec<Vec<u8>>,
}

/// Empty memory of a batch, for the next one: the allocator may return what is freed to the system, which zeroes it.
#[derive(Debug, Default)]
pub struct Spare {
    buffers: Vec<Vec<u8>>,
    parts: Vec<Part>,
}

impl Batch {
    /// Events that are appended at a time, from a position on.
    pub fn new(next: Position, time: Timestamp, spare: Spare) -> Self {
        Self {
            time,
            begin: next,
            next,
            chunk: ChunkBuilder::default(),
            first: next,
            types: Vec::new(),
            tags: Vec::new(),
            chunks: Vec::new(),
            parts: spare.parts,
            by_type: Vec::new(),
            by_tag: Vec::new(),
            blocks: Blocks::default(),
            buffers: spare.buffers,
        }
    }

    /// When its events are appended.
    pub fn time(&self) -> Timestamp {
        self.time
    }

    /// The blocks that [`Batch::write`] has put into the index of streams.
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, stream: StreamId, version: Version, kind: TypeId, event: &EventData<'_>) {
        if !self.chunk.fits(event) {
            self.end_chunk();
        }
        if self.chunk.count() == 0
            && let Some(buffer) = self.buffers.pop()
        {
            self.chunk.use_buffer(buffer);
        }
        let part = Part { stream, version, chunk: self.first, count: 1 };
        let is_joined = self.parts.last_mut().is_some_and(|last| last.join(&part));
        if !is_joined {
            self.parts.push(part);
        }
        if self.types.last() != Some(&kind) && !self.types.contains(&kind) {
            self.types.push(kind);
        }
        self.tags.extend(event.tags.iter().map(|tag| keys::tag_hash(tag.as_bytes())));
        self.chunk.push(stream, version, kind, event);
        self.next = Position(self.next.0 + 1);
    }

    fn end_chunk(&mut self) {
        if self.chunk.count() == 0 {
            return;
        }
        let first = self.first;
        // Duplicates are removed here. A search for each tag would take long, because an event may have very many.
        self.tags.sort_unstable();
        self.tags.dedup();
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
        self.by_type.sort_unstable();
        self.by_tag.sort_unstable();
        self.write_parts(txn, tables)?;
        put_all(txn, &tables.log, self.chunks.iter().map(|(key, value)| (key, value)))?;
        put_all(txn, &tables.by_type, self.by_type.drain(..).map(|key| (key, [])))?;
        put_all(txn, &tables.by_tag, self.by_tag.drain(..).map(|key| (key, [])))
    }

    /// The memory of a batch that was written, for the next one.
    pub fn take_spare(&mut self) -> Spare {
        let mut spare = Spare { buffers: std::mem::take(&mut self.buffers), parts: std::mem::take(&mut self.parts) };
        spare.parts.clear();
        spare.parts.shrink_to(SPARE_PARTS_MAX);
        let used = self.chunks.drain(..).map(|(_, buffer)| buffer);
        let small = used.filter(|buffer| buffer.capacity() <= 2 * CHUNK_BYTES_MAX);
        spare.buffers.extend(small.take(SPARE_BUFFERS_MAX));
        spare.buffers.truncate(SPARE_BUFFERS_MAX);
        spare
    }

    /// Writes the parts of streams: as entries, or in blocks if they are of many streams. So many parts that they would
    /// be folded next are sorted already, and become entries at once.
    fn write_parts(&mut self, txn: &mut WriteTxn, tables: &Tables) -> Result<()> {
        if let [part] = &self.parts[..] {
            return Ok(txn.put(&tables.index, part.key(), part.place())?);
        }
        // Keys differ: a stream has a version once.
        self.parts.sort_unstable_by_key(Part::order);
        self.parts.dedup_by(|next, part| part.join(next));
        if !parts::need_block(&self.parts) || self.parts.len() >= PARTS_MAX {
            let entries = Entries::of(&self.parts);
            if entries.share() {
                tables.raise_layout(txn)?;
            }
            return Ok(txn.put_many(&tables.index, entries.iter())?);
        }
        tables.raise_layout(txn)?;
        for (number, block) in (self.begin.0..).zip(self.parts.chunks(BLOCK_PARTS_MAX)) {
            txn.put(&tables.index, parts::block_key(number), parts::block(block))?;
            self.blocks.add(block.len());
        }
        Ok(())
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

/// Buffers that are kept for the next batch: at most 4 MiB, as large appends take.
const SPARE_BUFFERS_MAX: usize = 256;
/// Parts for which memory is kept: at most 512 KiB.
const SPARE_PARTS_MAX: usize = 16_384;
