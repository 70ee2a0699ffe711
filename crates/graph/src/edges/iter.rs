//! [`Edges`] and [`Targets`]: the edges that a query selects, in the order of their keys.

use std::ops::Bound;

use fulgurite::keys::{Key, Reader, ValueCodec};
use fulgurite::{Error, Range, Read, Result, Table};

use crate::edges::edge::{Direction, Edge};
use crate::edges::layout::{GraphOptions, KeyBounds, Rest, all_with};
use crate::edges::query::EdgeQuery;

/// The edges that a query selects, in the order of their keys. The first error ends it.
pub struct Edges<'t, 'q, T, K, E> {
    walk: Walk<'t, T>,
    query: &'q EdgeQuery<K, E>,
    /// The source of the edge before, and how many edges of each direction it has had.
    counted: Vec<u8>,
    counts: [u64; 2],
}

/// The targets of the edges that a query selects, in the order of the keys. Values are not decoded, unless the query
/// has a filter. The first error ends it.
pub struct Targets<'t, 'q, T, K, E>(Edges<'t, 'q, T, K, E>);

/// The entries of the ranges.
struct Walk<'t, T> {
    txn: &'t T,
    table: Table,
    options: GraphOptions,
    /// The bytes of the version in each key.
    version_bytes: usize,
    ranges: std::vec::IntoIter<KeyBounds>,
    range: Option<Range<'t>>,
    /// The end of `range`.
    high: Bound<Vec<u8>>,
}

/// What follows an entry.
enum Step<R> {
    Found(R),
    /// The next entry.
    Next,
    /// The next entry whose key does not begin with so many bytes of this one, after the version.
    Past(usize),
}

impl<'t, T: Read> Walk<'t, T> {
    /// Calls `each` with entries until it finds something.
    fn find<R>(&mut self, mut each: impl FnMut(GraphOptions, &[u8], &[u8]) -> Result<Step<R>>) -> Option<Result<R>> {
        loop {
            let range = match &mut self.range {
                Some(range) => range,
                None => {
                    let bounds = self.ranges.next()?;
                    self.high = bounds.1.clone();
                    match self.txn.range(&self.table, bounds) {
                        Ok(range) => self.range.insert(range),
                        Err(error) => return self.failed(error),
                    }
                }
            };
            match range.next() {
                None => self.range = None,
                Some(Err(error)) => return self.failed(error),
                Some(Ok((key, value))) => match each(self.options, &key[self.version_bytes..], &value) {
                    Ok(Step::Next) => {}
                    Ok(Step::Found(found)) => return Some(Ok(found)),
                    Ok(Step::Past(length)) => {
                        let passed = key[..self.version_bytes + length].to_vec();
                        if let Err(error) = self.pass(&passed) {
                            return self.failed(error);
                        }
                    }
                    Err(error) => return self.failed(error),
                },
            }
        }
    }

    /// Continues after the keys that begin with `prefix`.
    fn pass(&mut self, prefix: &[u8]) -> Result<()> {
        self.range = None;
        let Bound::Excluded(low) = all_with(prefix).1 else { return Ok(()) };
        let is_empty = match &self.high {
            Bound::Excluded(high) => *high <= low,
            Bound::Included(high) => *high < low,
            Bound::Unbounded => false,
        };
        if !is_empty {
            self.range = Some(self.txn.range(&self.table, (Bound::Included(low), self.high.clone()))?);
        }
        Ok(())
    }

    fn failed<R>(&mut self, error: Error) -> Option<Result<R>> {
        self.range = None;
        self.ranges = Vec::new().into_iter();
        Some(Err(error))
    }
}

impl<'t, 'q, T: Read, K: Key, E: ValueCodec> Edges<'t, 'q, T, K, E> {
    pub(crate) fn new(
        txn: &'t T,
        table: Table,
        options: GraphOptions,
        version_bytes: usize,
        ranges: Vec<KeyBounds>,
        query: &'q EdgeQuery<K, E>,
    ) -> Self {
        let walk = Walk {
            txn,
            table,
            options,
            version_bytes,
            ranges: ranges.into_iter(),
            range: None,
            high: Bound::Unbounded,
        };
        Self { walk, query, counted: Vec::new(), counts: [0; 2] }
    }

    /// The next edge that the query selects. Its value is decoded if `decodes` or the query has a filter.
    fn step(&mut self, decodes: bool) -> Option<Result<Taken<K, E>>> {
        let Self { walk, query, counted, counts } = self;
        let limits = query.limits();
        walk.find(|options, key, value| {
            let mut reader = Reader::new(key);
            let source = K::decode_inner(&mut reader).map_err(decode_error)?;
            let source_bytes = &key[..key.len() - reader.left_bytes()];
            let rest = options.read_rest::<K>(&mut reader).map_err(decode_error)?;
            reader.finish().map_err(decode_error)?;
            if !query.selects(&rest) {
                return Ok(Step::Next);
            }
            let place = usize::from(rest.direction == Direction::In);
            if limits != [None; 2] {
                if counted != source_bytes {
                    counted.clear();
                    counted.extend_from_slice(source_bytes);
                    *counts = [0; 2];
                }
                if limits[place].is_some_and(|most| counts[place] >= most) {
                    // The direction is the byte after the source.
                    return Ok(Step::Past(source_bytes.len() + 1));
                }
            }
            let taken = if decodes || !query.is_of_ranges() {
                let Rest { direction, label, time, target } = rest;
                let value = E::decode_value(value).map_err(decode_error)?;
                let edge = Edge { source, target, direction, label, time, value };
                if !query.passes(&edge) {
                    return Ok(Step::Next);
                }
                Taken::Edge(edge)
            } else {
                Taken::Target(rest.target)
            };
            counts[place] += 1;
            Ok(Step::Found(taken))
        })
    }
}

enum Taken<K, E> {
    Edge(Edge<K, E>),
    Target(K),
}

impl<T: Read, K: Key, E: ValueCodec> Iterator for Edges<'_, '_, T, K, E> {
    type Item = Result<Edge<K, E>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step(true)? {
                Ok(Taken::Edge(edge)) => return Some(Ok(edge)),
                Ok(Taken::Target(_)) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl<'t, 'q, T, K, E> Targets<'t, 'q, T, K, E> {
    pub(crate) fn new(edges: Edges<'t, 'q, T, K, E>) -> Self {
        Self(edges)
    }
}

impl<T: Read, K: Key, E: ValueCodec> Iterator for Targets<'_, '_, T, K, E> {
    type Item = Result<K>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.step(false)?.map(|taken| match taken {
            Taken::Edge(edge) => edge.target,
            Taken::Target(target) => target,
        }))
    }
}

/// The error of bytes that are no key or value of the graph's types.
pub(crate) fn decode_error(error: fulgurite::keys::Error) -> Error {
    Error::Decode { message: error.to_string() }
}
