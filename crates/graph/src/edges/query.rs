//! [`EdgeQuery`]: which edges of a vertex are read.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use fulgurite::keys::{AsKey, KeyBuffer};

use crate::edges::edge::{Direction, Edge};
use crate::edges::layout::{GraphOptions, KeyBounds, Rest, all_with, byte_of};

type Filter<K, E> = dyn Fn(&Edge<K, E>) -> bool + Send + Sync;

/// Which keys to skip. They are those after the version.
pub enum Skip {
    /// Those below this one.
    To(Vec<u8>),
    /// Those that begin with this.
    Past(Vec<u8>),
}

/// Which edges of a vertex are read: all, unless a method restricts them.
///
/// For one vertex, directions, labels and times select ranges of keys, and other edges are not read. Times alone select
/// ranges only in a graph without labels. Where other edges are between selected ones, as when all vertices are read,
/// some of them are read and the rest of a long row is skipped. The filter is called with every selected edge, and the
/// limits count edges that have passed it. Edges beyond a limit are not read.
///
/// ```
/// use fulgurite_graph::{Direction, EdgeQuery};
///
/// let query: EdgeQuery<u64, f64> = EdgeQuery::new()
///     .direction(Direction::Out)
///     .label("bought")
///     .times(1_700_000_000..)
///     .filter(|edge| edge.value > 10.0)
///     .limit_out(100);
/// ```
pub struct EdgeQuery<K, E> {
    direction: Option<Direction>,
    labels: Vec<String>,
    times: (Bound<i64>, Bound<i64>),
    filter: Option<Box<Filter<K, E>>>,
    limits: [Option<u64>; 2],
}

impl<K, E> Default for EdgeQuery<K, E> {
    fn default() -> Self {
        Self {
            direction: None,
            labels: Vec::new(),
            times: (Bound::Unbounded, Bound::Unbounded),
            filter: None,
            limits: [None; 2],
        }
    }
}

impl<K, E> EdgeQuery<K, E> {
    /// All edges.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only edges of this direction.
    #[must_use]
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = Some(direction);
        self
    }

    /// Edges with this label. If it is called again, edges with any of the labels.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        let label = label.into();
        if let Err(place) = self.labels.binary_search(&label) {
            self.labels.insert(place, label);
        }
        self
    }

    /// Only edges whose times are within these bounds.
    #[must_use]
    pub fn times(mut self, times: impl RangeBounds<i64>) -> Self {
        self.times = (times.start_bound().cloned(), times.end_bound().cloned());
        self
    }

    /// Only edges for which `filter` returns true.
    #[must_use]
    pub fn filter(mut self, filter: impl Fn(&Edge<K, E>) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(Box::new(filter));
        self
    }

    /// At most this many edges of [`Direction::Out`] for each vertex: the first in the order of keys.
    #[must_use]
    pub fn limit_out(mut self, most: u64) -> Self {
        self.limits[0] = Some(most);
        self
    }

    /// At most this many edges of [`Direction::In`] for each vertex.
    #[must_use]
    pub fn limit_in(mut self, most: u64) -> Self {
        self.limits[1] = Some(most);
        self
    }

    pub(crate) fn limits(&self) -> [Option<u64>; 2] {
        self.limits
    }

    /// Whether the query has no filter.
    pub(crate) fn is_of_ranges(&self) -> bool {
        self.filter.is_none()
    }

    /// The ranges of keys of one vertex, in order. `vertex` are the bytes before the direction.
    pub(crate) fn ranges(&self, vertex: &[u8], options: GraphOptions) -> Vec<KeyBounds> {
        let directions = match self.direction {
            None => &[Direction::Out, Direction::In][..],
            Some(Direction::Out) => &[Direction::Out],
            Some(Direction::In) => &[Direction::In],
        };
        let selects_labels = options.has_labels && !self.labels.is_empty();
        let selects_times = options.has_times && self.times != (Bound::Unbounded, Bound::Unbounded);
        // Times are in order within a label only.
        let times_in_keys = selects_times && (selects_labels || !options.has_labels);
        if directions.len() == 2 && !selects_labels && !times_in_keys {
            return vec![all_with(vertex)];
        }
        let mut ranges = Vec::new();
        for &direction in directions {
            let mut prefix = KeyBuffer::new();
            prefix.push(vertex);
            prefix.push(&[byte_of(direction)]);
            if !selects_labels {
                ranges.push(self.times_with(prefix.as_slice(), times_in_keys));
                continue;
            }
            for label in &self.labels {
                let mut prefix_of_label = KeyBuffer::new();
                prefix_of_label.push(prefix.as_slice());
                label.encode_inner(&mut prefix_of_label);
                ranges.push(self.times_with(prefix_of_label.as_slice(), times_in_keys));
            }
        }
        ranges
    }

    fn times_with(&self, prefix: &[u8], times_in_keys: bool) -> KeyBounds {
        if !times_in_keys {
            return all_with(prefix);
        }
        let at = |time: &i64| {
            let mut key = KeyBuffer::new();
            key.push(prefix);
            time.encode_inner(&mut key);
            key.into_vec()
        };
        // A time is followed by the target.
        let behind = |time: &i64| fulgurite::keys::prefix_end(&at(time));
        let (_, end) = all_with(prefix);
        let low = match &self.times.0 {
            Bound::Unbounded => Bound::Included(prefix.to_vec()),
            Bound::Included(time) => Bound::Included(at(time)),
            Bound::Excluded(time) => behind(time).map_or_else(|| end.clone(), Bound::Included),
        };
        let high = match &self.times.1 {
            Bound::Unbounded => end,
            Bound::Included(time) => behind(time).map_or(end, Bound::Excluded),
            Bound::Excluded(time) => Bound::Excluded(at(time)),
        };
        (low, high)
    }

    /// Whether all edges within the ranges of a vertex are selected.
    pub(crate) fn selects_by_keys(&self, options: GraphOptions) -> bool {
        let selects_times = self.times != (Bound::Unbounded, Bound::Unbounded);
        let orders_times = options.has_times && (!options.has_labels || !self.labels.is_empty());
        (self.labels.is_empty() || options.has_labels) && (!selects_times || orders_times)
    }

    /// Whether an edge is within what the query selects by fields. Edges of the ranges of one vertex are, but for times
    /// that are not in the order of keys.
    pub(crate) fn selects(&self, rest: &Rest<K>) -> bool {
        self.direction.is_none_or(|direction| direction == rest.direction)
            && (self.labels.is_empty() || self.labels.binary_search(&rest.label).is_ok())
            && self.times.contains(&rest.time)
    }

    /// Which keys to skip after the edge `key`, which the query does not [select](Self::selects), so that no selected
    /// edge is skipped; `None` if others may follow directly. `source` are the bytes of `key` before the direction.
    pub(crate) fn skip(&self, source: &[u8], key: &[u8], edge: &Rest<K>, options: GraphOptions) -> Option<Skip> {
        let mut prefix = KeyBuffer::new();
        prefix.push(source);
        match self.direction {
            Some(wanted) if wanted < edge.direction => return Some(Skip::Past(prefix.into_vec())),
            Some(wanted) if wanted > edge.direction => {
                prefix.push(&[byte_of(wanted)]);
                return Some(Skip::To(prefix.into_vec()));
            }
            _ => prefix.push(&[byte_of(edge.direction)]),
        }
        if options.has_labels {
            let wanted = self.labels.get(self.labels.partition_point(|label| *label < edge.label));
            match wanted {
                None if !self.labels.is_empty() => return Some(Skip::Past(prefix.into_vec())),
                Some(wanted) if *wanted != edge.label => {
                    wanted.encode_inner(&mut prefix);
                    return Some(Skip::To(prefix.into_vec()));
                }
                _ => edge.label.encode_inner(&mut prefix),
            }
        }
        if !options.has_times {
            return None;
        }
        match self.times_with(prefix.as_slice(), true).0 {
            Bound::Included(low) if low.as_slice() > key => Some(Skip::To(low)),
            _ => Some(Skip::Past(prefix.into_vec())),
        }
    }

    /// Whether all edges are selected.
    pub(crate) fn is_unrestricted(&self) -> bool {
        let names_none = self.direction.is_none() && self.labels.is_empty();
        let has_all_times = self.times == (Bound::Unbounded, Bound::Unbounded);
        names_none && has_all_times && self.is_of_ranges() && self.limits == [None; 2]
    }

    pub(crate) fn passes(&self, edge: &Edge<K, E>) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter(edge))
    }
}

impl<K, E> fmt::Debug for EdgeQuery<K, E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("EdgeQuery")
            .field("direction", &self.direction)
            .field("labels", &self.labels)
            .field("times", &self.times)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
