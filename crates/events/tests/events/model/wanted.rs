//! Queries as the model knows them: lists of names, which are compared one by one.

use fulgurite_events::{AppendCondition, EventQuery, Position, QueryItem};

use super::known::Known;
use crate::support::Random;

/// A query: events that at least one of the items matches. Without items, every event.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    items: Vec<WantedItem>,
}

/// One of the types, all of the tags, one of the streams. Empty lists match every event.
#[derive(Clone, Debug, Default)]
struct WantedItem {
    kinds: Vec<String>,
    tags: Vec<String>,
    streams: Vec<String>,
}

/// The condition of an append: no event after a position is wanted.
#[derive(Clone, Debug)]
pub struct Unless {
    pub wanted: Wanted,
    pub after: Option<u64>,
}

impl Wanted {
    pub fn random(random: &mut Random) -> Self {
        let items = (0..random.below(3)).map(|_| WantedItem::random(random)).collect();
        Self { items }
    }

    pub fn matches(&self, event: &Known) -> bool {
        self.items.is_empty() || self.items.iter().any(|item| item.matches(event))
    }

    pub fn to_query(&self) -> EventQuery {
        self.items.iter().fold(EventQuery::new(), |query, item| query.or(item.to_item()))
    }
}

impl WantedItem {
    /// The last name of each list is that of no event.
    fn random(random: &mut Random) -> Self {
        let mut names = |name: &str, count: u64| -> Vec<String> {
            let most = if random.one_in(2) { 0 } else { 1 + random.below(2) };
            (0..most).map(|_| format!("{name}{}", random.below(count + 1))).collect()
        };
        Self { kinds: names("kind ", KINDS), tags: names("t", TAGS), streams: names("stream ", STREAMS) }
    }

    fn matches(&self, event: &Known) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&event.kind))
            && (self.streams.is_empty() || self.streams.contains(&event.stream))
            && self.tags.iter().all(|tag| event.tags.contains(tag))
    }

    fn to_item(&self) -> QueryItem {
        let item = self.kinds.iter().fold(QueryItem::new(), QueryItem::kind);
        let item = self.tags.iter().fold(item, QueryItem::tag);
        self.streams.iter().fold(item, QueryItem::stream)
    }
}

impl Unless {
    pub fn to_condition(&self) -> AppendCondition {
        AppendCondition { query: self.wanted.to_query(), after: self.after.map(Position) }
    }
}

/// How many streams, types and tags there are.
pub const STREAMS: u64 = 6;
pub const KINDS: u64 = 5;
pub const TAGS: u64 = 4;
