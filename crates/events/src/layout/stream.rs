//! What is stored of a stream beside its events.

use crate::ids::{Timestamp, Version};

/// What is stored of a stream beside its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamRecord {
    /// Its name.
    pub name: Vec<u8>,
    /// Events with lower versions are truncated.
    pub first: Version,
    /// What else is true of it.
    pub state: StreamState,
    /// Its limits, and what programs store with it.
    pub metadata: StreamMetadata,
}

/// Whether a stream can be read and appended to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)] // On disk: never renumber, only append.
pub enum StreamState {
    /// It is open.
    #[default]
    Open = 0,
    /// It was deleted. The next append opens it again, with the next version.
    Deleted = 1,
    /// It was deleted for ever.
    Tombstone = 2,
}

/// Limits of a stream, which [`EventStore::apply_retention`](crate::EventStore::apply_retention) applies, and bytes
/// that programs store with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamMetadata {
    /// Keep events of this age at most, in microseconds.
    pub age_us_max: Option<u64>,
    /// Keep this many events at most: the newest.
    pub count_max: Option<u64>,
    /// Bytes of the program.
    pub custom: Vec<u8>,
}

impl StreamRecord {
    /// As a value of the table of streams.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(27 + self.name.len() + self.metadata.custom.len());
        value.push(self.state as u8);
        value.extend_from_slice(&self.first.0.to_le_bytes());
        value.extend_from_slice(&self.metadata.age_us_max.unwrap_or(u64::MAX).to_le_bytes());
        value.extend_from_slice(&self.metadata.count_max.unwrap_or(u64::MAX).to_le_bytes());
        value.extend_from_slice(&(self.name.len() as u16).to_le_bytes());
        value.extend_from_slice(&self.name);
        value.extend_from_slice(&self.metadata.custom);
        value
    }

    /// The reverse of [`StreamRecord::to_bytes`].
    pub fn parse(value: &[u8]) -> Option<Self> {
        let (&state, rest) = value.split_first()?;
        let state = match state {
            0 => StreamState::Open,
            1 => StreamState::Deleted,
            2 => StreamState::Tombstone,
            _ => return None,
        };
        let (first, rest) = rest.split_first_chunk::<8>()?;
        let (age, rest) = rest.split_first_chunk::<8>()?;
        let (count, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (name, custom) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        let limit = |bytes| Some(u64::from_le_bytes(bytes)).filter(|&limit| limit != u64::MAX);
        let metadata = StreamMetadata { age_us_max: limit(*age), count_max: limit(*count), custom: custom.to_vec() };
        Some(Self { name: name.to_vec(), first: Version(u64::from_le_bytes(*first)), state, metadata })
    }

    /// Whether retention may have to remove events of it.
    pub fn has_limits(&self) -> bool {
        self.first > Version(0) || self.metadata.age_us_max.is_some() || self.metadata.count_max.is_some()
    }

    /// The first version that is kept of a stream whose next version is `next`, by versions and not by age.
    pub fn kept_from(&self, next: Version) -> Version {
        let by_count = self.metadata.count_max.map_or(0, |most| next.0.saturating_sub(most));
        Version(self.first.0.max(by_count))
    }

    /// Events before this time are too old. The least time if there is no such limit.
    pub fn kept_since(&self, now: Timestamp) -> Timestamp {
        Timestamp(self.metadata.age_us_max.map_or(0, |age| now.0.saturating_sub(age)))
    }
}
