//! Levels of isolation by the names that RDF4J gives them, and what the engine gives for each.

use std::fmt;

use fulgurite::Isolation;

/// What transactions that run at once may see of each other: the levels of RDF4J, from the weakest on.
///
/// Each gives what RDF4J asks of it, and the weak ones more: a transaction always sees one snapshot and its own
/// changes, at its end nothing of it is left or all of it, and a quad that two have changed is a conflict for the
/// second. So there are two kinds:
///
/// | level | nobody sees what is not committed | what was read stays | reads are checked at the commit |
/// |---|---|---|---|
/// | `NONE`, `READ_UNCOMMITTED` | yes (not asked for) | yes (not asked for) | no |
/// | `READ_COMMITTED` | yes | yes (not asked for) | no |
/// | `SNAPSHOT_READ` | yes | yes (asked for within one result) | no |
/// | `SNAPSHOT` | yes | yes | no |
/// | `SERIALIZABLE` | yes | yes | yes |
///
/// Where reads are not checked, two transactions may each read what the other changes, and both commit (write skew).
/// Terms are checked everywhere: no quad is committed whose term a [sweep](crate::Store::sweep) has taken away, and no
/// term gets two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IsolationLevel {
    /// RDF4J: no isolation; what a transaction does may be visible at once, and stay when it is rolled back. Here as
    /// [`IsolationLevel::Snapshot`].
    None,
    /// RDF4J: may see what is not committed; what is rolled back goes. Here as [`IsolationLevel::Snapshot`].
    ReadUncommitted,
    /// RDF4J: sees only what is committed, which may change from one read to the next. Here as
    /// [`IsolationLevel::Snapshot`].
    ReadCommitted,
    /// RDF4J: the result of each read is of one state, later reads may be of a later one. Here as
    /// [`IsolationLevel::Snapshot`].
    SnapshotRead,
    /// All reads are of one state, and what others commit meanwhile is not seen. Two that change one quad, or add one
    /// new term, are in conflict.
    Snapshot,
    /// The transactions that commit could have run one after the other: what one has read, and others have changed
    /// since, is a conflict.
    #[default]
    Serializable,
}

impl IsolationLevel {
    /// All of them, the weakest first.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::ReadUncommitted,
        Self::ReadCommitted,
        Self::SnapshotRead,
        Self::Snapshot,
        Self::Serializable,
    ];

    /// Its name in RDF4J.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::ReadUncommitted => "READ_UNCOMMITTED",
            Self::ReadCommitted => "READ_COMMITTED",
            Self::SnapshotRead => "SNAPSHOT_READ",
            Self::Snapshot => "SNAPSHOT",
            Self::Serializable => "SERIALIZABLE",
        }
    }

    /// The level of such a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// What the engine is asked for.
    pub fn engine(self) -> Isolation {
        match self {
            Self::None | Self::ReadUncommitted | Self::ReadCommitted | Self::SnapshotRead | Self::Snapshot => {
                Isolation::Snapshot
            }
            Self::Serializable => Isolation::Serializable,
        }
    }
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl From<Isolation> for IsolationLevel {
    fn from(isolation: Isolation) -> Self {
        match isolation {
            Isolation::Snapshot => Self::Snapshot,
            _ => Self::Serializable,
        }
    }
}
