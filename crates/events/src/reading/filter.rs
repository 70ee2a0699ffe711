//! What a cursor returns of the chunks that it reads.

use std::ops::Range;

use crate::event::Event;
use crate::ids::StreamId;
use crate::reading::query::Resolved;

/// Which events of a chunk a cursor returns.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Their positions.
    pub positions: Range<u64>,
    /// The stream, and their versions there.
    pub stream: Option<(StreamId, Range<u64>)>,
    /// The query that they match.
    pub query: Option<Resolved>,
}

impl Filter {
    /// Whether the cursor returns the event.
    pub fn selects(&self, event: &Event<'_>) -> bool {
        self.positions.contains(&event.position.0)
            && self
                .stream
                .as_ref()
                .is_none_or(|(stream, versions)| event.stream == *stream && versions.contains(&event.version.0))
            && self.query.as_ref().is_none_or(|query| query.matches(event))
    }
}
