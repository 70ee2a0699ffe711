//! What a finished leaf holds.

/// What a page that was cut off holds, for its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafSummary {
    /// Number of entries.
    pub entries: usize,
    /// Sum of the entries' [`Op::net`](crate::format::Op::net).
    pub net_count: i64,
    /// Whether some key or value lives in an overflow.
    pub has_overflow: bool,
}
