//! The keys of edges.
//!
//! A key is the concatenation of the version (in versioned graphs), the source, the direction (one byte, 0 is out), the
//! label (in graphs with labels), the time (in graphs with times) and the target, encoded as elements of a tuple of
//! `fulgurite::keys`. So the edges of a vertex are together, and among them those of a direction, of a label, and in
//! the order of their times.

use std::ops::Bound;

use fulgurite::keys::{AsKey, Key, KeyBuffer, Reader, Result};

use crate::edges::edge::{Direction, Edge};

/// The options of a new graph. The database records them: opening the graph with others is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphOptions {
    pub(crate) has_labels: bool,
    pub(crate) has_times: bool,
}

impl GraphOptions {
    /// Edges without labels and times.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether edges have labels. Default: `false`.
    #[must_use]
    pub fn labels(mut self, labels: bool) -> Self {
        self.has_labels = labels;
        self
    }

    /// Whether edges have times. Default: `false`.
    #[must_use]
    pub fn times(mut self, times: bool) -> Self {
        self.has_times = times;
        self
    }

    /// The type of keys, for tools.
    pub(crate) fn key_type<K: Key>(self, is_versioned: bool) -> String {
        let mut parts = Vec::new();
        if is_versioned {
            parts.push(u64::type_name());
        }
        parts.extend([K::type_name(), u8::type_name()]);
        if self.has_labels {
            parts.push(String::type_name());
        }
        if self.has_times {
            parts.push(i64::type_name());
        }
        parts.push(K::type_name());
        format!("({})", parts.join(","))
    }

    /// Appends the key of an edge after what is before its source.
    pub(crate) fn push_key<K: Key, E>(self, edge: &Edge<K, E>, out: &mut KeyBuffer) {
        edge.source.encode_inner(out);
        out.push(&[byte_of(edge.direction)]);
        if self.has_labels {
            edge.label.encode_inner(out);
        }
        if self.has_times {
            edge.time.encode_inner(out);
        }
        edge.target.encode_last(out);
    }

    /// Reads the parts of a key that follow the source: direction, label, time and target.
    pub(crate) fn read_rest<'k, K: Key>(self, reader: &mut Reader<'k>) -> Result<Rest<K>> {
        let direction = if reader.take_array::<1>()? == [0] { Direction::Out } else { Direction::In };
        let label = if self.has_labels { String::decode_inner(reader)? } else { String::new() };
        let time = if self.has_times { i64::decode_inner(reader)? } else { 0 };
        Ok(Rest { direction, label, time, target: K::decode_last(reader)? })
    }
}

/// What identifies an edge of a vertex.
pub struct Rest<K> {
    pub direction: Direction,
    pub label: String,
    pub time: i64,
    pub target: K,
}

pub fn byte_of(direction: Direction) -> u8 {
    match direction {
        Direction::Out => 0,
        Direction::In => 1,
    }
}

/// The keys within these bounds.
pub type KeyBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The keys that begin with these bytes.
pub fn all_with(prefix: &[u8]) -> KeyBounds {
    let high = fulgurite::keys::prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded);
    (Bound::Included(prefix.to_vec()), high)
}

/// The first bytes of all keys whose first part is `key`.
pub fn prefix_of<K: Key>(key: &impl AsKey<K>) -> KeyBuffer {
    let mut prefix = KeyBuffer::new();
    key.encode_inner(&mut prefix);
    prefix
}

/// A key by reference.
pub struct ByRef<'k, Q>(pub &'k Q);

impl<K: Key, Q: AsKey<K>> AsKey<K> for ByRef<'_, Q> {
    fn encode_inner(&self, out: &mut KeyBuffer) {
        self.0.encode_inner(out);
    }

    fn encode_last(&self, out: &mut KeyBuffer) {
        self.0.encode_last(out);
    }
}
