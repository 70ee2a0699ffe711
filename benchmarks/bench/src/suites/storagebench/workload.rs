//! The names of everything that the suite measures.

use crate::harness::arguments;
use crate::harness::row::{Claim, claim};

/// The options of this suite.
pub type Options = arguments::Options<Workload>;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Pieces of an item are added to a bin: read, change, save.
    Add,
    /// Pieces are added, and removed by the next transaction.
    AddRemove,
    /// The quantity of one item in a bin is read.
    Read,
    /// [`Workload::Add`] by 32 threads, each commit on the disk.
    Durable,
    /// Reads and changes in stores of four sizes.
    Entities,
    /// A report from all events.
    Replay,
    /// Events are appended to one stream, many in a transaction.
    AppendOne,
    /// Events are appended to 10,000 streams, many in a transaction.
    AppendMany,
    /// Events are appended to one stream, one in a transaction.
    AppendSingle,
    /// How long after the begin of its append a follower in the same process sees an event.
    FollowHere,
    /// The same in another process.
    FollowProcess,
    /// [`Workload::FollowHere`] with every append on the disk.
    FollowHereDisk,
    /// [`Workload::FollowProcess`] with every append on the disk.
    FollowProcessDisk,
}

impl Workload {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 13] = [
        Self::Add,
        Self::AddRemove,
        Self::Read,
        Self::Durable,
        Self::Entities,
        Self::Replay,
        Self::AppendOne,
        Self::AppendMany,
        Self::AppendSingle,
        Self::FollowHere,
        Self::FollowProcess,
        Self::FollowHereDisk,
        Self::FollowProcessDisk,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::AddRemove => "add_remove",
            Self::Read => "read",
            Self::Durable => "durable",
            Self::Entities => "entities",
            Self::Replay => "replay",
            Self::AppendOne => "append_one",
            Self::AppendMany => "append_many",
            Self::AppendSingle => "append_single",
            Self::FollowHere => "follow_here",
            Self::FollowProcess => "follow_process",
            Self::FollowHereDisk => "follow_here_disk",
            Self::FollowProcessDisk => "follow_process_disk",
        }
    }

    /// The workload of that name, or all whose names begin with it and a further word.
    pub fn named(name: &str) -> Option<Vec<Self>> {
        if let Some(exact) = Self::ALL.into_iter().find(|workload| workload.name() == name) {
            return Some(vec![exact]);
        }
        let family = |workload: &Self| workload.name().strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
        let found: Vec<Self> = Self::ALL.into_iter().filter(family).collect();
        (!found.is_empty()).then_some(found)
    }

    /// Its name in reports, where it is done with a codec.
    pub fn with_codec(self, codec: &str) -> &'static str {
        let name = (self, codec == FLATBUFFERS);
        match name {
            (Self::Add, false) => "add_protobuf",
            (Self::Add, true) => "add_flatbuffers",
            (Self::AddRemove, false) => "add_remove_protobuf",
            (Self::AddRemove, true) => "add_remove_flatbuffers",
            (Self::Read, false) => "read_protobuf",
            (Self::Read, true) => "read_flatbuffers",
            (Self::Durable, false) => "durable_protobuf",
            (Self::Durable, true) => "durable_flatbuffers",
            (Self::Replay, false) => "replay_protobuf",
            (Self::Replay, true) => "replay_flatbuffers",
            (other, _) => other.name(),
        }
    }

    /// What StorageBench reports for it: LMDB from .NET Core on a laptop of 2015.
    pub fn claims(self, codec: &str) -> &'static [Claim] {
        const OF: &str = "StorageBench on LMDB, .NET Core";
        const UNIT: &str = "op/sec";
        match (self, codec == FLATBUFFERS) {
            (Self::Add, false) => const { &[claim(OF, 5953.0, UNIT)] },
            (Self::Add, true) => const { &[claim(OF, 6438.0, UNIT)] },
            (Self::AddRemove, false) => const { &[claim(OF, 6359.0, UNIT)] },
            (Self::AddRemove, true) => const { &[claim(OF, 6472.0, UNIT)] },
            (Self::Read, false) => const { &[claim(OF, 290_276.0, UNIT)] },
            (Self::Read, true) => const { &[claim(OF, 712_588.0, UNIT)] },
            (Self::Durable, _) => const { &[claim("StorageBench's target", 10_000.0, "tx/sec")] },
            (Self::Replay, false) => const { &[claim("StorageBench, 400M events", 49.0, "minutes")] },
            (Self::Replay, true) => const { &[claim("StorageBench, 400M events", 15.0, "minutes")] },
            _ => &[],
        }
    }
}

/// The name of a codec.
pub const FLATBUFFERS: &str = "flatbuffers";
/// The name of a codec.
pub const PROTOBUF: &str = "protobuf";
/// The name of the suite.
pub const SUITE: &str = "storagebench";
/// Rounds if nothing is said.
pub const ROUNDS: usize = 3;

impl Default for Options {
    fn default() -> Self {
        Self::all(ROUNDS)
    }
}
