//! Levels of isolation by the names that RDF4J gives them, and what the engine gives for each.

use std::fmt;

use fulgurite::Isolation;

/// The isolation levels of RDF4J, weakest first.
///
/// Each level guarantees what RDF4J requires, and the weak ones guarantee more. A transaction always reads one snapshot
/// and its own changes, it is always atomic, and if two transactions change the same quad, the second one conflicts. So
/// there are two kinds of levels:
///
/// | level | no dirty reads | repeatable reads | reads are checked at the commit |
/// |---|---|---|---|
/// | `NONE`, `READ_UNCOMMITTED` | yes (not required) | yes (not required) | no |
/// | `READ_COMMITTED` | yes | yes (not required) | no |
/// | `SNAPSHOT_READ` | yes | yes (required only within one result) | no |
/// | `SNAPSHOT` | yes | yes | no |
/// | `SERIALIZABLE` | yes | yes | yes |
///
/// At levels that do not check reads, two transactions can each read what the other changes, and both commit (write
/// skew). Terms are checked at all levels: no quad is committed whose term a [sweep](crate::Store::sweep) has removed,
/// and no term gets two ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IsolationLevel {
    /// In RDF4J: no isolation. Changes may be visible immediately and may survive a rollback. Here the same as
    /// [`IsolationLevel::Snapshot`].
    None,
    /// In RDF4J: uncommitted changes may be visible; a rollback removes them. Here the same as
    /// [`IsolationLevel::Snapshot`].
    ReadUncommitted,
    /// In RDF4J: only committed changes are visible, and they may change between reads. Here the same as
    /// [`IsolationLevel::Snapshot`].
    ReadCommitted,
    /// In RDF4J: each result is of one state; later reads may see a later state. Here the same as
    /// [`IsolationLevel::Snapshot`].
    SnapshotRead,
    /// All reads see one state, without later commits. Two transactions that change the same quad, or add the same new
    /// term, conflict.
    Snapshot,
    /// The result is as if committed transactions ran one after the other: a transaction conflicts if others have
    /// changed what it read.
    #[default]
    Serializable,
}

impl IsolationLevel {
    /// All levels, weakest first.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::ReadUncommitted,
        Self::ReadCommitted,
        Self::SnapshotRead,
        Self::Snapshot,
        Self::Serializable,
    ];

    /// The name in RDF4J.
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

    /// The level with this name of RDF4J.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The isolation level of the engine.
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
