//! What a follower learns beside the events.

/// How far a follower is from the newest event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// It has seen all events that there are. From now on events are new.
    CaughtUp,
    /// It had caught up, and is now this many events behind: more than
    /// [`Follower::behind_max`](crate::Follower::behind_max).
    FellBehind {
        /// How many events are waiting.
        events: u64,
    },
}
