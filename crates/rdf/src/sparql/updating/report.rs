//! The result of an update.

/// The result of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateReport {
    /// The number of quads that were added and did not exist before.
    pub inserted: u64,
    /// The number of quads that were removed.
    pub removed: u64,
}
