//! Where things are: the chunk of a position, the ends of the log and of a stream.

use fulgurite::{Read, Value};

use crate::error::Result;
use crate::ids::{Position, StreamId, Timestamp, Version};
use crate::layout::chunk::Chunk;
use crate::layout::keys;
use crate::layout::stream::StreamRecord;
use crate::layout::tables::{META_START, Tables};

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
    let Some(value) = txn.get(&tables.meta, META_START)? else { return Ok(Position::START) };
    let bytes = value[..].try_into().map_err(|_| tables.damaged(&tables.meta, "the start of the log is malformed"))?;
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
    let bytes =
        value[..].try_into().map_err(|_| tables.damaged(&tables.names, "the number of a stream is malformed"))?;
    Ok(Some(StreamId(u64::from_be_bytes(bytes))))
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
    let Some(entry) = txn.prefix(&tables.index, stream.0.to_be_bytes())?.next_back() else { return Ok(Version(0)) };
    let (key, value) = entry?;
    let (version, part) = parse_part(tables, &key, &value)?;
    Ok(Version(version.0 + u64::from(part.count)))
}

/// An entry of the index of streams: the first version, and where it is.
///
/// # Errors
/// Damage.
pub fn parse_part(tables: &Tables, key: &[u8], value: &[u8]) -> Result<(Version, keys::Part)> {
    let entry = keys::parse_stream_part(key).zip(keys::Part::parse(value));
    let ((_, version), part) =
        entry.ok_or_else(|| tables.damaged(&tables.index, "an entry of a stream is malformed"))?;
    version.0.checked_add(u64::from(part.count)).ok_or_else(|| tables.damaged(&tables.index, "a version overflows"))?;
    Ok((version, part))
}

/// The first version of the entry of the index that has a version of a stream; the version itself if there is none.
///
/// # Errors
/// Those of the engine; damage.
pub fn part_start(txn: &impl Read, tables: &Tables, stream: StreamId, version: Version) -> Result<Version> {
    let bounds = keys::stream_part(stream, Version(0))..=keys::stream_part(stream, version);
    match txn.range(&tables.index, bounds)?.next_back() {
        Some(entry) => {
            let (key, value) = entry?;
            Ok(parse_part(tables, &key, &value)?.0)
        }
        None => Ok(version),
    }
}

/// The first version of a stream whose chunk begins at `chunk` or after it: by bisection, because positions rise with
/// versions.
///
/// # Errors
/// Those of the engine; damage.
pub fn version_from(txn: &impl Read, tables: &Tables, stream: StreamId, chunk: Position) -> Result<Version> {
    let (mut low, mut high) = (0, next_version(txn, tables, stream)?.0);
    while low < high {
        let middle = low + (high - low) / 2;
        let bounds = keys::stream_part(stream, Version(0))..=keys::stream_part(stream, Version(middle));
        match txn.range(&tables.index, bounds)?.next_back().transpose()? {
            Some((key, value)) => {
                let (version, part) = parse_part(tables, &key, &value)?;
                if part.chunk < chunk {
                    low = (version.0 + u64::from(part.count)).max(middle + 1);
                } else {
                    high = version.0;
                }
            }
            None => low = middle + 1,
        }
    }
    Ok(Version(low))
}

/// The first position whose event was appended at `time` or later: by bisection, because times rise with positions.
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
