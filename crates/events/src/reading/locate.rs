//! Where things are: the chunk of a position, the ends of the log and of a stream.

use std::collections::HashMap;

use fulgurite::{Read, Value};

use crate::error::Result;
use crate::ids::{Position, StreamId, Timestamp, Version};
use crate::layout::chunk::Chunk;
use crate::layout::keys;
use crate::layout::parts::{self, Block, Entry, Part};
use crate::layout::stream::StreamRecord;
use crate::layout::tables::{META_IDS, META_START, Tables};

/// The chunk that begins at or before a position, and is the last of those.
///
/// # Errors
/// Those of the engine.
pub fn chunk_at<'t>(txn: &'t impl Read, tables: &Tables, position: Position) -> Result<Option<(Value<'t>, Value<'t>)>> {
    Ok(txn.range(&tables.log, ..=keys::number(position.0))?.next_back().transpose()?)
}

/// The first position of the chunk that begins at or before a position; the position itself if there is none.
///
/// # Errors
/// Those of the engine.
pub fn chunk_start(txn: &impl Read, tables: &Tables, position: Position) -> Result<Position> {
    match chunk_at(txn, tables, position)? {
        Some((key, _)) => keys::chunk_of(&key).ok_or_else(|| tables.damaged(&tables.log, "a key is malformed")),
        None => Ok(position),
    }
}

/// The position and the time after the last event.
///
/// # Errors
/// Those of the engine; damage.
pub fn end_of_log(txn: &impl Read, tables: &Tables) -> Result<(Position, Timestamp)> {
    let Some((key, value)) = txn.last(&tables.log)? else { return Ok(Default::default()) };
    let chunk = parse(tables, &key, &value)?;
    Ok((chunk.end(), chunk.time))
}

/// The first position that retention has kept.
///
/// # Errors
/// Those of the engine; damage.
pub fn start_of_log(txn: &impl Read, tables: &Tables) -> Result<Position> {
    position_in_meta(txn, tables, META_START, "the start of the log is malformed")
}

/// The position before which retention has removed the ids of events that the limits of streams had removed.
///
/// # Errors
/// Those of the engine; damage.
pub fn ids_removed(txn: &impl Read, tables: &Tables) -> Result<Position> {
    position_in_meta(txn, tables, META_IDS, "the position of removed ids is malformed")
}

fn position_in_meta(txn: &impl Read, tables: &Tables, key: &[u8], malformed: &'static str) -> Result<Position> {
    let Some(value) = txn.get(&tables.meta, key)? else { return Ok(Position::START) };
    let bytes = value[..].try_into().map_err(|_| tables.damaged(&tables.meta, malformed))?;
    Ok(Position(u64::from_be_bytes(bytes)))
}

/// The version that the next event of a stream had when it was deleted last. 0 if it was not.
///
/// # Errors
/// Those of the engine; damage.
pub fn deleted_before(txn: &impl Read, tables: &Tables, stream: StreamId) -> Result<Version> {
    let Some(value) = txn.get(&tables.meta, keys::deleted(stream))? else { return Ok(Version(0)) };
    let bytes = value[..].try_into().map_err(|_| tables.damaged(&tables.meta, "the end of a stream is malformed"))?;
    Ok(Version(u64::from_be_bytes(bytes)))
}

/// A chunk that is certain to be one.
///
/// # Errors
/// Damage.
pub fn parse<'c>(tables: &Tables, key: &[u8], value: &'c [u8]) -> Result<Chunk<'c>> {
    Chunk::parse(key, value).ok_or_else(|| tables.damaged(&tables.log, "a chunk of events is malformed"))
}

/// The position at which a reader continues that has seen no event before `position`: the next chunk's, if no chunk has
/// this one, and at most `end`. Retention leaves gaps in the log; damage can leave one of any width.
///
/// # Errors
/// Those of the engine; damage.
pub fn after_gap(txn: &impl Read, tables: &Tables, position: Position, end: Position) -> Result<Position> {
    if let Some((key, value)) = chunk_at(txn, tables, position)?
        && parse(tables, &key, &value)?.end() > position
    {
        return Ok(position);
    }
    let Some(entry) = txn.range(&tables.log, keys::number(position.0)..)?.next() else { return Ok(end) };
    let chunk = keys::chunk_of(&entry?.0).ok_or_else(|| tables.damaged(&tables.log, "a key is malformed"))?;
    Ok(chunk.min(end))
}

/// The number of a stream.
///
/// # Errors
/// Those of the engine; damage.
pub fn stream_of(txn: &impl Read, tables: &Tables, name: &[u8]) -> Result<Option<StreamId>> {
    // No name is longer, and the engine would refuse the key.
    let Some(value) = txn.get(&tables.names, name)? else { return Ok(None) };
    parse_stream(tables, &value).map(Some)
}

/// The number of a stream, as the table of names has it.
///
/// # Errors
/// Damage.
pub fn parse_stream(tables: &Tables, value: &[u8]) -> Result<StreamId> {
    let bytes = value.try_into().map_err(|_| tables.damaged(&tables.names, "the number of a stream is malformed"))?;
    Ok(StreamId(u64::from_be_bytes(bytes)))
}

/// The record of a stream.
///
/// # Errors
/// Those of the engine; damage.
pub fn record_of(txn: &impl Read, tables: &Tables, stream: StreamId) -> Result<StreamRecord> {
    let value = txn.get(&tables.streams, keys::number(stream.0))?;
    let record = value.and_then(|value| StreamRecord::parse(&value));
    record.ok_or_else(|| tables.damaged(&tables.streams, "the record of a stream is missing or malformed"))
}

/// The version after the last event of a stream.
///
/// # Errors
/// Those of the engine; damage.
pub fn next_version(txn: &impl Read, tables: &Tables, stream: StreamId) -> Result<Version> {
    let in_blocks = block_parts(txn, tables, &[stream])?.last().and_then(Part::end).unwrap_or_default();
    Ok(entries_end(txn, tables, stream)?.max(in_blocks))
}

/// The version after the last event of a stream that entries of the index have. Blocks may have later ones.
///
/// # Errors
/// Those of the engine; damage.
pub fn entries_end(txn: &impl Read, tables: &Tables, stream: StreamId) -> Result<Version> {
    let Some(entry) = txn.prefix(&tables.index, stream.0.to_be_bytes())?.next_back() else { return Ok(Version(0)) };
    let (key, value) = entry?;
    Ok(parse_entry(tables, &key, &value)?.end)
}

/// The parts of some streams that blocks have. Those of a stream are in the order of versions. Each block is read once,
/// and none if there are no streams.
///
/// # Errors
/// Those of the engine; damage.
pub fn block_parts(txn: &impl Read, tables: &Tables, streams: &[StreamId]) -> Result<Vec<Part>> {
    let mut found = Vec::new();
    if streams.is_empty() {
        return Ok(found);
    }
    for entry in txn.range(&tables.index, parts::blocks())? {
        let (_, value) = entry?;
        let block = parse_block(tables, &value)?;
        found.extend(streams.iter().flat_map(|stream| block.of_stream(*stream)));
    }
    match found.iter().all(|part| part.end().is_some()) {
        true => Ok(found),
        false => Err(tables.damaged(&tables.index, "a version overflows")),
    }
}

/// The versions after the last events that blocks have of each stream.
///
/// # Errors
/// Those of the engine; damage.
pub fn block_ends(txn: &impl Read, tables: &Tables) -> Result<HashMap<StreamId, Version>> {
    let mut ends = HashMap::new();
    for entry in txn.range(&tables.index, parts::blocks())? {
        for part in parse_block(tables, &entry?.1)?.parts() {
            let end = part.end().ok_or_else(|| tables.damaged(&tables.index, "a version overflows"))?;
            let last = ends.entry(part.stream).or_insert(end);
            *last = end.max(*last);
        }
    }
    Ok(ends)
}

/// An entry of the index of streams.
///
/// # Errors
/// Damage.
pub fn parse_entry<'e>(tables: &Tables, key: &[u8], value: &'e [u8]) -> Result<Entry<'e>> {
    Entry::parse(key, value).ok_or_else(|| tables.damaged(&tables.index, "an entry of a stream is malformed"))
}

/// A block of the index of streams.
///
/// # Errors
/// Damage.
pub fn parse_block<'b>(tables: &Tables, value: &'b [u8]) -> Result<Block<'b>> {
    Block::parse(value).ok_or_else(|| tables.damaged(&tables.index, "a block of parts is malformed"))
}

/// The first version of the entry of the index that has a version of a stream, or would have it; the version itself if
/// all entries of the stream are later.
///
/// # Errors
/// Those of the engine; damage.
pub fn entry_start(txn: &impl Read, tables: &Tables, stream: StreamId, version: Version) -> Result<Version> {
    let bounds = keys::stream_part(stream, Version(0))..=keys::stream_part(stream, version);
    match txn.range(&tables.index, bounds)?.next_back() {
        Some(entry) => {
            let (key, value) = entry?;
            Ok(parse_entry(tables, &key, &value)?.first)
        }
        None => Ok(version),
    }
}

/// The first version of a stream, among those that entries of the index have, whose chunk begins at `chunk` or after
/// it: by bisection, because positions rise with versions.
///
/// # Errors
/// Those of the engine; damage.
pub fn version_from(txn: &impl Read, tables: &Tables, stream: StreamId, chunk: Position) -> Result<Version> {
    let (mut low, mut high) = (0, entries_end(txn, tables, stream)?.0);
    while low < high {
        let middle = low + (high - low) / 2;
        let bounds = keys::stream_part(stream, Version(0))..=keys::stream_part(stream, Version(middle));
        match txn.range(&tables.index, bounds)?.next_back().transpose()? {
            Some((key, value)) => {
                let entry = parse_entry(tables, &key, &value)?;
                match entry.parts().find(|part| part.chunk >= chunk) {
                    None => low = entry.end.0.max(middle + 1),
                    Some(part) if part.version == entry.first => high = entry.first.0,
                    Some(part) => return Ok(part.version),
                }
            }
            None => low = middle + 1,
        }
    }
    Ok(Version(low))
}

/// The first position whose event was appended at `time` or later: by bisection, because times rise with positions. A
/// chunk that retention has joined has the time of its first event only: if `time` is later, and is that of another
/// event of the chunk, this is the position after the chunk.
///
/// # Errors
/// Those of the engine; damage.
pub fn position_at(txn: &impl Read, tables: &Tables, time: Timestamp) -> Result<Position> {
    let Some((key, value)) = txn.first(&tables.log)? else { return Ok(Position::START) };
    let mut low = parse(tables, &key, &value)?.first.0;
    let mut high = end_of_log(txn, tables)?.0.0;
    while low < high {
        let middle = low + (high - low) / 2;
        let Some((key, value)) = chunk_at(txn, tables, Position(middle))? else { break };
        let chunk = parse(tables, &key, &value)?;
        if chunk.time < time {
            low = chunk.end().0.max(middle + 1);
        } else {
            high = chunk.first.0;
        }
    }
    Ok(Position(low))
}
