//! Partitions of streams, for the members of a group.

use crate::ids::StreamId;

/// A share of the streams: member `index` of a group of `count`. Each stream is in exactly one of the shares, always
/// the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    index: u32,
    count: u32,
}

impl Partition {
    /// All streams.
    pub const ALL: Self = Self { index: 0, count: 1 };

    /// The share of a member. None unless `index < count`.
    pub fn new(index: u32, count: u32) -> Option<Self> {
        (index < count).then_some(Self { index, count })
    }

    /// Whether a stream is in the share.
    #[inline]
    pub fn contains(&self, stream: StreamId) -> bool {
        // Fibonacci hashing, so that streams created in turns do not all go to one member.
        let mixed = stream.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.count == 1 || mixed % u64::from(self.count) == u64::from(self.index)
    }

    /// Its index, and the number of members.
    pub(crate) fn numbers(&self) -> (u32, u32) {
        (self.index, self.count)
    }

    /// The name under which a member of a group stores its position: `group`, or `group#1/4` for member 1 of 4.
    pub fn consumer(&self, group: &str) -> String {
        match self.count {
            1 => group.to_owned(),
            count => format!("{group}#{}/{count}", self.index),
        }
    }

    /// The number of members, if this is the consumer of a member of a group: the reverse of [`Partition::consumer`].
    pub(crate) fn count_of(group: &str, consumer: &str) -> Option<u32> {
        let (index, count) = consumer.strip_prefix(group)?.strip_prefix('#')?.split_once('/')?;
        let member = Self::new(index.parse().ok()?, count.parse().ok()?)?;
        (member.count > 1 && member.consumer(group) == consumer).then_some(member.count)
    }
}
