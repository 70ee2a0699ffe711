//! Which chunks a cursor reads: all, or those that an index names.

use std::collections::VecDeque;
use std::ops;

use fulgurite::{Range, Read, Value};

use crate::error::Result;
use crate::ids::{Position, StreamId, Version};
use crate::layout::keys;
use crate::layout::tables::Tables;
use crate::reading::locate;
use crate::reading::query::Resolved;

/// Where the chunks come from.
#[derive(Debug)]
pub enum Source<'t> {
    /// The log itself.
    Log(Box<Range<'t>>),
    /// The chunks that entries of indexes name. Each lane is in order.
    Lanes(Vec<Lane<'t>>),
}

/// The chunks of one stream, type or tag, as an index has them.
#[derive(Debug)]
pub struct Lane<'t> {
    entries: Entries<'t>,
    /// Chunks that were read from the entries, and are still to come.
    ready: VecDeque<Position>,
    next: Option<Position>,
}

/// Entries of an index.
#[derive(Debug)]
enum Entries<'t> {
    /// Of a stream: the parts with these versions count.
    Stream(Range<'t>, ops::Range<u64>),
    /// Of a type or a tag: the chunk is at the end of the key.
    Keys(Range<'t>),
    /// None: all chunks are ready.
    Nothing,
}

/// An entry of the log: the first position and the chunk.
pub type Found<'t> = (Position, Value<'t>);

impl<'t> Source<'t> {
    /// The chunks with events at positions from `from` on and before `to`.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn log(txn: &'t impl Read, tables: &Tables, from: Position, to: Position) -> Result<Self> {
        let from = locate::chunk_start(txn, tables, from)?;
        let range = txn.range(&tables.log, keys::number(from.0)..keys::number(to.0.max(from.0)))?;
        Ok(Self::Log(Box::new(range)))
    }

    /// The chunks with events of a stream, at versions from `from` on and before `to`.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn stream(txn: &'t impl Read, tables: &Tables, stream: StreamId, from: Version, to: Version) -> Result<Self> {
        let versions = from.0..to.0;
        let parts = locate::block_parts(txn, tables, &[stream])?;
        let in_blocks = parts.iter().filter(|part| part.overlaps(&versions)).map(|part| part.chunk).collect();
        Ok(Self::Lanes(vec![Lane::of_stream(txn, tables, stream, versions)?, Lane::ready(in_blocks)]))
    }

    /// The chunks that may have events that match, at positions from `from` on and before `to`.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn query(txn: &'t impl Read, tables: &Tables, query: &Resolved, from: Position, to: Position) -> Result<Self> {
        let chunk = locate::chunk_start(txn, tables, from)?;
        let to = to.max(chunk);
        let (mut lanes, mut streams) = (Vec::new(), Vec::new());
        for item in &query.items {
            if let Some(tag) = item.tags.first() {
                let hash = keys::tag_hash(tag);
                let range = txn.range(&tables.by_tag, keys::tag_chunk(hash, chunk)..keys::tag_chunk(hash, to))?;
                lanes.push(Lane::of_keys(range));
            } else if !item.streams.is_empty() {
                for &stream in &item.streams {
                    let version = locate::version_from(txn, tables, stream, chunk)?;
                    lanes.push(Lane::of_stream(txn, tables, stream, version.0..u64::MAX)?);
                }
                streams.extend_from_slice(&item.streams);
            } else if !item.kinds.is_empty() {
                for &kind in &item.kinds {
                    let range =
                        txn.range(&tables.by_type, keys::type_chunk(kind, chunk)..keys::type_chunk(kind, to))?;
                    lanes.push(Lane::of_keys(range));
                }
            } else {
                return Self::log(txn, tables, from, to);
            }
        }
        let parts = locate::block_parts(txn, tables, &streams)?;
        let mut in_blocks: Vec<_> = parts.iter().map(|part| part.chunk).filter(|of| (chunk..to).contains(of)).collect();
        in_blocks.sort_unstable();
        lanes.push(Lane::ready(in_blocks.into()));
        Ok(Self::Lanes(lanes))
    }

    /// The next chunk after, or with `backwards` before, `last`.
    ///
    /// # Errors
    /// Those of the engine; damage.
    pub fn next(
        &mut self,
        txn: &'t impl Read,
        tables: &Tables,
        last: Option<Position>,
        backwards: bool,
    ) -> Result<Option<Found<'t>>> {
        match self {
            Self::Log(range) => {
                let entry = if backwards { range.next_back() } else { range.next() };
                let Some(entry) = entry else { return Ok(None) };
                let (key, value) = entry?;
                let position = keys::chunk_of(&key).ok_or_else(|| tables.damaged(&tables.log, "a key is malformed"))?;
                Ok(Some((position, value)))
            }
            Self::Lanes(lanes) => loop {
                let Some(chunk) = nearest(lanes, tables, last, backwards)? else { return Ok(None) };
                for lane in lanes.iter_mut().filter(|lane| lane.next == Some(chunk)) {
                    lane.next = None;
                }
                if let Some(value) = txn.get(&tables.log, keys::number(chunk.0))? {
                    return Ok(Some((chunk, value)));
                }
                // Retention has removed it, and not all that names it: blocks, and the last entry of a stream.
                if chunk >= locate::start_of_log(txn, tables)? {
                    return Err(tables.damaged(&tables.log, "a chunk that an index names is missing"));
                }
            },
        }
    }
}

impl<'t> Lane<'t> {
    fn of_keys(range: Range<'t>) -> Self {
        Self { entries: Entries::Keys(range), ready: VecDeque::new(), next: None }
    }

    /// The entries of a stream, but not what blocks have of it.
    fn of_stream(txn: &'t impl Read, tables: &Tables, stream: StreamId, versions: ops::Range<u64>) -> Result<Self> {
        let from = locate::entry_start(txn, tables, stream, Version(versions.start))?;
        let to = Version(versions.end).max(from);
        let range = txn.range(&tables.index, keys::stream_part(stream, from)..keys::stream_part(stream, to))?;
        Ok(Self { entries: Entries::Stream(range, versions), ready: VecDeque::new(), next: None })
    }

    fn ready(chunks: VecDeque<Position>) -> Self {
        Self { entries: Entries::Nothing, ready: chunks, next: None }
    }

    /// The next chunk from an end. A lane is read from one end only.
    fn advance(&mut self, tables: &Tables, backwards: bool) -> Result<Option<Position>> {
        loop {
            let chunk = if backwards { self.ready.pop_back() } else { self.ready.pop_front() };
            if chunk.is_some() {
                return Ok(chunk);
            }
            let entry = match &mut self.entries {
                Entries::Stream(range, _) | Entries::Keys(range) if backwards => range.next_back(),
                Entries::Stream(range, _) | Entries::Keys(range) => range.next(),
                Entries::Nothing => None,
            };
            let Some(entry) = entry else { return Ok(None) };
            let (key, value) = entry?;
            if let Entries::Stream(_, versions) = &self.entries {
                let parts = locate::parse_entry(tables, &key, &value)?.parts();
                self.ready.extend(parts.filter(|part| part.overlaps(versions)).map(|part| part.chunk));
            } else {
                let chunk = keys::chunk_of(&key);
                return Ok(Some(chunk.ok_or_else(|| tables.damaged(&tables.index, "an entry is malformed"))?));
            }
        }
    }
}

/// The nearest chunk of all lanes that is beyond `last`.
fn nearest(
    lanes: &mut [Lane<'_>],
    tables: &Tables,
    last: Option<Position>,
    backwards: bool,
) -> Result<Option<Position>> {
    let mut nearest = None;
    for lane in lanes {
        let is_passed =
            |chunk: Position| last.is_some_and(|last| if backwards { chunk >= last } else { chunk <= last });
        while lane.next.is_none_or(is_passed) {
            lane.next = lane.advance(tables, backwards)?;
            if lane.next.is_none() {
                break;
            }
        }
        nearest = match (nearest, lane.next) {
            (Some(one), Some(other)) if backwards => Some(Position::max(one, other)),
            (Some(one), Some(other)) => Some(Position::min(one, other)),
            (one, other) => one.or(other),
        };
    }
    Ok(nearest)
}
