//! [`ReadLimits`]: when a reader gives up, and how much memory its answers may hold.

use std::time::Instant;

use fulgurite_facts::CancellationToken;

use crate::error::{Error, Result};

/// When a [`CodeReader`](crate::CodeReader) gives up. By default: never.
#[derive(Clone, Debug)]
pub struct ReadLimits {
    /// Its time is up then.
    pub until: Option<Instant>,
    /// Ends it from another thread.
    pub cancellation: CancellationToken,
    /// The most bytes of a list that one call collects, such as the places of a symbol. What it reads of a single
    /// symbol or a single place is not counted.
    pub memory_bytes_max: usize,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { until: None, cancellation: CancellationToken::new(), memory_bytes_max: usize::MAX }
    }
}

impl ReadLimits {
    /// # Errors
    /// That the reader is to give up.
    pub(super) fn check(&self) -> Result<()> {
        if self.cancellation.is_cancelled() {
            return Err(Error::Facts(fulgurite_facts::Error::Cancelled));
        }
        match self.until {
            Some(until) if Instant::now() >= until => Err(Error::TimeUp),
            _ => Ok(()),
        }
    }

    /// Counts the memory of a list that is empty.
    pub(super) fn held(&self) -> Held {
        Held { bytes: 0, bytes_max: self.memory_bytes_max }
    }
}

/// The memory that a list holds.
pub(super) struct Held {
    bytes: usize,
    bytes_max: usize,
}

impl Held {
    /// Counts an entry of the list.
    ///
    /// # Errors
    /// That the list holds too much.
    pub(super) fn add(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        match self.bytes <= self.bytes_max {
            true => Ok(()),
            false => Err(Error::Memory { bytes_max: self.bytes_max }),
        }
    }

    /// An entry was removed.
    pub(super) fn remove(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// So many facts are read between two checks.
pub(crate) const FACTS_PER_CHECK: usize = 512;
