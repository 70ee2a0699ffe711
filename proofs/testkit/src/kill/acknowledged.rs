//! The file of acknowledgements: the commits that a writer has acknowledged. Written by calls, it survives the
//! process.
//!
//! It is a ring of entries, each at the place that the commit's sequence determines. An overwritten entry is of a
//! commit before one that is present.

use std::io;
use std::path::Path;
use std::sync::Arc;

use fulgurite::io::{Access, Disk, File, RealDisk};

/// A commit that was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// The sequence that `commit` returned.
    pub sequence: u64,
    pub thread: u64,
    /// The thread's number of it.
    pub number: u64,
    /// Whether it is to survive the process.
    pub survives: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Ring {
    file: Arc<dyn File>,
}

impl Ring {
    /// An empty one.
    ///
    /// # Errors
    /// The system's; as all that follow.
    pub fn create(path: &Path) -> io::Result<Self> {
        if RealDisk.exists(path)? {
            RealDisk.remove(path)?;
        }
        let file = RealDisk.open(path, Access::CreateNew)?;
        file.set_len(ENTRIES * ENTRY_BYTES)?;
        Ok(Self { file })
    }

    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: RealDisk.open(path, Access::Write)? })
    }

    pub fn write(&self, commit: &Acknowledged) -> io::Result<()> {
        let words = [commit.sequence, commit.thread, commit.number, u64::from(commit.survives)];
        self.file.write_at(commit.sequence % ENTRIES * ENTRY_BYTES, &words.map(u64::to_le_bytes).concat())
    }

    /// All entries, by sequence.
    pub fn read(&self) -> io::Result<Vec<Acknowledged>> {
        let mut bytes = vec![0; (ENTRIES * ENTRY_BYTES) as usize];
        self.file.read_at(0, &mut bytes)?;
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let entries = words.as_chunks().0.iter().map(|&[sequence, thread, number, survives]| Acknowledged {
            sequence,
            thread,
            number,
            survives: survives == 1,
        });
        // No commit has the number 0.
        let mut entries: Vec<Acknowledged> = entries.filter(|entry| entry.number > 0).collect();
        entries.sort_unstable_by_key(|entry| entry.sequence);
        Ok(entries)
    }
}

/// So many of the newest commits are kept.
const ENTRIES: u64 = 1 << 15;
const ENTRY_BYTES: u64 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_in_order_and_the_newest_ones_replace_the_oldest() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ring");
        let ring = Ring::create(&path).unwrap();
        assert!(ring.read().unwrap().is_empty());
        let entry = |sequence| Acknowledged { sequence, thread: 1, number: sequence + 5, survives: sequence % 2 == 0 };
        for sequence in [3, 4, 2, ENTRIES + 3] {
            ring.write(&entry(sequence)).unwrap();
        }
        let found = Ring::open(&path).unwrap().read().unwrap();
        assert_eq!(found, [entry(2), entry(4), entry(ENTRIES + 3)]);
        assert!(Ring::create(&path).unwrap().read().unwrap().is_empty());
    }
}
