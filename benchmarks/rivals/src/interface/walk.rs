//! Which records a scan visits, and in which order: shared by the engines that scan with a cursor.

/// A walk through the records.
#[derive(Clone, Copy, Debug)]
pub enum Walk<'k> {
    /// All of them, rising.
    All,
    /// At most so many, rising, from the first whose key is not below this one.
    Forward(&'k [u8], usize),
    /// At most so many, falling, from the last whose key is not above this one.
    Back(&'k [u8], usize),
    /// Those whose keys begin so, rising.
    Prefix(&'k [u8]),
}

impl Walk<'_> {
    /// Records at most.
    pub fn count_max(self) -> usize {
        match self {
            Self::All | Self::Prefix(_) => usize::MAX,
            Self::Forward(_, count) | Self::Back(_, count) => count,
        }
    }

    /// Whether the walk includes the record of this key, at which the cursor is.
    #[inline]
    pub fn has(self, key: &[u8]) -> bool {
        match self {
            Self::Prefix(prefix) => key.starts_with(prefix),
            Self::All | Self::Forward(..) | Self::Back(..) => true,
        }
    }

    /// Whether it goes to smaller keys.
    pub fn is_back(self) -> bool {
        matches!(self, Self::Back(..))
    }
}
