//! [`Hello`]: what a follower in another process sends first.
//!
//! ```text
//! hello   0  "fulgev04"    8  first position wanted, u64; all bits set: that of the next event, which `missed` says
//!        16  index of the member of a group, u32    20  its members, u32    24  bytes of the query, u32
//!        28  bytes of the name of a consumer, u32    32  query, name of the consumer
//! query   0  part, u8: 0 begins an item, 1 is a type, 2 a tag, 3 a stream    1  bytes, u32    5  name
//! ```
//!
//! Integers are little-endian. A query without items asks for all events. A name of length 0 means that there is none.
//! With a name, the first position is the one that the store has for this name; a frame `missed` says it.

use std::io::{self, ErrorKind, Read};

use crate::ids::Position;
use crate::layout::keys::CONSUMER_BYTES_MAX;
use crate::reading::partition::Partition;
use crate::reading::query::{EventQuery, QueryItem};

/// What a follower asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The first position, or [`AT_END`].
    pub from: Position,
    /// Only events of these streams.
    pub partition: Partition,
    /// Only events that match it.
    pub query: EventQuery,
    /// The consumer at whose stored position the events begin.
    pub consumer: Option<String>,
}

impl Hello {
    /// Its bytes. None if the query or the name is too long.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut query = Vec::new();
        let mut push = |part: u8, name: &[u8]| {
            query.push(part);
            query.extend((name.len() as u32).to_le_bytes());
            query.extend(name);
        };
        for item in &self.query.items {
            push(ITEM, b"");
            item.kinds.iter().for_each(|kind| push(KIND, kind.as_bytes()));
            item.tags.iter().for_each(|tag| push(TAG, tag.as_bytes()));
            item.streams.iter().for_each(|stream| push(STREAM, stream));
        }
        let length = u32::try_from(query.len()).ok().filter(|length| *length <= QUERY_BYTES_MAX)?;
        let consumer = self.consumer.as_deref().unwrap_or_default();
        let name_bytes = u32::try_from(consumer.len()).ok().filter(|length| *length <= CONSUMER_BYTES_MAX)?;
        let (index, count) = self.partition.numbers();
        let mut bytes = [&MAGIC[..], &self.from.0.to_le_bytes()].concat();
        [index, count, length, name_bytes].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(query);
        bytes.extend(consumer.as_bytes());
        Some(bytes)
    }

    /// Reads one.
    ///
    /// # Errors
    /// Those of the socket. `InvalidData` if it is malformed, or of another version.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let malformed = || io::Error::from(ErrorKind::InvalidData);
        if array::<8>(from)? != *MAGIC {
            return Err(malformed());
        }
        let position = Position(u64::from_le_bytes(array::<8>(from)?));
        let (index, count, length, name_bytes) = (word(from)?, word(from)?, word(from)?, word(from)?);
        if length > QUERY_BYTES_MAX || name_bytes > CONSUMER_BYTES_MAX {
            return Err(malformed());
        }
        let (mut query, mut name) = (vec![0; length as usize], vec![0; name_bytes as usize]);
        from.read_exact(&mut query)?;
        from.read_exact(&mut name)?;
        let parts = Partition::new(index, count).zip(parse_query(&query));
        let (partition, query) = parts.ok_or_else(malformed)?;
        let name = String::from_utf8(name).map_err(|_| malformed())?;
        Ok(Self { from: position, partition, query, consumer: (!name.is_empty()).then_some(name) })
    }
}

fn array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn word(from: &mut impl Read) -> io::Result<u32> {
    array::<4>(from).map(u32::from_le_bytes)
}

/// None if it is malformed.
fn parse_query(mut bytes: &[u8]) -> Option<EventQuery> {
    let (mut query, mut item) = (EventQuery::new(), None::<QueryItem>);
    while let Some((&part, rest)) = bytes.split_first() {
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        bytes = rest;
        let text = || std::str::from_utf8(name).ok();
        item = Some(match (part, item) {
            (ITEM, before) => {
                query.items.extend(before);
                QueryItem::new()
            }
            (KIND, Some(item)) => item.kind(text()?),
            (TAG, Some(item)) => item.tag(text()?),
            (STREAM, Some(item)) => item.stream(name),
            _ => return None,
        });
    }
    query.items.extend(item);
    Some(query)
}

/// Instead of a position: that of the next event.
pub const AT_END: Position = Position(u64::MAX);

/// The longest query in this form.
pub const QUERY_BYTES_MAX: u32 = 64 << 10;
const MAGIC: &[u8; 8] = b"fulgev04";
const ITEM: u8 = 0;
const KIND: u8 = 1;
const TAG: u8 = 2;
const STREAM: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_read_as_it_was_written_and_a_malformed_one_is_refused() {
        let item = QueryItem::new().kind("a").kind("").tag("t").stream([0xff_u8]);
        let query = EventQuery::new().or(QueryItem::new()).or(item);
        let partition = Partition::new(2, 3).unwrap();
        for query in [EventQuery::new(), query] {
            let consumer = (!query.items.is_empty()).then(|| "c#2/3".to_owned());
            let hello = Hello { from: Position(7), partition, query, consumer };
            let bytes = hello.to_bytes().unwrap();
            assert_eq!(Hello::read(&mut &bytes[..]).unwrap(), hello);
            for length in 0..bytes.len() {
                assert!(Hello::read(&mut &bytes[..length]).is_err(), "its first {length} bytes");
            }
        }
        assert_eq!(parse_query(&[KIND, 0, 0, 0, 0]), None, "no item has begun");
        assert_eq!(parse_query(&[ITEM, 1, 0, 0, 0]), None, "a name is cut");
        let long = EventQuery::tag("t".repeat(QUERY_BYTES_MAX as usize));
        assert_eq!(Hello { from: AT_END, partition, query: long, consumer: None }.to_bytes(), None);
    }
}
