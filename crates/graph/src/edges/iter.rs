//! [`Edges`], [`Targets`] and [`AllTargets`]: the edges that a query selects, in the order of their keys.
//!
//! Edges of all vertices are read in one range. Within it, a few edges that the query does not select are read one by
//! one, because that takes less time than a search. After more of them, the next place where a selected edge may be is
//! searched.

use std::ops::Bound;

use fulgurite::keys::{Key, Reader, ValueCodec};
use fulgurite::{Error, Range, Read, Result, Table};

use crate::edges::edge::{Direction, Edge};
use crate::edges::layout::{GraphOptions, KeyBounds, Rest, all_with};
use crate::edges::query::{EdgeQuery, Skip};

/// The edges that a query selects, in the order of their keys. The first error ends it.
pub struct Edges<'t, 'q, T, K, E> {
    walk: Walk<'t, T>,
    query: &'q EdgeQuery<K, E>,
    /// The source of the edge before, and how many edges of each direction it has had.
    counted: Vec<u8>,
    counts: [u64; 2],
    /// How many edges that are not selected were read since the last one that is.
    passed: u32,
}

/// The targets of the edges that a query selects, in the order of the keys. Values are not decoded, unless the query
/// has a filter. The first error ends it.
pub struct Targets<'t, 'q, T, K, E>(Edges<'t, 'q, T, K, E>);

/// The sources and targets of the edges of all vertices that a query selects, in the order of the keys. Values are not
/// decoded, unless the query has a filter. The first error ends it.
pub struct AllTargets<'t, 'q, T, K, E>(Edges<'t, 'q, T, K, E>);

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
    /// The next entry that is not skipped. The keys are those after the version.
    Skip(Skip),
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
                    Ok(Step::Skip(skip)) => {
                        if let Err(error) = self.skip(&key[..self.version_bytes], &skip) {
                            return self.failed(error);
                        }
                    }
                    Err(error) => return self.failed(error),
                },
            }
        }
    }

    /// Continues after keys of a version.
    fn skip(&mut self, version: &[u8], skip: &Skip) -> Result<()> {
        self.range = None;
        let low = match skip {
            Skip::To(low) => [version, low.as_slice()].concat(),
            Skip::Past(prefix) => match all_with(&[version, prefix.as_slice()].concat()).1 {
                Bound::Excluded(low) => low,
                _ => return Ok(()),
            },
        };
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
        Self { walk, query, counted: Vec::new(), counts: [0; 2], passed: 0 }
    }

    /// The next edge that the query selects. Its value is decoded if `decodes` or the query has a filter.
    fn step(&mut self, decodes: bool) -> Option<Result<Taken<K, E>>> {
        let Self { walk, query, counted, counts, passed } = self;
        let limits = query.limits();
        walk.find(|options, key, value| {
            let mut reader = Reader::new(key);
            let source = K::decode_inner(&mut reader).map_err(decode_error)?;
            let source_bytes = &key[..key.len() - reader.left_bytes()];
            let rest = options.read_rest::<K>(&mut reader).map_err(decode_error)?;
            reader.finish().map_err(decode_error)?;
            if !query.selects(&rest) {
                *passed += 1;
                if *passed < PASSED_MAX {
                    return Ok(Step::Next);
                }
                *passed = 0;
                return Ok(query.skip(source_bytes, key, &rest, options).map_or(Step::Next, Step::Skip));
            }
            *passed = 0;
            let place = usize::from(rest.direction == Direction::In);
            if limits != [None; 2] {
                if counted != source_bytes {
                    counted.clear();
                    counted.extend_from_slice(source_bytes);
                    *counts = [0; 2];
                }
                if limits[place].is_some_and(|most| counts[place] >= most) {
                    // The direction is the byte after the source.
                    return Ok(Step::Skip(Skip::Past(key[..=source_bytes.len()].to_vec())));
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
                Taken::Ends(source, rest.target)
            };
            counts[place] += 1;
            Ok(Step::Found(taken))
        })
    }
}

enum Taken<K, E> {
    Edge(Edge<K, E>),
    /// Its source and target.
    Ends(K, K),
}

impl<K, E> Taken<K, E> {
    fn ends(self) -> (K, K) {
        match self {
            Self::Edge(edge) => (edge.source, edge.target),
            Self::Ends(source, target) => (source, target),
        }
    }
}

impl<T: Read, K: Key, E: ValueCodec> Iterator for Edges<'_, '_, T, K, E> {
    type Item = Result<Edge<K, E>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step(true)? {
                Ok(Taken::Edge(edge)) => return Some(Ok(edge)),
                Ok(Taken::Ends(..)) => {}
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
        Some(self.0.step(false)?.map(|taken| taken.ends().1))
    }
}

impl<'t, 'q, T, K, E> AllTargets<'t, 'q, T, K, E> {
    pub(crate) fn new(edges: Edges<'t, 'q, T, K, E>) -> Self {
        Self(edges)
    }
}

impl<T: Read, K: Key, E: ValueCodec> Iterator for AllTargets<'_, '_, T, K, E> {
    type Item = Result<(K, K)>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.step(false)?.map(Taken::ends))
    }
}

/// After so many edges that are not selected, the next one is searched. A search takes about as long as reading them.
const PASSED_MAX: u32 = 16;

/// The error of bytes that are no key or value of the graph's types.
pub(crate) fn decode_error(error: fulgurite::keys::Error) -> Error {
    Error::Decode { message: error.to_string() }
}
