//! Queries: which events a reader or the condition of an append asks for.

use crate::error::Result;
use crate::event::Event;
use crate::ids::{StreamId, TypeId};
use crate::reading::types::Types;

/// Which events: those that at least one of its items matches. A query without items matches every event.
///
/// ```
/// use fulgurite_events::{EventQuery, QueryItem};
///
/// // Everything about order 7, and all price changes.
/// let query = EventQuery::new()
///     .or(QueryItem::new().tag("order:7"))
///     .or(QueryItem::new().kind("price changed"));
/// # let _ = query;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventQuery {
    pub(crate) items: Vec<QueryItem>,
}

/// A part of a query. An event matches if it has one of the types, all of the tags, and is in one of the streams. What
/// is not given matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryItem {
    pub(crate) kinds: Vec<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) streams: Vec<Vec<u8>>,
}

impl EventQuery {
    /// Every event.
    pub fn new() -> Self {
        Self::default()
    }

    /// The events of a type, whatever the version of its schema.
    pub fn kind(kind: impl Into<String>) -> Self {
        Self::new().or(QueryItem::new().kind(kind))
    }

    /// The events with a tag.
    pub fn tag(tag: impl Into<String>) -> Self {
        Self::new().or(QueryItem::new().tag(tag))
    }

    /// Adds an item: events that match it match the query too.
    #[must_use]
    pub fn or(mut self, item: QueryItem) -> Self {
        self.items.push(item);
        self
    }
}

impl QueryItem {
    /// Every event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a type: the event has one of those that were added.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kinds.push(kind.into());
        self
    }

    /// Adds a tag. Matching events have all added tags.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Adds a stream: the event is in one of those that were added.
    #[must_use]
    pub fn stream(mut self, stream: impl AsRef<[u8]>) -> Self {
        self.streams.push(stream.as_ref().to_vec());
        self
    }
}

/// A query with numbers instead of names.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub items: Vec<ResolvedItem>,
}

/// A part of a resolved query. Empty lists match all.
#[derive(Clone, Debug)]
pub struct ResolvedItem {
    pub kinds: Vec<TypeId>,
    pub tags: Vec<Vec<u8>>,
    pub streams: Vec<StreamId>,
}

impl Resolved {
    /// The query with numbers. Items with only unknown types or streams match nothing, and are left out.
    ///
    /// # Errors
    /// Those of `stream`, which finds the number of a stream.
    pub fn new(
        query: &EventQuery,
        types: &Types,
        mut stream: impl FnMut(&[u8]) -> Result<Option<StreamId>>,
    ) -> Result<Self> {
        let mut items = Vec::with_capacity(query.items.len().max(1));
        for item in &query.items {
            let kinds: Vec<_> = item.kinds.iter().flat_map(|kind| types.of_name(kind)).collect();
            let mut streams = Vec::with_capacity(item.streams.len());
            for name in &item.streams {
                streams.extend(stream(name)?);
            }
            let is_empty =
                (kinds.is_empty() && !item.kinds.is_empty()) || (streams.is_empty() && !item.streams.is_empty());
            if !is_empty {
                let tags = item.tags.iter().map(|tag| tag.as_bytes().to_vec()).collect();
                items.push(ResolvedItem { kinds, tags, streams });
            }
        }
        if query.items.is_empty() {
            items.push(ResolvedItem { kinds: Vec::new(), tags: Vec::new(), streams: Vec::new() });
        }
        Ok(Self { items })
    }

    /// Whether an event matches.
    pub fn matches(&self, event: &Event<'_>) -> bool {
        self.items.iter().any(|item| item.matches(event))
    }
}

impl ResolvedItem {
    fn matches(&self, event: &Event<'_>) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&event.kind))
            && (self.streams.is_empty() || self.streams.contains(&event.stream))
            && self.tags.iter().all(|tag| event.tags.into_iter().any(|other| other == &tag[..]))
    }
}
