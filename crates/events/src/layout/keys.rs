//! Keys of the tables. Numbers are big-endian, so that they sort.

use xxhash_rust::xxh3::xxh3_64;

use crate::ids::{Position, StreamId, TypeId, Version};

/// The longest name of a consumer: the engine stores keys up to this length in one place.
pub const CONSUMER_BYTES_MAX: u32 = 1024;

/// The key of a chunk, a type, or another number.
pub fn number(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// The key of a part of a stream: its first version there.
pub fn stream_part(stream: StreamId, version: Version) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&stream.0.to_be_bytes());
    key[8..].copy_from_slice(&version.0.to_be_bytes());
    key
}

/// The stream and the version of a key of [`stream_part`].
pub fn parse_stream_part(key: &[u8]) -> Option<(StreamId, Version)> {
    let (stream, version) = key.split_first_chunk::<8>()?;
    Some((StreamId(u64::from_be_bytes(*stream)), Version(u64::from_be_bytes(version.try_into().ok()?))))
}

/// The key, in the table of the layout's version, of the version that a stream had when it was deleted last.
pub fn deleted(stream: StreamId) -> [u8; 16] {
    let mut key = *b"deleted.........";
    key[8..].copy_from_slice(&stream.0.to_be_bytes());
    key
}

/// The key that says that a chunk has events of a type.
pub fn type_chunk(kind: TypeId, chunk: Position) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&kind.0.to_be_bytes());
    key[4..].copy_from_slice(&chunk.0.to_be_bytes());
    key
}

/// The key that says that a chunk has events with a tag of this hash.
pub fn tag_chunk(hash: u64, chunk: Position) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&hash.to_be_bytes());
    key[8..].copy_from_slice(&chunk.0.to_be_bytes());
    key
}

/// The chunk at the end of a key of [`type_chunk`] or [`tag_chunk`].
pub fn chunk_of(key: &[u8]) -> Option<Position> {
    key.last_chunk::<8>().map(|bytes| Position(u64::from_be_bytes(*bytes)))
}

/// The hash of a tag. Different tags may have the same: readers compare the tags of the events.
pub fn tag_hash(tag: &[u8]) -> u64 {
    xxh3_64(tag)
}

/// The key of a type's name.
pub fn type_name(name: &str, schema: u32) -> Vec<u8> {
    [name.as_bytes(), &schema.to_be_bytes()].concat()
}

/// The name and the schema version of a key of [`type_name`].
pub fn parse_type_name(key: &[u8]) -> Option<(&str, u32)> {
    let (name, schema) = key.split_last_chunk::<4>()?;
    Some((std::str::from_utf8(name).ok()?, u32::from_be_bytes(*schema)))
}
