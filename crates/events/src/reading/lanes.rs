//! Which chunks a cursor reads: all, or those that an index names.

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

/// The entries of one index, for one stream, type or tag.
#[derive(Debug)]
pub struct Lane<'t> {
    range: Range<'t>,
    /// Whether the chunk is in the value, as for streams, or at the end of the key.
    in_value: bool,
    next: Option<Position>,
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
        let from = locate::part_start(txn, tables, stream, from)?;
        let to = to.max(from);
        let range = txn.range(&tables.index, keys::stream_part(stream, from)..keys::stream_part(stream, to))?;
        Ok(Self::Lanes(vec![Lane { range, in_value: true, next: None }]))
    }

    /// The chunks that may have events that match, at positions from `from` on and before `to`.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn query(txn: &'t impl Read, tables: &Tables, query: &Resolved, from: Position, to: Position) -> Result<Self> {
        let chunk = locate::chunk_start(txn, tables, from)?;
        let to = to.max(chunk);
        let mut lanes = Vec::new();
        for item in &query.items {
            if let Some(tag) = item.tags.first() {
                let hash = keys::tag_hash(tag);
                let range = txn.range(&tables.by_tag, keys::tag_chunk(hash, chunk)..keys::tag_chunk(hash, to))?;
                lanes.push(Lane { range, in_value: false, next: None });
            } else if !item.streams.is_empty() {
                for &stream in &item.streams {
                    let version = locate::version_from(txn, tables, stream, chunk)?;
                    let end = keys::stream_part(stream, Version(u64::MAX));
                    let range = txn.range(&tables.index, keys::stream_part(stream, version)..end)?;
                    lanes.push(Lane { range, in_value: true, next: None });
                }
            } else if !item.kinds.is_empty() {
                for &kind in &item.kinds {
                    let range =
                        txn.range(&tables.by_type, keys::type_chunk(kind, chunk)..keys::type_chunk(kind, to))?;
                    lanes.push(Lane { range, in_value: false, next: None });
                }
            } else {
                return Self::log(txn, tables, from, to);
            }
        }
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
                // Retention has removed it, and not the last entry of its stream, which says where the stream ends.
                if chunk >= locate::start_of_log(txn, tables)? {
                    return Err(tables.damaged(&tables.log, "a chunk that an index names is missing"));
                }
            },
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
            lane.next = None;
            let entry = if backwards { lane.range.next_back() } else { lane.range.next() };
            let Some(entry) = entry else { break };
            let (key, value) = entry?;
            let chunk = match lane.in_value {
                true => keys::Part::parse(&value).map(|part| part.chunk),
                false => keys::chunk_of(&key),
            };
            lane.next = Some(chunk.ok_or_else(|| tables.damaged(&tables.index, "an entry is malformed"))?);
        }
        nearest = match (nearest, lane.next) {
            (Some(one), Some(other)) if backwards => Some(Position::max(one, other)),
            (Some(one), Some(other)) => Some(Position::min(one, other)),
            (one, other) => one.or(other),
        };
    }
    Ok(nearest)
}
