//! How much of a log changes one table, and where: what decides whether its changes are merged or become runs.

/// The changes of one table that recovery read back. A key that was changed several times counts as often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    pub changes: u64,
    /// Bytes of their keys and values, without large values.
    pub bytes: u64,
    /// The first of the keys.
    pub first: Vec<u8>,
    /// The last of the keys.
    pub last: Vec<u8>,
}

impl Volume {
    /// Counts one more change, of so many bytes.
    pub fn add(&mut self, key: &[u8], bytes: u64) {
        if self.changes == 0 || *key < *self.first {
            self.first.clear();
            self.first.extend_from_slice(key);
        }
        if self.changes == 0 || *key > *self.last {
            self.last.clear();
            self.last.extend_from_slice(key);
        }
        self.changes += 1;
        self.bytes += bytes;
    }
}
