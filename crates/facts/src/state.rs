//! [`State`]: where a database is in its life.

use std::fmt;

/// The state of a database's life cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)] // On disk: never renumber, only append.
pub enum State {
    /// Facts are added.
    Incomplete = 0,
    /// [`Store::complete`](crate::Store::complete) has begun. No facts can be added; calling it again finishes.
    Finalising = 1,
    /// The database does not change. Other databases can be stacked on it.
    Complete = 2,
    /// The program has abandoned it. No facts can be added.
    Broken = 3,
}

impl State {
    /// The state that is stored as `bytes`, if this version knows it.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0] => Some(Self::Incomplete),
            [1] => Some(Self::Finalising),
            [2] => Some(Self::Complete),
            [3] => Some(Self::Broken),
            _ => None,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Incomplete => "incomplete",
            Self::Finalising => "finalising",
            Self::Complete => "complete",
            Self::Broken => "broken",
        })
    }
}
