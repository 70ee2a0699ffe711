//! [`Edge`]: an edge of a vertex.

/// Whether an edge leads away from the vertex that has it, or towards it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Away from the vertex.
    Out,
    /// Towards the vertex.
    In,
}

/// An edge, as the vertex `source` has it. A graph that is read in both directions has each edge twice: as
/// [`Direction::Out`] of one end and as [`Direction::In`] of the other.
///
/// All fields but the value identify the edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge<K, E> {
    /// The vertex that has the edge.
    pub source: K,
    /// The other end.
    pub target: K,
    /// Whether the edge leads to the target, or comes from it.
    pub direction: Direction,
    /// The label; empty in graphs without [labels](crate::GraphOptions::labels).
    pub label: String,
    /// The time; 0 in graphs without [times](crate::GraphOptions::times).
    pub time: i64,
    /// The value.
    pub value: E,
}

impl<K, E> Edge<K, E> {
    /// An edge that leads from `source` to `target`, without label and time.
    pub fn out(source: K, target: K, value: E) -> Self {
        Self { source, target, direction: Direction::Out, label: String::new(), time: 0, value }
    }

    /// The same edge with another direction.
    #[must_use]
    pub fn with_direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// The same edge with a label.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same edge with a time.
    #[must_use]
    pub fn with_time(mut self, time: i64) -> Self {
        self.time = time;
        self
    }

    /// The same edge as its target has it: with the ends exchanged and the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        let direction = match self.direction {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
        };
        Self { source: self.target, target: self.source, direction, ..self }
    }
}
